// Row velocities and reference accelerations.
import package::layout::{
    EQ_CONNECT, EQ_WELD, LANES, NEQ, NV, WORLDS_PER_GROUP, ld_body_rootid, ld_cacc, ld_cvel, ld_efc_J, ld_efc_KBIP,
    ld_efc_aref,
    ld_efc_margin, ld_efc_pos, ld_eq_data, ld_eq_efc_address, ld_eq_type, ld_nefc, ld_qvel, ld_subtree_com, ld_xmat, ld_xpos,
    ld_xquat, st_efc_aref, st_efc_vel, lane_of, world_of
};
import package::math::{quat_mul, sync};
import package::constraint_anchor::{eq_anchor, half_relative};
import package::loops::{loops_ran};

// Velocity and reference acceleration of every row.
fn reference(w: u32, lane: u32) {
    let n = u32(ld_nefc(w));
    for (var r = lane; r < n; r += LANES) {
        reference_row(w, r);
    }
    sync();
    for (var e = lane; e < NEQ; e += LANES) {
        let kind = ld_eq_type(w, e);
        if ld_eq_efc_address(w, e) >= 0 && (kind == EQ_CONNECT || kind == EQ_WELD) {
            equality_bias(w, e);
        }
    }
    loops_ran(w);
}

// Velocity J qvel of row r and its reference acceleration -B vel - K I (pos - margin).
fn reference_row(w: u32, r: u32) {
    var vel = 0.0;
    for (var i = 0u; i < NV; i += 1u) {
        vel += ld_efc_J(w, r, i) * ld_qvel(w, i);
    }
    st_efc_vel(w, r, vel);
    let kbip = ld_efc_KBIP(w, r);
    st_efc_aref(w, r, -kbip.y * vel - kbip.x * kbip.z * (ld_efc_pos(w, r) - ld_efc_margin(w, r)));
}

// The acceleration [m/s^2] of the point of body b at arm from its frame while qacc is zero, gravity as in cacc.
fn point_bias(w: u32, b: u32, arm: vec3<f32>) -> vec3<f32> {
    let offset = (ld_xpos(w, b) - ld_subtree_com(w, u32(ld_body_rootid(w, b)))) + arm;
    let v = ld_cvel(w, b);
    let a = ld_cacc(w, b);
    // the second term makes the acceleration that of the moving point
    return a.t + cross(a.r, offset) + cross(v.r, v.t + cross(v.r, offset));
}

// Takes what the motion does to the Jacobian of connect or weld e, dJ/dt qvel, off its reference acceleration.
fn equality_bias(w: u32, e: u32) {
    let r0 = u32(ld_eq_efc_address(w, e));
    let a1 = eq_anchor(w, e, 0u);
    let a2 = eq_anchor(w, e, 1u);
    // gravity is in both and goes out
    let bias = point_bias(w, a1.body, ld_xmat(w, a1.body) * a1.pos) - point_bias(w, a2.body, ld_xmat(w, a2.body) * a2.pos);
    for (var k = 0u; k < 3u; k += 1u) {
        st_efc_aref(w, r0 + k, ld_efc_aref(w, r0 + k) - bias[k]);
    }
    if ld_eq_type(w, e) == EQ_WELD {
        // of vec(conj(g2) (0, w1 - w2) g1) / 2, with dg/dt = (0, w) g / 2
        let w1 = ld_cvel(w, a1.body).r;
        let w2 = ld_cvel(w, a2.body).r;
        let dw = w1 - w2;
        let acc = ld_cacc(w, a1.body).r - ld_cacc(w, a2.body).r + cross(w1, w2);
        let g1 = quat_mul(ld_xquat(w, a1.body), a1.quat);
        let g2 = quat_mul(ld_xquat(w, a2.body), a2.quat);
        let turn = half_relative(g1, g2, vec4<f32>(-dot(dw, dw) * 0.5, acc)) * ld_eq_data(w, e, 10u);
        for (var k = 0u; k < 3u; k += 1u) {
            st_efc_aref(w, r0 + 3u + k, ld_efc_aref(w, r0 + 3u + k) - turn[k]);
        }
    }
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    reference(world_of(group, local), lane_of(local));
}
