//! Stage `actuation`: activation rates and actuator forces. Twin: `shaders/actuation.wgsl`.

use crate::math::ld3;
use crate::transmission::actuator_dofs;
use crate::{Real, Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, bias, disable, dyn_type, gain, jnt, trn};

/// Actuator forces (`mj_fwdActuation`).
#[inline(always)]
pub fn actuation<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for a in 0..m.size.nu {
        actuator(m, d, a);
    }
    for i in 0..m.size.nv {
        d.qfrc_actuator[i] = T::zero();
    }
    for a in 0..m.size.nu {
        let (first, n) = actuator_dofs(m, a);
        for i in first..first + n {
            d.qfrc_actuator[i] += d.actuator_moment[a * m.size.nv + i] * d.actuator_force[a];
        }
    }
    for i in 0..m.size.nv {
        dof_actuation(m, d, i);
    }
}

/// The group of the actuator is switched off, or actuation as a whole is.
#[inline(always)]
pub fn actuator_disabled<T: Real>(m: &Model<T>, a: usize) -> bool {
    let group = m.actuator_group[a];
    m.opt.disableflags & disable::ACTUATION != 0
        || ((0..31).contains(&group) && m.opt.disableactuator & (1 << group) != 0)
}

/// Control of an actuator, clamped to its range.
#[inline(always)]
fn actuator_ctrl<T: Real>(m: &Model<T>, d: &World<T>, a: usize) -> T {
    let ctrl = d.ctrl[a];
    if m.actuator_ctrllimited[a] == 0 || m.opt.disableflags & disable::CLAMPCTRL != 0 {
        return ctrl;
    }
    ctrl.max(m.actuator_ctrlrange[2 * a]).min(m.actuator_ctrlrange[2 * a + 1])
}

/// Activation rate and force of an actuator.
#[inline(always)]
fn actuator<T: Real>(m: &Model<T>, d: &mut World<T>, a: usize) {
    let ctrl = actuator_ctrl(m, d, a);
    let adr = m.actuator_actadr[a];
    if adr >= 0 {
        let act = d.act[adr as usize];
        d.act_dot[adr as usize] = if m.opt.disableflags & disable::ACTUATION != 0 {
            T::zero()
        } else if m.actuator_dyntype[a] == dyn_type::INTEGRATOR {
            ctrl
        } else {
            (ctrl - act) / filter_tau(m, a)
        };
    }
    if actuator_disabled(m, a) {
        d.actuator_force[a] = T::zero();
        return;
    }
    let input = actuator_input(m, d, a);
    let mut force = actuator_gain(m, d, a) * input;
    if m.actuator_biastype[a] == bias::AFFINE {
        let prm = &m.actuator_biasprm[10 * a..10 * a + 3];
        force += prm[0] + prm[1] * d.actuator_length[a] + prm[2] * d.actuator_velocity[a];
    }
    force -= actuator_turns(m, d, a, input);
    if m.actuator_forcelimited[a] != 0 {
        force = force.max(m.actuator_forcerange[2 * a]).min(m.actuator_forcerange[2 * a + 1]);
    }
    d.actuator_force[a] = force;
}

/// What the gain multiplies: the control, the activation or, early, the next activation.
#[inline(always)]
fn actuator_input<T: Real>(m: &Model<T>, d: &World<T>, a: usize) -> T {
    let adr = m.actuator_actadr[a];
    if adr < 0 {
        actuator_ctrl(m, d, a)
    } else if m.actuator_actearly[a] != 0 {
        next_activation(m, a, d.act[adr as usize], d.act_dot[adr as usize])
    } else {
        d.act[adr as usize]
    }
}

/// Gain of an actuator.
#[inline(always)]
fn actuator_gain<T: Real>(m: &Model<T>, d: &World<T>, a: usize) -> T {
    let prm = &m.actuator_gainprm[10 * a..10 * a + 3];
    if m.actuator_gaintype[a] == gain::AFFINE {
        prm[0] + prm[1] * d.actuator_length[a] + prm[2] * d.actuator_velocity[a]
    } else {
        prm[0]
    }
}

/// A position servo of a ball joint takes the short way round: the force of the whole turns in its error, which it does not
/// apply. The ends of the way, half a turn times the length of `gear`, lead back.
#[inline(always)]
fn actuator_turns<T: Real>(m: &Model<T>, d: &World<T>, a: usize, input: T) -> T {
    let j = m.actuator_trnid[2 * a] as usize;
    if m.actuator_trntype[a] == trn::TENDON
        || m.jnt_type[j] != jnt::BALL
        || m.actuator_gaintype[a] != gain::FIXED
        || m.actuator_biastype[a] != bias::AFFINE
    {
        return T::zero();
    }
    let gear = ld3(&m.actuator_gear, 2 * a);
    let turn = T::r(core::f64::consts::TAU) * gear.dot(&gear).sqrt();
    let kp = m.actuator_gainprm[10 * a];
    let wraps = kp.same(-m.actuator_biasprm[10 * a + 1]) & turn.gt(T::r(MINVAL));
    let turns = (input - d.actuator_length[a]) / T::select(wraps, turn, T::one());
    // halves away from 0
    T::select(wraps, kp * (turn * turns.map(|x| Real::r(x.to_f64().round()))), T::zero())
}

/// Time constant of an actuator's filter.
#[inline(always)]
fn filter_tau<T: Real>(m: &Model<T>, a: usize) -> T {
    m.actuator_dynprm[10 * a].max(T::r(MINVAL))
}

/// An actuator's activation a step later: exact for `filterexact`, clamped to its range.
#[inline(always)]
pub fn next_activation<T: Real>(m: &Model<T>, a: usize, act: T, act_dot: T) -> T {
    let h = m.opt_timestep[0];
    let mut next = if m.actuator_dyntype[a] == dyn_type::FILTEREXACT {
        let tau = filter_tau(m, a);
        act + act_dot * tau * (T::one() - (-h / tau).exp())
    } else {
        act + act_dot * h
    };
    if m.actuator_actlimited[a] != 0 {
        next = next.max(m.actuator_actrange[2 * a]).min(m.actuator_actrange[2 * a + 1]);
    }
    next
}

/// Gravity compensation through the actuators, and the limits on the total force of a joint's actuators.
#[inline(always)]
fn dof_actuation<T: Real>(m: &Model<T>, d: &mut World<T>, i: usize) {
    if m.opt.disableflags & disable::ACTUATION != 0 {
        return;
    }
    let j = m.dof_jntid[i] as usize;
    if m.size.nu > 0 && m.jnt_actgravcomp[j] != 0 {
        d.qfrc_actuator[i] += d.qfrc_gravcomp[i];
    }
    if m.jnt_actfrclimited[j] != 0 && m.jnt_type[j] >= jnt::SLIDE {
        d.qfrc_actuator[i] = d.qfrc_actuator[i].max(m.jnt_actfrcrange[2 * j]).min(m.jnt_actfrcrange[2 * j + 1]);
    }
}

/// Derivative of an actuator's force by its velocity, for the implicit integrators; 0 where a limit on the force, the
/// actuator's or its joint's, is reached.
#[inline(always)]
pub fn actuator_gain_rate<T: Real>(m: &Model<T>, d: &World<T>, a: usize) -> T {
    let mut rate = T::zero();
    if m.actuator_gaintype[a] == gain::AFFINE {
        rate += m.actuator_gainprm[10 * a + 2] * actuator_input(m, d, a);
    }
    if m.actuator_biastype[a] == bias::AFFINE {
        rate += m.actuator_biasprm[10 * a + 2];
    }
    if m.actuator_forcelimited[a] != 0 {
        rate = inside(d.actuator_force[a], m.actuator_forcerange[2 * a], m.actuator_forcerange[2 * a + 1], rate);
    }
    let j = m.actuator_trnid[2 * a] as usize;
    if m.actuator_trntype[a] != trn::TENDON && m.jnt_actfrclimited[j] != 0 && m.jnt_type[j] >= jnt::SLIDE {
        let force = d.qfrc_actuator[m.jnt_dofadr[j] as usize];
        rate = inside(force, m.jnt_actfrcrange[2 * j], m.jnt_actfrcrange[2 * j + 1], rate);
    }
    rate
}

/// `y` where `x` lies inside the range, 0 on its ends and outside.
#[inline(always)]
fn inside<T: Real>(x: T, low: T, high: T, y: T) -> T {
    T::select(low.lt(x), T::select(x.lt(high), y, T::zero()), T::zero())
}
