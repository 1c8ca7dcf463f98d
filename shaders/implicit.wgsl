// The acceleration of a step that is implicit in velocity; integrate takes it from int_dacc.
//
// With D = -d(force)/d(velocity) the step wants (M + h D) a = M qacc. It is solved for the difference,
// (M + h D) (a - qacc) = -h D qacc, so that nothing changes, to the last bit, where nothing damps.
import package::layout::{
    DISABLE_DAMPER, INTEGRATOR_IMPLICITFAST, JNT_FREE, LANES, NC, NDOFLEVEL, NJNT, NTENDON, NU, NV, OPT_DISABLEFLAGS,
    OPT_INTEGRATOR, TRN_TENDON, WORLDS_PER_GROUP, ld_M, ld_M_colind, ld_M_rowadr, ld_M_rownnz, ld_actuator_moment, ld_actuator_trnid, ld_actuator_trntype, ld_dof_damping, ld_dof_descnum,
    ld_dof_jntid, ld_dof_treeid, ld_doflevel_adr, ld_doflevel_dof, ld_int_H, ld_int_HDiagInv, ld_int_dacc, ld_int_dvel,
    ld_jnt_bodyid, ld_jnt_dofadr, ld_jnt_type, ld_opt_timestep, ld_qacc, ld_qvel, ld_subtree_com, ld_ten_J,
    ld_tendon_damping, ld_xmat, ld_xpos, st_int_H, st_int_HDiagInv, st_int_dacc, st_int_dvel, lane_of, world_of,
};
import package::actuation::{actuator_disabled, actuator_gain_rate};
import package::math::{sync};
import package::spatial::{ld10_crb};

const FAST: bool = OPT_INTEGRATOR == INTEGRATOR_IMPLICITFAST;

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    implicit(world_of(group, local), lane_of(local));
}

// The acceleration of the step in int_dacc.
fn implicit(w: u32, lane: u32) {
    for (var i = lane; i < NV; i += LANES) {
        derivative_row(w, i);
    }
    sync();
    for (var i = lane; i < NV; i += LANES) {
        st_int_dacc(w, i, -ld_opt_timestep(w) * mul_h_row(w, i));
    }
    sync();
    for (var k = lane; k < NC; k += LANES) {
        st_int_H(w, k, ld_M(w, k) + ld_opt_timestep(w) * ld_int_H(w, k));
    }
    sync();
    if FAST {
        for (var j = lane; j < NJNT; j += LANES) {
            if free_standing(w, j) {
                free_body(w, j);
            }
        }
        sync();
    }
    factor_h(w, lane);
    sync();
    solve_h(w, lane);
    for (var i = lane; i < NV; i += LANES) {
        var change = ld_int_dacc(w, i);
        if FAST && free_standing(w, u32(ld_dof_jntid(w, i))) {
            change = ld_int_dvel(w, i);
        }
        st_int_dacc(w, i, ld_qacc(w, i) + change);
    }
}

// Row i of D in M's sparsity, into int_H: joint damping; in the fast implicit step also tendons and actuators.
fn derivative_row(w: u32, i: u32) {
    let adr = u32(ld_M_rowadr(w, i));
    let n = u32(ld_M_rownnz(w, i));
    let damper_on = (OPT_DISABLEFLAGS & DISABLE_DAMPER) == 0;
    for (var k = 0u; k < n; k++) {
        st_int_H(w, adr + k, 0.0);
    }
    if damper_on {
        st_int_H(w, adr + n - 1u, ld_dof_damping(w, i));
    }
    if !FAST {
        return;
    }
    if damper_on {
        for (var t = 0u; t < NTENDON; t++) {
            let s = ld_tendon_damping(w, t) * ld_ten_J(w, t, i);
            for (var k = adr; k < adr + n; k++) {
                st_int_H(w, k, ld_int_H(w, k) + s * ld_ten_J(w, t, u32(ld_M_colind(w, k))));
            }
        }
    }
    for (var a = 0u; a < NU; a++) {
        let arm = ld_actuator_moment(w, a, i);
        if arm != 0.0 && !actuator_disabled(w, a) {
            let s = arm * actuator_gain_rate(w, a);
            for (var k = adr; k < adr + n; k++) {
                st_int_H(w, k, ld_int_H(w, k) - s * ld_actuator_moment(w, a, u32(ld_M_colind(w, k))));
            }
        }
    }
}

// The joint is the free joint of a body with no joints below: its six dofs are a tree of their own.
fn free_standing(w: u32, j: u32) -> bool {
    let i = u32(ld_jnt_dofadr(w, j));
    if ld_jnt_type(w, j) != JNT_FREE {
        return false;
    }
    return i + 6u == NV || ld_dof_treeid(w, min(i + 6u, NV - 1u)) != ld_dof_treeid(w, i);
}

// Solves the six dofs of a free body with the derivative of its gyroscopic forces, into int_dvel.
//
// With v the angular velocity, s the centre of mass and I the inertia about the body's origin, all in the body's frame R,
// the forces are R (m v x (v x s)) and v x (I v).
fn free_body(w: u32, j: u32) {
    let h = ld_opt_timestep(w);
    let b = u32(ld_jnt_bodyid(w, j));
    let i = u32(ld_jnt_dofadr(w, j));
    let rot = ld_xmat(w, b);
    let v = vec3<f32>(ld_qvel(w, i + 3u), ld_qvel(w, i + 4u), ld_qvel(w, i + 5u));
    let s = transpose(rot) * (ld_subtree_com(w, b) - ld_xpos(w, b));
    let crb = ld10_crb(w, b);
    let about_com = mat3x3<f32>(crb.d[0], crb.o[0], crb.o[1], crb.o[0], crb.d[1], crb.o[2], crb.o[1], crb.o[2], crb.d[2]);
    let shift = skew(s);
    let about_origin = transpose(rot) * about_com * rot - shift * shift * crb.m;
    let gyro_t = rot * (skew(cross(v, s)) + skew(v) * shift) * (-h * crb.m);
    let gyro_r = (skew(v) * about_origin - skew(about_origin * v)) * h;

    var tt = free_block(w, i, 0u, 0u);
    var tr = free_block(w, i, 0u, 3u);
    var rr = free_block(w, i, 3u, 3u) + gyro_r;
    let acc_t = vec3<f32>(ld_qacc(w, i), ld_qacc(w, i + 1u), ld_qacc(w, i + 2u));
    let acc = vec3<f32>(ld_qacc(w, i + 3u), ld_qacc(w, i + 4u), ld_qacc(w, i + 5u));
    var rhs_t = vec3<f32>(ld_int_dacc(w, i), ld_int_dacc(w, i + 1u), ld_int_dacc(w, i + 2u)) - gyro_t * acc;
    var rhs_r = vec3<f32>(ld_int_dacc(w, i + 3u), ld_int_dacc(w, i + 4u), ld_int_dacc(w, i + 5u)) - gyro_r * acc;
    if ld_M_rownnz(w, i + 5u) == 1 {
        // rows of a simple body have room for the diagonal of D only: the rest of what its actuators add
        for (var a = 0u; a < NU; a++) {
            let drives = ld_actuator_trntype(w, a) != TRN_TENDON && u32(ld_actuator_trnid(w, a)[0]) == j;
            if drives && !actuator_disabled(w, a) {
                let s = h * actuator_gain_rate(w, a);
                let t = vec3<f32>(ld_actuator_moment(w, a, i), ld_actuator_moment(w, a, i + 1u), ld_actuator_moment(w, a, i + 2u));
                let r = vec3<f32>(ld_actuator_moment(w, a, i + 3u), ld_actuator_moment(w, a, i + 4u), ld_actuator_moment(w, a, i + 5u));
                let beside_t = beside(t);
                let beside_r = beside(r);
                let across = mat3x3<f32>(t * r.x, t * r.y, t * r.z);
                tt -= beside_t * s;
                tr -= across * s;
                rr -= beside_r * s;
                rhs_t += (beside_t * acc_t + across * acc) * s;
                rhs_r += (transpose(across) * acc_t + beside_r * acc) * s;
            }
        }
    }

    let tt_inv = inverse3(tt);
    let down = transpose(tr) * tt_inv;
    let x_r = inverse3(rr - down * (tr + gyro_t)) * (rhs_r - down * rhs_t);
    let x_t = tt_inv * (rhs_t - (tr + gyro_t) * x_r);
    for (var k = 0u; k < 3u; k++) {
        st_int_dvel(w, i + k, x_t[k]);
        st_int_dvel(w, i + 3u + k, x_r[k]);
    }
}

// v vᵀ without its diagonal.
fn beside(v: vec3<f32>) -> mat3x3<f32> {
    let xy = v.x * v.y;
    let xz = v.x * v.z;
    let yz = v.y * v.z;
    return mat3x3<f32>(0.0, xy, xz, xy, 0.0, yz, xz, yz, 0.0);
}

// The matrix of v x.
fn skew(v: vec3<f32>) -> mat3x3<f32> {
    return mat3x3<f32>(0.0, v[2], -v[1], -v[2], 0.0, v[0], v[1], -v[0], 0.0);
}

// The inverse of a 3x3 matrix.
fn inverse3(a: mat3x3<f32>) -> mat3x3<f32> {
    let yz = cross(a[1], a[2]);
    let s = 1.0 / dot(a[0], yz);
    return transpose(mat3x3<f32>(yz * s, cross(a[2], a[0]) * s, cross(a[0], a[1]) * s));
}

// Block of int_H at rows i + r.., columns i + c.. of a tree that starts at dof i.
fn free_block(w: u32, i: u32, r: u32, c: u32) -> mat3x3<f32> {
    return mat3x3<f32>(
        free_entry(w, i, r, c), free_entry(w, i, r + 1u, c), free_entry(w, i, r + 2u, c),
        free_entry(w, i, r, c + 1u), free_entry(w, i, r + 1u, c + 1u), free_entry(w, i, r + 2u, c + 1u),
        free_entry(w, i, r, c + 2u), free_entry(w, i, r + 1u, c + 2u), free_entry(w, i, r + 2u, c + 2u),
    );
}

// Entry of int_H at row i + r, column i + c; a row of a simple body holds the diagonal only.
fn free_entry(w: u32, i: u32, r: u32, c: u32) -> f32 {
    let low = min(r, c);
    let high = max(r, c);
    let last = u32(ld_M_rownnz(w, i + high)) - 1u;
    let x = ld_int_H(w, u32(ld_M_rowadr(w, i + high)) + select(min(low, last), last, low == high));
    return select(x, 0.0, low != high && last == 0u);
}

// Factors int_H in place, as factor_m does M.
// GPU only: Rust passes the matrix to factor_m
fn factor_h(w: u32, lane: u32) {
    for (var up = 1u; up <= NDOFLEVEL; up++) {
        let level = NDOFLEVEL - up;
        let first = u32(ld_doflevel_adr(w, level));
        let n = (u32(ld_doflevel_adr(w, level + 1u)) - first) * (level + 1u);
        for (var e = lane; e < n; e += LANES) {
            factor_h_row(w, u32(ld_doflevel_dof(w, first + e / (level + 1u))), e % (level + 1u));
        }
        sync();
    }
    for (var i = lane; i < NV; i += LANES) {
        let adr = u32(ld_M_rowadr(w, i));
        let end = adr + u32(ld_M_rownnz(w, i));
        let s = ld_int_HDiagInv(w, i);
        // see scale_row
        for (var k = adr; k < end; k++) {
            st_int_H(w, k, ld_int_H(w, k) * select(s, 1.0, k + 1u == end));
        }
    }
}

// Entry k of row i of D L from the rows below.
// GPU only: Rust passes the matrix to factor_m
fn factor_h_row(w: u32, i: u32, k: u32) {
    let adr = u32(ld_M_rowadr(w, i));
    let depth = u32(ld_M_rownnz(w, i)) - 1u;
    var x = ld_int_H(w, adr + k);
    let end = i + 1u + u32(ld_dof_descnum(w, i));
    for (var below = i + 1u; below < end; below++) {
        let row = u32(ld_M_rowadr(w, below));
        x -= ld_int_H(w, row + depth) * ld_int_HDiagInv(w, below) * ld_int_H(w, row + k);
    }
    st_int_H(w, adr + k, x);
    if k == depth {
        st_int_HDiagInv(w, i, 1.0 / x);
    }
}

// Solves with the factor of int_H for int_dacc in place, as solve_m does.
// GPU only: Rust passes the matrix to solve_m
fn solve_h(w: u32, lane: u32) {
    for (var up = 1u; up <= NDOFLEVEL; up++) {
        let level = NDOFLEVEL - up;
        let stop = u32(ld_doflevel_adr(w, level + 1u));
        for (var k = u32(ld_doflevel_adr(w, level)) + lane; k < stop; k += LANES) {
            let i = u32(ld_doflevel_dof(w, k));
            var sum = ld_int_dacc(w, i);
            let end = i + 1u + u32(ld_dof_descnum(w, i));
            for (var below = i + 1u; below < end; below++) {
                sum -= ld_int_H(w, u32(ld_M_rowadr(w, below)) + level) * ld_int_dacc(w, below);
            }
            st_int_dacc(w, i, sum);
        }
        sync();
    }
    for (var level = 0u; level < NDOFLEVEL; level++) {
        let stop = u32(ld_doflevel_adr(w, level + 1u));
        for (var k = u32(ld_doflevel_adr(w, level)) + lane; k < stop; k += LANES) {
            let i = u32(ld_doflevel_dof(w, k));
            let adr = u32(ld_M_rowadr(w, i));
            var sum = ld_int_dacc(w, i) * ld_int_HDiagInv(w, i);
            for (var c = adr; c < adr + level; c++) {
                sum -= ld_int_H(w, c) * ld_int_dacc(w, u32(ld_M_colind(w, c)));
            }
            st_int_dacc(w, i, sum);
        }
        sync();
    }
}

// Element i of int_H qacc.
// GPU only: Rust passes the matrix to mul_row
fn mul_h_row(w: u32, i: u32) -> f32 {
    let adr = u32(ld_M_rowadr(w, i));
    let n = u32(ld_M_rownnz(w, i));
    var sum = 0.0;
    for (var k = adr; k < adr + n; k++) {
        sum += ld_int_H(w, k) * ld_qacc(w, u32(ld_M_colind(w, k)));
    }
    let end = i + 1u + u32(ld_dof_descnum(w, i));
    for (var below = i + 1u; below < end; below++) {
        sum += ld_int_H(w, u32(ld_M_rowadr(w, below)) + n - 1u) * ld_qacc(w, below);
    }
    return sum;
}
