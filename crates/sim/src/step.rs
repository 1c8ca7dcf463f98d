//! One step, in order. This list is the pipeline; nothing else decides what runs when.

use kiloworld_layout::consts::integrator;
use kiloworld_layout::{Call, Opt, Stage};

/// `mj_forward`: everything that the present state decides.
pub const FORWARD: [Stage; 14] = [
    // position
    Stage::Kinematics,
    Stage::ComPos,
    Stage::Transmission,
    Stage::Inertia,
    Stage::Collision,
    Stage::Constraint,
    // velocity
    Stage::Velocity,
    Stage::Passive,
    Stage::Bias,
    Stage::Reference,
    // force and acceleration
    Stage::Actuation,
    Stage::Acceleration,
    Stage::Solver,
    Stage::Noslip,
];

/// The stages of a forward pass that do something under these options.
pub fn forward(opt: &Opt) -> Vec<Call> {
    FORWARD.into_iter().filter(|&s| s != Stage::Noslip || opt.noslip_iterations > 0).map(Call::from).collect()
}

/// `mj_step`: a forward pass, then the integrator; Runge-Kutta repeats both four times. In between, once, a look at the world.
pub fn step(opt: &Opt) -> Vec<Call> {
    let substages = if opt.integrator == integrator::RK4 { 4 } else { 1 };
    let mut calls = Vec::new();
    for sub in 0..substages {
        calls.extend(forward(opt));
        if sub == 0 {
            calls.push(Call::from(Stage::Health));
        }
        calls.push(Call { stage: Stage::Integrate, sub });
    }
    calls
}
