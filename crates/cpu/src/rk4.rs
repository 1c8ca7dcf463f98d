//! Substages of the Runge-Kutta step, for `integrate`. Twin: `shaders/rk4.wgsl`.
//!
//! Orientations are moved in the chart q = q0 exp(u) around the start (Munthe-Kaas): what is weighted and summed is the rate
//! of u, not the angular velocity. That keeps fourth order on ball and free joints.

use crate::joints::{joint_advance, joint_rate};
use crate::math::Vec3;
use crate::spatial::Vec6;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::jnt;

/// Weights of the four stages.
#[inline(always)]
fn rk4_weight<T: Real>(sub: u32) -> T {
    T::r(if sub == 0 || sub == 3 { 1.0 / 6.0 } else { 1.0 / 3.0 })
}

/// How far into the step the stage after `sub` lies.
#[inline(always)]
fn rk4_node<T: Real>(sub: u32) -> T {
    T::r(if sub == 2 { 1.0 } else { 0.5 })
}

/// Takes in the rates of substage `sub`; unless it is the last, sets the state where the next one is evaluated.
#[inline(always)]
pub fn rk4_stage<T: Real>(m: &Model<T>, d: &mut World<T>, sub: u32) {
    let weight: T = rk4_weight(sub);
    for j in 0..m.size.njnt {
        rk4_joint(m, d, j, sub);
    }
    for i in 0..m.size.nv {
        let before = if sub == 0 { T::zero() } else { d.int_dacc[i] };
        d.int_dacc[i] = before + weight * d.qacc[i];
    }
    for k in 0..m.size.na {
        let before = if sub == 0 { T::zero() } else { d.int_dact[k] };
        d.int_dact[k] = before + weight * d.act_dot[k];
    }
    if sub == 3 {
        return;
    }
    let h = m.opt_timestep[0] * rk4_node(sub);
    for i in 0..m.size.nv {
        d.qvel[i] = d.int_qvel[i] + h * d.qacc[i];
    }
    for k in 0..m.size.na {
        d.act[k] = d.int_act[k] + h * d.act_dot[k];
    }
}

/// A joint's rates in the chart, and its coordinates where the next stage is evaluated.
#[inline(always)]
fn rk4_joint<T: Real>(m: &Model<T>, d: &mut World<T>, j: usize, sub: u32) {
    let mut rate = joint_rate(m, &d.qvel, j);
    if sub > 0 {
        let u = joint_rate(m, &d.int_uvel, j).r * (m.opt_timestep[0] * rk4_node(sub - 1));
        rate.r = chart_rate(u, rate.r);
    }
    rk4_sum(m, d, j, rate, sub);
    if sub < 3 {
        joint_advance(m, d, j, rate, m.opt_timestep[0] * rk4_node(sub));
    }
}

/// Keeps a joint's rate of this stage and adds it to the weighted sum.
#[inline(always)]
fn rk4_sum<T: Real>(m: &Model<T>, d: &mut World<T>, j: usize, rate: Vec6<T>, sub: u32) {
    let weight: T = rk4_weight(sub);
    let i = m.jnt_dofadr[j] as usize;
    let (nt, nr) = match m.jnt_type[j] {
        jnt::FREE => (3, 3),
        jnt::BALL => (0, 3),
        _ => (1, 0),
    };
    for k in 0..nt + nr {
        let v = if k < nt { rate.t[k] } else { rate.r[k - nt] };
        let before = if sub == 0 { T::zero() } else { d.int_dvel[i + k] };
        d.int_uvel[i + k] = v;
        d.int_dvel[i + k] = before + weight * v;
    }
}

/// Rate of the rotation vector `u` of q0 exp(u) that turns with the angular velocity `w` (body frame):
/// w + u x w / 2 + c u x (u x w), c = (1 - (a/2) cot(a/2)) / a^2 with a = |u|.
#[inline(always)]
fn chart_rate<T: Real>(u: Vec3<T>, w: Vec3<T>) -> Vec3<T> {
    let a2 = u.dot(&u);
    // the closed form cancels at small angles; the series is exact to 1e-13 below the bound
    let small = a2.lt(T::r(0.1));
    let series = T::r(1.0 / 12.0)
        + a2 * (T::r(1.0 / 720.0)
            + a2 * (T::r(1.0 / 30240.0) + a2 * (T::r(1.0 / 1_209_600.0) + a2 * T::r(1.0 / 47_900_160.0))));
    let safe = T::select(small, T::one(), a2);
    let half = safe.sqrt() * T::r(0.5);
    let (sin, cos) = half.sin_cos();
    let closed = (T::one() - half * cos / sin) / safe;
    let c = T::select(small, series, closed);
    let turn = u.cross(&w);
    w + turn * T::r(0.5) + u.cross(&turn) * c
}
