// Activation rates and actuator forces.
import package::layout::{
    BIAS_AFFINE, DISABLE_ACTUATION, DISABLE_CLAMPCTRL, DYN_FILTEREXACT, DYN_INTEGRATOR, GAIN_AFFINE, GAIN_FIXED, JNT_BALL, JNT_SLIDE,
    LANES, MINVAL, NU, NV, OPT_DISABLEACTUATOR, OPT_DISABLEFLAGS, TRN_TENDON, WORLDS_PER_GROUP, ld_act, ld_act_dot,
    ld_actuator_actadr, ld_actuator_actearly, ld_actuator_actlimited, ld_actuator_actrange, ld_actuator_biasprm,
    ld_actuator_biastype, ld_actuator_ctrllimited, ld_actuator_ctrlrange, ld_actuator_dynprm, ld_actuator_dyntype,
    ld_actuator_force, ld_actuator_forcelimited, ld_actuator_forcerange, ld_actuator_gainprm, ld_actuator_gaintype, ld_actuator_gear,
    ld_actuator_group, ld_actuator_length, ld_actuator_moment, ld_actuator_trnid, ld_actuator_trntype,
    ld_actuator_velocity, ld_ctrl, ld_dof_jntid, ld_jnt_actfrclimited, ld_jnt_actfrcrange, ld_jnt_actgravcomp,
    ld_jnt_dofadr, ld_jnt_type, ld_opt_timestep, ld_qfrc_actuator, ld_qfrc_gravcomp, st_act_dot, st_actuator_force,
    st_qfrc_actuator, lane_of, world_of,
};
import package::math::{PI, sync};

const ACTUATION_ON: bool = (OPT_DISABLEFLAGS & DISABLE_ACTUATION) == 0;

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    actuation(world_of(group, local), lane_of(local));
}

// Actuator forces (mj_fwdActuation).
fn actuation(w: u32, lane: u32) {
    for (var a = lane; a < NU; a += LANES) {
        actuator(w, a);
    }
    sync();
    for (var i = lane; i < NV; i += LANES) {
        dof_actuation(w, i);
    }
}

// The group of the actuator is switched off, or actuation as a whole is.
fn actuator_disabled(w: u32, a: u32) -> bool {
    let group = ld_actuator_group(w, a);
    return !ACTUATION_ON || (group >= 0 && group < 31 && ((OPT_DISABLEACTUATOR >> u32(group)) & 1) != 0);
}

// Control of an actuator, clamped to its range.
fn actuator_ctrl(w: u32, a: u32) -> f32 {
    let ctrl = ld_ctrl(w, a);
    if ld_actuator_ctrllimited(w, a) == 0 || (OPT_DISABLEFLAGS & DISABLE_CLAMPCTRL) != 0 {
        return ctrl;
    }
    let range = ld_actuator_ctrlrange(w, a);
    return min(max(ctrl, range[0]), range[1]);
}

// Activation rate and force of an actuator.
fn actuator(w: u32, a: u32) {
    let ctrl = actuator_ctrl(w, a);
    let adr = ld_actuator_actadr(w, a);
    if adr >= 0 {
        var rate = 0.0;
        if ACTUATION_ON {
            rate = ctrl;
            if ld_actuator_dyntype(w, a) != DYN_INTEGRATOR {
                rate = (ctrl - ld_act(w, u32(adr))) / filter_tau(w, a);
            }
        }
        st_act_dot(w, u32(adr), rate);
    }
    if actuator_disabled(w, a) {
        st_actuator_force(w, a, 0.0);
        return;
    }
    let input = actuator_input(w, a);
    var force = actuator_gain(w, a) * input;
    if ld_actuator_biastype(w, a) == BIAS_AFFINE {
        force += ld_actuator_biasprm(w, a, 0u) + ld_actuator_biasprm(w, a, 1u) * ld_actuator_length(w, a)
            + ld_actuator_biasprm(w, a, 2u) * ld_actuator_velocity(w, a);
    }
    force -= actuator_turns(w, a, input);
    if ld_actuator_forcelimited(w, a) != 0 {
        let range = ld_actuator_forcerange(w, a);
        force = min(max(force, range[0]), range[1]);
    }
    st_actuator_force(w, a, force);
}

// What the gain multiplies: the control, the activation or, early, the next activation.
fn actuator_input(w: u32, a: u32) -> f32 {
    let adr = ld_actuator_actadr(w, a);
    if adr < 0 {
        return actuator_ctrl(w, a);
    }
    let act = ld_act(w, u32(adr));
    if ld_actuator_actearly(w, a) != 0 {
        return next_activation(w, a, act, ld_act_dot(w, u32(adr)));
    }
    return act;
}

// Gain of an actuator.
fn actuator_gain(w: u32, a: u32) -> f32 {
    var gain = ld_actuator_gainprm(w, a, 0u);
    if ld_actuator_gaintype(w, a) == GAIN_AFFINE {
        gain += ld_actuator_gainprm(w, a, 1u) * ld_actuator_length(w, a)
            + ld_actuator_gainprm(w, a, 2u) * ld_actuator_velocity(w, a);
    }
    return gain;
}

// A position servo of a ball joint takes the short way round: the force of the whole turns in its error, which it does not
// apply. The ends of the way, half a turn times the length of gear, lead back.
fn actuator_turns(w: u32, a: u32, input: f32) -> f32 {
    if ld_actuator_trntype(w, a) == TRN_TENDON || ld_actuator_gaintype(w, a) != GAIN_FIXED || ld_actuator_biastype(w, a) != BIAS_AFFINE {
        return 0.0;
    }
    if ld_jnt_type(w, u32(ld_actuator_trnid(w, a)[0])) != JNT_BALL {
        return 0.0;
    }
    let turn = 2.0 * PI * length(ld_actuator_gear(w, a).r);
    let kp = ld_actuator_gainprm(w, a, 0u);
    if kp != -ld_actuator_biasprm(w, a, 1u) || turn <= MINVAL {
        return 0.0;
    }
    let turns = (input - ld_actuator_length(w, a)) / turn;
    // halves away from 0
    return kp * (turn * (sign(turns) * floor(abs(turns) + 0.5)));
}

// Time constant of an actuator's filter.
fn filter_tau(w: u32, a: u32) -> f32 {
    return max(ld_actuator_dynprm(w, a, 0u), MINVAL);
}

// An actuator's activation a step later: exact for filterexact, clamped to its range.
fn next_activation(w: u32, a: u32, act: f32, act_dot: f32) -> f32 {
    let h = ld_opt_timestep(w);
    var next = act + act_dot * h;
    if ld_actuator_dyntype(w, a) == DYN_FILTEREXACT {
        let tau = filter_tau(w, a);
        next = act + act_dot * tau * (1.0 - exp(-h / tau));
    }
    if ld_actuator_actlimited(w, a) != 0 {
        let range = ld_actuator_actrange(w, a);
        next = min(max(next, range[0]), range[1]);
    }
    return next;
}

// Force of the actuators on a dof, gravity compensation through them, and the limits on the total of a joint's actuators.
fn dof_actuation(w: u32, i: u32) {
    var force = 0.0;
    for (var a = 0u; a < NU; a++) {
        force += ld_actuator_moment(w, a, i) * ld_actuator_force(w, a);
    }
    if ACTUATION_ON {
        let j = u32(ld_dof_jntid(w, i));
        if NU > 0u && ld_jnt_actgravcomp(w, j) != 0 {
            force += ld_qfrc_gravcomp(w, i);
        }
        if ld_jnt_actfrclimited(w, j) != 0 && ld_jnt_type(w, j) >= JNT_SLIDE {
            let range = ld_jnt_actfrcrange(w, j);
            force = min(max(force, range[0]), range[1]);
        }
    }
    st_qfrc_actuator(w, i, force);
}

// Derivative of an actuator's force by its velocity, for the implicit integrators; 0 where a limit on the force, the
// actuator's or its joint's, is reached.
fn actuator_gain_rate(w: u32, a: u32) -> f32 {
    var rate = 0.0;
    if ld_actuator_gaintype(w, a) == GAIN_AFFINE {
        rate += ld_actuator_gainprm(w, a, 2u) * actuator_input(w, a);
    }
    if ld_actuator_biastype(w, a) == BIAS_AFFINE {
        rate += ld_actuator_biasprm(w, a, 2u);
    }
    if ld_actuator_forcelimited(w, a) != 0 {
        rate = inside(ld_actuator_force(w, a), ld_actuator_forcerange(w, a), rate);
    }
    if ld_actuator_trntype(w, a) != TRN_TENDON {
        let j = u32(ld_actuator_trnid(w, a)[0]);
        if ld_jnt_actfrclimited(w, j) != 0 && ld_jnt_type(w, j) >= JNT_SLIDE {
            rate = inside(ld_qfrc_actuator(w, u32(ld_jnt_dofadr(w, j))), ld_jnt_actfrcrange(w, j), rate);
        }
    }
    return rate;
}

// y where x lies inside the range, 0 on its ends and outside.
fn inside(x: f32, range: vec2<f32>, y: f32) -> f32 {
    return select(0.0, y, range[0] < x && x < range[1]);
}
