//! Contact pairs, equality constraints, tendons.

use super::Tri;
use crate::span::At;

/// MuJoCo's default `solref`.
pub const SOLREF: [f64; 2] = [0.02, 1.0];
/// MuJoCo's default `solimp`.
pub const SOLIMP: [f64; 5] = [0.9, 0.95, 0.001, 0.5, 2.0];

/// `contact/pair`. Like MuJoCo 4, a pair takes nothing from its geoms: what is not written has these defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// first geom
    pub geom1: String,
    /// second geom
    pub geom2: String,
    /// dimension of the contact space
    pub condim: i32,
    /// two sliding, one torsional, two rolling coefficients
    pub friction: [f64; 5],
    /// solver parameters, normal direction
    pub solref: [f64; 2],
    /// solver parameters, friction directions; (0, 0): as the normal direction
    pub solreffriction: [f64; 2],
    /// solver parameters
    pub solimp: [f64; 5],
    /// distance at which contacts are made \[m\]
    pub margin: f64,
    /// distance over which contacts exert no force \[m\]
    pub gap: f64,
    /// adhesive force
    pub adhesion: f64,
}

impl Default for Pair {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            geom1: String::new(),
            geom2: String::new(),
            condim: 3,
            friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            solref: SOLREF,
            solreffriction: [0.0; 2],
            solimp: SOLIMP,
            margin: 0.0,
            gap: 0.0,
            adhesion: 0.0,
        }
    }
}

/// `contact/exclude`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exclude {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// first body
    pub body1: String,
    /// second body
    pub body2: String,
}

/// What an equality between points or frames holds together.
#[derive(Clone, Debug, PartialEq)]
pub enum EqualityObjects {
    /// two bodies; the second is the world where it is not named
    Bodies(String, Option<String>),
    /// two sites
    Sites(String, String),
}

/// Kind of an equality constraint with its own parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum EqualityKind {
    /// two points coincide
    Connect {
        /// what is held together
        objects: EqualityObjects,
        /// the point in the first body's frame; given with bodies \[m\]
        anchor: Option<[f64; 3]>,
    },
    /// two frames coincide
    Weld {
        /// what is held together
        objects: EqualityObjects,
        /// the point in the second body's frame \[m\]
        anchor: [f64; 3],
        /// relative pose, position then quaternion; quaternion 0: that of the reference configuration
        relpose: [f64; 7],
        /// length that scales rotation \[m\]
        torquescale: f64,
    },
    /// one joint is a polynomial of another, or constant
    Joint {
        /// the joint
        joint1: String,
        /// the joint it depends on
        joint2: Option<String>,
        /// coefficients
        polycoef: [f64; 5],
    },
    /// one tendon is a polynomial of another, or constant
    Tendon {
        /// the tendon
        tendon1: String,
        /// the tendon it depends on
        tendon2: Option<String>,
        /// coefficients
        polycoef: [f64; 5],
    },
    /// "flex" or "flexstrain"
    Other(String),
}

/// An equality constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Equality {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// in force at the start
    pub active: bool,
    /// solver parameters
    pub solref: [f64; 2],
    /// solver parameters
    pub solimp: [f64; 5],
    /// kind
    pub kind: EqualityKind,
}

impl Default for Equality {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            active: true,
            solref: SOLREF,
            solimp: SOLIMP,
            kind: EqualityKind::Other(String::new()),
        }
    }
}

/// One joint of a fixed tendon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixedJoint {
    /// where
    pub at: At,
    /// the joint
    pub joint: String,
    /// its coefficient
    pub coef: f64,
}

/// One step of a spatial tendon's path.
#[derive(Clone, Debug, PartialEq)]
pub enum SpatialStep {
    /// through a site
    Site(String),
    /// around a geom, past a site on one side
    Geom(String, Option<String>),
    /// over a pulley that divides
    Pulley(f64),
}

/// How a tendon's length is made.
#[derive(Clone, Debug, PartialEq)]
pub enum TendonKind {
    /// a linear combination of joint positions
    Fixed(Vec<FixedJoint>),
    /// a path in space
    Spatial(Vec<SpatialStep>),
}

/// A tendon.
#[derive(Clone, Debug, PartialEq)]
pub struct Tendon {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// how its length is made
    pub kind: TendonKind,
    /// group
    pub group: i32,
    /// is the range a limit
    pub limited: Tri,
    /// range, as written (radians for angles)
    pub range: [f64; 2],
    /// are actuator forces clamped at the tendon
    pub actuatorfrclimited: Tri,
    /// range of the total actuator force
    pub actuatorfrcrange: [f64; 2],
    /// solver parameters of the limit
    pub solreflimit: [f64; 2],
    /// solver parameters of the limit
    pub solimplimit: [f64; 5],
    /// solver parameters of friction loss
    pub solreffriction: [f64; 2],
    /// solver parameters of friction loss
    pub solimpfriction: [f64; 5],
    /// distance at which the limit becomes active
    pub margin: f64,
    /// dry friction
    pub frictionloss: f64,
    /// resting length, a dead band; (-1, -1): from the reference configuration
    pub springlength: [f64; 2],
    /// plastic yield threshold; 0: elastic
    pub springyield: f64,
    /// linear, quadratic, cubic stiffness
    pub stiffness: [f64; 3],
    /// linear, quadratic, cubic damping
    pub damping: [f64; 3],
    /// inertia of the tendon's motion
    pub armature: f64,
    /// width for drawing \[m\]
    pub width: f64,
    /// material
    pub material: Option<String>,
    /// colour
    pub rgba: [f64; 4],
    /// user values
    pub user: Vec<f64>,
}

impl Default for Tendon {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            kind: TendonKind::Fixed(Vec::new()),
            group: 0,
            limited: Tri::Auto,
            range: [0.0; 2],
            actuatorfrclimited: Tri::Auto,
            actuatorfrcrange: [0.0; 2],
            solreflimit: SOLREF,
            solimplimit: SOLIMP,
            solreffriction: SOLREF,
            solimpfriction: SOLIMP,
            margin: 0.0,
            frictionloss: 0.0,
            springlength: [-1.0; 2],
            springyield: 0.0,
            stiffness: [0.0; 3],
            damping: [0.0; 3],
            armature: 0.0,
            width: 0.003,
            material: None,
            rgba: [0.5, 0.5, 0.5, 1.0],
            user: Vec::new(),
        }
    }
}
