//! How far the GPU may be from the CPU in f64 started from the same inputs, field by field, with the reason.

use kiloworld_layout::{Field, Stage};

/// The environment variable that scales every tolerance; 0 makes every comparison fail, and so prints all residuals.
pub const SCALE_VARIABLE: &str = "KILOWORLD_TOL_SCALE";

/// A tolerance: `|a - b| <= relative * max(floor, largest magnitude in the world's field)`.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// relative to the scale
    pub relative: f64,
    /// least scale, in the field's unit
    pub floor: f64,
    /// why this much
    pub reason: &'static str,
}

const fn tol(relative: f64, floor: f64, reason: &'static str) -> Tolerance {
    Tolerance { relative, floor, reason }
}

/// The table.
pub fn tolerance(stage: Stage, field: Field) -> Tolerance {
    let mut t = base(stage, field);
    t.relative *= std::env::var(SCALE_VARIABLE).ok().and_then(|s| s.parse::<f64>().ok()).unwrap_or(1.0);
    t
}

fn base(stage: Stage, field: Field) -> Tolerance {
    match field {
        Field::contact_dist | Field::efc_pos => {
            return tol(2e-6, 1.0, "a difference of coordinates of about 1 m: a few f32 ulp of those");
        }
        Field::qpos => return tol(1e-6, 1e-2, "one f32 rounding of qvel, summed in two floats"),
        _ => {}
    }
    match stage {
        Stage::Kinematics => {
            tol(5e-6, 1e-1, "a chain of about ten f32 rotations of 6e-8 each, sin and cos of the device")
        }
        Stage::ComPos => tol(1e-5, 1e-3, "sums over bodies after kinematics' inputs are exact"),
        Stage::Transmission => tol(5e-6, 1e-2, "products of gear and axis"),
        Stage::Inertia => tol(5e-5, 1e-3, "sums over subtrees, then a factorization whose pivots cancel"),
        Stage::Collision => tol(2e-5, 1e-2, "square roots and divisions of the narrow phase"),
        Stage::Constraint => tol(1e-4, 1e-3, "impedances divide small distances by small widths"),
        Stage::Velocity | Stage::Passive | Stage::Actuation => tol(1e-5, 1e-2, "short sums"),
        Stage::Bias => tol(5e-5, 1e-1, "sums over subtrees of terms that cancel"),
        Stage::Reference => tol(5e-5, 1e-1, "row times velocity, then stiffness times distance"),
        Stage::Acceleration => tol(2e-4, 1e-1, "solution with M, whose condition is up to a few thousand"),
        Stage::Solver | Stage::Noslip => {
            tol(2e-3, 1e-1, "f32 cannot resolve the cost near its minimum: half the digits")
        }
        Stage::Health => tol(1e-4, 1e-2, "sums of products over dofs and rows; ratios of them"),
        Stage::Integrate => tol(2e-5, 1e-2, "solution with M + hD"),
        Stage::Load => tol(0.0, 0.0, "not run"),
    }
}
