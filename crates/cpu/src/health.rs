//! Stage `health`: what is wrong with a world, though it moves. Twin: `shaders/health.wgsl`.
//!
//! Each check keeps the largest that it has seen since reset, what that was and when, and counts the steps beyond its limit:
//! nothing is lost between two looks. It runs once a step, when all forces of the state at its start are known.

use crate::constraint_row::{id, slot_mask, where_on};
use crate::integrate::frozen;
use crate::math::ld3;
use crate::rows::dot;
use crate::{Ints, Mask, Real, Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, disable, eq, health as check, memory, solver};

/// What a check measures: the largest of a step, and up to two ids of what it was, -1: none.
type Worst<T> = [T; 3];

/// Seconds after which what energy and speed were known is half forgotten, and more.
const FADE: f64 = 1.0;
/// The part of all energy that rounding may make.
const ENERGY_NOISE: f64 = 1e-4;
/// Steps from one look at the energy to the next.
const ENERGY_EVERY: i32 = 4;
/// A speed [m/s] whose energy is none.
const STILL: f64 = 1e-2;

/// Looks at the worlds that are not frozen.
#[inline(always)]
pub fn health<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let live = !frozen(d);
    equality_errors(m, d, live);
    penetration(m, d, live);
    residual(m, d, live);
    energy(m, d, live);
}

/// The worse of two, the first where they are alike.
#[inline(always)]
fn worse<T: Real>(a: Worst<T>, b: Worst<T>) -> Worst<T> {
    let over = b[0].gt(a[0]);
    [0, 1, 2].map(|k| T::select(over, b[k], a[k]))
}

/// Keeps what a check found where it is more than ever, and counts it where it is beyond the limit.
#[inline(always)]
fn note<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask, c: usize, found: Worst<T>) {
    let over = live & found[0].gt(m.health_limit[c]);
    let most = live & found[0].gt(d.health_size[c]);
    if !(over | most).any() {
        return;
    }
    d.health_size[c] = T::select(most, found[0], d.health_size[c]);
    d.health_time[c] = T::select(most, d.time[0], d.health_time[c]);
    for l in 0..T::LANES {
        if most.get(l) {
            d.health_id[2 * c].set(l, found[1].lane(l).to_f64() as i32);
            d.health_id[2 * c + 1].set(l, found[2].lane(l).to_f64() as i32);
        }
        let n = d.health_count[c].get(l);
        d.health_count[c].set(l, n + i32::from(over.get(l)));
    }
}

/// Length of three rows' residual, from row `r`.
#[inline(always)]
fn rows_length<T: Real>(d: &World<T>, r: usize) -> T {
    let (x, y, z) = (d.efc_pos[r], d.efc_pos[r + 1], d.efc_pos[r + 2]);
    (x * x + y * y + z * z).sqrt()
}

/// How far the connects and welds that are on are apart: points [m], frames (2 sin of half the angle).
#[inline(always)]
fn equality_errors<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    let none = [T::zero(), -T::one(), -T::one()];
    let (mut apart, mut turned) = (none, none);
    for e in 0..m.size.neq {
        if d.eq_efc_address[e] < 0 || (m.eq_type[e] != eq::CONNECT && m.eq_type[e] != eq::WELD) {
            continue;
        }
        let r = id(d.eq_efc_address[e]);
        let which = T::r(e as f64);
        apart = worse(apart, [rows_length(d, r), which, -T::one()]);
        if m.eq_type[e] == eq::WELD {
            // the rows hold torquescale times the sine of half the angle
            let scale = m.eq_data[12 * e + 10].max(T::r(MINVAL));
            turned = worse(turned, [T::r(2.0) * rows_length(d, r + 3) / scale, which, -T::one()]);
        }
    }
    note(m, d, live, check::POSITION as usize, apart);
    note(m, d, live, check::ANGLE as usize, turned);
}

/// The speed at which contact `c` opens [m/s]; its first row is `r`.
#[inline(always)]
fn opening_speed<T: Real>(d: &World<T>, c: usize, r: usize) -> T {
    if d.efc_type[r] == cnstr::CONTACT_PYRAMIDAL && d.contact_dim[c] > 1 {
        // an edge and the one across from it
        (d.efc_vel[r] + d.efc_vel[r + 1]) * T::r(0.5)
    } else {
        d.efc_vel[r]
    }
}

/// The depth [m] at which the row's spring holds the force of contact `c` at rest; its first row is `r`.
#[inline(always)]
fn loaded_depth<T: Real>(d: &World<T>, c: usize, r: usize) -> T {
    let n = if d.efc_type[r] == cnstr::CONTACT_PYRAMIDAL { (2 * d.contact_dim[c] - 2).max(1) } else { 1 };
    let mut push = T::zero();
    for k in r..r + id(n) {
        push = push.max(d.efc_force[k] * d.efc_R[k]);
    }
    push / (d.efc_KBIP[4 * r] * d.efc_KBIP[4 * r + 2]).max(T::r(MINVAL))
}

/// How much deeper contacts are than explained: by the force that they carry, and by the speed at which they were hit, which
/// fades as fast as their springs come back (a spring of stiffness K stops a speed v within v / √K).
#[inline(always)]
fn penetration<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    let mut closing = T::zero();
    // how fast the slowest comes back [1/s]
    let mut back = T::r(1e30);
    for c in 0..id(d.slot_ncon[0]) {
        if d.contact_efc_address[c] < 0 {
            continue;
        }
        let r = id(d.contact_efc_address[c]);
        let on = slot_mask::<T>(&d.efc_on[r]);
        closing = closing.max(where_on(on, -opening_speed(d, c, r)));
        let rate = d.efc_KBIP[4 * r] / d.efc_KBIP[4 * r + 1].max(T::r(MINVAL));
        back = T::select(on, back.min(rate), back);
    }
    let kept = d.health_memory[memory::APPROACH as usize] * (T::one() - m.opt_timestep[0] * back).max(T::zero());
    let approach = kept.max(closing);
    let mut worst = [T::zero(), -T::one(), -T::one()];
    for c in 0..id(d.slot_ncon[0]) {
        if d.contact_efc_address[c] < 0 {
            continue;
        }
        let r = id(d.contact_efc_address[c]);
        let on = slot_mask::<T>(&d.efc_on[r]);
        let hit = approach / d.efc_KBIP[4 * r].max(T::r(MINVAL)).sqrt();
        let depth = d.efc_margin[r] - d.efc_pos[r];
        let beyond = where_on(on, depth - loaded_depth(d, c, r) - hit);
        let geoms = [T::r(f64::from(d.contact_geom[2 * c])), T::r(f64::from(d.contact_geom[2 * c + 1]))];
        worst = worse(worst, [beyond, geoms[0], geoms[1]]);
    }
    let at = memory::APPROACH as usize;
    d.health_memory[at] = T::select(live, approach, d.health_memory[at]);
    note(m, d, live, check::PENETRATION as usize, worst);
}

/// What Newton's method left of its gradient, relative to the forces, at least to those of 1 m/s². PGS has none.
#[inline(always)]
fn residual<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    if m.opt.solver == solver::PGS {
        return;
    }
    let left = dot(&d.solver_grad, &d.solver_grad);
    let forces = dot(&d.solver_Ma, &d.solver_Ma) + dot(&d.qfrc_smooth, &d.qfrc_smooth);
    let least = m.stat_meaninertia[0] * T::r(m.size.nv as f64);
    let ratio = (left / (forces + least * least).max(T::r(MINVAL))).sqrt();
    note(m, d, live, check::RESIDUAL as usize, [ratio, -T::one(), -T::one()]);
}

/// Kinetic energy of dof `i` with those before it [J].
#[inline(always)]
fn kinetic<T: Real>(m: &Model<T>, d: &World<T>, i: usize) -> T {
    let first = id(m.M_rowadr[i]);
    let last = first + id(m.M_rownnz[i]) - 1;
    let mut sum = T::zero();
    for k in first..last {
        sum += d.M[k] * d.qvel[id(m.M_colind[k])];
    }
    d.qvel[i] * (sum + d.M[last] * d.qvel[i] * T::r(0.5))
}

/// The worlds whose energy is looked at in this step: every few steps, and where nothing is known yet.
#[inline(always)]
fn energy_due<T: Real>(d: &World<T>) -> T::Mask {
    let mut due = d.health_memory[memory::ARMED as usize];
    for l in 0..T::LANES {
        if d.nstep[0].get(l) % ENERGY_EVERY == 0 {
            due.set_lane(l, Real::zero());
        }
    }
    due.same(T::zero())
}

/// Energy from nowhere: what kinetic and potential energy gained beyond the work of actuators, springs and applied forces, over
/// about a second, relative to the kinetic energy that is explained. Constraints do no such work, but for what they took before.
#[inline(always)]
fn energy<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    // what moves mocap bodies is not known
    if m.size.nmocap > 0 {
        return;
    }
    let h = m.opt_timestep[0];
    let half = T::r(0.5) * h;
    // work of a step: of what acts as it likes, by the mean velocity; of what follows the motion, half by this state's power and
    // half by the next one's, so that energy which too long a step makes of it shows
    let (mut given, mut followed) = (T::zero(), T::zero());
    for i in 0..m.size.nv {
        // what takes energy may take less than it seems, so it does not count
        let force = d.qfrc_smooth[i] + d.qfrc_bias[i] - d.qfrc_passive[i];
        given += (force * (d.qvel[i] + half * d.qacc[i])).max(T::zero());
        followed += (d.qfrc_passive[i] * d.qvel[i]).max(T::zero());
    }
    let at = memory::WORK as usize;
    let before = d.health_memory[at] + half * followed;
    let due = energy_due(d) & live;
    if due.any() {
        let (mut moving, mut lifted, mut size) = (T::zero(), T::zero(), T::zero());
        for i in 0..m.size.nv {
            moving += kinetic(m, d, i);
        }
        if m.opt.disableflags & disable::GRAVITY == 0 {
            for b in 1..m.size.nbody {
                let weight = -(m.body_mass[b] * ld3(&m.opt_gravity, 0).dot(&ld3(&d.xipos, b)));
                lifted += weight;
                size += weight.abs();
            }
        }
        energy_note(m, d, due, [moving, before], [lifted, size]);
    }
    let work = T::select(due, T::zero(), before) + half * followed + h * given;
    d.health_memory[at] = T::select(live, work, d.health_memory[at]);
}

/// Brings the balance up to date: kinetic energy and the work since the last look, potential energy and its size.
#[inline(always)]
fn energy_note<T: Real>(m: &Model<T>, d: &mut World<T>, due: T::Mask, motion: [T; 2], potential: [T; 2]) {
    let [moving, work] = motion;
    let [lifted, size] = potential;
    let now = moving + lifted;
    let before = &d.health_memory;
    let armed = before[memory::ARMED as usize].gt(T::zero());
    let gain = now - before[memory::ENERGY as usize] - work;
    let fade = T::one() - (m.opt_timestep[0] * T::r(f64::from(ENERGY_EVERY) / FADE)).min(T::one());
    let surplus = T::select(armed, (before[memory::SURPLUS as usize] + gain).max(T::zero()) * fade, T::zero());
    let explained = (before[memory::KINETIC as usize] * fade).max(moving - surplus);
    for (at, x) in
        [(memory::ENERGY, now), (memory::SURPLUS, surplus), (memory::KINETIC, explained), (memory::ARMED, T::one())]
    {
        d.health_memory[at as usize] = T::select(due, x, d.health_memory[at as usize]);
    }
    let all = moving + size;
    let still = m.stat_meaninertia[0] * T::r(m.size.nv as f64) * T::r(0.5 * STILL * STILL);
    let ratio = surplus / (explained + all * T::r(ENERGY_NOISE) + still).max(T::r(MINVAL));
    note(m, d, due, check::ENERGY as usize, [ratio, -T::one(), -T::one()]);
}
