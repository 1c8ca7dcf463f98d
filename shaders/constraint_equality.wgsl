// Rows of equality constraints: connect, weld, joint, tendon.
import package::layout::{
    CNSTR_EQUALITY, EQ_JOINT, EQ_TENDON, EQ_WELD, LANES, NEQ, NV, Vec6, WORLDS_PER_GROUP, ld_body_invweight0, ld_body_rootid, ld_cdof,
    ld_dof_invweight0, ld_eq_data, ld_eq_efc_address, ld_eq_obj1id, ld_eq_obj2id, ld_eq_solimp, ld_eq_solref, ld_eq_type,
    ld_jnt_dofadr, ld_jnt_qposadr, ld_qpos, ld_qpos0, ld_qpos_lo, ld_subtree_com, ld_ten_J, ld_ten_length, ld_tendon_invweight0,
    ld_tendon_length0, ld_xmat, ld_xpos, ld_xpos_lo, ld_xquat, st_efc_J, lane_of, world_of
};
import package::math::{quat_mul};
import package::two_float::{tf_add3};
import package::constraint_row::{
    Solimp, dof_above, impedance, last_dof, limit_stiffness, point_jac, regularizer, spring_damper, st_kbip, st_regularizer, st_row, st_scalar_row,
    zero_rows
};
import package::constraint_anchor::{eq_anchor, half_relative};
import package::loops::{loops_ran};

// Fills the rows of all equalities that have room.
fn constraint_equality(w: u32, lane: u32) {
    for (var e = lane; e < NEQ; e += LANES) {
        let r = ld_eq_efc_address(w, e);
        if r >= 0 {
            equality_rows(w, e, u32(r));
        }
    }
    loops_ran(w);
}

// Fills the rows of equality e, from row r0.
fn equality_rows(w: u32, e: u32, r0: u32) {
    let kind = ld_eq_type(w, e);
    if kind == EQ_JOINT {
        joint_equality_row(w, e, r0);
    } else if kind == EQ_TENDON {
        tendon_equality_row(w, e, r0);
    } else {
        body_equality_rows(w, e, r0);
    }
}

// GPU only: a load in Rust.
// solimp of equality e.
fn eq_solimp(w: u32, e: u32) -> Solimp {
    return Solimp(
        ld_eq_solimp(w, e, 0u), ld_eq_solimp(w, e, 1u), ld_eq_solimp(w, e, 2u), ld_eq_solimp(w, e, 3u), ld_eq_solimp(w, e, 4u),
    );
}

// Difference of two anchors' positions [m]. The sum runs in two-float: what is near zero in it is good to an ulp of the
// rotated anchors, not of the world's coordinates.
fn anchor_difference(w: u32, b1: u32, arm1: vec3<f32>, b2: u32, arm2: vec3<f32>) -> vec3<f32> {
    let a = tf_add3(ld_xpos(w, b1), ld_xpos_lo(w, b1), -ld_xpos(w, b2));
    let b = tf_add3(a.hi, a.lo - ld_xpos_lo(w, b2), arm1);
    let c = tf_add3(b.hi, b.lo, -arm2);
    return c.hi + c.lo;
}

// The vector part of conj(q2) q1, from differences: where the two are close nothing cancels.
fn rotation_difference(q1: vec4<f32>, q2: vec4<f32>) -> vec3<f32> {
    let side = select(1.0, -1.0, dot(q1, q2) < 0.0);
    let dq = q1 * side - q2;
    return (dq.yzw * q2[0] - q2.yzw * dq[0] - cross(q2.yzw, dq.yzw)) * side;
}

// Fills the rows of a connect or weld: position, then for a weld orientation.
fn body_equality_rows(w: u32, e: u32, r0: u32) {
    let a1 = eq_anchor(w, e, 0u);
    let a2 = eq_anchor(w, e, 1u);
    let weld = ld_eq_type(w, e) == EQ_WELD;
    let nrow = select(3u, 6u, weld);

    // residual
    let arm1 = ld_xmat(w, a1.body) * a1.pos;
    let arm2 = ld_xmat(w, a2.body) * a2.pos;
    let dpos = anchor_difference(w, a1.body, arm1, a2.body, arm2);
    let g1 = quat_mul(ld_xquat(w, a1.body), a1.quat);
    let g2 = quat_mul(ld_xquat(w, a2.body), a2.quat);
    let scale = ld_eq_data(w, e, 10u);
    var drot = vec3<f32>(0.0);
    if weld {
        drot = rotation_difference(g1, g2) * scale;
    }

    // the rows of an equality share the impedance, of the length of the whole residual
    let solimp = eq_solimp(w, e);
    let imp = impedance(solimp, sqrt(dot(dpos, dpos) + dot(drot, drot)));
    let kb = spring_damper(w, ld_eq_solref(w, e), solimp, true);
    let diag = ld_body_invweight0(w, a1.body) + ld_body_invweight0(w, a2.body);
    for (var k = 0u; k < nrow; k += 1u) {
        let r = r0 + k;
        var pos = dpos[k % 3u];
        var d = diag.x;
        if k >= 3u {
            pos = drot[k % 3u];
            d = diag.y;
        }
        st_row(w, r, CNSTR_EQUALITY, e, pos, 0.0, 0.0);
        st_kbip(w, r, kb, imp);
        st_regularizer(w, r, regularizer(imp.x, d), imp.x);
    }
    zero_rows(w, r0, nrow);

    // Jacobian, dof by dof from the last one down
    let offset1 = ld_xpos(w, a1.body) + arm1 - ld_subtree_com(w, u32(ld_body_rootid(w, a1.body)));
    let offset2 = ld_xpos(w, a2.body) + arm2 - ld_subtree_com(w, u32(ld_body_rootid(w, a2.body)));
    var i1 = last_dof(w, a1.body);
    var i2 = last_dof(w, a2.body);
    while i1 >= 0 || i2 >= 0 {
        let last = max(i1, i2);
        let i = u32(last);
        var j = Vec6(vec3<f32>(0.0), vec3<f32>(0.0));
        if last == i1 && last == i2 {
            // a dof that moves both turns one point about the other
            j.t = cross(ld_cdof(w, i).r, dpos);
        } else if last == i1 {
            j = point_jac(w, i, offset1);
        } else {
            j = point_jac(w, i, offset2);
            j = Vec6(-j.r, -j.t);
        }
        if last == i2 {
            i2 = dof_above(w, i2);
        }
        if last == i1 {
            i1 = dof_above(w, i1);
        }
        st_efc_J(w, r0, i, j.t.x);
        st_efc_J(w, r0 + 1u, i, j.t.y);
        st_efc_J(w, r0 + 2u, i, j.t.z);
        if weld {
            let q = half_relative(g1, g2, vec4<f32>(0.0, j.r)) * scale;
            st_efc_J(w, r0 + 3u, i, q.x);
            st_efc_J(w, r0 + 4u, i, q.y);
            st_efc_J(w, r0 + 5u, i, q.z);
        }
    }
    for (var k = 0u; k < nrow; k += 1u) {
        limit_stiffness(w, r0 + k, 1u, 0.0);
    }
}

// Value and derivative of the polynomial of equality e at x.
fn eq_poly(w: u32, e: u32, x: f32) -> vec2<f32> {
    let c0 = ld_eq_data(w, e, 0u);
    let c1 = ld_eq_data(w, e, 1u);
    let c2 = ld_eq_data(w, e, 2u);
    let c3 = ld_eq_data(w, e, 3u);
    let c4 = ld_eq_data(w, e, 4u);
    return vec2<f32>(c0 + x * (c1 + x * (c2 + x * (c3 + x * c4))), c1 + x * (c2 * 2.0 + x * (c3 * 3.0 + x * c4 * 4.0)));
}

// How far joint j is from its reference position.
fn joint_offset(w: u32, j: u32) -> f32 {
    let a = u32(ld_jnt_qposadr(w, j));
    return (ld_qpos(w, a) - ld_qpos0(w, a)) + ld_qpos_lo(w, a);
}

// Fills the row that ties one joint to another by a polynomial, or holds it.
fn joint_equality_row(w: u32, e: u32, r: u32) {
    let j1 = u32(ld_eq_obj1id(w, e));
    let v1 = u32(ld_jnt_dofadr(w, j1));
    var pos = joint_offset(w, j1);
    var diag = ld_dof_invweight0(w, v1);
    zero_rows(w, r, 1u);
    st_efc_J(w, r, v1, 1.0);
    if ld_eq_obj2id(w, e) < 0 {
        pos -= ld_eq_data(w, e, 0u);
    } else {
        let j2 = u32(ld_eq_obj2id(w, e));
        let v2 = u32(ld_jnt_dofadr(w, j2));
        let p = eq_poly(w, e, joint_offset(w, j2));
        pos -= p.x;
        diag += ld_dof_invweight0(w, v2);
        st_efc_J(w, r, v2, -p.y);
    }
    st_scalar_row(w, r, CNSTR_EQUALITY, e, pos, 0.0, 0.0, diag, ld_eq_solref(w, e), eq_solimp(w, e), true);
}

// Fills the row that ties one tendon's length to another's by a polynomial, or holds it.
fn tendon_equality_row(w: u32, e: u32, r: u32) {
    let t1 = u32(ld_eq_obj1id(w, e));
    var pos = ld_ten_length(w, t1) - ld_tendon_length0(w, t1);
    var diag = ld_tendon_invweight0(w, t1);
    var t2 = t1;
    var slope = 0.0;
    if ld_eq_obj2id(w, e) < 0 {
        pos -= ld_eq_data(w, e, 0u);
    } else {
        t2 = u32(ld_eq_obj2id(w, e));
        let p = eq_poly(w, e, ld_ten_length(w, t2) - ld_tendon_length0(w, t2));
        pos -= p.x;
        slope = p.y;
        diag += ld_tendon_invweight0(w, t2);
    }
    zero_rows(w, r, 1u);
    for (var i = 0u; i < NV; i += 1u) {
        st_efc_J(w, r, i, ld_ten_J(w, t1, i) - slope * ld_ten_J(w, t2, i));
    }
    st_scalar_row(w, r, CNSTR_EQUALITY, e, pos, 0.0, 0.0, diag, ld_eq_solref(w, e), eq_solimp(w, e), true);
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    constraint_equality(world_of(group, local), lane_of(local));
}
