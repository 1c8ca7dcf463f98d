// Projected Gauss-Seidel on the constraint forces.
import package::layout::{
    CONE_ELLIPTIC, DISABLE_WARMSTART, LANES, MINVAL, NV, OPT_CONE, OPT_DISABLEFLAGS, WORLDS_PER_GROUP, ld_contact_dim, ld_contact_friction, ld_efc_A,
    ld_efc_Jv, ld_efc_R, ld_efc_aref, ld_efc_force, ld_efc_frictionloss, ld_efc_id, ld_opt_tolerance, ld_qacc, ld_qacc_smooth,
    ld_qacc_warmstart, ld_solver_niter, ld_solver_scalar, st_efc_Jaref, st_efc_force, st_qacc, st_solver_niter,
    st_solver_scalar, st_solver_search, lane_of, world_of
};
import package::dual::{
    block_first, dual_blocks, dual_change, dual_load, dual_qacc, dual_residual, dual_set, dual_store, friction_problem
};
import package::lanes::{group_max, sum_lanes};
import package::loops::{loops_ran};
import package::math::{sync};
import package::rows::{RowCounts, is_elliptic, is_first, row_counts, rows_force, rows_mul};
import package::solver::{SOLVER_DONE, scale};
import package::solver_vector::{gather};

// Starts from the forces that qacc_warmstart implies if their dual cost is below 0, the cost of no force.
fn pgs_start(w: u32, lane: u32) {
    let n = row_counts(w).all;
    dual_blocks(w, lane);
    for (var i = lane; i < NV; i += LANES) {
        st_solver_search(w, i, ld_qacc_warmstart(w, i));
    }
    gather(w, lane);
    rows_mul(w, lane);
    for (var e = lane; e < n; e += LANES) {
        st_efc_Jaref(w, e, ld_efc_Jv(w, e) - ld_efc_aref(w, e));
    }
    sync();
    _ = rows_force(w, lane, true);
    dual_qacc(w, lane);
    sync();
    for (var i = lane; i < NV; i += LANES) {
        st_solver_search(w, i, ld_qacc(w, i) + ld_qacc_smooth(w, i));
    }
    gather(w, lane);
    rows_mul(w, lane);
    var cost = vec2<f32>(0.0);
    for (var e = lane; e < n; e += LANES) {
        let f = ld_efc_force(w, e);
        cost[0] += 0.5 * f * (ld_efc_Jv(w, e) - 2.0 * ld_efc_aref(w, e) + ld_efc_R(w, e) * f);
    }
    let total = sum_lanes(w, lane, cost)[0];
    let warm = (OPT_DISABLEFLAGS & DISABLE_WARMSTART) == 0 && total < 0.0;
    if !warm {
        for (var e = lane; e < n; e += LANES) {
            st_efc_force(w, e, 0.0);
        }
        for (var i = lane; i < NV; i += LANES) {
            st_qacc(w, i, ld_qacc_smooth(w, i));
        }
    }
    if lane == 0u {
        st_solver_niter(w, 0);
        st_solver_scalar(w, SOLVER_DONE, 0.0);
    }
    loops_ran(w);
}

// One sweep over all rows, and whether it was the last.
fn pgs_sweep(w: u32, lane: u32) {
    let go = ld_solver_scalar(w, SOLVER_DONE) == 0.0;
    let rows = row_counts(w);
    let most = group_max(w, lane, select(0u, rows.all, go));
    dual_load(w, lane);
    var change = 0.0;
    for (var e = 0u; e < most; e += 1u) { // uniform: the largest of the group's row counts
        let here = go && e < rows.all;
        var n = select(0u, 1u, here);
        if here && is_elliptic(w, e) {
            n = select(0u, u32(ld_contact_dim(w, u32(ld_efc_id(w, e)))), is_first(w, e));
        }
        // read before lane 0 may write them: the sums below wait for all lanes
        let old = block_forces(w, e, n);
        let res = block_residual(w, lane, e, n);
        if n > 1u {
            change += pgs_contact(w, lane, e, n, old, res);
        } else if n == 1u {
            change += pgs_row(w, lane, e, rows, old[0], res[0]);
        }
    }
    dual_store(w, lane);
    if go && lane == 0u {
        st_solver_niter(w, ld_solver_niter(w) + 1);
        // written so that a NaN stops too
        let goes_on = -change * scale(w) > ld_opt_tolerance(w);
        if !goes_on {
            st_solver_scalar(w, SOLVER_DONE, 1.0);
        }
    }
    loops_ran(w);
}

// Sets the force of one row to its best; the change of the dual cost.
fn pgs_row(w: u32, lane: u32, e: u32, rows: RowCounts, old: f32, residual: f32) -> f32 {
    let own = ld_efc_A(w, e).r;
    let a = own[e - block_first(w, e)] + ld_efc_R(w, e);
    let res = residual + ld_efc_R(w, e) * old;
    var force = old - res / a;
    if e >= rows.friction {
        force = max(force, 0.0);
    } else if e >= rows.equality {
        force = clamp(force, -ld_efc_frictionloss(w, e), ld_efc_frictionloss(w, e));
    }
    let delta = force - old;
    dual_set(w, lane, e, delta);
    if lane == 0u {
        st_efc_force(w, e, force);
    }
    return delta * (0.5 * delta * a + res);
}

// Betters the forces of an elliptic contact: along a ray, then within the disc of that normal force; the change of the dual
// cost.
fn pgs_contact(w: u32, lane: u32, e: u32, n: u32, old: array<f32, 6>, residual: array<f32, 6>) -> f32 {
    var a = block_matrix(w, e, n);
    var res = residual;
    for (var r = 0u; r < 6u; r += 1u) {
        if r < n {
            a[r][r] += ld_efc_R(w, e + r);
            res[r] += ld_efc_R(w, e + r) * old[r];
        }
    }
    let friction = block_friction(w, e, n);
    // the ray: through the present force, or from the tip along the edge of steepest descent, which may go down where the
    // normal alone does not
    var ray = old;
    let from_tip = old[0] < MINVAL;
    if from_tip {
        var tt = 0.0;
        for (var j = 1u; j < 6u; j += 1u) {
            tt += friction[j - 1u] * res[j] * friction[j - 1u] * res[j];
        }
        let t = sqrt(tt);
        ray[0] = 1.0;
        for (var j = 1u; j < 6u; j += 1u) {
            ray[j] = select(0.0, -friction[j - 1u] * friction[j - 1u] * res[j] / t, t > 0.0);
        }
    }
    var curvature = 0.0;
    var slope = 0.0;
    for (var r = 0u; r < 6u; r += 1u) {
        slope += ray[r] * res[r];
        for (var c = 0u; c < 6u; c += 1u) {
            curvature += ray[r] * a[r][c] * ray[c];
        }
    }
    var force = old;
    if curvature > 0.0 {
        // not past the tip
        let step = max(-slope / curvature, select(-1.0, 0.0, from_tip));
        for (var r = 0u; r < 6u; r += 1u) {
            force[r] += step * ray[r];
        }
    }
    var tangent = array<f32, 5>();
    if force[0] >= MINVAL {
        tangent = friction_problem(n - 1u, friction_block(a), friction_bias(a, res, old, force), friction, force[0]);
    }
    var delta: array<f32, 6>;
    delta[0] = force[0] - old[0];
    for (var r = 1u; r < 6u; r += 1u) {
        force[r] = tangent[r - 1u];
        delta[r] = force[r] - old[r];
    }
    let change = dual_change(a, res, delta);
    // the two steps each go downhill; rounding may not
    let downhill = change <= 0.0;
    if !downhill {
        return 0.0;
    }
    for (var r = 0u; r < 6u; r += 1u) {
        if r < n {
            dual_set(w, lane, e + r, delta[r]);
            if lane == 0u {
                st_efc_force(w, e + r, force[r]);
            }
        }
    }
    return change;
}

// GPU only: slices on the CPU.
// Forces of the n rows from e on.
fn block_forces(w: u32, e: u32, n: u32) -> array<f32, 6> {
    var out: array<f32, 6>;
    for (var r = 0u; r < 6u; r += 1u) {
        if r < n {
            out[r] = ld_efc_force(w, e + r);
        }
    }
    return out;
}

// GPU only: the CPU asks row by row.
// Residuals of the n rows from e on. Uniform control flow only.
fn block_residual(w: u32, lane: u32, e: u32, n: u32) -> array<f32, 6> {
    let res01 = dual_residual(w, lane, e, n);
    var res23 = vec2<f32>(0.0);
    var res45 = vec2<f32>(0.0);
    if OPT_CONE == CONE_ELLIPTIC {
        res23 = dual_residual(w, lane, e + 2u, max(n, 2u) - 2u);
        res45 = dual_residual(w, lane, e + 4u, max(n, 4u) - 4u);
    }
    return array<f32, 6>(res01[0], res01[1], res23[0], res23[1], res45[0], res45[1]);
}

// GPU only: slices on the CPU.
// A of the n rows of the block that starts at e.
fn block_matrix(w: u32, e: u32, n: u32) -> array<array<f32, 6>, 6> {
    var out: array<array<f32, 6>, 6>;
    for (var r = 0u; r < 6u; r += 1u) {
        if r < n {
            let a = ld_efc_A(w, e + r);
            out[r] = array<f32, 6>(a.r[0], a.r[1], a.r[2], a.t[0], a.t[1], a.t[2]);
        }
    }
    return out;
}

// GPU only: slices on the CPU.
// Friction coefficients of the contact whose first row is e, 0 past its rows.
fn block_friction(w: u32, e: u32, n: u32) -> array<f32, 5> {
    let c = u32(ld_efc_id(w, e));
    var out: array<f32, 5>;
    for (var j = 0u; j < 5u; j += 1u) {
        if j + 1u < n {
            out[j] = ld_contact_friction(w, c, j);
        }
    }
    return out;
}

// GPU only: friction_terms on the CPU.
// The friction block of a contact.
fn friction_block(a: array<array<f32, 6>, 6>) -> array<array<f32, 5>, 5> {
    var out: array<array<f32, 5>, 5>;
    for (var r = 1u; r < 6u; r += 1u) {
        for (var c = 1u; c < 6u; c += 1u) {
            out[r - 1u][c - 1u] = a[r][c];
        }
    }
    return out;
}

// GPU only: friction_terms on the CPU.
// The linear term of the friction forces when the normal force is force[0].
fn friction_bias(a: array<array<f32, 6>, 6>, res: array<f32, 6>, old: array<f32, 6>, force: array<f32, 6>) -> array<f32, 5> {
    var out: array<f32, 5>;
    for (var r = 1u; r < 6u; r += 1u) {
        var b = res[r] + a[r][0] * (force[0] - old[0]);
        for (var c = 1u; c < 6u; c += 1u) {
            b -= a[r][c] * old[c];
        }
        out[r - 1u] = b;
    }
    return out;
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_pgs_start(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    pgs_start(world_of(group, local), lane_of(local));
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_pgs_sweep(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    pgs_sweep(world_of(group, local), lane_of(local));
}
