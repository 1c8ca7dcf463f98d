// What is wrong with a world, though it moves.
//
// Each check keeps the largest that it has seen since reset, what that was and when, and counts the steps beyond its limit:
// nothing is lost between two looks. It runs once a step, when all forces of the state at its start are known. Worlds are
// independent, and all lanes pass all sums, also those of frozen worlds.
import package::layout::{
    CNSTR_CONTACT_PYRAMIDAL, DISABLE_GRAVITY, EQ_CONNECT, EQ_WELD, HEALTH_ANGLE, HEALTH_ENERGY, HEALTH_PENETRATION,
    HEALTH_POSITION, HEALTH_RESIDUAL, LANES, MEMORY_APPROACH, MEMORY_ARMED, MEMORY_ENERGY, MEMORY_KINETIC, MEMORY_SURPLUS,
    MEMORY_WORK, MINVAL, NBODY, NEQ, NMOCAP, NV, OPT_DISABLEFLAGS, OPT_SOLVER, SOLVER_PGS, STATUS_FROZEN,
    WORLDS_PER_GROUP, ld_M, ld_M_colind, ld_M_rowadr, ld_M_rownnz, ld_body_mass, ld_contact_dim, ld_contact_efc_address,
    ld_contact_geom, ld_efc_KBIP, ld_efc_R, ld_efc_force, ld_efc_margin, ld_efc_pos, ld_efc_type, ld_efc_vel, ld_eq_data,
    ld_eq_efc_address, ld_eq_type, ld_health_count, ld_health_limit, ld_health_memory, ld_health_size, ld_ncon, ld_nstep,
    ld_opt_gravity, ld_opt_timestep, ld_qacc, ld_qfrc_bias, ld_qfrc_passive, ld_qfrc_smooth, ld_qvel, ld_solver_Ma,
    ld_solver_grad, ld_stat_meaninertia, ld_status, ld_time,
    ld_xipos, st_health_count, st_health_id, st_health_memory, st_health_size, st_health_time, lane_of, world_of,
};
import package::lanes::{max_lanes, sum_lanes};
import package::loops::{loops_ran};

// Seconds after which what energy and speed were known is half forgotten, and more.
const FADE: f32 = 1.0;
// The part of all energy that rounding may make.
const ENERGY_NOISE: f32 = 1e-4;
// Steps from one look at the energy to the next.
const ENERGY_EVERY: i32 = 4;
// A speed [m/s] whose energy is none.
const STILL: f32 = 1e-2;

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    health(world_of(group, local), lane_of(local));
}

// Looks at the worlds that are not frozen.
fn health(w: u32, lane: u32) {
    let live = (ld_status(w) & STATUS_FROZEN) == 0;
    equality_errors(w, lane, live);
    penetration(w, lane, live);
    residual(w, lane, live);
    energy(w, lane, live);
    loops_ran(w);
}

// The worse of two pairs (size, what it was), the first where they are alike.
fn worse(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return select(a, b, b[0] > a[0]);
}

// Keeps what a check found where it is more than ever, and counts it where it is beyond the limit.
fn note(w: u32, c: i32, size: f32, id: vec2<i32>) {
    let at = u32(c);
    if size > ld_health_size(w, at) {
        st_health_size(w, at, size);
        st_health_time(w, at, ld_time(w));
        st_health_id(w, at, id);
    }
    if size > ld_health_limit(w, at) {
        st_health_count(w, at, ld_health_count(w, at) + 1);
    }
}

// Length of three rows' residual, from row r.
fn rows_length(w: u32, r: u32) -> f32 {
    let x = vec3<f32>(ld_efc_pos(w, r), ld_efc_pos(w, r + 1u), ld_efc_pos(w, r + 2u));
    return sqrt(dot(x, x));
}

// How far the connects and welds that are on are apart: points [m], frames (2 sin of half the angle).
fn equality_errors(w: u32, lane: u32, live: bool) {
    if NEQ == 0u {
        return;
    }
    var apart = vec2<f32>(0.0, -1.0);
    var turned = apart;
    if live {
        for (var e = lane; e < NEQ; e += LANES) {
            let kind = ld_eq_type(w, e);
            if ld_eq_efc_address(w, e) < 0 || (kind != EQ_CONNECT && kind != EQ_WELD) {
                continue;
            }
            let r = u32(ld_eq_efc_address(w, e));
            apart = worse(apart, vec2<f32>(rows_length(w, r), f32(e)));
            if kind == EQ_WELD {
                // the rows hold torquescale times the sine of half the angle
                let scale = max(ld_eq_data(w, e, 10u), MINVAL);
                turned = worse(turned, vec2<f32>(2.0 * rows_length(w, r + 3u) / scale, f32(e)));
            }
        }
    }
    apart = max_lanes(w, lane, apart);
    turned = max_lanes(w, lane, turned);
    if live && lane == 0u {
        note(w, HEALTH_POSITION, apart[0], vec2<i32>(i32(apart[1]), -1));
        note(w, HEALTH_ANGLE, turned[0], vec2<i32>(i32(turned[1]), -1));
    }
}

// The speed at which contact c opens [m/s]; its first row is r.
fn opening_speed(w: u32, c: u32, r: u32) -> f32 {
    if ld_efc_type(w, r) == CNSTR_CONTACT_PYRAMIDAL && ld_contact_dim(w, c) > 1 {
        // an edge and the one across from it
        return (ld_efc_vel(w, r) + ld_efc_vel(w, r + 1u)) * 0.5;
    }
    return ld_efc_vel(w, r);
}

// The depth [m] at which the row's spring holds the force of contact c at rest; its first row is r.
fn loaded_depth(w: u32, c: u32, r: u32) -> f32 {
    let n = select(1, max(2 * ld_contact_dim(w, c) - 2, 1), ld_efc_type(w, r) == CNSTR_CONTACT_PYRAMIDAL);
    var push = 0.0;
    for (var k = r; k < r + u32(n); k += 1u) {
        push = max(push, ld_efc_force(w, k) * ld_efc_R(w, k));
    }
    let kbip = ld_efc_KBIP(w, r);
    return push / max(kbip.x * kbip.z, MINVAL);
}

// How much deeper contacts are than explained: by the force that they carry, and by the speed at which they were hit, which
// fades as fast as their springs come back (a spring of stiffness K stops a speed v within v / sqrt(K)).
fn penetration(w: u32, lane: u32, live: bool) {
    let n = select(0u, u32(ld_ncon(w)), live);
    // fastest closing speed; how fast the slowest comes back [1/s], negated
    var closing = vec2<f32>(0.0);
    var back = vec2<f32>(-1e30, 0.0);
    for (var c = lane; c < n; c += LANES) {
        if ld_contact_efc_address(w, c) < 0 {
            continue;
        }
        let r = u32(ld_contact_efc_address(w, c));
        closing[0] = max(closing[0], -opening_speed(w, c, r));
        let kbip = ld_efc_KBIP(w, r);
        back[0] = max(back[0], -(kbip.x / max(kbip.y, MINVAL)));
    }
    closing = max_lanes(w, lane, closing);
    back = max_lanes(w, lane, back);
    let kept = ld_health_memory(w, u32(MEMORY_APPROACH)) * max(1.0 + ld_opt_timestep(w) * back[0], 0.0);
    let approach = max(kept, closing[0]);
    var worst = vec2<f32>(0.0, -1.0);
    for (var c = lane; c < n; c += LANES) {
        if ld_contact_efc_address(w, c) < 0 {
            continue;
        }
        let r = u32(ld_contact_efc_address(w, c));
        let hit = approach / sqrt(max(ld_efc_KBIP(w, r).x, MINVAL));
        let depth = ld_efc_margin(w, r) - ld_efc_pos(w, r);
        worst = worse(worst, vec2<f32>(depth - loaded_depth(w, c, r) - hit, f32(c)));
    }
    // also waits until all lanes have read the memory
    worst = max_lanes(w, lane, worst);
    if live && lane == 0u {
        st_health_memory(w, u32(MEMORY_APPROACH), approach);
        var geoms = vec2<i32>(-1);
        if worst[1] >= 0.0 {
            geoms = ld_contact_geom(w, u32(worst[1]));
        }
        note(w, HEALTH_PENETRATION, worst[0], geoms);
    }
}

// What Newton's method left of its gradient, relative to the forces, at least to those of 1 m/s^2. PGS has none.
fn residual(w: u32, lane: u32, live: bool) {
    if OPT_SOLVER == SOLVER_PGS {
        return;
    }
    var terms = vec2<f32>(0.0);
    if live {
        for (var i = lane; i < NV; i += LANES) {
            let g = ld_solver_grad(w, i);
            let a = ld_solver_Ma(w, i);
            let f = ld_qfrc_smooth(w, i);
            terms += vec2<f32>(g * g, a * a + f * f);
        }
    }
    let sums = sum_lanes(w, lane, terms);
    if live && lane == 0u {
        let least = ld_stat_meaninertia(w) * f32(NV);
        note(w, HEALTH_RESIDUAL, sqrt(sums[0] / max(sums[1] + least * least, MINVAL)), vec2<i32>(-1));
    }
}

// Kinetic energy of dof i with those before it [J].
fn kinetic(w: u32, i: u32) -> f32 {
    let first = u32(ld_M_rowadr(w, i));
    let end = first + u32(ld_M_rownnz(w, i));
    var sum = 0.0;
    // the diagonal, which counts half, is in the loop: llvmpipe leaves the loop around one that does not turn
    for (var k = first; k < end; k += 1u) {
        let share = select(1.0, 0.5, k + 1u == end);
        sum += ld_M(w, k) * ld_qvel(w, u32(ld_M_colind(w, k))) * share;
    }
    return ld_qvel(w, i) * sum;
}

// The world's energy is looked at in this step: every few steps, and where nothing is known yet.
fn energy_due(w: u32) -> bool {
    return ld_nstep(w) % ENERGY_EVERY == 0 || ld_health_memory(w, u32(MEMORY_ARMED)) == 0.0;
}

// Energy from nowhere: what kinetic and potential energy gained beyond the work of actuators, springs and applied forces, over
// about a second, relative to the kinetic energy that is explained. Constraints do no such work, but for what they took before.
fn energy(w: u32, lane: u32, live: bool) {
    // what moves mocap bodies is not known
    if NMOCAP > 0u {
        return;
    }
    let due = live && energy_due(w);
    var moving = vec2<f32>(0.0);
    var potential = vec2<f32>(0.0);
    if due {
        for (var i = lane; i < NV; i += LANES) {
            moving[0] += kinetic(w, i);
        }
        if (OPT_DISABLEFLAGS & DISABLE_GRAVITY) == 0 {
            for (var b = 1u + lane; b < NBODY; b += LANES) {
                let weight = -ld_body_mass(w, b) * dot(ld_opt_gravity(w), ld_xipos(w, b));
                potential += vec2<f32>(weight, abs(weight));
            }
        }
    }
    // work of a step: of what acts as it likes, by the mean velocity; of what follows the motion, half by this state's power and
    // half by the next one's, so that energy which too long a step makes of it shows
    let h = ld_opt_timestep(w);
    let half = 0.5 * h;
    var powers = vec2<f32>(0.0);
    if live {
        for (var i = lane; i < NV; i += LANES) {
            // what takes energy may take less than it seems, so it does not count
            let force = ld_qfrc_smooth(w, i) + ld_qfrc_bias(w, i) - ld_qfrc_passive(w, i);
            let given = max(force * (ld_qvel(w, i) + half * ld_qacc(w, i)), 0.0);
            powers += vec2<f32>(given, max(ld_qfrc_passive(w, i) * ld_qvel(w, i), 0.0));
        }
    }
    moving = sum_lanes(w, lane, moving);
    potential = sum_lanes(w, lane, potential);
    powers = sum_lanes(w, lane, powers);
    if live && lane == 0u {
        var work = ld_health_memory(w, u32(MEMORY_WORK)) + half * powers[1];
        if due {
            energy_note(w, vec2<f32>(moving[0], work), potential);
            work = 0.0;
        }
        st_health_memory(w, u32(MEMORY_WORK), work + half * powers[1] + h * powers[0]);
    }
}

// Brings the balance up to date: kinetic energy and the work since the last look, potential energy and its size.
fn energy_note(w: u32, motion: vec2<f32>, potential: vec2<f32>) {
    let moving = motion[0];
    let now = moving + potential[0];
    let gain = now - ld_health_memory(w, u32(MEMORY_ENERGY)) - motion[1];
    let fade = 1.0 - min(ld_opt_timestep(w) * (f32(ENERGY_EVERY) / FADE), 1.0);
    var surplus = max(ld_health_memory(w, u32(MEMORY_SURPLUS)) + gain, 0.0) * fade;
    if ld_health_memory(w, u32(MEMORY_ARMED)) <= 0.0 {
        surplus = 0.0;
    }
    let explained = max(ld_health_memory(w, u32(MEMORY_KINETIC)) * fade, moving - surplus);
    st_health_memory(w, u32(MEMORY_ENERGY), now);
    st_health_memory(w, u32(MEMORY_SURPLUS), surplus);
    st_health_memory(w, u32(MEMORY_KINETIC), explained);
    st_health_memory(w, u32(MEMORY_ARMED), 1.0);
    let size = moving + potential[1];
    let still = ld_stat_meaninertia(w) * f32(NV) * (0.5 * STILL * STILL);
    note(w, HEALTH_ENERGY, surplus / max(explained + size * ENERGY_NOISE + still, MINVAL), vec2<i32>(-1));
}
