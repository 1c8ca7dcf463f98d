// Projected Gauss-Seidel on the constraint forces: in an order that is shuffled on before each sweep, with momentum between them.
import package::layout::{
    CNSTR_CONTACT_ELLIPTIC, CONE_ELLIPTIC, DISABLE_WARMSTART, LANES, MINVAL, NV, OPT_CONE, OPT_DISABLEFLAGS, WORLDS_PER_GROUP, ld4_efc_Y,
    ld_contact_friction, ld_efc_A, ld_efc_Jv, ld_efc_R, ld_efc_aref, ld_efc_force, ld_efc_frictionloss, ld_efc_id,
    ld_efc_type, ld_opt_tolerance, ld_qacc, ld_qacc_smooth, ld_qacc_warmstart, ld_solver_last, ld_solver_niter, ld_solver_order,
    ld_solver_random, ld_solver_scalar, st_efc_Jaref, st_efc_Jv, st_efc_force, st_qacc, st_solver_last, st_solver_niter, st_solver_order,
    st_solver_random, st_solver_scalar, st_solver_search, lane_of, world_of
};
import package::dual::{
    block_first, block_size, dual_blocks, dual_change, dual_load, dual_qacc, dual_residual, dual_set, dual_store, friction_problem
};
import package::lanes::{group_max, sum_lanes};
import package::loops::{loops_ran};
import package::math::{EPSILON, sync};
import package::rows::{RowCounts, is_elliptic, is_first, row_counts, rows_force, rows_mul};
import package::solver::{SOLVER_DONE, scale};
import package::solver_vector::{NBLOCK, dof_vec, gather};

// solver_scalar: sweeps since the momentum began anew.
const SOLVER_AGE: u32 = 1u;
// solver_scalar: what a sweep treats together, how many.
const SOLVER_BLOCKS: u32 = 2u;

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
        st_solver_scalar(w, SOLVER_AGE, 0.0);
        pgs_blocks(w);
    }
    loops_ran(w);
}

// Rows of what a sweep treats together from row e on: an elliptic contact, or one row.
fn pgs_size(w: u32, e: u32) -> u32 {
    if ld_efc_type(w, e) == CNSTR_CONTACT_ELLIPTIC {
        return block_size(w, e);
    }
    return 1u;
}

// Fills solver_order.
fn pgs_blocks(w: u32) {
    let rows = row_counts(w).all;
    var n = 0u;
    for (var e = 0u; e < rows; e += 1u) {
        if !is_elliptic(w, e) || is_first(w, e) {
            st_solver_order(w, n, i32(e));
            n += 1u;
        }
    }
    st_solver_scalar(w, SOLVER_BLOCKS, f32(n));
    st_solver_random(w, vec2<i32>(1, 0));
}

// The next number of PCG32 (M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms", 2014), by
// halves of 64 bits.
fn pgs_random(w: u32) -> u32 {
    let old = bitcast<vec2<u32>>(ld_solver_random(w));
    let low = old[0];
    let high = old[1];
    let product = mul_wide(low, 0x4c957f2du);
    let next = product[0] + 1u;
    let carry = select(0u, 1u, next == 0u);
    let above = product[1] + low * 0x5851f42du + high * 0x4c957f2du + carry;
    st_solver_random(w, bitcast<vec2<i32>>(vec2<u32>(next, above)));
    let mixed = (((low >> 18u) | (high << 14u)) ^ low) >> 27u | (((high >> 18u) ^ high) << 5u);
    let turn = high >> 27u;
    return (mixed >> turn) | (mixed << ((32u - turn) & 31u));
}

// GPU only: the CPU has 64 bits.
// a times b, low word first.
fn mul_wide(a: u32, b: u32) -> vec2<u32> {
    let ll = (a & 0xffffu) * (b & 0xffffu);
    let lh = (a & 0xffffu) * (b >> 16u);
    let hl = (a >> 16u) * (b & 0xffffu);
    let mid = (ll >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
    return vec2<u32>(a * b, (a >> 16u) * (b >> 16u) + (lh >> 16u) + (hl >> 16u) + (mid >> 16u));
}

// Shuffles the first n of solver_order on.
fn pgs_shuffle(w: u32, n: u32) {
    for (var left = n; left > 1u; left -= 1u) {
        let i = left - 1u;
        let j = pgs_random(w) % left;
        let e = ld_solver_order(w, i);
        st_solver_order(w, i, ld_solver_order(w, j));
        st_solver_order(w, j, e);
    }
}

// Moves the forces on by `momentum` times what the sweep before changed, kept within their sets. Uniform control flow only.
fn pgs_ahead(w: u32, lane: u32, momentum: f32, go: bool) {
    let rows = row_counts(w);
    if go {
        for (var e = lane; e < rows.all; e += LANES) {
            if !is_elliptic(w, e) || is_first(w, e) {
                pgs_block_ahead(w, e, rows, momentum);
            }
        }
    }
    sync();
    if go && momentum > 0.0 {
        let base = (w % WORLDS_PER_GROUP) * NBLOCK;
        for (var k = lane; k < NBLOCK; k += LANES) {
            for (var e = 0u; e < rows.all; e += 1u) {
                dof_vec[base + k] += ld_efc_Jv(w, e) * ld4_efc_Y(w, e, k);
            }
        }
    }
}

// GPU only: a block of pgs_ahead.
// Leaves in efc_Jv by how much the forces move.
fn pgs_block_ahead(w: u32, e: u32, rows: RowCounts, momentum: f32) {
    let n = pgs_size(w, e);
    var force: array<f32, 6>;
    for (var r = 0u; r < n; r += 1u) {
        let now = ld_efc_force(w, e + r);
        force[r] = now + momentum * (now - ld_solver_last(w, e + r));
        st_solver_last(w, e + r, now);
    }
    if !(momentum > 0.0) {
        return;
    }
    if n > 1u {
        let friction = block_friction(w, e, n);
        var tt = 0.0;
        for (var r = 1u; r < n; r += 1u) {
            let t = force[r] / friction[r - 1u];
            tt += t * t;
        }
        let normal = max(force[0], 0.0);
        let tangent = sqrt(tt);
        let shrink = select(1.0, normal / tangent, tangent > normal);
        force[0] = normal;
        for (var r = 1u; r < n; r += 1u) {
            force[r] *= shrink;
        }
    } else if e >= rows.friction {
        force[0] = max(force[0], 0.0);
    } else if e >= rows.equality {
        force[0] = clamp(force[0], -ld_efc_frictionloss(w, e), ld_efc_frictionloss(w, e));
    }
    for (var r = 0u; r < n; r += 1u) {
        st_efc_Jv(w, e + r, force[r] - ld_solver_last(w, e + r));
        st_efc_force(w, e + r, force[r]);
    }
}

// One sweep over what is in solver_order, and whether it was the last.
fn pgs_sweep(w: u32, lane: u32) {
    let go = ld_solver_scalar(w, SOLVER_DONE) == 0.0;
    let n = u32(ld_solver_scalar(w, SOLVER_BLOCKS));
    let most = group_max(w, lane, select(0u, n + 1u, go));
    if most == 0u { // uniform: the same for the whole group
        return;
    }
    let age = ld_solver_scalar(w, SOLVER_AGE) + 1.0;
    let momentum = max((age - 2.0) / (age + 1.0), 0.0);
    if go && lane == 0u {
        pgs_shuffle(w, n);
    }
    dual_load(w, lane);
    pgs_ahead(w, lane, momentum, go);
    var change = vec2<f32>(0.0);
    for (var k = 0u; k + 1u < most; k += 1u) { // uniform: the largest of the group's counts
        var e = 0u;
        var size = 0u;
        if go && k < n {
            e = u32(ld_solver_order(w, k));
            size = pgs_size(w, e);
        }
        // read before lane 0 may write them: the sums below wait for all lanes
        let old = block_forces(w, e, size);
        let res = block_residual(w, lane, e, size);
        if size > 1u {
            change += pgs_contact(w, lane, e, size, old, res);
        } else if size == 1u {
            change += pgs_row(w, lane, e, old[0], res[0]);
        }
    }
    dual_store(w, lane);
    if go && lane == 0u {
        // it turned against the momentum
        st_solver_scalar(w, SOLVER_AGE, select(age, 0.0, change[1] < 0.0));
        st_solver_niter(w, ld_solver_niter(w) + 1);
        // a tolerance of 0 lets none stop: forces come nearer still where rounding makes less than nothing of an improvement
        let goes_on = max(-change[0], 0.0) * scale(w) >= ld_opt_tolerance(w);
        if !goes_on {
            st_solver_scalar(w, SOLVER_DONE, 1.0);
        }
    }
    loops_ran(w);
}

// Sets the force of one row to its best; the change of the dual cost, and that of the force along the momentum.
fn pgs_row(w: u32, lane: u32, e: u32, old: f32, residual: f32) -> vec2<f32> {
    let rows = row_counts(w);
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
    return delta * vec2<f32>(0.5 * delta * a + res, old - ld_solver_last(w, e));
}

// Betters the forces of an elliptic contact: along a ray, then within the disc of that normal force; the change of the dual cost,
// and that of the forces along the momentum.
fn pgs_contact(w: u32, lane: u32, e: u32, n: u32, old: array<f32, 6>, residual: array<f32, 6>) -> vec2<f32> {
    var a = block_matrix(w, e, n);
    var res = residual;
    for (var r = 0u; r < 6u; r += 1u) {
        if r < n {
            a[r][r] += ld_efc_R(w, e + r);
            res[r] += ld_efc_R(w, e + r) * old[r];
        }
    }
    let friction = block_friction(w, e, n);
    // the ray: through the present force; from the tip the normal, and where that alone does not go down, where MuJoCo stays at the
    // tip for good, the edge of steepest descent, which may
    var ray = old;
    let from_tip = old[0] < MINVAL;
    if from_tip {
        var tt = 0.0;
        for (var j = 1u; j < 6u; j += 1u) {
            tt += friction[j - 1u] * res[j] * friction[j - 1u] * res[j];
        }
        let t = sqrt(tt);
        let edge = res[0] >= 0.0 && t > 0.0;
        ray[0] = 1.0;
        for (var j = 1u; j < 6u; j += 1u) {
            ray[j] = select(0.0, -friction[j - 1u] * friction[j - 1u] * res[j] / t, edge);
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
    // the two steps each go downhill, but for the last bits of the forces
    var rounding = 0.0;
    for (var r = 0u; r < 6u; r += 1u) {
        rounding += abs(force[r] * res[r]) * (256.0 * EPSILON);
    }
    let downhill = change <= rounding;
    if !downhill {
        return vec2<f32>(0.0);
    }
    var along = 0.0;
    for (var r = 0u; r < 6u; r += 1u) {
        if r < n {
            along += delta[r] * (old[r] - ld_solver_last(w, e + r));
            dual_set(w, lane, e + r, delta[r]);
            if lane == 0u {
                st_efc_force(w, e + r, force[r]);
            }
        }
    }
    return vec2<f32>(change, along);
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
