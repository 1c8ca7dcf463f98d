//! Stage `bias`: Coriolis, centrifugal and gravitational forces. Twin: `shaders/bias.wgsl`.

use crate::math::ld3;
use crate::spatial::{add6, cross_force, dot6, inert_mul, ld6, ld10, scale6, st6, zero6};
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::disable;

/// Forces that keep `qacc` at zero (`mj_rne` without acceleration).
#[inline(always)]
pub fn bias<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for level in 0..m.size.nlevel {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_acceleration(m, d, m.level_body[k as usize] as usize);
        }
    }
    for level in (0..m.size.nlevel).rev() {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_force(m, d, m.level_body[k as usize] as usize);
        }
    }
    for i in 0..m.size.nv {
        d.qfrc_bias[i] = dot6(ld6(&d.cdof, i), ld6(&d.cfrc_int, m.dof_bodyid[i] as usize));
    }
}

/// Acceleration of a body at zero `qacc`; gravity is an upward acceleration of the world.
#[inline(always)]
fn body_acceleration<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let mut acc = zero6();
    if b > 0 {
        acc = ld6(&d.cacc, m.body_parentid[b] as usize);
    } else if m.opt.disableflags & disable::GRAVITY == 0 {
        acc.t = -ld3(&m.opt_gravity, 0);
    }
    for k in 0..m.body_dofnum[b] {
        let i = (m.body_dofadr[b] + k) as usize;
        acc = add6(acc, scale6(ld6(&d.cdof_dot, i), d.qvel[i]));
    }
    st6(&mut d.cacc, b, acc);
}

/// Force that moves a subtree: the body's own and the children's.
#[inline(always)]
fn body_force<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let inert = ld10(&d.cinert, b);
    let vel = ld6(&d.cvel, b);
    let mut force = add6(inert_mul(inert, ld6(&d.cacc, b)), cross_force(vel, inert_mul(inert, vel)));
    for k in 0..m.body_childnum[b] {
        let c = m.level_body[(m.body_childadr[b] + k) as usize] as usize;
        force = add6(force, ld6(&d.cfrc_int, c));
    }
    st6(&mut d.cfrc_int, b, force);
}
