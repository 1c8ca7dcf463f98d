//! Every stage on the GPU against the CPU, from the same inputs; faults planted in each must be seen.

use kiloworld_layout::{Call, Model, Stage, consts};
use kiloworld_tests::models;
use kiloworld_tests::stage::{check, must_catch};

fn as_it_is(_: &mut Model<f64>) {}

/// A stage test over all golden models, the hardest first, and its planted faults: (model, file, text, replacement).
fn stage(call: impl Into<Call>, edit: impl Fn(&mut Model<f64>) + Copy, faults: &[(&str, &str, &str, &str)]) {
    stage_over(&models::names(), call, edit, faults);
}

/// The same over some of the models.
fn stage_over(
    names: &[&str],
    call: impl Into<Call>,
    edit: impl Fn(&mut Model<f64>) + Copy,
    faults: &[(&str, &str, &str, &str)],
) {
    let call = call.into();
    check(call, names, edit);
    for (name, file, from, to) in faults {
        must_catch(call, name, edit, file, from, to);
    }
}

#[test]
fn kinematics() {
    stage(
        Stage::Kinematics,
        as_it_is,
        &[
            ("smooth_rk4", "kinematics", "quat_mul(quat, turn)", "quat_mul(turn, quat)"),
            ("smooth_rk4", "kinematics", "arm - quat_rotate(quat, ld_jnt_pos(w, j))", "vec3<f32>(0.0)"),
            ("smooth_rk4", "kinematics", "ld_qpos(w, a) - ld_qpos0(w, a));", "ld_qpos(w, a));"),
        ],
    );
}

#[test]
fn com_pos() {
    stage(
        Stage::ComPos,
        as_it_is,
        &[
            ("smooth_rk4", "kinematics", "cross(axis, offset)", "cross(offset, axis)"),
            ("smooth_rk4", "kinematics", "let solid = select(1.0, 0.0, b == 0u);", "let solid = 1.001;"),
            ("smooth_rk4", "kinematics", "ld_body_subtreemass(w, c);", "ld_body_mass(w, c);"),
        ],
    );
}

#[test]
fn transmission() {
    stage(
        Stage::Transmission,
        as_it_is,
        &[
            ("mix", "transmission", "dot(quat_to_vel(quat), turn)", "quat_to_vel(quat)[0]"),
            (
                "smooth_rk4",
                "transmission",
                "st_actuator_moment(w, a, i, gear.r[0]);",
                "st_actuator_moment(w, a, i, 1.0);",
            ),
        ],
    );
}

#[test]
fn inertia() {
    stage(
        Stage::Inertia,
        as_it_is,
        &[
            ("smooth_rk4", "inertia", "+ ld_dof_armature(w, i)", "+ 0.0"),
            (
                "smooth_rk4",
                "inertia",
                "for (var below = i + 1u; below < end; below++) {\n        let row",
                "for (var below = i + 2u; below < end; below++) {\n        let row",
            ),
        ],
    );
}

#[test]
fn collision() {
    check(Stage::Collision, &["collision_mix", "collision_override"], as_it_is);
    stage(
        Stage::Collision,
        as_it_is,
        &[
            ("mix", "collision", "select(0u, here, l < lane)", "select(0u, here, l <= lane)"),
            ("collision_mix", "collision", "dist[i] >= margin", "dist[i] < margin"),
            ("collision_mix", "collision", "r1 * mix + r2 * (1.0 - mix)", "r2 * mix + r1 * (1.0 - mix)"),
            ("collision_mix", "collision", "max(f1, f2), f2, second", "min(f1, f2), f2, second"),
            ("collision_override", "collision", "solreffriction = solref;", ""),
            ("mix", "collision", "<= reach;", "<= 0.5 * reach;"),
        ],
    );
}

#[test]
fn constraint() {
    let rows = "constraint_rows";
    check(Stage::Constraint, &["constraint_pyramid", rows, "constraint_override"], as_it_is);
    stage(
        Stage::Constraint,
        as_it_is,
        &[
            (rows, "constraint", "(*rows).held = end;", "(*rows).held = end + 1;"),
            (rows, "constraint", "pos < ld_jnt_margin(w, j)", "pos < 0.0"),
            (rows, "constraint", "select(1.0, -1.0, i % 2u == 1u));\n    }", "1.0);\n    }"),
            (rows, "constraint_row", "side * dy", "dy"),
            (rows, "constraint_row", "max(tc, ld_opt_timestep(w) * 2.0)", "tc * 1.01"),
            (rows, "constraint_equality", "dq.yzw * q2[0] -", "dq.yzw * q2[0] +"),
            (rows, "constraint_equality", "cross(ld_cdof(w, i).r, dpos)", "vec3<f32>(0.0)"),
            (rows, "constraint_anchor", "ld_site_quat(w, s)", "vec4<f32>(1.0, 0.0, 0.0, 0.0)"),
            (rows, "constraint_contact", "solref_friction = solref;", "solref_friction = solref * 1.01;"),
            (rows, "constraint_contact", "select(offset2, offset1, first)", "offset2"),
            ("constraint_pyramid", "constraint_contact", "jp[0] - tangent", "jp[0] + tangent"),
            ("constraint_pyramid", "constraint_contact", "sqrt(1.0 / ld_opt_impratio(w))", "1.0 / ld_opt_impratio(w)"),
        ],
    );
}

#[test]
fn velocity() {
    stage(
        Stage::Velocity,
        as_it_is,
        &[
            ("smooth_rk4", "velocity", "cross_motion(carried, axis)", "cross_motion(vel, axis)"),
            (
                "mix",
                "velocity",
                "select(1u, 3u, kind == JNT_FREE || kind == JNT_BALL)",
                "select(1u, 3u, kind == JNT_FREE)",
            ),
        ],
    );
}

#[test]
fn passive() {
    stage(
        Stage::Passive,
        as_it_is,
        &[
            ("mix", "passive", "-stiffness * turn[k]", "stiffness * turn[k]"),
            ("mix", "passive", "select(gravcomp, 0.0, by_actuators)", "0.0"),
        ],
    );
}

#[test]
fn bias() {
    stage(
        Stage::Bias,
        as_it_is,
        &[
            ("smooth_rk4", "bias", "cross_force(vel, inert_mul(inert, vel))", "zero6()"),
            ("smooth_rk4", "bias", "acc.t = -ld_opt_gravity(w)", "acc.t = ld_opt_gravity(w)"),
        ],
    );
}

#[test]
fn reference() {
    let rows = "constraint_rows";
    check(Stage::Reference, &[rows, "constraint_pyramid"], as_it_is);
    stage(
        Stage::Reference,
        as_it_is,
        &[
            (rows, "reference", "-kbip.y * vel - kbip.x", "-kbip.y * vel + kbip.x"),
            (rows, "reference", "cross(v.r, v.t", "cross(v.t, v.t"),
            (rows, "reference", "i < NV", "i < NV - 1u"),
        ],
    );
}

#[test]
fn actuation() {
    stage(
        Stage::Actuation,
        as_it_is,
        &[
            (
                "mix",
                "actuation",
                "force = min(max(force, range[0]), range[1]);\n    }\n    st_actuator_force",
                "}\n    st_actuator_force",
            ),
            ("mix", "actuation", "(ctrl - ld_act(w, u32(adr))) / filter_tau(w, a)", "ctrl / filter_tau(w, a)"),
        ],
    );
}

#[test]
fn acceleration() {
    stage(
        Stage::Acceleration,
        as_it_is,
        &[
            ("smooth_rk4", "inertia", "ld_qacc_smooth(w, i) * ld_qLDiagInv(w, i)", "ld_qacc_smooth(w, i)"),
            ("smooth_rk4", "acceleration", "cross(ld_xipos(w, b) - com, applied.r)", "vec3<f32>(0.0)"),
        ],
    );
}

/// A fixed number of iterations, as on the device; enough for every state to converge.
fn fixed(m: &mut Model<f64>) {
    m.opt.iterations = m.opt.iterations.min(12);
}

#[test]
fn solver() {
    stage(
        Stage::Solver,
        fixed,
        &[
            (
                "mix",
                "solver_matrix",
                "let along = sqrt(cone.middle) * cone.mu;",
                "let along = 1.5 * sqrt(cone.middle) * cone.mu;",
            ),
            ("mix", "cone", "out.force[0] = normal;", "out.force[0] = 1.01 * normal;"),
            ("mix", "rows", "force = loss;", "force = 0.9 * loss;"),
            ("mix", "rows", "out.zone == STATE_CONE || ld_efc_state(w, e) != out.zone", "false"),
            ("mix_pyr", "rows", "let changed = select(0.0, 1.0, ld_efc_state(w, e) != zone);", "let changed = 0.0;"),
            ("mix_pyr", "rows", "var force = -ld_efc_D(w, e) * x;", "var force = -0.99 * ld_efc_D(w, e) * x;"),
            ("mix_pyr", "solver_vector", "let below = u32(ld_dof_descnum(w, i));", "let below = 0u;"),
            (
                "mix_pyr",
                "solver",
                "st_solver_scalar(w, SOLVER_DONE, select(0.0, 1.0, ld_nefc(w) == 0));",
                "st_solver_scalar(w, SOLVER_DONE, 1.0);",
            ),
        ],
    );
}

/// PGS for a few sweeps: from the same start both sides go the same way.
#[test]
fn solver_pgs() {
    // there 1e-5 of qfrc_constraint is 2e-3 of qacc, in f32 on the CPU too; Newton's test runs over it
    let names: Vec<_> = models::names().into_iter().filter(|n| *n != "constraint_rows").collect();
    stage_over(
        &names,
        Stage::Solver,
        |m| {
            fixed(m);
            // more sweeps would tell how far rounding grows in them, not whether they are the same
            m.opt.iterations = 3;
            m.opt.solver = consts::solver::PGS;
            m.size.njdual = m.size.njmax;
        },
        &[
            ("mix", "pgs", "select(-1.0, 0.0, from_tip)", "0.0"),
            ("mix", "pgs", "let j = pgs_random(w) % left;", "let j = pgs_random(w) % i;"),
            ("mix_pyr", "pgs", "var force = old - res / a;", "var force = old - 0.9 * res / a;"),
            ("mix_pyr", "dual", "if x != 0.0 {", "if x > 0.0 {"),
        ],
    );
}

#[test]
fn noslip() {
    stage(
        Stage::Noslip,
        |m| {
            fixed(m);
            m.opt.noslip_iterations = 3;
            m.size.njdual = m.size.njmax;
        },
        &[
            ("mix", "dual", "rhs[i] = -b[i] * friction[i];", "rhs[i] = -0.9 * b[i] * friction[i];"),
            ("mix_pyr", "noslip", "- a[0][1] - a[1][0]", "+ a[0][1] + a[1][0]"),
        ],
    );
}

/// Limits that the golden states pass in part, so that counts differ from world to world.
fn strict(m: &mut Model<f64>) {
    fixed(m);
    m.health_limit = vec![1e-2, 1e-2, 1e-3, 0.1, 1e-2];
}

#[test]
fn health() {
    let rows = "constraint_rows";
    check(Stage::Health, &[rows, "constraint_pyramid", "collision_mix"], strict);
    stage(
        Stage::Health,
        strict,
        &[
            (rows, "health", "2.0 * rows_length", "rows_length"),
            (rows, "health", "rows_length(w, r), f32(e)", "rows_length(w, r + 1u), f32(e)"),
            (rows, "health", "size > ld_health_limit(w, at)", "size > 0.1 + ld_health_limit(w, at)"),
            ("mix", "health", "- loaded_depth(w, c, r)", ""),
            ("mix_pyr", "health", "max(2 * ld_contact_dim(w, c) - 2, 1)", "1"),
            ("mix_pyr", "health", "(ld_efc_vel(w, r) + ld_efc_vel(w, r + 1u)) * 0.5", "ld_efc_vel(w, r)"),
            ("collision_mix", "health", "select(1.0, 0.5, k + 1u == end)", "1.0"),
            ("collision_mix", "health", "ld_qfrc_smooth(w, i) + ld_qfrc_bias(w, i) -", "ld_qfrc_smooth(w, i) -"),
        ],
    );
}

#[test]
fn integrate_euler() {
    stage(
        Stage::Integrate,
        |m| m.opt.integrator = consts::integrator::EULER,
        &[
            ("smooth_rk4", "implicit", "-ld_opt_timestep(w) * mul_h_row(w, i)", "0.0"),
            ("smooth_rk4", "implicit", "ld_int_dacc(w, i) * ld_int_HDiagInv(w, i)", "ld_int_dacc(w, i)"),
            ("smooth_rk4", "actuation", "next = min(max(next, range[0]), range[1]);", ""),
        ],
    );
}

/// A step so long that the terms of second order in it show.
fn long_step(m: &mut Model<f64>, integrator: i32) {
    m.opt.integrator = integrator;
    m.opt_timestep[0] = 0.02;
}

#[test]
fn integrate_implicitfast() {
    stage(
        Stage::Integrate,
        |m| long_step(m, consts::integrator::IMPLICITFAST),
        &[
            ("smooth_rk4", "implicit", "free_block(w, i, 3u, 3u) + gyro_r", "free_block(w, i, 3u, 3u)"),
            ("smooth_rk4", "implicit", "s * ld_ten_J(w, t,", "0.0 * ld_ten_J(w, t,"),
            (
                "smooth_rk4",
                "actuation",
                "rate = inside(ld_qfrc_actuator",
                "rate = rate + 0.0 * inside(ld_qfrc_actuator",
            ),
        ],
    );
}

#[test]
fn integrate_rk4() {
    for sub in 0..4 {
        let faults: &[_] = match sub {
            1 => &[("smooth_rk4", "rk4", "v + turn * 0.5", "v")],
            3 => &[("smooth_rk4", "rk4", "sub == 0u || sub == 3u", "sub == 0u")],
            _ => &[],
        };
        stage(Call { stage: Stage::Integrate, sub }, |m| long_step(m, consts::integrator::RK4), faults);
    }
}
