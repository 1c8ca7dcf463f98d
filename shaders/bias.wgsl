// Coriolis, centrifugal and gravitational forces.
import package::layout::{
    DISABLE_GRAVITY, LANES, NLEVEL, NV, OPT_DISABLEFLAGS, WORLDS_PER_GROUP, ld_body_childadr, ld_body_childnum,
    ld_body_dofadr, ld_body_dofnum, ld_body_parentid, ld_cacc, ld_cdof, ld_cdof_dot, ld_cfrc_int, ld_cvel, ld_dof_bodyid,
    ld_level_adr, ld_level_body, ld_opt_gravity, ld_qvel, st_cacc, st_cfrc_int, st_qfrc_bias, lane_of, world_of,
};
import package::math::{sync};
import package::spatial::{add6, cross_force, dot6, inert_mul, ld10_cinert, scale6, zero6};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    bias(world_of(group, local), lane_of(local));
}

// Forces that keep qacc at zero (mj_rne without acceleration).
fn bias(w: u32, lane: u32) {
    for (var level = 0u; level < NLEVEL; level++) {
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_acceleration(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var up = 1u; up <= NLEVEL; up++) {
        let level = NLEVEL - up;
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_force(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var i = lane; i < NV; i += LANES) {
        st_qfrc_bias(w, i, dot6(ld_cdof(w, i), ld_cfrc_int(w, u32(ld_dof_bodyid(w, i)))));
    }
}

// Acceleration of a body at zero qacc; gravity is an upward acceleration of the world.
fn body_acceleration(w: u32, b: u32) {
    var acc = zero6();
    if b > 0u {
        acc = ld_cacc(w, u32(ld_body_parentid(w, b)));
    } else if (OPT_DISABLEFLAGS & DISABLE_GRAVITY) == 0 {
        acc.t = -ld_opt_gravity(w);
    }
    let first = u32(max(ld_body_dofadr(w, b), 0));
    let end = first + u32(ld_body_dofnum(w, b));
    for (var i = first; i < end; i++) {
        acc = add6(acc, scale6(ld_cdof_dot(w, i), ld_qvel(w, i)));
    }
    st_cacc(w, b, acc);
}

// Force that moves a subtree: the body's own and the children's.
fn body_force(w: u32, b: u32) {
    let inert = ld10_cinert(w, b);
    let vel = ld_cvel(w, b);
    var force = add6(inert_mul(inert, ld_cacc(w, b)), cross_force(vel, inert_mul(inert, vel)));
    let first = u32(ld_body_childadr(w, b));
    let end = first + u32(ld_body_childnum(w, b));
    for (var k = first; k < end; k++) {
        force = add6(force, ld_cfrc_int(w, u32(ld_level_body(w, k))));
    }
    st_cfrc_int(w, b, force);
}
