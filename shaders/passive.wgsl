// Springs, dampers, gravity compensation.
import package::layout::{
    DISABLE_DAMPER, DISABLE_GRAVITY, DISABLE_SPRING, JNT_BALL, JNT_FREE, LANES, NGRAVCOMP, NJNT, NTENDON, NV,
    OPT_DISABLEFLAGS, Vec6, WORLDS_PER_GROUP, ld_body_gravcomp, ld_body_mass, ld_body_rootid, ld_body_subtreenum, ld_cdof,
    ld_dof_bodyid, ld_dof_damping, ld_dof_jntid, ld_jnt_actgravcomp, ld_jnt_dofadr, ld_jnt_qposadr, ld_jnt_stiffness,
    ld_jnt_type, ld_opt_gravity, ld_qfrc_spring, ld_qpos, ld_qpos_lo, ld_qpos_spring, ld_qvel, ld_subtree_com, ld_ten_J,
    ld_ten_length, ld_ten_velocity, ld_tendon_damping, ld_tendon_lengthspring, ld_tendon_stiffness, ld_xipos,
    st_qfrc_damper, st_qfrc_gravcomp, st_qfrc_passive, st_qfrc_spring, lane_of, world_of,
};
import package::kinematics::{qpos_quat};
import package::math::{quat_conj, quat_mul, quat_normalize, quat_to_vel, sync};
import package::spatial::{dot6};

const SPRING_ON: bool = (OPT_DISABLEFLAGS & DISABLE_SPRING) == 0;
const DAMPER_ON: bool = (OPT_DISABLEFLAGS & DISABLE_DAMPER) == 0;
const GRAVCOMP_ON: bool = NGRAVCOMP > 0u && (OPT_DISABLEFLAGS & DISABLE_GRAVITY) == 0 && (SPRING_ON || DAMPER_ON);

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    passive(world_of(group, local), lane_of(local));
}

// Passive forces (mj_passive). With springs and dampers both disabled gravity compensation is off too, as in MuJoCo.
fn passive(w: u32, lane: u32) {
    for (var j = lane; j < NJNT; j += LANES) {
        joint_spring(w, j);
    }
    sync();
    for (var i = lane; i < NV; i += LANES) {
        dof_passive(w, i);
    }
}

// Spring force of a joint on its dofs.
fn joint_spring(w: u32, j: u32) {
    var i = u32(ld_jnt_dofadr(w, j));
    var q = u32(ld_jnt_qposadr(w, j));
    let kind = ld_jnt_type(w, j);
    let stiffness = select(0.0, ld_jnt_stiffness(w, j), SPRING_ON);
    if kind != JNT_BALL {
        let n = select(1u, 3u, kind == JNT_FREE);
        for (var k = 0u; k < n; k++) {
            let stretch = (ld_qpos(w, q + k) - ld_qpos_spring(w, q + k)) + ld_qpos_lo(w, q + k);
            st_qfrc_spring(w, i + k, -stiffness * stretch);
        }
        i += n;
        q += n;
    }
    if kind == JNT_FREE || kind == JNT_BALL {
        let rest = quat_conj(vec4<f32>(
            ld_qpos_spring(w, q), ld_qpos_spring(w, q + 1u), ld_qpos_spring(w, q + 2u), ld_qpos_spring(w, q + 3u)));
        let turn = quat_to_vel(quat_mul(rest, quat_normalize(qpos_quat(w, q))));
        for (var k = 0u; k < 3u; k++) {
            st_qfrc_spring(w, i + k, -stiffness * turn[k]);
        }
    }
}

// Passive forces of a dof: tendon springs on top of the joint's, dampers, gravity compensation, the total.
fn dof_passive(w: u32, i: u32) {
    var spring = ld_qfrc_spring(w, i);
    var damper = select(0.0, -ld_dof_damping(w, i) * ld_qvel(w, i), DAMPER_ON);
    for (var t = 0u; t < NTENDON; t++) {
        let arm = ld_ten_J(w, t, i);
        if SPRING_ON {
            spring += arm * tendon_spring(w, t);
        }
        if DAMPER_ON {
            damper -= arm * ld_tendon_damping(w, t) * ld_ten_velocity(w, t);
        }
    }
    st_qfrc_spring(w, i, spring);
    st_qfrc_damper(w, i, damper);
    var gravcomp = 0.0;
    if GRAVCOMP_ON {
        gravcomp = dof_gravcomp(w, i);
    }
    st_qfrc_gravcomp(w, i, gravcomp);
    let by_actuators = ld_jnt_actgravcomp(w, u32(ld_dof_jntid(w, i))) != 0;
    st_qfrc_passive(w, i, (spring + damper) + select(gravcomp, 0.0, by_actuators));
}

// Force of a tendon's spring, which rests in a range of lengths.
fn tendon_spring(w: u32, t: u32) -> f32 {
    let rest = ld_tendon_lengthspring(w, t);
    let length = ld_ten_length(w, t);
    return ld_tendon_stiffness(w, t) * (max(rest[0] - length, 0.0) - max(length - rest[1], 0.0));
}

// Force on a dof of what compensates gravity on the bodies below.
fn dof_gravcomp(w: u32, i: u32) -> f32 {
    let top = u32(ld_dof_bodyid(w, i));
    let com = ld_subtree_com(w, u32(ld_body_rootid(w, top)));
    let up = -ld_opt_gravity(w);
    let axis = ld_cdof(w, i);
    var sum = 0.0;
    let end = top + u32(ld_body_subtreenum(w, top));
    for (var b = top; b < end; b++) {
        let force = up * (ld_body_mass(w, b) * ld_body_gravcomp(w, b));
        sum += dot6(axis, Vec6(cross(ld_xipos(w, b) - com, force), force));
    }
    return sum;
}
