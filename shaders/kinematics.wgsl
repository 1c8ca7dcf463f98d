// Frames of bodies, joints, geoms and sites; centres of mass, spatial inertias, motion axes.
import package::layout::{
    JNT_BALL, JNT_FREE, JNT_HINGE, JNT_SLIDE, LANES, MINVAL, NBODY, NGEOM, NJNT, NLEVEL, NSITE, Vec6, WORLDS_PER_GROUP,
    ld_body_childadr, ld_body_childnum, ld_body_inertia, ld_body_ipos, ld_body_iquat, ld_body_jntadr, ld_body_jntnum,
    ld_body_mass, ld_body_mocapid, ld_body_parentid, ld_body_pos, ld_body_quat, ld_body_rootid, ld_body_subtreemass,
    ld_geom_bodyid, ld_geom_pos, ld_geom_quat, ld_jnt_axis, ld_jnt_bodyid, ld_jnt_dofadr, ld_jnt_pos, ld_jnt_qposadr,
    ld_jnt_type, ld_level_adr, ld_level_body, ld_mocap_pos, ld_mocap_quat, ld_qpos, ld_qpos0, ld_qpos_lo, ld_site_bodyid,
    ld_site_pos, ld_site_quat, ld_subtree_com, ld_xanchor, ld_xaxis, ld_ximat, ld_xipos, ld_xmat, ld_xpos, ld_xpos_lo,
    ld_xquat, st_cdof, st_geom_xmat, st_geom_xpos, st_site_xmat, st_site_xpos, st_subtree_com, st_xanchor, st_xaxis,
    st_ximat, st_xipos, st_xmat, st_xpos, st_xpos_lo, st_xquat, lane_of, world_of,
};
import package::math::{axis_angle_to_quat, quat_mul, quat_normalize, quat_rotate, quat_to_mat, sync};
import package::spatial::{inert_at, st10_cinert, zero6};
import package::two_float::{Tf3, tf_add3};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    kinematics(world_of(group, local), lane_of(local));
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_com_pos(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    com_pos(world_of(group, local), lane_of(local));
}

// Frames of bodies, joints, geoms and sites from qpos (mj_kinematics).
fn kinematics(w: u32, lane: u32) {
    for (var level = 0u; level < NLEVEL; level++) {
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_pose(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var g = lane; g < NGEOM; g += LANES) {
        geom_pose(w, g);
    }
    for (var s = lane; s < NSITE; s += LANES) {
        site_pose(w, s);
    }
}

// Frame of a body from its parent's, and the frames of its joints.
fn body_pose(w: u32, b: u32) {
    var pos = Tf3(vec3<f32>(0.0), vec3<f32>(0.0));
    var quat = vec4<f32>(1.0, 0.0, 0.0, 0.0);
    let mocap = ld_body_mocapid(w, b);
    if mocap >= 0 {
        pos.hi = ld_mocap_pos(w, u32(mocap));
        quat = ld_mocap_quat(w, u32(mocap));
    } else if b > 0u {
        let p = u32(ld_body_parentid(w, b));
        let parent_quat = ld_xquat(w, p);
        pos = tf_add3(ld_xpos(w, p), ld_xpos_lo(w, p), quat_rotate(parent_quat, ld_body_pos(w, b)));
        quat = quat_mul(parent_quat, ld_body_quat(w, b));
    }
    let first = u32(max(ld_body_jntadr(w, b), 0));
    let end = first + u32(ld_body_jntnum(w, b));
    for (var j = first; j < end; j++) {
        let a = u32(ld_jnt_qposadr(w, j));
        let kind = ld_jnt_type(w, j);
        if kind == JNT_FREE {
            pos.hi = vec3<f32>(ld_qpos(w, a), ld_qpos(w, a + 1u), ld_qpos(w, a + 2u));
            pos.lo = vec3<f32>(ld_qpos_lo(w, a), ld_qpos_lo(w, a + 1u), ld_qpos_lo(w, a + 2u));
            quat = quat_normalize(qpos_quat(w, a + 3u));
            st_xanchor(w, j, pos.hi);
            st_xaxis(w, j, ld_jnt_axis(w, j));
            continue;
        }
        let axis = quat_rotate(quat, ld_jnt_axis(w, j));
        let arm = quat_rotate(quat, ld_jnt_pos(w, j));
        st_xaxis(w, j, axis);
        st_xanchor(w, j, pos.hi + arm);
        if kind == JNT_SLIDE {
            pos = tf_add3(pos.hi, pos.lo, axis * ((ld_qpos(w, a) - ld_qpos0(w, a)) + ld_qpos_lo(w, a)));
        } else {
            var turn: vec4<f32>;
            if kind == JNT_BALL {
                turn = quat_normalize(qpos_quat(w, a));
            } else {
                turn = axis_angle_to_quat(ld_jnt_axis(w, j), ld_qpos(w, a) - ld_qpos0(w, a));
            }
            quat = quat_mul(quat, turn);
            // the anchor stays
            pos = tf_add3(pos.hi, pos.lo, arm - quat_rotate(quat, ld_jnt_pos(w, j)));
        }
    }
    quat = quat_normalize(quat);
    st_xpos(w, b, pos.hi);
    st_xpos_lo(w, b, pos.lo);
    st_xquat(w, b, quat);
    st_xmat(w, b, quat_to_mat(quat));
    st_xipos(w, b, pos.hi + quat_rotate(quat, ld_body_ipos(w, b)));
    st_ximat(w, b, quat_to_mat(quat_mul(quat, ld_body_iquat(w, b))));
}

// The quaternion that starts at coordinate a.
fn qpos_quat(w: u32, a: u32) -> vec4<f32> {
    return vec4<f32>(ld_qpos(w, a), ld_qpos(w, a + 1u), ld_qpos(w, a + 2u), ld_qpos(w, a + 3u));
}

// Frame of a geom.
fn geom_pose(w: u32, g: u32) {
    let b = u32(ld_geom_bodyid(w, g));
    let quat = ld_xquat(w, b);
    st_geom_xpos(w, g, ld_xpos(w, b) + quat_rotate(quat, ld_geom_pos(w, g)));
    st_geom_xmat(w, g, quat_to_mat(quat_mul(quat, ld_geom_quat(w, g))));
}

// Frame of a site.
fn site_pose(w: u32, s: u32) {
    let b = u32(ld_site_bodyid(w, s));
    let quat = ld_xquat(w, b);
    st_site_xpos(w, s, ld_xpos(w, b) + quat_rotate(quat, ld_site_pos(w, s)));
    st_site_xmat(w, s, quat_to_mat(quat_mul(quat, ld_site_quat(w, s))));
}

// Centres of mass of subtrees, inertias and motion axes about the centre of mass of each tree (mj_comPos).
fn com_pos(w: u32, lane: u32) {
    for (var up = 1u; up <= NLEVEL; up++) {
        let level = NLEVEL - up;
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_subtree_com(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var b = lane; b < NBODY; b += LANES) {
        body_inertia(w, b);
    }
    for (var j = lane; j < NJNT; j += LANES) {
        joint_axes(w, j);
    }
}

// Centre of mass of a subtree from those of the children's.
fn body_subtree_com(w: u32, b: u32) {
    let own = ld_xipos(w, b);
    var shift = vec3<f32>(0.0);
    let first = u32(ld_body_childadr(w, b));
    let end = first + u32(ld_body_childnum(w, b));
    for (var k = first; k < end; k++) {
        let c = u32(ld_level_body(w, k));
        shift += (ld_subtree_com(w, c) - own) * ld_body_subtreemass(w, c);
    }
    let mass = ld_body_subtreemass(w, b);
    let massless = mass < MINVAL;
    st_subtree_com(w, b, own + shift * select(1.0 / select(mass, 1.0, massless), 0.0, massless));
}

// Spatial inertia of a body about the centre of mass of its tree; the world has none.
fn body_inertia(w: u32, b: u32) {
    let offset = ld_xipos(w, b) - ld_subtree_com(w, u32(ld_body_rootid(w, b)));
    let solid = select(1.0, 0.0, b == 0u);
    st10_cinert(w, b, inert_at(ld_body_inertia(w, b) * solid, ld_ximat(w, b), offset, ld_body_mass(w, b) * solid));
}

// Motion axes of a joint's dofs about the centre of mass of its tree.
fn joint_axes(w: u32, j: u32) {
    let b = u32(ld_jnt_bodyid(w, j));
    var i = u32(ld_jnt_dofadr(w, j));
    let kind = ld_jnt_type(w, j);
    let offset = ld_subtree_com(w, u32(ld_body_rootid(w, b))) - ld_xanchor(w, j);
    if kind == JNT_SLIDE {
        st_cdof(w, i, Vec6(vec3<f32>(0.0), ld_xaxis(w, j)));
        return;
    }
    if kind == JNT_HINGE {
        let axis = ld_xaxis(w, j);
        st_cdof(w, i, Vec6(axis, cross(axis, offset)));
        return;
    }
    if kind == JNT_FREE {
        for (var k = 0u; k < 3u; k++) {
            var axis = zero6();
            axis.t[k] = 1.0;
            st_cdof(w, i + k, axis);
        }
        i += 3u;
    }
    let mat = ld_xmat(w, b);
    for (var k = 0u; k < 3u; k++) {
        st_cdof(w, i + k, Vec6(mat[k], cross(mat[k], offset)));
    }
}
