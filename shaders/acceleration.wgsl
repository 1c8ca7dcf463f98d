// The acceleration without constraints.
import package::layout::{
    LANES, NLEVEL, NV, Vec6, WORLDS_PER_GROUP, ld_body_childadr, ld_body_childnum, ld_body_rootid, ld_cdof, ld_cfrc_applied,
    ld_dof_bodyid, ld_level_adr, ld_level_body, ld_qfrc_actuator, ld_qfrc_applied, ld_qfrc_bias, ld_qfrc_passive,
    ld_subtree_com, ld_xfrc_applied, ld_xipos, st_cfrc_applied, st_qacc_smooth, st_qfrc_smooth, lane_of, world_of,
};
import package::inertia::{solve_m};
import package::math::{sync};
import package::spatial::{add6, dot6};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    acceleration(world_of(group, local), lane_of(local));
}

// Sum of the smooth forces and what it accelerates (mj_fwdAcceleration).
fn acceleration(w: u32, lane: u32) {
    for (var up = 1u; up <= NLEVEL; up++) {
        let level = NLEVEL - up;
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_applied(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var i = lane; i < NV; i += LANES) {
        dof_smooth(w, i);
    }
    sync();
    solve_m(w, lane);
}

// Applied force on a subtree about the centre of mass of its tree.
fn body_applied(w: u32, b: u32) {
    let com = ld_subtree_com(w, u32(ld_body_rootid(w, b)));
    // a row of xfrc_applied holds the force first
    let applied = ld_xfrc_applied(w, b);
    var force = Vec6(applied.t + cross(ld_xipos(w, b) - com, applied.r), applied.r);
    if b > 0u {
        let first = u32(ld_body_childadr(w, b));
        let end = first + u32(ld_body_childnum(w, b));
        for (var k = first; k < end; k++) {
            force = add6(force, ld_cfrc_applied(w, u32(ld_level_body(w, k))));
        }
    }
    st_cfrc_applied(w, b, force);
}

// Smooth force on a dof.
fn dof_smooth(w: u32, i: u32) {
    let applied = dot6(ld_cdof(w, i), ld_cfrc_applied(w, u32(ld_dof_bodyid(w, i))));
    let force = (ld_qfrc_passive(w, i) - ld_qfrc_bias(w, i)) + (ld_qfrc_applied(w, i) + applied) + ld_qfrc_actuator(w, i);
    st_qfrc_smooth(w, i, force);
    st_qacc_smooth(w, i, force);
}
