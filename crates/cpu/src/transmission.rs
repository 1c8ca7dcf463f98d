//! Stage `transmission`: fixed tendons, actuator lengths and moment arms. Twin: `shaders/transmission.wgsl`.

use crate::kinematics::qpos_quat;
use crate::math::{Vec3, quat_conj, quat_normalize, quat_rotate, quat_to_vel};
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{jnt, trn};

/// Lengths and Jacobians of tendons, then of actuators (`mj_tendon`, `mj_transmission`).
#[inline(always)]
pub fn transmission<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for t in 0..m.size.ntendon {
        tendon_length(m, d, t);
    }
    for a in 0..m.size.nu {
        actuator_length(m, d, a);
    }
}

/// Length of a fixed tendon: a linear combination of joint positions.
#[inline(always)]
fn tendon_length<T: Real>(m: &Model<T>, d: &mut World<T>, t: usize) {
    let nv = m.size.nv;
    for i in 0..nv {
        d.ten_J[t * nv + i] = T::zero();
    }
    let mut length = T::zero();
    for k in 0..m.tendon_num[t] {
        let wrap = (m.tendon_adr[t] + k) as usize;
        let j = m.wrap_objid[wrap] as usize;
        length += m.wrap_prm[wrap] * d.qpos[m.jnt_qposadr[j] as usize];
        d.ten_J[t * nv + m.jnt_dofadr[j] as usize] += m.wrap_prm[wrap];
    }
    d.ten_length[t] = length;
}

/// Length of an actuator and its moment arms.
#[inline(always)]
fn actuator_length<T: Real>(m: &Model<T>, d: &mut World<T>, a: usize) {
    let nv = m.size.nv;
    let id = m.actuator_trnid[2 * a] as usize;
    let gear = &m.actuator_gear[6 * a..6 * a + 6];
    let moment = &mut d.actuator_moment[a * nv..(a + 1) * nv];
    if m.actuator_trntype[a] == trn::TENDON {
        for i in 0..nv {
            moment[i] = d.ten_J[id * nv + i] * gear[0];
        }
        d.actuator_length[a] = d.ten_length[id] * gear[0];
        return;
    }
    for i in 0..nv {
        moment[i] = T::zero();
    }
    let i = m.jnt_dofadr[id] as usize;
    let q = m.jnt_qposadr[id] as usize;
    let in_parent = m.actuator_trntype[a] == trn::JOINTINPARENT;
    if m.jnt_type[id] == jnt::FREE {
        let mut turn = Vec3::new(gear[3], gear[4], gear[5]);
        if in_parent {
            turn = quat_rotate(quat_conj(quat_normalize(qpos_quat(&d.qpos, q + 3))), turn);
        }
        for k in 0..3 {
            moment[i + k] = gear[k];
            moment[i + 3 + k] = turn[k];
        }
        d.actuator_length[a] = T::zero();
    } else if m.jnt_type[id] == jnt::BALL {
        let quat = quat_normalize(qpos_quat(&d.qpos, q));
        let mut turn = Vec3::new(gear[0], gear[1], gear[2]);
        if in_parent {
            turn = quat_rotate(quat_conj(quat), turn);
        }
        for k in 0..3 {
            moment[i + k] = turn[k];
        }
        d.actuator_length[a] = quat_to_vel(quat).dot(&turn);
    } else {
        moment[i] = gear[0];
        d.actuator_length[a] = d.qpos[q] * gear[0];
    }
}

/// The dofs that an actuator can move: first and number.
#[inline(always)]
pub fn actuator_dofs<T: Real>(m: &Model<T>, a: usize) -> (usize, usize) {
    let id = m.actuator_trnid[2 * a] as usize;
    if m.actuator_trntype[a] == trn::TENDON {
        return (0, m.size.nv);
    }
    let n = match m.jnt_type[id] {
        jnt::FREE => 6,
        jnt::BALL => 3,
        _ => 1,
    };
    (m.jnt_dofadr[id] as usize, n)
}
