// Body velocities, rates of the motion axes, tendon and actuator velocities.
import package::layout::{
    JNT_BALL, JNT_FREE, LANES, NLEVEL, NTENDON, NU, WORLDS_PER_GROUP, ld_actuator_moment, ld_body_jntadr, ld_body_jntnum,
    ld_body_parentid, ld_cdof, ld_cvel, ld_jnt_dofadr, ld_jnt_type, ld_level_adr, ld_level_body, ld_qvel, ld_tendon_adr,
    ld_tendon_num, ld_wrap_objid, ld_wrap_prm, st_actuator_velocity, st_cdof_dot, st_cvel, st_ten_velocity, lane_of, world_of,
};
import package::math::{sync};
import package::spatial::{add6, cross_motion, scale6, zero6};
import package::transmission::{actuator_dofs};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    velocity(world_of(group, local), lane_of(local));
}

// What follows from qvel (mj_fwdVelocity's first part, mj_comVel).
fn velocity(w: u32, lane: u32) {
    for (var level = 0u; level < NLEVEL; level++) {
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_velocity(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var t = lane; t < NTENDON; t += LANES) {
        tendon_velocity(w, t);
    }
    for (var a = lane; a < NU; a += LANES) {
        actuator_velocity(w, a);
    }
}

// Velocity of a body from its parent's, and the rates of its dofs' axes.
fn body_velocity(w: u32, b: u32) {
    var vel = zero6();
    if b > 0u {
        vel = ld_cvel(w, u32(ld_body_parentid(w, b)));
    }
    let first = u32(max(ld_body_jntadr(w, b), 0));
    let end = first + u32(ld_body_jntnum(w, b));
    for (var j = first; j < end; j++) {
        var i = u32(ld_jnt_dofadr(w, j));
        let kind = ld_jnt_type(w, j);
        if kind == JNT_FREE {
            // axes fixed in the world
            for (var k = 0u; k < 3u; k++) {
                st_cdof_dot(w, i, zero6());
                vel = add6(vel, scale6(ld_cdof(w, i), ld_qvel(w, i)));
                i++;
            }
        }
        let turns = select(1u, 3u, kind == JNT_FREE || kind == JNT_BALL);
        let carried = vel;
        for (var k = 0u; k < turns; k++) {
            let axis = ld_cdof(w, i);
            st_cdof_dot(w, i, cross_motion(carried, axis));
            vel = add6(vel, scale6(axis, ld_qvel(w, i)));
            i++;
        }
    }
    st_cvel(w, b, vel);
}

// Rate of a tendon's length.
fn tendon_velocity(w: u32, t: u32) {
    var vel = 0.0;
    let first = u32(ld_tendon_adr(w, t));
    let end = first + u32(ld_tendon_num(w, t));
    for (var k = first; k < end; k++) {
        vel += ld_wrap_prm(w, k) * ld_qvel(w, u32(ld_jnt_dofadr(w, u32(ld_wrap_objid(w, k)))));
    }
    st_ten_velocity(w, t, vel);
}

// Rate of an actuator's length.
fn actuator_velocity(w: u32, a: u32) {
    let dofs = actuator_dofs(w, a);
    var vel = 0.0;
    for (var i = dofs[0]; i < dofs[0] + dofs[1]; i++) {
        vel += ld_actuator_moment(w, a, i) * ld_qvel(w, i);
    }
    st_actuator_velocity(w, a, vel);
}
