//! Stage `solver`: constraint forces and acceleration. Twin: `shaders/solver.wgsl`.
//!
//! Newton's method on MuJoCo's reduced primal problem (documentation: computation, "Constraint solver"): minimize over
//! accelerations `½ (x - qacc_smooth)ᵀ M (x - qacc_smooth) + s(J x - efc_aref)`. The cost is strictly convex, so its minimum
//! does not depend on the method: a file that asks for CG is served by Newton too. PGS works on forces, see [`crate::pgs`].
//!
//! Costs are never subtracted: what stops the iteration are the gradient, the Newton decrement `½ gᵀ H⁻¹ g` and the integral
//! of the derivative along the line, so that nothing is lost to cancellation in f32. The quadratic term is carried as
//! `M (x - qacc_smooth)` for the same reason.

use crate::linesearch::linesearch;
use crate::rows::{dot, rows_force, rows_group, rows_live, rows_mul, rows_start, rows_state};
use crate::solver_matrix::{factor, hessian, mul_m, solve, solve_m, tiles};
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, disable, solver as kind};

/// `solver_scalar`: not 0 when the world has converged.
pub(crate) const DONE: usize = 0;
/// `solver_scalar`: the Newton decrement that rounding alone makes.
pub(crate) const FLOOR: usize = 1;
/// `solver_scalar`: not 0 where the factor in `solver_Hc` is still that of the Hessian.
const FACTORED: usize = 2;
/// `solver_scalar`: derivative of the cost along the search direction at its start.
pub(crate) const SLOPE: usize = 3;
/// `solver_scalar`: step along the search direction.
pub(crate) const STEP: usize = 4;
/// `solver_scalar`: derivative of the cost at the end of the step.
pub(crate) const SLOPE_END: usize = 5;
/// `solver_scalar`: derivative along the search direction of the part that is quadratic everywhere.
pub(crate) const LINEAR: usize = 6;
/// `solver_scalar`: its second derivative.
pub(crate) const CURVATURE: usize = 7;

// CPU only: its loop is a sequence of kernels on the GPU.
/// See `Stage`.
#[inline(always)]
pub fn solver<T: Real>(m: &Model<T>, d: &mut World<T>) {
    if m.opt.solver == kind::PGS {
        crate::pgs::pgs(m, d);
        return;
    }
    solver_init(m, d);
    for _ in 0..m.opt.iterations {
        if done(d).all() {
            break;
        }
        solver_iter(m, d);
    }
    rows_state(d);
}

/// Chooses where to start, and tells whether that is already the minimum.
#[inline(always)]
pub fn solver_init<T: Real>(m: &Model<T>, d: &mut World<T>) {
    d.solver_niter[0] = T::Int::splat(0);
    d.solver_scalar.fill(T::zero());
    rows_group(d);
    if d.slot_nefc[0] == 0 {
        d.qacc.copy_from_slice(&d.qacc_smooth);
        d.qfrc_constraint.fill(T::zero());
        d.solver_Ma.fill(T::zero());
        d.solver_grad.fill(T::zero());
        d.solver_scalar[DONE] = T::one();
        return;
    }
    tiles(m, d);
    let warm = rows_start(m, d, m.opt.disableflags & disable::WARMSTART == 0);
    d.solver_scalar[FLOOR] = rounding_floor(d);
    rows_force(m, d, T::Mask::splat(true));
    gradient(d);
    // a world without rows has nothing to do
    for l in 0..T::LANES {
        if d.nefc[0].get(l) == 0 {
            d.solver_scalar[DONE].set_lane(l, Real::one());
        }
    }
    if warm.any() {
        // every zone of the cost has at least M's curvature, so ½ gᵀ M⁻¹ g bounds how far the start is from the minimum
        let bound = {
            d.solver_search.copy_from_slice(&d.solver_grad);
            solve_m(m, &d.qLD, &d.qLDiagInv, &mut d.solver_search);
            dot(&d.solver_grad, &d.solver_search) * T::r(0.5)
        };
        let done = done(d) | warm & converged(m, d, bound);
        set_done(d, done);
    }
}

// CPU only: a world has its own on the GPU.
/// The worlds that have converged.
#[inline(always)]
pub(crate) fn done<T: Real>(d: &World<T>) -> T::Mask {
    !d.solver_scalar[DONE].same(T::zero())
}

// CPU only: as `done`.
/// Sets which worlds have converged.
#[inline(always)]
pub(crate) fn set_done<T: Real>(d: &mut World<T>, done: T::Mask) {
    d.solver_scalar[DONE] = T::select(done, T::one(), T::zero());
}

// CPU only: as `done`.
/// Counts an iteration in the worlds of the mask.
#[inline(always)]
pub(crate) fn count<T: Real>(niter: &mut T::Int, mask: T::Mask) {
    for l in 0..T::LANES {
        niter.set(l, niter.get(l) + i32::from(mask.get(l)));
    }
}

/// One Newton step of the worlds that have not converged; in the others the direction is 0, so that all keeps its value.
#[inline(always)]
pub fn solver_iter<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let live = !done(d);
    rows_live(d, live);
    // a world at its minimum is here again where its gradient is all rounding: the factor it has tells that
    if (live & d.solver_scalar[FACTORED].same(T::zero())).any() {
        hessian(m, d, live);
        factor(&mut d.solver_Hc, m.size.nv, &d.solver_tile);
    }
    for (s, g) in d.solver_search.iter_mut().zip(&d.solver_grad) {
        *s = -*g;
    }
    solve(&d.solver_Hc, &d.solver_tile, &mut d.solver_search);
    let slope = dot(&d.solver_grad, &d.solver_search);
    d.solver_scalar[SLOPE] = slope;
    let decrement = -slope * T::r(0.5);
    let live = live & !converged(m, d, decrement);
    set_done(d, !live);
    if !live.any() {
        return;
    }

    for s in &mut d.solver_search {
        *s = T::select(live, *s, T::zero());
    }
    mul_m(m, &d.M, &d.solver_search, &mut d.solver_Mv);
    rows_mul(m, d);
    d.solver_scalar[LINEAR] = dot(&d.solver_search, &d.solver_Ma);
    d.solver_scalar[CURVATURE] = dot(&d.solver_search, &d.solver_Mv);
    linesearch(m, d, live);
    let step = d.solver_scalar[STEP];
    let nefc = d.slot_nefc[0] as usize;
    add_scaled(&mut d.qacc, step, &d.solver_search);
    add_scaled(&mut d.solver_Ma, step, &d.solver_Mv);
    for e in 0..nefc {
        if d.solver_live[e] != 0 {
            d.efc_Jaref[e] += step * d.efc_Jv[e];
        }
    }
    let changed = rows_force(m, d, live);
    d.solver_scalar[FACTORED] = T::select(changed, T::zero(), T::one());
    gradient(d);
    count::<T>(&mut d.solver_niter[0], live);

    // the derivative is monotone along the line: the trapezium is the improvement where the cost is quadratic, and at
    // least half of it elsewhere
    let improvement = -step * (slope + d.solver_scalar[SLOPE_END]) * T::r(0.5);
    let scale = scale(m, d);
    let grad = dot(&d.solver_grad, &d.solver_grad).sqrt() * scale;
    // written so that a NaN stops too
    let goes_on = (improvement * scale).gt(m.opt_tolerance[0]) & grad.gt(m.opt_tolerance[0]);
    set_done(d, !(live & goes_on));
}

// CPU only: a kernel has an element an invocation.
/// `a += s b`
#[inline(always)]
fn add_scaled<T: Real>(a: &mut [T], s: T, b: &[T]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += s * *b;
    }
}

/// MuJoCo's scale of costs and gradients: the trace of the inertia as it is.
#[inline(always)]
pub(crate) fn scale<T: Real>(m: &Model<T>, d: &World<T>) -> T {
    let mut trace = T::zero();
    for i in 0..m.size.nv {
        trace += d.M[(m.M_rowadr[i] + m.M_rownnz[i] - 1) as usize];
    }
    T::one() / trace.max(T::r(MINVAL))
}

/// The worlds where a bound on the possible improvement is below the tolerance, or below what rounding makes of zero.
#[inline(always)]
fn converged<T: Real>(m: &Model<T>, d: &World<T>, bound: T) -> T::Mask {
    // written so that a NaN stops too
    !((bound * scale(m, d)).gt(m.opt_tolerance[0]) & bound.gt(d.solver_scalar[FLOOR]))
}

/// The decrement that is left when `J qacc` of every row is off by one rounding: below it the iteration only moves noise.
/// In f64 far below any tolerance; in f32 the default tolerance 1e-8 can lie under it.
#[inline(always)]
fn rounding_floor<T: Real>(d: &World<T>) -> T {
    let nefc = d.slot_nefc[0] as usize;
    let mut sum = T::zero();
    for e in 0..nefc {
        let a = d.efc_Jaref[e] + d.efc_aref[e];
        sum += d.efc_D[e] * a * a;
    }
    sum * T::r(0.5 * T::EPSILON * T::EPSILON)
}

/// `solver_grad`: the gradient of the cost.
#[inline(always)]
fn gradient<T: Real>(d: &mut World<T>) {
    for ((g, a), f) in d.solver_grad.iter_mut().zip(&d.solver_Ma).zip(&d.qfrc_constraint) {
        *g = *a - *f;
    }
}
