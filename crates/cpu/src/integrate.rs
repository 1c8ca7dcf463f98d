//! Stage `integrate`: the next state, and the check of what it writes. Twin: `shaders/integrate.wgsl`.
//!
//! The state at the start of the step is kept in `int_q*`, `int_act`; a world whose next state would not be finite goes
//! back to it and is frozen.

use crate::actuation::{actuator_disabled, next_activation};
use crate::implicit::implicit;
use crate::joints::{joint_advance, joint_rate};
use crate::rk4::rk4_stage;
use crate::{Real, Scalar};
use kiloworld_layout::consts::{MAXVAL, disable, integrator, status};
use kiloworld_layout::{Data, Model};

/// Advances a world (`mj_Euler`, `mj_implicit`); `sub` is the substage of `mj_RungeKutta`.
pub fn integrate<T: Scalar>(m: &Model<T>, d: &mut Data<T>, sub: u32) {
    if sub == 0 {
        check_input(d);
        save_state(d);
    }
    if d.status[0] & status::FROZEN != 0 {
        // frozen while the substages ran: by too many contacts or rows
        restore_state(d);
        return;
    }
    if m.opt.integrator == integrator::RK4 {
        rk4_stage(m, d, sub);
        if sub < 3 {
            return;
        }
    } else {
        step_rates(m, d);
    }
    advance(m, d);
    if state_bad(d) {
        restore_state(d);
        d.status[0] |= status::NONFINITE;
    } else {
        d.time[0] += m.opt_timestep[0];
        d.qacc_warmstart.copy_from_slice(&d.qacc);
    }
}

/// Flags a world whose controls or applied forces are not finite.
fn check_input<T: Scalar>(d: &mut Data<T>) {
    let finite = |a: &[T]| a.iter().all(|x| x.is_finite());
    if !(finite(&d.ctrl) && finite(&d.qfrc_applied) && finite(&d.xfrc_applied)) {
        d.status[0] |= status::BAD_CTRL;
    }
}

/// Keeps the state at the start of the step.
fn save_state<T: Real>(d: &mut Data<T>) {
    d.int_qpos.copy_from_slice(&d.qpos);
    d.int_qpos_lo.copy_from_slice(&d.qpos_lo);
    d.int_qvel.copy_from_slice(&d.qvel);
    d.int_act.copy_from_slice(&d.act);
}

/// Goes back to the state at the start of the step.
fn restore_state<T: Real>(d: &mut Data<T>) {
    d.qpos.copy_from_slice(&d.int_qpos);
    d.qpos_lo.copy_from_slice(&d.int_qpos_lo);
    d.qvel.copy_from_slice(&d.int_qvel);
    d.act.copy_from_slice(&d.int_act);
}

/// Rates of a single-step integrator: acceleration, the velocity after it, activation rates.
fn step_rates<T: Real>(m: &Model<T>, d: &mut Data<T>) {
    let flags = m.opt.disableflags;
    let undamped = m.opt.integrator == integrator::EULER
        && (flags & (disable::EULERDAMP | disable::DAMPER) != 0 || m.dof_damping.iter().all(|&b| b == T::zero()));
    if undamped {
        d.int_dacc.copy_from_slice(&d.qacc);
    } else {
        implicit(m, d);
    }
    for i in 0..m.size.nv {
        d.int_dvel[i] = d.int_qvel[i] + m.opt_timestep[0] * d.int_dacc[i];
    }
    d.int_dact.copy_from_slice(&d.act_dot);
}

/// The state after one step at the rates `int_d*` (`mj_advance`).
fn advance<T: Real>(m: &Model<T>, d: &mut Data<T>) {
    let h = m.opt_timestep[0];
    for i in 0..m.size.nv {
        d.qvel[i] = d.int_qvel[i] + h * d.int_dacc[i];
    }
    for j in 0..m.size.njnt {
        joint_advance(m, d, j, joint_rate(m, &d.int_dvel, j), h);
    }
    for a in 0..m.size.nu {
        actuator_advance(m, d, a);
    }
}

/// Activation of an actuator after the step.
fn actuator_advance<T: Real>(m: &Model<T>, d: &mut Data<T>, a: usize) {
    if m.actuator_actadr[a] < 0 || m.opt.disableflags & disable::ACTUATION != 0 {
        return;
    }
    let k = m.actuator_actadr[a] as usize;
    let rate = if actuator_disabled(m, a) { T::zero() } else { d.int_dact[k] };
    d.act[k] = next_activation(m, a, d.int_act[k], rate);
}

/// The state or the acceleration is not finite, or larger than anything sane (`mj_checkPos`, `mj_checkVel`, `mj_checkAcc`).
fn state_bad<T: Scalar>(d: &Data<T>) -> bool {
    let sane = |a: &[T]| a.iter().all(|x| x.abs() <= T::r(MAXVAL));
    !(sane(&d.qpos) && sane(&d.qvel) && sane(&d.qacc) && sane(&d.act))
}
