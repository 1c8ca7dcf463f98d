//! Constants of the reference pose: weights, lengths, relative poses, statistics. The stages of `kiloworld-cpu` place and
//! weigh the bodies at `qpos0`.

use super::Compiler;
use super::equality::{FROM_REFERENCE, capture};
use super::joint::Simple;
use super::{moment, wrap};
use kiloworld_cpu::math::{Vec3, ld3, ld4, st3, st4};
use kiloworld_cpu::{inertia, kinematics, transmission};
use kiloworld_layout::consts::{bias, eq, gain, geom, jnt, obj, trn};
use kiloworld_layout::{Data, Model, Sizes};
use kiloworld_mjcf::Span;

/// Fills every field that depends on the reference pose; reports joints that leave the inertia matrix singular.
pub(crate) fn constants(c: &mut Compiler<'_>) {
    match set_const(&mut c.m, &c.simple) {
        Ok(mut d) => {
            springs(c);
            snap(&c.m, &mut d);
            statistics(c, &d);
        }
        Err(dof) => {
            let joint = c.m.dof_jntid[dof] as usize;
            let span = c.spec.joints().nth(joint).map_or_else(Span::default, |(_, j)| j.at.span);
            let text = "the inertia matrix is singular: another joint already moves everything that this one moves, the same way";
            c.error(span, text, "change its axis or position, give it armature, or remove one of the two");
        }
    }
}

/// Fills the fields that follow from the model's own at the reference pose, and returns a world there; or the dof whose
/// inertia is 0.
pub(crate) fn set_const(m: &mut Model<f64>, simple: &[Simple]) -> Result<Data<f64>, usize> {
    m.body_subtreemass = m.body_mass.clone();
    for b in (1..m.size.nbody).rev() {
        m.body_subtreemass[m.body_parentid[b] as usize] += m.body_subtreemass[b];
    }
    // contacts, rows and the solver play no part
    let size = Sizes { nconmax: 0, njmax: 0, njdual: 0, nvpad: 0, ..m.size.clone() };
    let mut d = reference(m, &size);
    kinematics::kinematics(m, &mut d);
    kinematics::com_pos(m, &mut d);
    let own = (m.dof_armature.clone(), m.tendon_armature.clone());
    armatures(m);
    inertia::inertia(m, &mut d);
    m.dof_M0 = (0..m.size.nv).map(|i| d.M[(m.M_rowadr[i] + m.M_rownnz[i] - 1) as usize]).collect();
    if m.tendon_armature.iter().any(|&x| x != 0.0) {
        transmission(m, &mut d);
        add_tendon_inertia(m, &mut d);
    }
    (m.dof_armature, m.tendon_armature) = own;
    if let Some(dof) = (0..m.size.nv).find(|&i| singular(m, &d, i)) {
        return Err(dof);
    }
    dof_weights(m, &d, simple);
    body_weights(m, &d, simple);
    lengths(m, &mut d);
    equalities(m, &d);
    Ok(d)
}

/// A world at the reference pose, at rest.
pub(crate) fn reference(m: &Model<f64>, size: &Sizes) -> Data<f64> {
    let mut d = Data::new(size, &0.0);
    d.qpos.copy_from_slice(&m.qpos0);
    d.eq_active.clone_from(&m.eq_active0);
    for b in 0..m.size.nbody {
        if let Ok(k) = usize::try_from(m.body_mocapid[b]) {
            st3(&mut d.mocap_pos, k, ld3(&m.body_pos, b));
            st4(&mut d.mocap_quat, k, ld4(&m.body_quat, b));
        }
    }
    d
}

/// Adds what actuators add to the inertia of their joints and tendons: a rotor turns as many times faster as the gear says.
pub(crate) fn armatures(m: &mut Model<f64>) {
    for a in 0..m.size.nu {
        let added = m.actuator_armature[a] * m.actuator_gear[6 * a].powi(2);
        match (m.actuator_trntype[a], usize::try_from(m.actuator_trnid[2 * a])) {
            (trn::JOINT | trn::JOINTINPARENT, Ok(j)) => {
                let dofs = match m.jnt_type[j] {
                    jnt::FREE => 6,
                    jnt::BALL => 3,
                    _ => 1,
                };
                m.dof_armature[m.jnt_dofadr[j] as usize..][..dofs].iter_mut().for_each(|x| *x += added);
            }
            (trn::TENDON, Ok(t)) => m.tendon_armature[t] += added,
            _ => {}
        }
    }
}

/// Adds the inertia of tendons to the inertia matrix as far as its sparsity goes, their Jacobians being known. It counts in
/// weights and not in `dof_M0`, as in MuJoCo.
pub(crate) fn add_tendon_inertia(m: &Model<f64>, d: &mut Data<f64>) {
    for (t, armature) in m.tendon_armature.iter().enumerate() {
        let row = &d.ten_J[t * m.size.nv..(t + 1) * m.size.nv];
        for i in 0..m.size.nv {
            for k in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                d.M[k as usize] += armature * row[i] * row[m.M_colind[k as usize] as usize];
            }
        }
    }
    d.qLD.clone_from(&d.M);
    inertia::factor_m(m, &mut d.qLD, &mut d.qLDiagInv);
}

/// Whether nothing but rounding is left of a dof's inertia when the dofs below move freely.
fn singular(m: &Model<f64>, d: &Data<f64>, i: usize) -> bool {
    let diagonal = (m.M_rowadr[i] + m.M_rownnz[i] - 1) as usize;
    d.qLD[diagonal].is_nan() || d.qLD[diagonal] <= 1e-14 * d.M[diagonal]
}

/// M⁻¹ x at the reference pose.
fn solve(m: &Model<f64>, d: &Data<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = x.to_vec();
    inertia::solve_m(m, &d.qLD, &d.qLDiagInv, &mut y);
    y
}

/// xᵀ M⁻¹ x at the reference pose, where x is 0 but at a dof and those above it; afterwards it is 0 there too.
fn weight(m: &Model<f64>, d: &Data<f64>, x: &mut [f64], last: i32) -> f64 {
    let (mut sum, mut dof) = (0.0, last);
    while let Ok(i) = usize::try_from(dof) {
        let own = std::mem::take(&mut x[i]);
        let adr = m.M_rowadr[i] as usize;
        for k in adr..adr + m.M_rownnz[i] as usize - 1 {
            x[m.M_colind[k] as usize] -= d.qLD[k] * own;
        }
        sum += own * own * d.qLDiagInv[i];
        dof = m.dof_parentid[i];
    }
    sum
}

/// The slides of a simple body have its mass as their inertia; MuJoCo leaves out armature there.
fn slides(m: &Model<f64>, simple: &[Simple], b: usize) -> Option<f64> {
    (simple[b] == Simple::Slides).then(|| 1.0 / m.body_mass[b])
}

/// `dof_invweight0`: the diagonal of M⁻¹, its mean over the axes of a translation or rotation.
fn dof_weights(m: &mut Model<f64>, d: &Data<f64>, simple: &[Simple]) {
    let mut x = vec![0.0; m.size.nv];
    m.dof_invweight0 = (0..m.size.nv)
        .map(|i| {
            slides(m, simple, m.dof_bodyid[i] as usize).unwrap_or_else(|| {
                x[i] = 1.0;
                weight(m, d, &mut x, i as i32)
            })
        })
        .collect();
    for j in 0..m.size.njnt {
        let groups = match m.jnt_type[j] {
            jnt::FREE => 2,
            jnt::BALL => 1,
            _ => 0,
        };
        for group in m.dof_invweight0[m.jnt_dofadr[j] as usize..].chunks_mut(3).take(groups) {
            let mean = group.iter().sum::<f64>() / 3.0;
            group.fill(mean);
        }
    }
}

/// `body_invweight0`: the mean inverse weight of a body at its centre of mass, for translation and rotation.
fn body_weights(m: &mut Model<f64>, d: &Data<f64>, simple: &[Simple]) {
    m.body_invweight0 = vec![0.0; 2 * m.size.nbody];
    let mut row = vec![0.0; m.size.nv];
    for b in 1..m.size.nbody {
        if m.body_weldid[b] == 0 {
            continue;
        }
        if let Some(weight) = slides(m, simple, b) {
            m.body_invweight0[2 * b] = weight;
            continue;
        }
        let arm = ld3(&d.xipos, b) - ld3(&d.subtree_com, m.body_rootid[b] as usize);
        for k in 0..6 {
            let mut dof = last_dof(m, b);
            while let Ok(i) = usize::try_from(dof) {
                let (turn, slide) = (ld3(&d.cdof, 2 * i), ld3(&d.cdof, 2 * i + 1));
                row[i] = if k < 3 { (slide + turn.cross(&arm))[k] } else { turn[k - 3] };
                dof = m.dof_parentid[i];
            }
            m.body_invweight0[2 * b + k / 3] += weight(m, d, &mut row, last_dof(m, b)) / 3.0;
        }
    }
}

/// The last dof that moves a body, -1: none.
pub(crate) fn last_dof(m: &Model<f64>, b: usize) -> i32 {
    let weld = m.body_weldid[b] as usize;
    // the world's address is -1
    (m.body_dofadr[weld] + m.body_dofnum[weld] - 1).max(-1)
}

/// Stiffness and damping of the joints that ask for a time constant and damping ratio.
fn springs(c: &mut Compiler<'_>) {
    let m = &mut c.m;
    for (id, (_, j)) in c.spec.joints().enumerate() {
        let [timeconst, dampratio] = j.springdamper;
        if timeconst <= 0.0 || dampratio <= 0.0 {
            continue;
        }
        let (adr, num) = (m.jnt_dofadr[id] as usize, super::tree::dofs(j.kind));
        let mean = m.dof_invweight0[adr..adr + num].iter().sum::<f64>() / num as f64;
        m.jnt_stiffness[id] = 1.0 / (mean * timeconst * timeconst * dampratio * dampratio);
        m.dof_damping[adr..adr + num].fill(2.0 / (mean * timeconst));
    }
}

/// Lengths and Jacobians of tendons and actuators at the pose of a world. The stage knows fixed tendons, and joints and fixed
/// tendons as targets; the others are done here.
fn transmission(m: &mut Model<f64>, d: &mut Data<f64>) {
    let nv = m.size.nv;
    let spatial: Vec<usize> = (0..m.size.ntendon).filter(|&t| moment::is_spatial(m, t)).collect();
    let num = m.tendon_num.clone();
    spatial.iter().for_each(|&t| m.tendon_num[t] = 0);
    let nu = m.size.nu;
    let (known, unknown): (Vec<usize>, Vec<usize>) = (0..nu).partition(|&a| moment::is_known(m, a));
    let (types, ids, gears) = (m.actuator_trntype.clone(), m.actuator_trnid.clone(), m.actuator_gear.clone());
    m.actuator_trntype = known.iter().map(|&a| types[a]).collect();
    m.actuator_trnid = known.iter().flat_map(|&a| ids[2 * a..2 * a + 2].to_vec()).collect();
    m.actuator_gear = known.iter().flat_map(|&a| gears[6 * a..6 * a + 6].to_vec()).collect();
    m.size.nu = known.len();
    transmission::transmission(m, d);
    (m.size.nu, m.tendon_num) = (nu, num);
    (m.actuator_trntype, m.actuator_trnid, m.actuator_gear) = (types, ids, gears);
    for t in spatial {
        let mut row = vec![0.0; nv];
        d.ten_length[t] = wrap::spatial(m, d, t, &mut row);
        d.ten_J[t * nv..(t + 1) * nv].copy_from_slice(&row);
    }
    // to their places, the last first: none is moved to one that is still to be read
    for (k, &a) in known.iter().enumerate().rev() {
        d.actuator_length[a] = d.actuator_length[k];
        d.actuator_moment.copy_within(k * nv..(k + 1) * nv, a * nv);
    }
    for a in unknown {
        let mut row = vec![0.0; nv];
        d.actuator_length[a] = moment::actuator(m, d, a, &mut row);
        d.actuator_moment[a * nv..(a + 1) * nv].copy_from_slice(&row);
    }
}

/// Lengths and weights of tendons and actuators.
fn lengths(m: &mut Model<f64>, d: &mut Data<f64>) {
    let (nv, nu) = (m.size.nv, m.size.nu);
    (m.actuator_length0, m.actuator_acc0) = (vec![0.0; nu], vec![0.0; nu]);
    let mut rest = d.clone();
    rest.qpos.copy_from_slice(&m.qpos_spring);
    kinematics::kinematics(m, &mut rest);
    kinematics::com_pos(m, &mut rest);
    transmission(m, &mut rest);
    transmission(m, d);
    m.tendon_length0.clone_from(&d.ten_length);
    m.tendon_invweight0 = (0..m.size.ntendon)
        .map(|t| {
            let row = &d.ten_J[t * nv..(t + 1) * nv];
            solve(m, d, row).iter().zip(row).map(|(x, y)| x * y).sum()
        })
        .collect();
    for (range, length) in m.tendon_lengthspring.chunks_mut(2).zip(&rest.ten_length) {
        if range == [-1.0, -1.0] {
            range.fill(*length);
        }
    }
    for a in 0..m.size.nu {
        let moment = &d.actuator_moment[a * nv..(a + 1) * nv];
        m.actuator_length0[a] = d.actuator_length[a];
        let acceleration = solve(m, d, moment);
        m.actuator_acc0[a] = acceleration.iter().map(|x| x * x).sum::<f64>().sqrt();
        // a positive damping next to a position gain is a ratio to the critical damping of the inertia that is felt
        let position = m.actuator_gaintype[a] == gain::FIXED
            && m.actuator_biastype[a] == bias::AFFINE
            && m.actuator_gainprm[10 * a] == -m.actuator_biasprm[10 * a + 1];
        let ratio = m.actuator_biasprm[10 * a + 2];
        if position && ratio > 0.0 {
            let weight: f64 = moment.iter().zip(&acceleration).map(|(x, y)| x * y).sum();
            m.actuator_biasprm[10 * a + 2] = -2.0 * ratio * (m.actuator_gainprm[10 * a] / weight).sqrt();
        }
    }
}

/// Second anchors and relative poses that are those of the reference pose.
fn equalities(m: &mut Model<f64>, d: &Data<f64>) {
    for e in 0..m.size.neq {
        if m.eq_objtype[e] != obj::BODY {
            continue;
        }
        if m.eq_type[e] == eq::CONNECT || m.eq_data[12 * e + FROM_REFERENCE] != 0.0 {
            let mut data = m.eq_data[12 * e..12 * (e + 1)].to_vec();
            capture(m, d, e, &mut data);
            m.eq_data[12 * e..12 * (e + 1)].copy_from_slice(&data);
        }
    }
}

/// Frames of centres of mass, geoms and sites that MuJoCo takes for those of their bodies because they nearly are: its
/// statistics measure from there.
fn snap(m: &Model<f64>, d: &mut Data<f64>) {
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < NEARLY);
    let (origin, level) = ([0.0; 3], super::frame::IDENTITY);
    for b in 1..m.size.nbody {
        if same(&m.body_ipos[3 * b..3 * b + 3], &origin) && same(&m.body_iquat[4 * b..4 * b + 4], level.as_slice()) {
            let place = ld3(&d.xpos, b);
            st3(&mut d.xipos, b, place);
        }
    }
    let (xpos, xipos) = (d.xpos.clone(), d.xipos.clone());
    let place = |b: usize, pos: &[f64], quat: &[f64], at: &mut [f64]| {
        if same(pos, &origin) && same(quat, level.as_slice()) {
            at.copy_from_slice(&xpos[3 * b..3 * b + 3]);
        } else if same(pos, &m.body_ipos[3 * b..3 * b + 3]) && same(quat, &m.body_iquat[4 * b..4 * b + 4]) {
            at.copy_from_slice(&xipos[3 * b..3 * b + 3]);
        }
    };
    for g in 0..m.size.ngeom {
        let (pos, quat) = (&m.geom_pos[3 * g..3 * g + 3], &m.geom_quat[4 * g..4 * g + 4]);
        place(m.geom_bodyid[g] as usize, pos, quat, &mut d.geom_xpos[3 * g..3 * g + 3]);
    }
    for i in 0..m.size.nsite {
        let (pos, quat) = (&m.site_pos[3 * i..3 * i + 3], &m.site_quat[4 * i..4 * i + 4]);
        place(m.site_bodyid[i] as usize, pos, quat, &mut d.site_xpos[3 * i..3 * i + 3]);
    }
}

/// How far apart the numbers of two frames may be that MuJoCo takes for one.
const NEARLY: f64 = 1e-6;

/// Mean mass, size and inertia, extent and centre; those that the file gives replace the computed ones.
fn statistics(c: &mut Compiler<'_>, d: &Data<f64>) {
    let (m, file) = (&c.m, &c.spec.statistic);
    let moving = m.size.nbody - 1;
    let mean = |sum: f64, n: usize, default: f64| if n > 0 { sum / n as f64 } else { default };
    let meanmass = mean(m.body_mass[1..].iter().sum(), moving, 1.0);
    let meansize = mean(body_sizes(m, d).iter().skip(1).map(|x| x.max(SMALLEST)).sum(), moving, 0.2);
    let diagonal = (0..m.size.nv).map(|i| d.M[(m.M_rowadr[i] + m.M_rownnz[i] - 1) as usize]);
    let meaninertia = mean(diagonal.sum(), m.size.nv, 1.0);
    let (low, high) = bounding_box(m, d);
    let (mut extent, mut center) = (2.0, Vec3::zeros());
    if low[0] <= high[0] {
        center = (low + high) / 2.0;
    }
    // only the x axis is asked, as in MuJoCo
    if low[0] < high[0] {
        extent = (high - low).max().max(SMALLEST);
    }
    let extent = f64::max(extent, 2.0 * meansize);
    let m = &mut c.m;
    m.stat_meanmass = vec![file.meanmass.unwrap_or(meanmass)];
    m.stat_meansize = vec![file.meansize.unwrap_or(meansize)];
    m.stat_meaninertia = vec![file.meaninertia.unwrap_or(meaninertia)];
    m.stat_extent = vec![file.extent.unwrap_or(extent)];
    m.stat_center = file.center.map_or_else(|| center.as_slice().to_vec(), |x| x.to_vec());
}

/// No body and no model is smaller than this.
const SMALLEST: f64 = 1e-5;

/// Distance from a body's centre of mass to the farthest of: its joints, its children's joints, its geoms' bounding spheres.
fn body_sizes(m: &Model<f64>, d: &Data<f64>) -> Vec<f64> {
    let mut size = vec![0.0_f64; m.size.nbody];
    let mut reach = |b: usize, point: Vec3<f64>, radius: f64| {
        size[b] = size[b].max((ld3(&d.xipos, b) - point).norm() + radius);
    };
    for j in 0..m.size.njnt {
        let b = m.jnt_bodyid[j] as usize;
        reach(b, ld3(&d.xanchor, j), 0.0);
        reach(m.body_parentid[b] as usize, ld3(&d.xanchor, j), 0.0);
    }
    for g in (0..m.size.ngeom).filter(|&g| m.geom_rbound[g] > 0.0) {
        reach(m.geom_bodyid[g] as usize, ld3(&d.geom_xpos, g), m.geom_rbound[g]);
    }
    size
}

/// The box around bodies, centres of mass, joints, sites and the bounding spheres of geoms, of which planes have small ones.
fn bounding_box(m: &Model<f64>, d: &Data<f64>) -> (Vec3<f64>, Vec3<f64>) {
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    let mut add = |point: Vec3<f64>, radius: f64| {
        low = low.inf(&(point - Vec3::repeat(radius)));
        high = high.sup(&(point + Vec3::repeat(radius)));
    };
    for b in 1..m.size.nbody {
        add(ld3(&d.xpos, b), 0.0);
        add(ld3(&d.xipos, b), 0.0);
    }
    (0..m.size.njnt).for_each(|j| add(ld3(&d.xanchor, j), 0.0));
    (0..m.size.nsite).for_each(|s| add(ld3(&d.site_xpos, s), 0.0));
    for g in 0..m.size.ngeom {
        let side = m.geom_size[3 * g].max(m.geom_size[3 * g + 1]);
        let radius = match m.geom_type[g] {
            geom::PLANE if side > 0.0 => 0.1 * side,
            geom::PLANE => 0.01,
            _ => m.geom_rbound[g],
        };
        add(ld3(&d.geom_xpos, g), radius);
    }
    (low, high)
}
