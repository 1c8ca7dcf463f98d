//! The stages of a step, in MuJoCo's order (`mj_step`).

macro_rules! stages {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal,)*) => {
        /// A stage: the unit that runs on either backend from the same inputs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Stage { $($(#[doc = $doc])+ $variant,)* }

        impl Stage {
            /// Every stage, in the order of a step. `Load` is not run: it marks what the model and the user give.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stage's name: the stem of its Rust and WGSL files or the function in them.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

stages! {
    /// not run: what the model compiler and the user write
    Load "load",
    /// body, joint, geom and site frames (`mj_kinematics`)
    Kinematics "kinematics",
    /// centres of mass, spatial inertias, motion axes (`mj_comPos`)
    ComPos "com_pos",
    /// fixed tendons, actuator lengths and moments (`mj_tendon`, `mj_transmission`)
    Transmission "transmission",
    /// composite inertia, inertia matrix and its factor (`mj_makeM`, `mj_factorM`)
    Inertia "inertia",
    /// contacts (`mj_collision`)
    Collision "collision",
    /// constraint rows: Jacobian, position, impedance, regularizer (`mj_makeConstraint`)
    Constraint "constraint",
    /// body velocities, tendon and actuator velocities, derivative of the motion axes (`mj_comVel`)
    Velocity "velocity",
    /// springs, dampers, gravity compensation (`mj_passive`)
    Passive "passive",
    /// Coriolis, centrifugal and gravitational forces (`mj_rne`)
    Bias "bias",
    /// row velocities and reference accelerations (`mj_referenceConstraint`)
    Reference "reference",
    /// actuator forces and activation derivatives (`mj_fwdActuation`)
    Actuation "actuation",
    /// acceleration without constraints (`mj_fwdAcceleration`)
    Acceleration "acceleration",
    /// constraint forces and acceleration (`mj_fwdConstraint`)
    Solver "solver",
    /// friction forces again without regularization (`mj_solNoSlip`)
    Noslip "noslip",
    /// what is wrong with a world, though it moves: welds, penetration, energy, convergence
    Health "health",
    /// next state (`mj_Euler`, `mj_implicit`, `mj_RungeKutta`) and the check of what it writes
    Integrate "integrate",
}

impl core::fmt::Display for Stage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// One entry of a step's list: a stage, and which part of it where a stage runs several times a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// the stage
    pub stage: Stage,
    /// 0, or the Runge-Kutta substage (0 to 3) of [`Stage::Integrate`]
    pub sub: u32,
}

impl From<Stage> for Call {
    fn from(stage: Stage) -> Self {
        Self { stage, sub: 0 }
    }
}
