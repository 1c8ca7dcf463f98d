//! Every stage on the GPU against the CPU, from the same inputs; faults planted in each must be seen.

use kiloworld_layout::{Call, Model, Stage, consts};
use kiloworld_tests::models;
use kiloworld_tests::stage::{check, has_kernels, must_catch};

fn as_it_is(_: &mut Model<f64>) {}

/// A stage test over all golden models, the hardest first, and its planted faults: (model, file, text, replacement).
fn stage(call: impl Into<Call>, edit: impl Fn(&mut Model<f64>) + Copy, faults: &[(&str, &str, &str, &str)]) {
    let call = call.into();
    if !has_kernels(call.stage, &models::named("mix")) {
        return;
    }
    check(call, &models::names(), edit);
    for (name, file, from, to) in faults {
        must_catch(call, name, edit, file, from, to);
    }
}

#[test]
fn kinematics() {
    stage(Stage::Kinematics, as_it_is, &[]);
}

#[test]
fn com_pos() {
    stage(Stage::ComPos, as_it_is, &[]);
}

#[test]
fn transmission() {
    stage(Stage::Transmission, as_it_is, &[]);
}

#[test]
fn inertia() {
    stage(Stage::Inertia, as_it_is, &[]);
}

#[test]
fn collision() {
    stage(
        Stage::Collision,
        as_it_is,
        &[
            ("mix", "collision", "select(0u, here, l < lane)", "select(0u, here, l <= lane)"),
            ("mix", "collision", "dist[i] >= margin", "dist[i] < margin"),
            ("mix", "collision", "r1 * mix + r2 * (1.0 - mix)", "r2 * mix + r1 * (1.0 - mix)"),
            ("mix", "collision", "max(f1, f2), f2, second", "min(f1, f2), f2, second"),
            ("mix", "collision", "<= reach;", "<= 0.5 * reach;"),
        ],
    );
}

#[test]
fn constraint() {
    let rows = "constraint_rows";
    if has_kernels(Stage::Constraint, &models::named(rows)) {
        check(Stage::Constraint, &["constraint_pyramid", rows, "constraint_override"], as_it_is);
    }
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
    stage(Stage::Velocity, as_it_is, &[]);
}

#[test]
fn passive() {
    stage(Stage::Passive, as_it_is, &[]);
}

#[test]
fn bias() {
    stage(Stage::Bias, as_it_is, &[]);
}

#[test]
fn reference() {
    let rows = "constraint_rows";
    if has_kernels(Stage::Reference, &models::named(rows)) {
        check(Stage::Reference, &[rows, "constraint_pyramid"], as_it_is);
    }
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
    stage(Stage::Actuation, as_it_is, &[]);
}

#[test]
fn acceleration() {
    stage(Stage::Acceleration, as_it_is, &[]);
}

/// A fixed number of iterations, as on the device; enough for every state to converge.
fn fixed(m: &mut Model<f64>) {
    m.opt.fixed_iterations = true;
    m.opt.iterations = m.opt.iterations.min(12);
}

#[test]
fn solver() {
    stage(Stage::Solver, fixed, &[]);
}

#[test]
fn noslip() {
    stage(
        Stage::Noslip,
        |m| {
            fixed(m);
            m.opt.noslip_iterations = 3;
        },
        &[],
    );
}

#[test]
fn integrate_euler() {
    stage(Stage::Integrate, |m| m.opt.integrator = consts::integrator::EULER, &[]);
}

#[test]
fn integrate_implicitfast() {
    stage(Stage::Integrate, |m| m.opt.integrator = consts::integrator::IMPLICITFAST, &[]);
}

#[test]
fn integrate_rk4() {
    for sub in 0..4 {
        stage(Call { stage: Stage::Integrate, sub }, |m| m.opt.integrator = consts::integrator::RK4, &[]);
    }
}
