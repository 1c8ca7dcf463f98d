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
    stage(Stage::Collision, as_it_is, &[]);
}

#[test]
fn constraint() {
    stage(Stage::Constraint, as_it_is, &[]);
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
    stage(Stage::Reference, as_it_is, &[]);
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
