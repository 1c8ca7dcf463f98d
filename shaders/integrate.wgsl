// The next state, and the check of what it writes.
//
// The state at the start of the step is kept in int_q*, int_act; a world whose next state would not be finite goes back to
// it and is frozen. All lanes pass all barriers, also those of frozen worlds.
import package::layout::{
    BAD_ACT, BAD_CTRL, BAD_QACC, BAD_QFRC_APPLIED, BAD_QPOS, BAD_QVEL, BAD_XFRC_APPLIED, DISABLE_ACTUATION, DISABLE_DAMPER,
    DISABLE_EULERDAMP, INTEGRATOR_EULER, INTEGRATOR_RK4, LANES, NA, NBODY, NJNT, NQ, NU, NV, OPT_DISABLEFLAGS,
    OPT_INTEGRATOR, STATUS_BAD_CTRL, STATUS_DIVERGED, STATUS_FROZEN, STATUS_NONFINITE, WORLDS_PER_GROUP, dispatch_arg,
    ld_act, ld_act_dot, ld_actuator_actadr, ld_bad_fields, ld_ctrl, ld_int_act, ld_int_dacc, ld_int_dact, ld_int_qpos,
    ld_int_qpos_lo, ld_int_qvel, ld_nstep, ld_opt_timestep, ld_qacc, ld_qfrc_applied, ld_qpos, ld_qpos_lo, ld_qvel,
    ld_status, ld_time, ld_xfrc_applied, st_act, st_bad_fields, st_int_act, st_int_dacc, st_int_dact, st_int_dvel,
    st_int_qpos, st_int_qpos_lo, st_int_qvel, st_nstep, st_qacc_warmstart, st_qpos, st_qpos_lo, st_qvel, st_status, st_time,
    lane_of, world_of,
};
import package::actuation::{actuator_disabled, next_activation};
import package::joints::{RATE_DVEL, joint_advance, joint_rate};
import package::math::{sync};

// Bits of a magnitude: compilers may take comparisons for never NaN.
const BITS_INFINITE: u32 = 0x7f800000u;
const BITS_MAXVAL: u32 = 0x501502f9u;

// Beside the bits BAD_*: something is not finite.
const INFINITE: u32 = 0x10000u;

// What bad was seen, a word a world of the group.
var<workgroup> integrate_flag: array<atomic<u32>, WORLDS_PER_GROUP>;

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    integrate(world_of(group, local), lane_of(local), dispatch_arg());
}

// Advances a world (mj_Euler, mj_implicit, the end of mj_RungeKutta) at the acceleration that the kernel `implicit` left in
// int_dacc, or at the rates that `rk4` left after its last substage.
fn integrate(w: u32, lane: u32, sub: u32) {
    if OPT_INTEGRATOR != INTEGRATOR_RK4 {
        begin(w, lane, 0u);
        step_rates(w, lane);
    } else if lane == 0u {
        atomicStore(&integrate_flag[w % WORLDS_PER_GROUP], 0u);
    }
    sync();
    let last = (ld_status(w) & STATUS_FROZEN) == 0 && (OPT_INTEGRATOR != INTEGRATOR_RK4 || sub == 3u);
    if last {
        advance(w, lane);
    }
    sync();
    if last {
        state_bad(w, lane);
    }
    sync();
    if last {
        let found = atomicLoad(&integrate_flag[w % WORLDS_PER_GROUP]);
        if found != 0u {
            restore_state(w, lane);
            if lane == 0u {
                st_bad_fields(w, ld_bad_fields(w) | i32(found & ~INFINITE));
                st_status(w, ld_status(w) | select(STATUS_DIVERGED, STATUS_NONFINITE, (found & INFINITE) != 0u));
            }
        } else {
            if lane == 0u {
                st_time(w, ld_time(w) + ld_opt_timestep(w));
                st_nstep(w, ld_nstep(w) + 1);
            }
            for (var i = lane; i < NV; i += LANES) {
                st_qacc_warmstart(w, i, ld_qacc(w, i));
            }
        }
    }
}

// Before the first rates: looks at the inputs and keeps the state. True for a frozen world, which goes back to what was kept
// (it may have been frozen while the substages ran: by too many contacts or rows).
// GPU only: begins integrate and rk4_stage, two kernels
fn begin(w: u32, lane: u32, sub: u32) -> bool {
    let slot = w % WORLDS_PER_GROUP;
    if lane == 0u {
        atomicStore(&integrate_flag[slot], 0u);
    }
    sync();
    if sub == 0u {
        check_input(w, lane);
        save_state(w, lane);
    }
    sync();
    let found = atomicLoad(&integrate_flag[slot]);
    sync();
    if lane == 0u && found != 0u {
        if (ld_status(w) & STATUS_FROZEN) == 0 {
            st_bad_fields(w, ld_bad_fields(w) | i32(found));
            st_status(w, ld_status(w) | STATUS_BAD_CTRL);
        }
        atomicStore(&integrate_flag[slot], 0u);
    }
    sync();
    let frozen = (ld_status(w) & STATUS_FROZEN) != 0;
    if frozen {
        restore_state(w, lane);
    }
    return frozen;
}

// The magnitude's bits reach the bound.
// GPU only: Rust compares
fn reaches(x: f32, bound: u32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) >= bound;
}

// The bit of an array of the state if a number of it is bad, with INFINITE if it is not finite.
// GPU only: Rust goes over whole arrays
fn state_bits(x: f32, bit: i32) -> u32 {
    return select(0u, u32(bit), reaches(x, BITS_MAXVAL)) | select(0u, INFINITE, reaches(x, BITS_INFINITE));
}

// Flags a world whose controls or applied forces are not finite.
fn check_input(w: u32, lane: u32) {
    var found = 0u;
    for (var a = lane; a < NU; a += LANES) {
        found |= select(0u, u32(BAD_CTRL), reaches(ld_ctrl(w, a), BITS_INFINITE));
    }
    for (var i = lane; i < NV; i += LANES) {
        found |= select(0u, u32(BAD_QFRC_APPLIED), reaches(ld_qfrc_applied(w, i), BITS_INFINITE));
    }
    for (var b = lane; b < NBODY; b += LANES) {
        let force = ld_xfrc_applied(w, b);
        for (var k = 0u; k < 3u; k++) {
            let bad = reaches(force.r[k], BITS_INFINITE) || reaches(force.t[k], BITS_INFINITE);
            found |= select(0u, u32(BAD_XFRC_APPLIED), bad);
        }
    }
    if found != 0u {
        atomicOr(&integrate_flag[w % WORLDS_PER_GROUP], found);
    }
}

// Keeps the state at the start of the step.
fn save_state(w: u32, lane: u32) {
    for (var q = lane; q < NQ; q += LANES) {
        st_int_qpos(w, q, ld_qpos(w, q));
        st_int_qpos_lo(w, q, ld_qpos_lo(w, q));
    }
    for (var i = lane; i < NV; i += LANES) {
        st_int_qvel(w, i, ld_qvel(w, i));
    }
    for (var k = lane; k < NA; k += LANES) {
        st_int_act(w, k, ld_act(w, k));
    }
}

// Goes back to the state at the start of the step.
fn restore_state(w: u32, lane: u32) {
    for (var q = lane; q < NQ; q += LANES) {
        st_qpos(w, q, ld_int_qpos(w, q));
        st_qpos_lo(w, q, ld_int_qpos_lo(w, q));
    }
    for (var i = lane; i < NV; i += LANES) {
        st_qvel(w, i, ld_int_qvel(w, i));
    }
    for (var k = lane; k < NA; k += LANES) {
        st_act(w, k, ld_int_act(w, k));
    }
}

// Rates of a single-step integrator: acceleration, the velocity after it, activation rates.
fn step_rates(w: u32, lane: u32) {
    if OPT_INTEGRATOR == INTEGRATOR_EULER && (OPT_DISABLEFLAGS & (DISABLE_EULERDAMP | DISABLE_DAMPER)) != 0 {
        for (var i = lane; i < NV; i += LANES) {
            st_int_dacc(w, i, ld_qacc(w, i));
        }
    }
    sync();
    for (var i = lane; i < NV; i += LANES) {
        st_int_dvel(w, i, ld_int_qvel(w, i) + ld_opt_timestep(w) * ld_int_dacc(w, i));
    }
    for (var k = lane; k < NA; k += LANES) {
        st_int_dact(w, k, ld_act_dot(w, k));
    }
}

// The state after one step at the rates int_d* (mj_advance).
fn advance(w: u32, lane: u32) {
    let h = ld_opt_timestep(w);
    for (var i = lane; i < NV; i += LANES) {
        st_qvel(w, i, ld_int_qvel(w, i) + h * ld_int_dacc(w, i));
    }
    for (var j = lane; j < NJNT; j += LANES) {
        joint_advance(w, j, joint_rate(w, RATE_DVEL, j), h);
    }
    for (var a = lane; a < NU; a += LANES) {
        actuator_advance(w, a);
    }
}

// Activation of an actuator after the step.
fn actuator_advance(w: u32, a: u32) {
    if ld_actuator_actadr(w, a) < 0 || (OPT_DISABLEFLAGS & DISABLE_ACTUATION) != 0 {
        return;
    }
    let k = u32(ld_actuator_actadr(w, a));
    let rate = select(ld_int_dact(w, k), 0.0, actuator_disabled(w, a));
    st_act(w, k, next_activation(w, a, ld_int_act(w, k), rate));
}

// Flags a world whose state or acceleration is not finite, or larger than anything sane (mj_checkPos, mj_checkVel,
// mj_checkAcc).
fn state_bad(w: u32, lane: u32) {
    var found = 0u;
    for (var q = lane; q < NQ; q += LANES) {
        found |= state_bits(ld_qpos(w, q), BAD_QPOS);
    }
    for (var i = lane; i < NV; i += LANES) {
        found |= state_bits(ld_qvel(w, i), BAD_QVEL) | state_bits(ld_qacc(w, i), BAD_QACC);
    }
    for (var k = lane; k < NA; k += LANES) {
        // MuJoCo has no bound on activations
        found |= select(0u, u32(BAD_ACT) | INFINITE, reaches(ld_act(w, k), BITS_INFINITE));
    }
    if found != 0u {
        atomicOr(&integrate_flag[w % WORLDS_PER_GROUP], found);
    }
}
