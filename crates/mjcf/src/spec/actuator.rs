//! Actuators.

use super::Tri;
use crate::span::At;

/// What an actuator acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transmission {
    /// nothing was named
    #[default]
    None,
    /// a joint
    Joint(String),
    /// a joint, axes of ball and free joints in the parent's frame
    JointInParent(String),
    /// a tendon
    Tendon(String),
    /// a site, and the site it is measured against
    Site(String, Option<String>),
    /// a body, for adhesion
    Body(String),
    /// a slider-crank: crank site, slider site
    SliderCrank(String, Option<String>),
}

/// Activation dynamics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum DynType {
    #[default]
    None,
    Integrator,
    Filter,
    FilterExact,
    Pid,
    DcMotor,
    Muscle,
    User,
}

/// Gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum GainType {
    #[default]
    Fixed,
    Affine,
    Muscle,
    DcMotor,
    Pid,
    So3,
    User,
}

/// Bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum BiasType {
    #[default]
    None,
    Affine,
    Muscle,
    DcMotor,
    So3,
    User,
}

/// How history is read (delays).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum Interp {
    #[default]
    Zoh,
    Linear,
    Cubic,
}

/// Parameters of `general`. As in MuJoCo, with an affine bias, fixed gain and `gainprm[0] == -biasprm[1]` a positive
/// `biasprm[2]` is a damping ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct General {
    /// activation dynamics
    pub dyntype: DynType,
    /// gain
    pub gaintype: GainType,
    /// bias
    pub biastype: BiasType,
    /// parameters of the dynamics
    pub dynprm: [f64; 10],
    /// parameters of the gain
    pub gainprm: [f64; 10],
    /// parameters of the bias
    pub biasprm: [f64; 10],
    /// number of activations; -1: from the dynamics
    pub actdim: i32,
    /// use the next activation
    pub actearly: bool,
}

impl Default for General {
    fn default() -> Self {
        let mut one = [0.0; 10];
        one[0] = 1.0;
        Self {
            dyntype: DynType::None,
            gaintype: GainType::Fixed,
            biastype: BiasType::None,
            dynprm: one,
            gainprm: one,
            biasprm: [0.0; 10],
            actdim: -1,
            actearly: false,
        }
    }
}

/// Parameters of `position`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// gain
    pub kp: f64,
    /// damping
    pub kv: f64,
    /// damping as a ratio; in force where positive, excludes `kv`
    pub dampratio: f64,
    /// time constant of the filter; 0: no filter \[s\]
    pub timeconst: f64,
}

impl Default for Position {
    fn default() -> Self {
        Self { kp: 1.0, kv: 0.0, dampratio: 0.0, timeconst: 0.0 }
    }
}

/// Parameters of `velocity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Velocity {
    /// gain
    pub kv: f64,
}

impl Default for Velocity {
    fn default() -> Self {
        Self { kv: 1.0 }
    }
}

/// The element that an actuator is written with, with its own parameters.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a model has few actuators")]
pub enum ActuatorKind {
    /// `general`
    General(General),
    /// `motor`
    Motor,
    /// `position`
    Position(Position),
    /// `velocity`
    Velocity(Velocity),
    /// `muscle`, `adhesion`, `cylinder`, `damper` or `intvelocity`
    Shortcut {
        /// its tag
        tag: &'static str,
        /// what it stands for
        general: General,
    },
    /// another shortcut, by its tag
    Other(String),
}

impl Default for ActuatorKind {
    fn default() -> Self {
        Self::General(General::default())
    }
}

/// An actuator.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// the element it is written with
    pub kind: ActuatorKind,
    /// what it acts on
    pub transmission: Transmission,
    /// group
    pub group: i32,
    /// are controls clamped
    pub ctrllimited: Tri,
    /// range of controls
    pub ctrlrange: [f64; 2],
    /// are forces clamped
    pub forcelimited: Tri,
    /// range of forces
    pub forcerange: [f64; 2],
    /// are activations clamped
    pub actlimited: Tri,
    /// range of activations
    pub actrange: [f64; 2],
    /// feasible lengths
    pub lengthrange: [f64; 2],
    /// scale of length and force
    pub gear: [f64; 6],
    /// length of the crank \[m\]
    pub cranklength: f64,
    /// linear, quadratic, cubic damping at the target
    pub damping: [f64; 3],
    /// rotor inertia, before the gear
    pub armature: f64,
    /// range of controls as a factor of the target's range; 0: off; where positive it replaces `ctrlrange`
    pub inheritrange: f64,
    /// samples of history
    pub nsample: i32,
    /// how history is read
    pub interp: Interp,
    /// delay \[s\]
    pub delay: f64,
    /// user values
    pub user: Vec<f64>,
}

impl Default for Actuator {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            kind: ActuatorKind::default(),
            transmission: Transmission::None,
            group: 0,
            ctrllimited: Tri::Auto,
            ctrlrange: [0.0; 2],
            forcelimited: Tri::Auto,
            forcerange: [0.0; 2],
            actlimited: Tri::Auto,
            actrange: [0.0; 2],
            lengthrange: [0.0; 2],
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            cranklength: 0.0,
            damping: [0.0; 3],
            armature: 0.0,
            inheritrange: 0.0,
            nsample: 0,
            interp: Interp::Zoh,
            delay: 0.0,
            user: Vec::new(),
        }
    }
}
