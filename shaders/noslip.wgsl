// Friction forces again, without regularization: dry friction and contact friction are swept by projected Gauss-Seidel with
// R = 0, everything else keeps the forces that the solver gave it.
import package::layout::{
    CNSTR_CONTACT_ELLIPTIC, CNSTR_CONTACT_PYRAMIDAL, LANES, MINVAL, WORLDS_PER_GROUP, dispatch_arg, ld_contact_dim, ld_efc_A,
    ld_efc_R, ld_efc_force, ld_efc_frictionloss, ld_efc_id, ld_efc_type, ld_noslip_niter, ld_opt_noslip_tolerance,
    ld_solver_scalar, st_efc_force, st_noslip_niter, st_solver_scalar, lane_of, world_of
};
import package::dual::{
    block_first, dual_blocks, dual_change, dual_load, dual_qacc, dual_set, dual_store, friction_problem, friction_singular
};
import package::lanes::{group_max, sum_lanes};
import package::loops::{loops_ran};
import package::pgs::{block_forces, block_friction, block_matrix, block_residual, friction_bias, friction_block};
import package::rows::{is_elliptic, is_first, row_counts};
import package::solver::{SOLVER_DONE, scale};

// GPU only: the start of `noslip` on the CPU.
// What the sweeps start from.
fn noslip_start(w: u32, lane: u32) {
    dual_blocks(w, lane);
    dual_qacc(w, lane);
    if lane == 0u {
        st_noslip_niter(w, 0);
        st_solver_scalar(w, SOLVER_DONE, select(0.0, 1.0, row_counts(w).all == 0u));
    }
    loops_ran(w);
}

// What the regularizer of the swept rows cost before it was dropped: part of the first sweep's improvement. Uniform control
// flow only.
fn regularizer_cost(w: u32, lane: u32) -> f32 {
    let rows = row_counts(w);
    var sum = vec2<f32>(0.0);
    for (var e = rows.equality + lane; e < rows.all; e += LANES) {
        let kind = ld_efc_type(w, e);
        if e < rows.friction || kind == CNSTR_CONTACT_PYRAMIDAL || kind == CNSTR_CONTACT_ELLIPTIC {
            let f = ld_efc_force(w, e);
            sum[0] += 0.5 * f * f * ld_efc_R(w, e);
        }
    }
    return sum_lanes(w, lane, sum)[0];
}

// One sweep over the friction rows, and whether it was the last.
fn noslip_sweep(w: u32, lane: u32, turn: u32) {
    let go = ld_solver_scalar(w, SOLVER_DONE) == 0.0;
    let rows = row_counts(w);
    let most = group_max(w, lane, select(0u, rows.all, go));
    let dropped = regularizer_cost(w, lane);
    dual_load(w, lane);
    var change = 0.0;
    for (var e = 0u; e < most; e += 1u) { // uniform: the largest of the group's row counts
        var n = 0u;
        if go && e < rows.all && e >= rows.equality {
            if e < rows.friction {
                n = 1u;
            } else if is_elliptic(w, e) {
                n = select(0u, u32(ld_contact_dim(w, u32(ld_efc_id(w, e)))), is_first(w, e));
            } else if ld_efc_type(w, e) == CNSTR_CONTACT_PYRAMIDAL {
                n = select(0u, 2u, block_first(w, e) == e);
            }
        }
        // read before lane 0 may write them: the sums below wait for all lanes
        let old = block_forces(w, e, n);
        let res = block_residual(w, lane, e, n);
        if n == 1u {
            change += noslip_dry(w, lane, e, old[0], res[0]);
        } else if n == 2u {
            change += noslip_pyramid(w, lane, e, old, res);
        } else if n > 2u {
            change += noslip_elliptic(w, lane, e, n, old, res);
        }
    }
    dual_store(w, lane);
    if go && lane == 0u {
        st_noslip_niter(w, ld_noslip_niter(w) + 1);
        // written so that a NaN stops too
        let goes_on = (select(0.0, dropped, turn == 0u) - change) * scale(w) > ld_opt_noslip_tolerance(w);
        if !goes_on {
            st_solver_scalar(w, SOLVER_DONE, 1.0);
        }
    }
    loops_ran(w);
}

// GPU only: dual_set on the CPU.
// Sets the force of row e, and qacc with it.
fn noslip_set(w: u32, lane: u32, e: u32, old: f32, force: f32) {
    dual_set(w, lane, e, force - old);
    if lane == 0u {
        st_efc_force(w, e, force);
    }
}

// Dry friction of a dof or tendon.
fn noslip_dry(w: u32, lane: u32, e: u32, old: f32, res: f32) -> f32 {
    let a = ld_efc_A(w, e).r[0];
    let loss = ld_efc_frictionloss(w, e);
    let force = clamp(old - res / max(a, MINVAL), -loss, loss);
    noslip_set(w, lane, e, old, force);
    let delta = force - old;
    return delta * (0.5 * delta * a + res);
}

// Two opposite edges of a pyramid: their difference is friction, their sum is kept.
fn noslip_pyramid(w: u32, lane: u32, e: u32, old: array<f32, 6>, res: array<f32, 6>) -> f32 {
    let a = block_matrix(w, e, 2u);
    let sum = 0.5 * (old[0] + old[1]);
    let curvature = a[0][0] + a[1][1] - a[0][1] - a[1][0];
    var diff = 0.0;
    if curvature >= MINVAL {
        // the forces are sum ± diff: the slope of the cost along (1, -1), and the curvature
        diff = clamp(0.5 * (old[0] - old[1]) - (res[0] - res[1]) / curvature, -sum, sum);
    }
    var delta: array<f32, 6>;
    delta[0] = sum + diff - old[0];
    delta[1] = sum - diff - old[1];
    noslip_set(w, lane, e, old[0], sum + diff);
    noslip_set(w, lane, e + 1u, old[1], sum - diff);
    return dual_change(a, res, delta);
}

// The friction forces of an elliptic contact under its normal force; where they do not follow from it, as they are.
fn noslip_elliptic(w: u32, lane: u32, e: u32, n: u32, old: array<f32, 6>, res: array<f32, 6>) -> f32 {
    let a = block_matrix(w, e, n);
    var tangent = array<f32, 5>();
    if old[0] >= MINVAL {
        let block = friction_block(a);
        let friction = block_friction(w, e, n);
        if friction_singular(n - 1u, block, friction) {
            for (var r = 1u; r < n; r += 1u) {
                tangent[r - 1u] = old[r];
            }
        } else {
            tangent = friction_problem(n - 1u, block, friction_bias(a, res, old, old), friction, old[0]);
        }
    }
    var delta: array<f32, 6>;
    for (var r = 1u; r < 6u; r += 1u) {
        if r < n {
            delta[r] = tangent[r - 1u] - old[r];
            noslip_set(w, lane, e + r, old[r], tangent[r - 1u]);
        }
    }
    return dual_change(a, res, delta);
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_noslip_start(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    noslip_start(world_of(group, local), lane_of(local));
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_noslip_sweep(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    noslip_sweep(world_of(group, local), lane_of(local), dispatch_arg());
}
