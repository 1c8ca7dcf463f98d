//! Stage `passive`: springs, dampers, gravity compensation. Twin: `shaders/passive.wgsl`.

use crate::kinematics::qpos_quat;
use crate::math::{Vec3, ld3, quat_conj, quat_mul, quat_normalize, quat_to_vel};
use crate::spatial::{Vec6, dot6, ld6};
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{disable, jnt};

/// Passive forces (`mj_passive`). With springs and dampers both disabled gravity compensation is off too, as in MuJoCo.
#[inline(always)]
pub fn passive<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for j in 0..m.size.njnt {
        joint_spring(m, d, j);
    }
    for i in 0..m.size.nv {
        dof_passive(m, d, i);
    }
}

/// Spring force of a joint on its dofs.
#[inline(always)]
fn joint_spring<T: Real>(m: &Model<T>, d: &mut World<T>, j: usize) {
    let mut i = m.jnt_dofadr[j] as usize;
    let mut q = m.jnt_qposadr[j] as usize;
    let stiffness = if m.opt.disableflags & disable::SPRING == 0 { m.jnt_stiffness[j] } else { T::zero() };
    if m.jnt_type[j] != jnt::BALL {
        let n = if m.jnt_type[j] == jnt::FREE { 3 } else { 1 };
        for k in 0..n {
            d.qfrc_spring[i + k] = -stiffness * ((d.qpos[q + k] - m.qpos_spring[q + k]) + d.qpos_lo[q + k]);
        }
        i += n;
        q += n;
    }
    if m.jnt_type[j] == jnt::FREE || m.jnt_type[j] == jnt::BALL {
        let rest = quat_conj(qpos_quat(&m.qpos_spring, q));
        let turn = quat_to_vel(quat_mul(rest, quat_normalize(qpos_quat(&d.qpos, q))));
        for k in 0..3 {
            d.qfrc_spring[i + k] = -stiffness * turn[k];
        }
    }
}

/// Passive forces of a dof: tendon springs on top of the joint's, dampers, gravity compensation, the total.
#[inline(always)]
fn dof_passive<T: Real>(m: &Model<T>, d: &mut World<T>, i: usize) {
    let spring_on = m.opt.disableflags & disable::SPRING == 0;
    let damper_on = m.opt.disableflags & disable::DAMPER == 0;
    let mut damper = if damper_on { -m.dof_damping[i] * d.qvel[i] } else { T::zero() };
    for t in 0..m.size.ntendon {
        let arm = d.ten_J[t * m.size.nv + i];
        if spring_on {
            let force = arm * tendon_spring(m, d, t);
            d.qfrc_spring[i] += force;
        }
        if damper_on {
            damper -= arm * m.tendon_damping[t] * d.ten_velocity[t];
        }
    }
    d.qfrc_damper[i] = damper;
    let gravcomp_on = m.opt.disableflags & disable::GRAVITY == 0 && (spring_on || damper_on);
    d.qfrc_gravcomp[i] = if gravcomp_on && m.size.ngravcomp > 0 { dof_gravcomp(m, d, i) } else { T::zero() };
    d.qfrc_passive[i] = d.qfrc_spring[i] + damper;
    if m.jnt_actgravcomp[m.dof_jntid[i] as usize] == 0 {
        d.qfrc_passive[i] += d.qfrc_gravcomp[i];
    }
}

/// Force of a tendon's spring, which rests in a range of lengths.
#[inline(always)]
fn tendon_spring<T: Real>(m: &Model<T>, d: &World<T>, t: usize) -> T {
    let short = (m.tendon_lengthspring[2 * t] - d.ten_length[t]).max(T::zero());
    let long = (d.ten_length[t] - m.tendon_lengthspring[2 * t + 1]).max(T::zero());
    m.tendon_stiffness[t] * (short - long)
}

/// Force on a dof of what compensates gravity on the bodies below.
#[inline(always)]
fn dof_gravcomp<T: Real>(m: &Model<T>, d: &World<T>, i: usize) -> T {
    let top = m.dof_bodyid[i] as usize;
    let com = ld3(&d.subtree_com, m.body_rootid[top] as usize);
    let up: Vec3<T> = -ld3(&m.opt_gravity, 0);
    let axis = ld6(&d.cdof, i);
    let mut sum = T::zero();
    for b in top..top + m.body_subtreenum[top] as usize {
        let force = up * (m.body_mass[b] * m.body_gravcomp[b]);
        sum += dot6(axis, Vec6 { r: (ld3(&d.xipos, b) - com).cross(&force), t: force });
    }
    sum
}
