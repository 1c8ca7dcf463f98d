// Fixed tendons, actuator lengths and moment arms.
import package::layout::{
    JNT_BALL, JNT_FREE, LANES, NTENDON, NU, NV, TRN_JOINTINPARENT, TRN_TENDON, WORLDS_PER_GROUP, ld_actuator_gear,
    ld_actuator_trnid, ld_actuator_trntype, ld_jnt_dofadr, ld_jnt_qposadr, ld_jnt_type, ld_qpos, ld_ten_J, ld_ten_length,
    ld_tendon_adr, ld_tendon_num, ld_wrap_objid, ld_wrap_prm, st_actuator_length, st_actuator_moment, st_ten_J,
    st_ten_length, lane_of, world_of,
};
import package::kinematics::{qpos_quat};
import package::math::{quat_conj, quat_normalize, quat_rotate, quat_to_vel, sync};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    transmission(world_of(group, local), lane_of(local));
}

// Lengths and Jacobians of tendons, then of actuators (mj_tendon, mj_transmission).
fn transmission(w: u32, lane: u32) {
    for (var t = lane; t < NTENDON; t += LANES) {
        tendon_length(w, t);
    }
    sync();
    for (var a = lane; a < NU; a += LANES) {
        actuator_length(w, a);
    }
}

// Length of a fixed tendon: a linear combination of joint positions.
fn tendon_length(w: u32, t: u32) {
    for (var i = 0u; i < NV; i++) {
        st_ten_J(w, t, i, 0.0);
    }
    var length = 0.0;
    let first = u32(ld_tendon_adr(w, t));
    let end = first + u32(ld_tendon_num(w, t));
    for (var k = first; k < end; k++) {
        let j = u32(ld_wrap_objid(w, k));
        let i = u32(ld_jnt_dofadr(w, j));
        length += ld_wrap_prm(w, k) * ld_qpos(w, u32(ld_jnt_qposadr(w, j)));
        st_ten_J(w, t, i, ld_ten_J(w, t, i) + ld_wrap_prm(w, k));
    }
    st_ten_length(w, t, length);
}

// Length of an actuator and its moment arms.
fn actuator_length(w: u32, a: u32) {
    let id = u32(ld_actuator_trnid(w, a)[0]);
    let gear = ld_actuator_gear(w, a);
    if ld_actuator_trntype(w, a) == TRN_TENDON {
        for (var i = 0u; i < NV; i++) {
            st_actuator_moment(w, a, i, ld_ten_J(w, id, i) * gear.r[0]);
        }
        st_actuator_length(w, a, ld_ten_length(w, id) * gear.r[0]);
        return;
    }
    for (var i = 0u; i < NV; i++) {
        st_actuator_moment(w, a, i, 0.0);
    }
    let i = u32(ld_jnt_dofadr(w, id));
    let q = u32(ld_jnt_qposadr(w, id));
    let in_parent = ld_actuator_trntype(w, a) == TRN_JOINTINPARENT;
    let kind = ld_jnt_type(w, id);
    if kind == JNT_FREE {
        var turn = gear.t;
        if in_parent {
            turn = quat_rotate(quat_conj(quat_normalize(qpos_quat(w, q + 3u))), turn);
        }
        for (var k = 0u; k < 3u; k++) {
            st_actuator_moment(w, a, i + k, gear.r[k]);
            st_actuator_moment(w, a, i + 3u + k, turn[k]);
        }
        st_actuator_length(w, a, 0.0);
    } else if kind == JNT_BALL {
        let quat = quat_normalize(qpos_quat(w, q));
        var turn = gear.r;
        if in_parent {
            turn = quat_rotate(quat_conj(quat), turn);
        }
        for (var k = 0u; k < 3u; k++) {
            st_actuator_moment(w, a, i + k, turn[k]);
        }
        st_actuator_length(w, a, dot(quat_to_vel(quat), turn));
    } else {
        st_actuator_moment(w, a, i, gear.r[0]);
        st_actuator_length(w, a, ld_qpos(w, q) * gear.r[0]);
    }
}

// The dofs that an actuator can move: first and number.
fn actuator_dofs(w: u32, a: u32) -> vec2<u32> {
    if ld_actuator_trntype(w, a) == TRN_TENDON {
        return vec2<u32>(0u, NV);
    }
    let id = u32(ld_actuator_trnid(w, a)[0]);
    let kind = ld_jnt_type(w, id);
    return vec2<u32>(u32(ld_jnt_dofadr(w, id)), select(select(1u, 3u, kind == JNT_BALL), 6u, kind == JNT_FREE));
}
