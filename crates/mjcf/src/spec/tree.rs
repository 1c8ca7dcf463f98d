//! Bodies, frames, joints, geoms, sites.

use super::Tri;
use crate::span::At;

/// An orientation in the form in which it was written; none written means no rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Orientation {
    /// quaternion (w, x, y, z), not normalized
    Quat([f64; 4]),
    /// axis (x, y, z) and angle, in the compiler's unit
    AxisAngle([f64; 4]),
    /// angles in the compiler's unit and sequence
    Euler([f64; 3]),
    /// the same in a sequence of their own: from an attached model that has another
    EulerIn([f64; 3], [char; 3]),
    /// x axis, then a vector in the x-y plane
    XyAxes([f64; 6]),
    /// z axis; the smallest rotation that takes (0, 0, 1) there
    ZAxis([f64; 3]),
}

impl Orientation {
    /// The attribute that it was written with, to find its span.
    pub fn attr(&self) -> &'static str {
        match self {
            Self::Quat(_) => "quat",
            Self::AxisAngle(_) => "axisangle",
            Self::Euler(_) | Self::EulerIn(..) => "euler",
            Self::XyAxes(_) => "xyaxes",
            Self::ZAxis(_) => "zaxis",
        }
    }
}

/// A coordinate transformation around elements of the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// the frame around it, if it is not directly in a body
    pub parent: Option<usize>,
    /// position in the parent frame or body \[m\]
    pub pos: [f64; 3],
    /// orientation in the parent frame or body
    pub orientation: Option<Orientation>,
}

/// Whether a tree may sleep (`body/sleep`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum Sleep {
    #[default]
    Auto,
    Never,
    Allowed,
    Init,
}

/// A body; the world is a body with neither joints nor inertia.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// index of the parent body; the world's is itself
    pub parent: usize,
    /// the innermost frame between it and its parent body
    pub frame: Option<usize>,
    /// position in the frame or parent body \[m\]
    pub pos: [f64; 3],
    /// orientation in the frame or parent body
    pub orientation: Option<Orientation>,
    /// moved by the user, not by dynamics
    pub mocap: bool,
    /// fraction of the weight that is compensated
    pub gravcomp: f64,
    /// sleep policy
    pub sleep: Sleep,
    /// `simple="false"`: MuJoCo's short cuts for simple bodies are off
    pub simple: bool,
    /// stays a body with `fusestatic`: `fuse="false"`, or something refers to it by its name
    pub whole: bool,
    /// settings of the attached model that it comes from, by index in [`Spec::attached`](super::Spec::attached)
    pub settings: Option<usize>,
    /// explicit inertia
    pub inertial: Option<Inertial>,
    /// joints, in order
    pub joints: Vec<Joint>,
    /// geoms, in order
    pub geoms: Vec<Geom>,
    /// sites, in order
    pub sites: Vec<Site>,
    /// user values
    pub user: Vec<f64>,
}

/// Explicit mass and inertia of a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inertial {
    /// where
    pub at: At,
    /// the innermost frame around it in its body
    pub frame: Option<usize>,
    /// centre of mass in the body (or frame) \[m\]
    pub pos: [f64; 3],
    /// orientation of the inertial frame
    pub orientation: Option<Orientation>,
    /// mass \[kg\]
    pub mass: f64,
    /// diagonal inertia \[kg m²\]
    pub diaginertia: Option<[f64; 3]>,
    /// full inertia xx, yy, zz, xy, xz, yz \[kg m²\]
    pub fullinertia: Option<[f64; 6]>,
}

/// Kind of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum JointKind {
    Free,
    Ball,
    Slide,
    #[default]
    Hinge,
}

/// A joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// the innermost frame around it in its body
    pub frame: Option<usize>,
    /// kind
    pub kind: JointKind,
    /// group
    pub group: i32,
    /// anchor in the body (or frame) \[m\]
    pub pos: [f64; 3],
    /// axis in the body (or frame), not normalized
    pub axis: [f64; 3],
    /// time constant and damping ratio; in force when both are positive
    pub springdamper: [f64; 2],
    /// is the range a limit
    pub limited: Tri,
    /// range, in the compiler's unit for hinge and ball
    pub range: [f64; 2],
    /// are actuator forces clamped at the joint
    pub actuatorfrclimited: Tri,
    /// range of the total actuator force
    pub actuatorfrcrange: [f64; 2],
    /// does gravity compensation count as actuator force
    pub actuatorgravcomp: bool,
    /// solver parameters of the limit
    pub solreflimit: [f64; 2],
    /// solver parameters of the limit
    pub solimplimit: [f64; 5],
    /// solver parameters of friction loss
    pub solreffriction: [f64; 2],
    /// solver parameters of friction loss
    pub solimpfriction: [f64; 5],
    /// linear, quadratic, cubic stiffness
    pub stiffness: [f64; 3],
    /// linear, quadratic, cubic damping
    pub damping: [f64; 3],
    /// distance at which the limit becomes active, as written
    pub margin: f64,
    /// `ref`: value at the reference configuration, in the compiler's unit for hinges
    pub reference: f64,
    /// value at which the spring rests, in the compiler's unit for hinges
    pub springref: f64,
    /// plastic yield threshold; 0: elastic
    pub springyield: f64,
    /// rotor inertia
    pub armature: f64,
    /// dry friction
    pub frictionloss: f64,
    /// `freejoint/align`
    pub align: Tri,
    /// user values
    pub user: Vec<f64>,
}

impl Default for Joint {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            frame: None,
            kind: JointKind::Hinge,
            group: 0,
            pos: [0.0; 3],
            axis: [0.0, 0.0, 1.0],
            springdamper: [0.0; 2],
            limited: Tri::Auto,
            range: [0.0; 2],
            actuatorfrclimited: Tri::Auto,
            actuatorfrcrange: [0.0; 2],
            actuatorgravcomp: false,
            solreflimit: super::constraint::SOLREF,
            solimplimit: super::constraint::SOLIMP,
            solreffriction: super::constraint::SOLREF,
            solimpfriction: super::constraint::SOLIMP,
            stiffness: [0.0; 3],
            damping: [0.0; 3],
            margin: 0.0,
            reference: 0.0,
            springref: 0.0,
            springyield: 0.0,
            armature: 0.0,
            frictionloss: 0.0,
            align: Tri::Auto,
            user: Vec::new(),
        }
    }
}

/// Kind of a geom or site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum GeomKind {
    Plane,
    Hfield,
    #[default]
    Sphere,
    Capsule,
    Ellipsoid,
    Cylinder,
    Box,
    Mesh,
    Sdf,
}

/// A geom.
#[derive(Clone, Debug, PartialEq)]
pub struct Geom {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// the innermost frame around it in its body
    pub frame: Option<usize>,
    /// kind
    pub kind: GeomKind,
    /// collision bits
    pub contype: i32,
    /// collision bits of the other side
    pub conaffinity: i32,
    /// dimension of the contact space: 1, 3, 4 or 6
    pub condim: i32,
    /// group
    pub group: i32,
    /// priority: the higher one's contact parameters win
    pub priority: i32,
    /// sizes as written, missing ones 0 \[m\]
    pub size: [f64; 3],
    /// end points that replace pose and last size \[m\]
    pub fromto: Option<[f64; 6]>,
    /// position in the body (or frame) \[m\]
    pub pos: [f64; 3],
    /// orientation in the body (or frame)
    pub orientation: Option<Orientation>,
    /// sliding, torsional, rolling friction
    pub friction: [f64; 3],
    /// mass; where set it replaces the density \[kg\]
    pub mass: Option<f64>,
    /// density \[kg/m³, or kg/m² for shells\]
    pub density: f64,
    /// mass lies on the surface
    pub shellinertia: bool,
    /// weight in mixing contact parameters
    pub solmix: f64,
    /// solver parameters
    pub solref: [f64; 2],
    /// solver parameters
    pub solimp: [f64; 5],
    /// distance at which contacts are made \[m\]
    pub margin: f64,
    /// distance over which contacts exert no force \[m\]
    pub gap: f64,
    /// surface velocity, linear and angular, in the geom's frame
    pub surfacevel: [f64; 6],
    /// adhesive force of contacts
    pub adhesion: f64,
    /// height field
    pub hfield: Option<String>,
    /// mesh
    pub mesh: Option<String>,
    /// scale of a primitive fitted to a mesh
    pub fitscale: f64,
    /// `fluidshape="ellipsoid"`
    pub fluid_ellipsoid: bool,
    /// coefficients of the ellipsoid fluid model
    pub fluidcoef: [f64; 5],
    /// material
    pub material: Option<String>,
    /// colour
    pub rgba: [f64; 4],
    /// user values
    pub user: Vec<f64>,
}

impl Default for Geom {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            frame: None,
            kind: GeomKind::Sphere,
            contype: 1,
            conaffinity: 1,
            condim: 3,
            group: 0,
            priority: 0,
            size: [0.0; 3],
            fromto: None,
            pos: [0.0; 3],
            orientation: None,
            friction: [1.0, 0.005, 0.0001],
            mass: None,
            density: 1000.0,
            shellinertia: false,
            solmix: 1.0,
            solref: super::constraint::SOLREF,
            solimp: super::constraint::SOLIMP,
            margin: 0.0,
            gap: 0.0,
            surfacevel: [0.0; 6],
            adhesion: 0.0,
            hfield: None,
            mesh: None,
            fitscale: 1.0,
            fluid_ellipsoid: false,
            fluidcoef: [0.5, 0.25, 1.5, 1.0, 1.0],
            material: None,
            rgba: [0.5, 0.5, 0.5, 1.0],
            user: Vec::new(),
        }
    }
}

/// A site.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// the innermost frame around it in its body
    pub frame: Option<usize>,
    /// shape
    pub kind: GeomKind,
    /// group
    pub group: i32,
    /// sizes \[m\]
    pub size: [f64; 3],
    /// end points that replace pose and last size \[m\]
    pub fromto: Option<[f64; 6]>,
    /// position in the body (or frame) \[m\]
    pub pos: [f64; 3],
    /// orientation in the body (or frame)
    pub orientation: Option<Orientation>,
    /// mesh
    pub mesh: Option<String>,
    /// material
    pub material: Option<String>,
    /// colour
    pub rgba: [f64; 4],
    /// user values
    pub user: Vec<f64>,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            frame: None,
            kind: GeomKind::Sphere,
            group: 0,
            size: [0.005; 3],
            fromto: None,
            pos: [0.0; 3],
            orientation: None,
            mesh: None,
            material: None,
            rgba: [0.5, 0.5, 0.5, 1.0],
            user: Vec::new(),
        }
    }
}
