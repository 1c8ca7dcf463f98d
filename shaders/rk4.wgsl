// Substages of the Runge-Kutta step; integrate ends the step.
//
// Orientations are moved in the chart q = q0 exp(u) around the start (Munthe-Kaas): what is weighted and summed is the rate
// of u, not the angular velocity. That keeps fourth order on ball and free joints.
import package::layout::{
    JNT_BALL, JNT_FREE, LANES, NA, NJNT, NV, Vec6, WORLDS_PER_GROUP, dispatch_arg, ld_act_dot, ld_int_act, ld_int_dacc, ld_int_dact, ld_int_dvel,
    ld_int_qvel, ld_jnt_dofadr, ld_jnt_type, ld_opt_timestep, ld_qacc, st_act, st_int_dacc, st_int_dact, st_int_dvel,
    st_int_uvel, st_qvel, lane_of, world_of,
};
import package::integrate::{begin};
import package::joints::{RATE_QVEL, RATE_UVEL, joint_advance, joint_rate};
import package::math::{sin_cos, sync};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    rk4_stage(world_of(group, local), lane_of(local), dispatch_arg());
}

// Weights of the four stages.
fn rk4_weight(sub: u32) -> f32 {
    return select(1.0 / 3.0, 1.0 / 6.0, sub == 0u || sub == 3u);
}

// How far into the step the stage after `sub` lies.
fn rk4_node(sub: u32) -> f32 {
    return select(0.5, 1.0, sub == 2u);
}

// Takes in the rates of substage `sub`; unless it is the last, sets the state where the next one is evaluated. A frozen
// world goes along and stays.
fn rk4_stage(w: u32, lane: u32, sub: u32) {
    let frozen = begin(w, lane, sub);
    let weight = rk4_weight(sub);
    if !frozen {
        for (var j = lane; j < NJNT; j += LANES) {
            rk4_joint(w, j, sub);
        }
        for (var i = lane; i < NV; i += LANES) {
            var before = 0.0;
            if sub > 0u {
                before = ld_int_dacc(w, i);
            }
            st_int_dacc(w, i, before + weight * ld_qacc(w, i));
        }
        for (var k = lane; k < NA; k += LANES) {
            var before = 0.0;
            if sub > 0u {
                before = ld_int_dact(w, k);
            }
            st_int_dact(w, k, before + weight * ld_act_dot(w, k));
        }
    }
    sync();
    if !frozen && sub < 3u {
        let h = ld_opt_timestep(w) * rk4_node(sub);
        for (var i = lane; i < NV; i += LANES) {
            st_qvel(w, i, ld_int_qvel(w, i) + h * ld_qacc(w, i));
        }
        for (var k = lane; k < NA; k += LANES) {
            st_act(w, k, ld_int_act(w, k) + h * ld_act_dot(w, k));
        }
    }
}

// A joint's rates in the chart, and its coordinates where the next stage is evaluated.
fn rk4_joint(w: u32, j: u32, sub: u32) {
    var rate = joint_rate(w, RATE_QVEL, j);
    if sub > 0u {
        let u = joint_rate(w, RATE_UVEL, j).r * (ld_opt_timestep(w) * rk4_node(sub - 1u));
        rate.r = chart_rate(u, rate.r);
    }
    rk4_sum(w, j, rate, sub);
    if sub < 3u {
        joint_advance(w, j, rate, ld_opt_timestep(w) * rk4_node(sub));
    }
}

// Keeps a joint's rate of this stage and adds it to the weighted sum.
fn rk4_sum(w: u32, j: u32, rate: Vec6, sub: u32) {
    let weight = rk4_weight(sub);
    let i = u32(ld_jnt_dofadr(w, j));
    let kind = ld_jnt_type(w, j);
    let nt = select(select(1u, 3u, kind == JNT_FREE), 0u, kind == JNT_BALL);
    let nr = select(0u, 3u, kind == JNT_FREE || kind == JNT_BALL);
    for (var k = 0u; k < nt + nr; k++) {
        var v = 0.0;
        if k < nt {
            v = rate.t[k];
        } else {
            v = rate.r[k - nt];
        }
        var before = 0.0;
        if sub > 0u {
            before = ld_int_dvel(w, i + k);
        }
        st_int_uvel(w, i + k, v);
        st_int_dvel(w, i + k, before + weight * v);
    }
}

// Rate of the rotation vector u of q0 exp(u) that turns with the angular velocity v (body frame):
// v + u x v / 2 + c u x (u x v), c = (1 - (a/2) cot(a/2)) / a^2 with a = |u|.
fn chart_rate(u: vec3<f32>, v: vec3<f32>) -> vec3<f32> {
    let a2 = dot(u, u);
    // the closed form cancels at small angles; the series is exact to 1e-13 below the bound
    var c = 1.0 / 12.0 + a2 * (1.0 / 720.0 + a2 * (1.0 / 30240.0 + a2 * (1.0 / 1209600.0 + a2 * (1.0 / 47900160.0))));
    if a2 >= 0.1 {
        let half = sqrt(a2) * 0.5;
        let sc = sin_cos(half);
        c = (1.0 - half * sc.y / sc.x) / a2;
    }
    let turn = cross(u, v);
    return v + turn * 0.5 + cross(u, turn) * c;
}
