//! Stage `acceleration`: the acceleration without constraints. Twin: `shaders/acceleration.wgsl`.

use crate::inertia::solve_m;
use crate::math::ld3;
use crate::spatial::{Vec6, add6, dot6, ld6, st6};
use crate::{Real, World};
use kiloworld_layout::Model;

/// Sum of the smooth forces and what it accelerates (`mj_fwdAcceleration`).
#[inline(always)]
pub fn acceleration<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for level in (0..m.size.nlevel).rev() {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_applied(m, d, m.level_body[k as usize] as usize);
        }
    }
    for i in 0..m.size.nv {
        dof_smooth(m, d, i);
    }
    d.qacc_smooth.copy_from_slice(&d.qfrc_smooth);
    solve_m(m, &d.qLD, &d.qLDiagInv, &mut d.qacc_smooth);
}

/// Applied force on a subtree about the centre of mass of its tree.
#[inline(always)]
fn body_applied<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let com = ld3(&d.subtree_com, m.body_rootid[b] as usize);
    // a row of xfrc_applied holds the force first
    let applied = ld6(&d.xfrc_applied, b);
    let mut force = Vec6 { r: applied.t + (ld3(&d.xipos, b) - com).cross(&applied.r), t: applied.r };
    if b > 0 {
        for k in 0..m.body_childnum[b] {
            let c = m.level_body[(m.body_childadr[b] + k) as usize] as usize;
            force = add6(force, ld6(&d.cfrc_applied, c));
        }
    }
    st6(&mut d.cfrc_applied, b, force);
}

/// Smooth force on a dof.
#[inline(always)]
fn dof_smooth<T: Real>(m: &Model<T>, d: &mut World<T>, i: usize) {
    let applied = dot6(ld6(&d.cdof, i), ld6(&d.cfrc_applied, m.dof_bodyid[i] as usize));
    d.qfrc_smooth[i] = (d.qfrc_passive[i] - d.qfrc_bias[i]) + (d.qfrc_applied[i] + applied) + d.qfrc_actuator[i];
}
