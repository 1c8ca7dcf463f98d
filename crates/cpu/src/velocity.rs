//! Stage `velocity`: body velocities, rates of the motion axes, tendon and actuator velocities. Twin: `shaders/velocity.wgsl`.

use crate::spatial::{add6, cross_motion, ld6, scale6, st6, zero6};
use crate::transmission::actuator_dofs;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::jnt;

/// What follows from `qvel` (`mj_fwdVelocity`'s first part, `mj_comVel`).
#[inline(always)]
pub fn velocity<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for level in 0..m.size.nlevel {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_velocity(m, d, m.level_body[k as usize] as usize);
        }
    }
    for t in 0..m.size.ntendon {
        tendon_velocity(m, d, t);
    }
    for a in 0..m.size.nu {
        actuator_velocity(m, d, a);
    }
}

/// Velocity of a body from its parent's, and the rates of its dofs' axes.
#[inline(always)]
fn body_velocity<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let mut vel = if b == 0 { zero6() } else { ld6(&d.cvel, m.body_parentid[b] as usize) };
    for k in 0..m.body_jntnum[b] {
        let j = (m.body_jntadr[b] + k) as usize;
        let mut i = m.jnt_dofadr[j] as usize;
        if m.jnt_type[j] == jnt::FREE {
            // axes fixed in the world
            for _ in 0..3 {
                st6(&mut d.cdof_dot, i, zero6());
                vel = add6(vel, scale6(ld6(&d.cdof, i), d.qvel[i]));
                i += 1;
            }
        }
        let turns = if m.jnt_type[j] == jnt::FREE || m.jnt_type[j] == jnt::BALL { 3 } else { 1 };
        let carried = vel;
        for _ in 0..turns {
            let axis = ld6(&d.cdof, i);
            st6(&mut d.cdof_dot, i, cross_motion(carried, axis));
            vel = add6(vel, scale6(axis, d.qvel[i]));
            i += 1;
        }
    }
    st6(&mut d.cvel, b, vel);
}

/// Rate of a tendon's length.
#[inline(always)]
fn tendon_velocity<T: Real>(m: &Model<T>, d: &mut World<T>, t: usize) {
    let mut vel = T::zero();
    for k in 0..m.tendon_num[t] {
        let wrap = (m.tendon_adr[t] + k) as usize;
        vel += m.wrap_prm[wrap] * d.qvel[m.jnt_dofadr[m.wrap_objid[wrap] as usize] as usize];
    }
    d.ten_velocity[t] = vel;
}

/// Rate of an actuator's length.
#[inline(always)]
fn actuator_velocity<T: Real>(m: &Model<T>, d: &mut World<T>, a: usize) {
    let (first, n) = actuator_dofs(m, a);
    let mut vel = T::zero();
    for i in first..first + n {
        vel += d.actuator_moment[a * m.size.nv + i] * d.qvel[i];
    }
    d.actuator_velocity[a] = vel;
}
