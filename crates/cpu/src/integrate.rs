//! Stage `integrate`: the next state, and the check of what it writes. Twin: `shaders/integrate.wgsl`.
//!
//! The state at the start of the step is kept in `int_q*`, `int_act`; a world whose next state would not be finite goes
//! back to it and is frozen.

use crate::actuation::{actuator_disabled, next_activation};
use crate::implicit::implicit;
use crate::joints::{joint_advance, joint_rate};
use crate::rk4::rk4_stage;
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MAXVAL, bad, disable, integrator, status};

/// Advances a world (`mj_Euler`, `mj_implicit`); `sub` is the substage of `mj_RungeKutta`.
#[inline(always)]
pub fn integrate<T: Real>(m: &Model<T>, d: &mut World<T>, sub: u32) {
    if sub == 0 {
        check_input(d);
        save_state(d);
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
    let frozen = frozen(d);
    let bad = state_bad(d, !frozen);
    // frozen worlds too: by too many contacts or rows while the substages ran
    let stays = bad | frozen;
    if stays.any() {
        restore_state(d, stays);
    }
    count_steps(d, !stays);
    d.time[0] = T::select(stays, d.time[0], d.time[0] + m.opt_timestep[0]);
    for i in 0..m.size.nv {
        d.qacc_warmstart[i] = T::select(stays, d.qacc_warmstart[i], d.qacc[i]);
    }
}

/// Sets bits of the status of the worlds that the mask names.
// CPU only: a world has its own status word there
#[inline(always)]
pub fn set_status<T: Real>(word: &mut T::Int, mask: T::Mask, bits: i32) {
    for l in 0..T::LANES {
        if mask.get(l) {
            word.set(l, word.get(l) | bits);
        }
    }
}

/// The worlds that are frozen.
// CPU only: a world has its own status word there
#[inline(always)]
pub(crate) fn frozen<T: Real>(d: &World<T>) -> T::Mask {
    let mut flags = T::zero();
    for l in 0..T::LANES {
        if d.status[0].get(l) & status::FROZEN != 0 {
            flags.set_lane(l, Real::one());
        }
    }
    !flags.same(T::zero())
}

/// Counts a step of the worlds that the mask names.
// CPU only: a world has its own count there
#[inline(always)]
fn count_steps<T: Real>(d: &mut World<T>, moved: T::Mask) {
    for l in 0..T::LANES {
        let n = d.nstep[0].get(l);
        d.nstep[0].set(l, n + i32::from(moved.get(l)));
    }
}

/// Flags a world whose controls or applied forces are not finite.
#[inline(always)]
fn check_input<T: Real>(d: &mut World<T>) {
    let live = !frozen(d);
    for (bit, a) in [(bad::CTRL, &d.ctrl), (bad::QFRC_APPLIED, &d.qfrc_applied), (bad::XFRC_APPLIED, &d.xfrc_applied)] {
        let found = live & bad_numbers::<T>(a, f64::MAX);
        set_status::<T>(&mut d.bad_fields[0], found, bit);
        set_status::<T>(&mut d.status[0], found, status::BAD_CTRL);
    }
}

/// The worlds in which a number is not one, infinite, or beyond ±`limit`.
// CPU only: written out in the kernel
#[inline(always)]
fn bad_numbers<T: Real>(a: &[T], limit: f64) -> T::Mask {
    let limit = T::r(limit).min(T::r(if T::TWO_FLOAT { f64::from(f32::MAX) } else { f64::MAX }));
    let mut good = T::Mask::splat(true);
    for x in a {
        good = good & x.abs().le(limit);
    }
    !good
}

/// Keeps the state at the start of the step.
#[inline(always)]
fn save_state<T: Real>(d: &mut World<T>) {
    d.int_qpos.copy_from_slice(&d.qpos);
    d.int_qpos_lo.copy_from_slice(&d.qpos_lo);
    d.int_qvel.copy_from_slice(&d.qvel);
    d.int_act.copy_from_slice(&d.act);
}

/// Puts the worlds of the mask back to the state at the start of the step.
#[inline(always)]
fn restore_state<T: Real>(d: &mut World<T>, mask: T::Mask) {
    let back = |now: &mut [T], before: &[T]| {
        now.iter_mut().zip(before).for_each(|(now, &before)| *now = T::select(mask, before, *now));
    };
    back(&mut d.qpos, &d.int_qpos);
    back(&mut d.qpos_lo, &d.int_qpos_lo);
    back(&mut d.qvel, &d.int_qvel);
    back(&mut d.act, &d.int_act);
}

/// Rates of a single-step integrator: acceleration, the velocity after it, activation rates.
#[inline(always)]
fn step_rates<T: Real>(m: &Model<T>, d: &mut World<T>) {
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
#[inline(always)]
fn advance<T: Real>(m: &Model<T>, d: &mut World<T>) {
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
#[inline(always)]
fn actuator_advance<T: Real>(m: &Model<T>, d: &mut World<T>, a: usize) {
    if m.actuator_actadr[a] < 0 || m.opt.disableflags & disable::ACTUATION != 0 {
        return;
    }
    let k = m.actuator_actadr[a] as usize;
    let rate = if actuator_disabled(m, a) { T::zero() } else { d.int_dact[k] };
    d.act[k] = next_activation(m, a, d.int_act[k], rate);
}

/// Flags a world whose state or acceleration is not finite, or larger than anything sane (`mj_checkPos`, `mj_checkVel`,
/// `mj_checkAcc`); the worlds that it flags.
#[inline(always)]
fn state_bad<T: Real>(d: &mut World<T>, live: T::Mask) -> T::Mask {
    let all = live
        & (bad_numbers::<T>(&d.qpos, MAXVAL)
            | bad_numbers::<T>(&d.qvel, MAXVAL)
            | bad_numbers::<T>(&d.qacc, MAXVAL)
            // MuJoCo has no bound on activations
            | bad_numbers::<T>(&d.act, f64::MAX));
    if all.any() {
        let mut infinite = T::Mask::splat(false);
        for (bit, a, most) in [
            (bad::QPOS, &d.qpos, MAXVAL),
            (bad::QVEL, &d.qvel, MAXVAL),
            (bad::QACC, &d.qacc, MAXVAL),
            (bad::ACT, &d.act, f64::MAX),
        ] {
            infinite = infinite | bad_numbers::<T>(a, f64::MAX);
            set_status::<T>(&mut d.bad_fields[0], all & bad_numbers::<T>(a, most), bit);
        }
        set_status::<T>(&mut d.status[0], all & infinite, status::NONFINITE);
        set_status::<T>(&mut d.status[0], all & !infinite, status::DIVERGED);
    }
    all
}
