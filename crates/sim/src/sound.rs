//! Whether a model out of a file can be run: every id leads somewhere, every list lies within its array.

use kiloworld_layout::consts::{jnt, obj};
use kiloworld_layout::{Field, Model, SizeName, Slice};

/// Ids, and the number of elements that they count. −1, none, is an id too where it says so.
const IDS: &[(Field, SizeName, bool)] = &[
    (Field::body_rootid, SizeName::nbody, false),
    (Field::body_weldid, SizeName::nbody, false),
    (Field::body_mocapid, SizeName::nmocap, true),
    (Field::body_treeid, SizeName::ntree, true),
    (Field::level_body, SizeName::nbody, false),
    (Field::jnt_bodyid, SizeName::nbody, false),
    (Field::dof_bodyid, SizeName::nbody, false),
    (Field::dof_jntid, SizeName::njnt, false),
    (Field::dof_treeid, SizeName::ntree, false),
    (Field::doflevel_dof, SizeName::nv, false),
    (Field::M_colind, SizeName::nv, false),
    (Field::geom_bodyid, SizeName::nbody, false),
    (Field::site_bodyid, SizeName::nbody, false),
    (Field::coll_geom1, SizeName::ngeom, false),
    (Field::coll_geom2, SizeName::ngeom, false),
    (Field::coll_pairid, SizeName::npair, true),
    (Field::pair_geom1, SizeName::ngeom, false),
    (Field::pair_geom2, SizeName::ngeom, false),
];

/// Lists: first entry, number of entries, and the array that they lie in. −1 is the first entry of an empty list.
const LISTS: &[(Field, Field, SizeName)] = &[
    (Field::body_jntadr, Field::body_jntnum, SizeName::njnt),
    (Field::body_dofadr, Field::body_dofnum, SizeName::nv),
    (Field::body_geomadr, Field::body_geomnum, SizeName::ngeom),
    (Field::body_childadr, Field::body_childnum, SizeName::nbody),
    (Field::M_rowadr, Field::M_rownnz, SizeName::nC),
    (Field::tendon_adr, Field::tendon_num, SizeName::nwrap),
    (Field::actuator_actadr, Field::actuator_actnum, SizeName::na),
];

/// What is wrong with the model's ids.
pub(crate) fn sound(m: &Model<f64>) -> Result<(), String> {
    let size = &m.size;
    let ints = |f: Field| match m.get(f) {
        Some(Slice::I(v)) => v,
        _ => &[],
    };
    let bad = |f: Field, i: usize| Err(format!("{}[{i}] = {} leads nowhere", f.name(), ints(f)[i]));
    let inside = |f: Field, i: usize, n: usize, none: bool| {
        let id = ints(f)[i];
        if (none && id == -1) || usize::try_from(id).is_ok_and(|id| id < n) { Ok(()) } else { bad(f, i) }
    };
    for &(f, n, none) in IDS {
        (0..ints(f).len()).try_for_each(|i| inside(f, i, size.get(n), none))?;
    }
    for &(first, number, n) in LISTS {
        for (i, (&a, &k)) in ints(first).iter().zip(ints(number)).enumerate() {
            let fits = usize::try_from(a).ok().zip(usize::try_from(k).ok()).is_some_and(|(a, k)| a + k <= size.get(n));
            if !(fits || (a == -1 && k == 0)) {
                return bad(first, i);
            }
        }
    }
    // parents come first, so that every way up ends
    for f in [Field::body_parentid, Field::dof_parentid] {
        let up = |i: usize| i64::from(ints(f)[i]) < i.max(usize::from(f == Field::body_parentid)) as i64;
        let low = if f == Field::body_parentid { 0 } else { -1 };
        if let Some(i) = (0..ints(f).len()).find(|&i| ints(f)[i] < low || !up(i)) {
            return bad(f, i);
        }
    }
    for (f, n) in [(Field::level_adr, size.nbody), (Field::doflevel_adr, size.nv)] {
        let v = ints(f);
        if let Some(i) = (0..v.len()).find(|&i| v[i] < 0 || v[i] as usize > n || (i > 0 && v[i] < v[i - 1])) {
            return bad(f, i);
        }
    }
    for j in 0..size.njnt {
        let (q, v) = match m.jnt_type[j] {
            jnt::FREE => (7, 6),
            jnt::BALL => (4, 3),
            _ => (1, 1),
        };
        let fits = |a: i32, k: usize, n: usize| usize::try_from(a).is_ok_and(|a| a + k <= n);
        if !fits(m.jnt_qposadr[j], q, size.nq) {
            return bad(Field::jnt_qposadr, j);
        }
        if !fits(m.jnt_dofadr[j], v, size.nv) {
            return bad(Field::jnt_dofadr, j);
        }
    }
    objects(m, inside)
}

/// Objects whose kind another field says.
fn objects(m: &Model<f64>, inside: impl Fn(Field, usize, usize, bool) -> Result<(), String>) -> Result<(), String> {
    use kiloworld_layout::consts::{eq, trn};
    let size = &m.size;
    for e in 0..size.neq {
        let n = match (m.eq_type[e], m.eq_objtype[e]) {
            (eq::JOINT, _) => size.njnt,
            (eq::TENDON, _) => size.ntendon,
            (_, obj::SITE) => size.nsite,
            _ => size.nbody,
        };
        inside(Field::eq_obj1id, e, n, false)?;
        inside(Field::eq_obj2id, e, n, matches!(m.eq_type[e], eq::JOINT | eq::TENDON))?;
    }
    for a in 0..size.nu {
        let n = if m.actuator_trntype[a] == trn::TENDON { size.ntendon } else { size.njnt };
        inside(Field::actuator_trnid, 2 * a, n, false)?;
    }
    (0..size.nwrap).try_for_each(|i| inside(Field::wrap_objid, i, size.njnt, false))
}
