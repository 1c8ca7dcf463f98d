// Constraint forces and acceleration by Newton's method on the reduced primal problem.
import package::layout::{
    DISABLE_WARMSTART, LANES, MINVAL, NV, OPT_DISABLEFLAGS, ld_M, ld_M_rowadr, ld_M_rownnz, ld_efc_D, ld_efc_Jaref, ld_efc_Jv, ld_efc_aref, ld_nefc, ld_opt_tolerance,
    ld_qacc, ld_qfrc_constraint, ld_solver_Ma, ld_solver_Mv, ld_solver_grad, ld_solver_niter, ld_solver_scalar,
    ld_solver_search, st_efc_Jaref, st_qacc, st_solver_Ma, st_solver_grad,
    st_solver_niter, st_solver_scalar
};
import package::lanes::{group_max, sum_lanes};
import package::linesearch::{linesearch};
import package::loops::{loops_ran};
import package::math::{EPSILON, sync};
import package::rows::{rows_force, rows_mul, rows_start};
import package::solver_matrix::{factor, hessian, solve};
import package::solver_vector::{mul_m};

// solver_scalar: not 0 when the world has converged.
const SOLVER_DONE: u32 = 0u;
// solver_scalar: the Newton decrement that rounding alone makes.
const SOLVER_FLOOR: u32 = 1u;
// solver_scalar: not 0 where the factor in solver_H is still that of the Hessian.
const SOLVER_FACTORED: u32 = 2u;

// Chooses where to start. The CPU also asks whether that is the minimum already, to be spared the Hessian; the first step
// asks the same of the Newton decrement, which is smaller.
fn solver_init(w: u32, lane: u32) {
    rows_start(w, lane, (OPT_DISABLEFLAGS & DISABLE_WARMSTART) == 0);
    let floor = rounding_floor(w, lane);
    _ = rows_force(w, lane, true);
    gradient(w, lane, true);
    if lane == 0u {
        st_solver_niter(w, 0);
        st_solver_scalar(w, SOLVER_FLOOR, floor);
        st_solver_scalar(w, SOLVER_FACTORED, 0.0);
        st_solver_scalar(w, SOLVER_DONE, select(0.0, 1.0, ld_nefc(w) == 0));
    }
    loops_ran(w);
}

// One Newton step; false where no world of the group had one to make.
fn solver_iter(w: u32, lane: u32) -> bool {
    var go = ld_solver_scalar(w, SOLVER_DONE) == 0.0;
    // 1: with the factor it has, 2: with another
    let going = group_max(w, lane, select(0u, select(2u, 1u, ld_solver_scalar(w, SOLVER_FACTORED) != 0.0), go));
    if going == 0u { // uniform: the same for the whole group
        return false;
    }
    // a world at its minimum is here again where its gradient is all rounding: the factor it has tells that
    if going == 2u { // uniform: the same for the whole group
        hessian(w, lane, go);
        factor(w, lane, go);
    }
    solve(w, lane, go);
    var terms = vec2<f32>(0.0);
    if go {
        for (var i = lane; i < NV; i += LANES) {
            terms[0] += ld_solver_grad(w, i) * ld_solver_search(w, i);
        }
    }
    let slope = sum_lanes(w, lane, terms)[0];
    if go && converged(w, -0.5 * slope) {
        go = false;
        if lane == 0u {
            st_solver_scalar(w, SOLVER_DONE, 1.0);
        }
    }

    terms = vec2<f32>(0.0);
    if go {
        mul_m(w, lane);
        rows_mul(w, lane);
        for (var i = lane; i < NV; i += LANES) {
            terms += ld_solver_search(w, i) * vec2<f32>(ld_solver_Ma(w, i), ld_solver_Mv(w, i));
        }
    }
    sync();
    let quadratic = sum_lanes(w, lane, terms);
    let step = linesearch(w, lane, go, slope, quadratic);
    if go {
        for (var i = lane; i < NV; i += LANES) {
            st_qacc(w, i, ld_qacc(w, i) + step.length * ld_solver_search(w, i));
            st_solver_Ma(w, i, ld_solver_Ma(w, i) + step.length * ld_solver_Mv(w, i));
        }
        for (var e = lane; e < u32(ld_nefc(w)); e += LANES) {
            st_efc_Jaref(w, e, ld_efc_Jaref(w, e) + step.length * ld_efc_Jv(w, e));
        }
    }
    sync();
    terms = vec2<f32>(0.0, rows_force(w, lane, go));
    gradient(w, lane, go);
    if go {
        for (var i = lane; i < NV; i += LANES) {
            let g = ld_solver_grad(w, i);
            terms[0] += g * g;
        }
    }
    let sums = sum_lanes(w, lane, terms);
    let grad = sqrt(sums[0]) * scale(w);
    if go && lane == 0u {
        st_solver_scalar(w, SOLVER_FACTORED, select(0.0, 1.0, sums[1] == 0.0));
        st_solver_niter(w, ld_solver_niter(w) + 1);
        // the derivative is monotone along the line: the trapezium is the improvement where the cost is quadratic, and at
        // least half of it elsewhere
        let improvement = -0.5 * step.length * (slope + step.slope) * scale(w);
        // written so that a NaN stops too
        let goes_on = improvement > ld_opt_tolerance(w) && grad > ld_opt_tolerance(w);
        if !goes_on {
            st_solver_scalar(w, SOLVER_DONE, 1.0);
        }
    }
    loops_ran(w);
    return true;
}

// MuJoCo's scale of costs and gradients: the trace of the inertia as it is.
fn scale(w: u32) -> f32 {
    var trace = 0.0;
    for (var i = 0u; i < NV; i += 1u) {
        trace += ld_M(w, u32(ld_M_rowadr(w, i) + ld_M_rownnz(w, i) - 1));
    }
    return 1.0 / max(trace, MINVAL);
}

// True where a bound on the possible improvement is below the tolerance, or below what rounding makes of zero.
fn converged(w: u32, bound: f32) -> bool {
    // written so that a NaN stops too
    return !(bound * scale(w) > ld_opt_tolerance(w) && bound > ld_solver_scalar(w, SOLVER_FLOOR));
}

// The decrement that is left when J qacc of every row is off by one rounding: below it the iteration only moves noise.
// The default tolerance 1e-8 can lie under it. Uniform control flow only.
fn rounding_floor(w: u32, lane: u32) -> f32 {
    var sum = vec2<f32>(0.0);
    for (var e = lane; e < u32(ld_nefc(w)); e += LANES) {
        let a = ld_efc_Jaref(w, e) + ld_efc_aref(w, e);
        sum[0] += ld_efc_D(w, e) * a * a;
    }
    return sum_lanes(w, lane, sum)[0] * (0.5 * EPSILON * EPSILON);
}

// solver_grad: the gradient of the cost. Uniform control flow only.
fn gradient(w: u32, lane: u32, go: bool) {
    if go {
        for (var i = lane; i < NV; i += LANES) {
            st_solver_grad(w, i, ld_solver_Ma(w, i) - ld_qfrc_constraint(w, i));
        }
    }
    sync();
}
