//! Whether a model out of a file can be run: every integer is what it may be, and what follows from others does.

use kiloworld_layout::consts::{cone, eq, geom, integrator, jac, jnt, obj, solver, trn};
use kiloworld_layout::{Buffer, Field, Model, Opt, RULES, SizeName, Sizes, Slice};

/// Most iterations of a solver that a file may ask for.
const MOST_ITERATIONS: i32 = 100_000;

/// Lists: first entry, number of entries, and the array that they lie in. −1 is the first entry of an empty list.
const LISTS: &[(Field, Field, SizeName)] = &[
    (Field::body_jntadr, Field::body_jntnum, SizeName::njnt),
    (Field::body_dofadr, Field::body_dofnum, SizeName::nv),
    (Field::body_geomadr, Field::body_geomnum, SizeName::ngeom),
    (Field::M_rowadr, Field::M_rownnz, SizeName::nC),
    (Field::tendon_adr, Field::tendon_num, SizeName::nwrap),
    (Field::actuator_actadr, Field::actuator_actnum, SizeName::na),
    (Field::mesh_vertadr, Field::mesh_vertnum, SizeName::nmeshvert),
    (Field::mesh_faceadr, Field::mesh_facenum, SizeName::nmeshface),
    (Field::sensor_adr, Field::sensor_dim, SizeName::nsensordata),
];

fn ints(m: &Model<f64>, f: Field) -> &[i32] {
    match m.get(f) {
        Some(Slice::I(v)) => v,
        _ => &[],
    }
}

fn bad(m: &Model<f64>, f: Field, i: usize) -> Result<(), String> {
    Err(format!("{}[{i}] = {} leads nowhere", f.name(), ints(m, f)[i]))
}

/// What is wrong with the model, whose arrays have the lengths that its sizes say.
pub(crate) fn sound(m: &Model<f64>) -> Result<(), String> {
    options(&m.opt)?;
    if m.size.nbody == 0 {
        return Err("it has no bodies, not even the world".to_owned());
    }
    for &(f, rule) in RULES {
        if let Some(i) = ints(m, f).iter().position(|&x| !rule.allows(x, |n| m.size.get(n))) {
            return bad(m, f, i);
        }
    }
    for &(first, number, n) in LISTS {
        for (i, (&a, &k)) in ints(m, first).iter().zip(ints(m, number)).enumerate() {
            let end = usize::try_from(i64::from(a) + i64::from(k)).ok();
            if !((a == -1 && k == 0) || (a >= 0 && end.is_some_and(|end| end <= m.size.get(n)))) {
                return bad(m, first, i);
            }
        }
    }
    objects(m)?;
    tree(m)?;
    derived(m)
}

/// Options that choose, and numbers of iterations that a world can wait for.
fn options(opt: &Opt) -> Result<(), String> {
    let kinds: [(&str, i32, &[i32]); 4] = [
        ("integrator", opt.integrator, &[integrator::EULER, integrator::RK4, integrator::IMPLICITFAST]),
        ("cone", opt.cone, &[cone::PYRAMIDAL, cone::ELLIPTIC]),
        ("jacobian", opt.jacobian, &[jac::DENSE, jac::SPARSE, jac::AUTO]),
        ("solver", opt.solver, &[solver::PGS, solver::CG, solver::NEWTON]),
    ];
    if let Some((name, x, _)) = kinds.iter().find(|(_, x, all)| !all.contains(x)) {
        return Err(format!("there is no {name} {x}"));
    }
    let counts = [
        ("iterations", opt.iterations),
        ("ls_iterations", opt.ls_iterations),
        ("noslip_iterations", opt.noslip_iterations),
        ("ccd_iterations", opt.ccd_iterations),
    ];
    match counts.iter().find(|(_, n)| !(0..=MOST_ITERATIONS).contains(n)) {
        Some((name, n)) => Err(format!("{name} is {n}: it must lie from 0 to {MOST_ITERATIONS}")),
        None => Ok(()),
    }
}

/// Objects whose kind another field says (`Rule::Object`).
fn objects(m: &Model<f64>) -> Result<(), String> {
    let size = &m.size;
    let inside = |f: Field, i: usize, n: usize, none: bool| {
        let id = ints(m, f)[i];
        if (none && id == -1) || usize::try_from(id).is_ok_and(|id| id < n) { Ok(()) } else { bad(m, f, i) }
    };
    for e in 0..size.neq {
        let (ty, scalar) = (m.eq_type[e], matches!(m.eq_type[e], eq::JOINT | eq::TENDON));
        let n = match (ty, m.eq_objtype[e]) {
            (eq::JOINT, _) => size.njnt,
            (eq::TENDON, _) => size.ntendon,
            (_, obj::SITE) => size.nsite,
            _ => size.nbody,
        };
        inside(Field::eq_obj1id, e, n, false)?;
        inside(Field::eq_obj2id, e, n, scalar)?;
        // a row has an entry a dof
        if m.eq_obj1id[e] == m.eq_obj2id[e] {
            return bad(m, Field::eq_obj2id, e);
        }
    }
    for a in 0..size.nu {
        let n = if m.actuator_trntype[a] == trn::TENDON { size.ntendon } else { size.njnt };
        inside(Field::actuator_trnid, 2 * a, n, false)?;
        // the second target is for kinds that no stage knows
        if m.actuator_trnid[2 * a + 1] != -1 {
            return bad(m, Field::actuator_trnid, 2 * a + 1);
        }
    }
    for g in 0..ints(m, Field::geom_dataid).len() {
        inside(Field::geom_dataid, g, if m.geom_type[g] == geom::HFIELD { size.nhfield } else { size.nmesh }, true)?;
    }
    let grid = |h: usize| i64::from(m.hfield_adr[h]) + i64::from(m.hfield_nrow[h]) * i64::from(m.hfield_ncol[h]);
    let grids = [&m.hfield_adr, &m.hfield_nrow, &m.hfield_ncol].iter().map(|v| v.len()).min().unwrap_or(0);
    match (0..grids).find(|&h| grid(h) > size.nhfielddata as i64) {
        Some(h) => bad(m, Field::hfield_adr, h),
        None => Ok(()),
    }
}

/// Compares a field with what others make of it.
fn follows(m: &Model<f64>, f: Field, expected: &[i32]) -> Result<(), String> {
    let found = ints(m, f);
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        Some(i) => Err(format!(
            "{}[{i}] = {} leads nowhere: the rest of the model makes it {}",
            f.name(),
            found[i],
            expected[i]
        )),
        None if found.len() != expected.len() => Err(format!("{} has {} numbers", f.name(), found.len())),
        None => Ok(()),
    }
}

fn size(m: &Model<f64>, name: SizeName, expected: usize) -> Result<(), String> {
    if m.size.get(name) == expected {
        return Ok(());
    }
    let word = Sizes::NAMES.iter().find(|n| n.1 == name).map_or("a size", |n| n.0);
    Err(format!("{word} is {}: the rest of the model makes it {expected}", m.size.get(name)))
}

/// Ids and addresses that one walk over the bodies gives, in the order of ids: joints, dofs and geoms lie as their bodies do.
#[derive(Default)]
struct Walk {
    body: [Vec<i32>; 6],
    jnt: [Vec<i32>; 3],
    dof: [Vec<i32>; 4],
    geom_bodyid: Vec<i32>,
    mocapid: Vec<i32>,
    nq: usize,
}

/// The tree of bodies and what hangs on them.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "ids that were checked"
)]
fn tree(m: &Model<f64>) -> Result<(), String> {
    // parents come first, so that every way up ends; then a body's subtree is the next ones in order
    if let Some(b) = (0..m.size.nbody).find(|&b| m.body_parentid[b] as usize >= b.max(1)) {
        return bad(m, Field::body_parentid, b);
    }
    let mut below = vec![1; m.size.nbody];
    (1..m.size.nbody).rev().for_each(|b| below[m.body_parentid[b] as usize] += below[b]);
    let inside = |b: usize, p: usize| b + below[b] <= p + below[p];
    if let Some(b) = (1..m.size.nbody).find(|&b| !inside(b, m.body_parentid[b] as usize)) {
        return bad(m, Field::body_parentid, b);
    }
    let mut w = Walk::default();
    let (mut ntree, mut nmocap) = (0, 0);
    // the last dof on the way up from a body
    let mut last: Vec<i32> = Vec::new();
    for b in 0..m.size.nbody {
        let parent = m.body_parentid[b] as usize;
        let above = |of: &[i32], none: i32| if b == 0 { none } else { of[parent] };
        let (first, njnt, ngeom) = (w.jnt[0].len(), m.body_jntnum[b] as usize, m.body_geomnum[b] as usize);
        let Some(kinds) = m.jnt_type.get(first..first + njnt) else { return bad(m, Field::body_jntnum, b) };
        let widths = |ty: i32| match ty {
            jnt::FREE => (7, 6),
            jnt::BALL => (4, 3),
            _ => (1, 1),
        };
        let ndof: usize = kinds.iter().map(|&ty| widths(ty).1).sum();
        let address = |at: usize, n: usize| if n == 0 { -1 } else { at as i32 };
        let mocap = m.body_mocapid[b] >= 0;
        let tree = above(&w.body[2], -1);
        let tree = if tree < 0 && ndof > 0 { ntree } else { tree };
        ntree = ntree.max(tree + 1);
        let row = [
            if parent == 0 { b as i32 } else { w.body[0][parent] },
            if njnt == 0 && !mocap && b > 0 { w.body[1][parent] } else { b as i32 },
            tree,
            address(first, njnt),
            address(w.dof[0].len(), ndof),
            address(w.geom_bodyid.len(), ngeom),
        ];
        w.body.iter_mut().zip(row).for_each(|(v, x)| v.push(x));
        if m.body_dofnum[b] as usize != ndof || w.geom_bodyid.len() + ngeom > m.size.ngeom {
            return bad(m, if m.body_dofnum[b] as usize == ndof { Field::body_geomnum } else { Field::body_dofnum }, b);
        }
        w.mocapid.push(if mocap { nmocap } else { -1 });
        nmocap += i32::from(mocap);
        w.geom_bodyid.extend(std::iter::repeat_n(b as i32, ngeom));
        let mut up = above(&last, -1);
        for &ty in kinds {
            let (j, (nq, nv)) = (w.jnt[0].len() as i32, widths(ty));
            let row = [w.nq as i32, w.dof[0].len() as i32, b as i32];
            w.jnt.iter_mut().zip(row).for_each(|(v, x)| v.push(x));
            w.nq += nq;
            for _ in 0..nv {
                let i = w.dof[0].len() as i32;
                w.dof.iter_mut().zip([b as i32, j, up, tree]).for_each(|(v, x)| v.push(x));
                up = i;
            }
        }
        last.push(up);
    }
    use Field as F;
    let fields = [
        (
            [F::body_rootid, F::body_weldid, F::body_treeid, F::body_jntadr, F::body_dofadr, F::body_geomadr]
                .as_slice(),
            &w.body[..],
        ),
        (&[F::jnt_qposadr, F::jnt_dofadr, F::jnt_bodyid], &w.jnt),
        (&[F::dof_bodyid, F::dof_jntid, F::dof_parentid, F::dof_treeid], &w.dof),
        (&[F::geom_bodyid], std::slice::from_ref(&w.geom_bodyid)),
        (&[F::body_mocapid], std::slice::from_ref(&w.mocapid)),
    ];
    for (names, arrays) in fields {
        names.iter().zip(arrays).try_for_each(|(&f, v)| follows(m, f, v))?;
    }
    let sizes = [(SizeName::nq, w.nq), (SizeName::ntree, ntree as usize), (SizeName::nmocap, nmocap as usize)];
    sizes.into_iter().try_for_each(|(name, n)| size(m, name, n))
}

/// The sparsity of M, depth levels, children, addresses of activations, and sizes that follow.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "ids that were checked"
)]
fn derived(m: &Model<f64>) -> Result<(), String> {
    let mut adr = 0;
    for i in 0..m.size.nv {
        let n = m.M_rownnz[i];
        if m.M_rowadr[i] != adr || n == 0 {
            return bad(m, Field::M_rowadr, i);
        }
        // the diagonal, before it the dofs above: all of them, or in bodies with a diagonal inertia none
        let (mut dof, row) = (i as i32, adr as usize..(adr + n) as usize);
        for k in row.clone().rev() {
            if m.M_colind[k] != dof || dof < 0 {
                return bad(m, Field::M_colind, k);
            }
            dof = m.dof_parentid[dof as usize];
        }
        if n > 1 && dof >= 0 {
            return bad(m, Field::M_rownnz, i);
        }
        adr += n;
    }
    size(m, SizeName::nC, adr as usize)?;
    let mut expected = m.clone();
    kiloworld_model::derived::orders(&mut expected);
    for k in 0..m.size.nC {
        let above = m.M_colind[k] as usize;
        let row = m.M_rowadr.partition_point(|&a| a as usize <= k) - 1;
        // so that the dofs below one are the next ones in order
        if row > above + expected.dof_descnum[above] as usize {
            return bad(m, Field::M_colind, k);
        }
    }
    let (mut actadr, mut na) = (Vec::new(), 0_usize);
    for &n in &m.actuator_actnum {
        actadr.push(if n > 0 { na as i32 } else { -1 });
        na += n as usize;
    }
    follows(m, Field::actuator_actadr, &actadr)?;
    size(m, SizeName::na, na)?;
    for f in [
        Field::level_adr,
        Field::level_body,
        Field::body_subtreenum,
        Field::body_childadr,
        Field::body_childnum,
        Field::doflevel_adr,
        Field::doflevel_dof,
        Field::dof_descnum,
        Field::eq_rownum,
    ] {
        follows(m, f, ints(&expected, f))?;
    }
    for name in [SizeName::nvpad, SizeName::nlevel, SizeName::nlevel1, SizeName::ndoflevel, SizeName::ndoflevel1] {
        size(m, name, expected.size.get(name))?;
    }
    size(m, SizeName::njrow, kiloworld_model::derived::row_nonzeros(m))?;
    let dual = m.opt.solver == solver::PGS || m.opt.noslip_iterations > 0;
    size(m, SizeName::njdual, if dual { m.size.njmax } else { 0 })
}

/// True for fields that a model may leave empty: those that no stage reads.
pub(crate) fn may_be_empty(f: Field) -> bool {
    f.info().buffer == Buffer::Host
}
