//! The typed specification of a model: what the files say, defaults resolved, nothing computed.
//!
//! Angles stand as they were written: in the unit of [`Compiler::degrees`]. Orientations keep the form they were written
//! in. Names that elements refer to each other by have been checked to exist.

mod actuator;
mod asset;
mod constraint;
mod option;
mod sensor;
mod tree;

pub use actuator::{
    Actuator, ActuatorKind, BiasType, DynType, GainType, General, Interp, Position, Transmission, Velocity,
};
pub use asset::{Asset, AssetFile, Content, Hfield, Mesh, MeshInertia};
pub use constraint::{
    Equality, EqualityKind, EqualityObjects, Exclude, FixedJoint, Pair, SOLIMP, SOLREF, SpatialStep, Tendon, TendonKind,
};
pub use option::{
    Compiler, Cone, Flags, InertiaFromGeom, Integrator, Jacobian, LengthRange, LengthRangeMode, Options, SizeHints,
    Solver, Statistic,
};
pub use sensor::{Camera, CameraMode, Object, Sensor};
pub use tree::{Body, Frame, Geom, GeomKind, Inertial, Joint, JointKind, Orientation, Site, Sleep};

use crate::span::{At, Sources, Span};

/// A choice that may be left to the compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tri {
    /// "false"
    False,
    /// "true"
    True,
    /// "auto": the compiler decides
    #[default]
    Auto,
}

/// A model as its files describe it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// the files that it was read from
    pub sources: Sources,
    /// `mujoco/model`
    pub model: Option<String>,
    /// settings of the compiler
    pub compiler: Compiler,
    /// settings of attached models, which are in force for the inertia of their bodies
    pub attached: Vec<Compiler>,
    /// options of the simulation
    pub option: Options,
    /// sizes and capacities that the file asks for
    pub size: SizeHints,
    /// statistics that the file overrides
    pub statistic: Statistic,
    /// all bodies, depth first in the order of the document (MuJoCo's order); the first is the world
    pub bodies: Vec<Body>,
    /// all frames; elements refer to them by index, and a frame's parent comes before it
    pub frames: Vec<Frame>,
    /// explicit contact pairs
    pub pairs: Vec<Pair>,
    /// pairs of bodies that do not collide
    pub excludes: Vec<Exclude>,
    /// equality constraints
    pub equalities: Vec<Equality>,
    /// tendons
    pub tendons: Vec<Tendon>,
    /// actuators
    pub actuators: Vec<Actuator>,
    /// sensors
    pub sensors: Vec<Sensor>,
    /// key frames
    pub keys: Vec<Key>,
    /// cameras, in the order of the document
    pub cameras: Vec<Camera>,
    /// meshes
    pub meshes: Vec<Mesh>,
    /// height fields
    pub hfields: Vec<Hfield>,
    /// textures, materials, skins, models
    pub assets: Vec<Asset>,
    /// features that were read and kept by name, which the model compiler must refuse
    pub unsupported: Vec<Unsupported>,
}

/// A feature that this program does not simulate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsupported {
    /// what it is, in the words of MJCF: "flexcomp", "actuator/muscle"
    pub feature: String,
    /// the name of the element that has it
    pub name: Option<String>,
    /// where it is written
    pub span: Span,
}

/// A key frame: `None` where the file leaves the reference values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// time \[s\]
    pub time: f64,
    /// joint positions, (nq); angles always in radians
    pub qpos: Option<Vec<f64>>,
    /// joint velocities, (nv)
    pub qvel: Option<Vec<f64>>,
    /// activations, (na)
    pub act: Option<Vec<f64>>,
    /// controls, (nu)
    pub ctrl: Option<Vec<f64>>,
    /// mocap positions, (nmocap, 3)
    pub mpos: Option<Vec<f64>>,
    /// mocap quaternions, (nmocap, 4)
    pub mquat: Option<Vec<f64>>,
    /// what the values are of, where the key frame comes from an attached model; the rest keeps its reference values
    pub part: Option<Part>,
}

/// The elements of an attached model in its own order, and which of the whole model each has become, if it was attached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// kinds of joints, and joints counted over all bodies
    pub joints: Vec<(JointKind, Option<usize>)>,
    /// actuators
    pub actuators: Vec<(Option<usize>, Actuator)>,
    /// mocap bodies
    pub mocaps: Vec<Option<usize>>,
}

impl Spec {
    /// The settings in force for the inertia of a body.
    pub fn settings(&self, body: usize) -> &Compiler {
        let attached = self.bodies[body].settings.and_then(|s| self.attached.get(s));
        attached.unwrap_or(&self.compiler)
    }

    /// The index of the body of this name; "world" is 0.
    pub fn body(&self, name: &str) -> Option<usize> {
        if name == "world" { Some(0) } else { self.bodies.iter().position(|b| b.name.as_deref() == Some(name)) }
    }

    /// All joints with the index of their body, in MuJoCo's order.
    pub fn joints(&self) -> impl Iterator<Item = (usize, &Joint)> {
        self.bodies.iter().enumerate().flat_map(|(b, body)| body.joints.iter().map(move |j| (b, j)))
    }

    /// All geoms with the index of their body, in MuJoCo's order.
    pub fn geoms(&self) -> impl Iterator<Item = (usize, &Geom)> {
        self.bodies.iter().enumerate().flat_map(|(b, body)| body.geoms.iter().map(move |g| (b, g)))
    }

    /// All sites with the index of their body, in MuJoCo's order.
    pub fn sites(&self) -> impl Iterator<Item = (usize, &Site)> {
        self.bodies.iter().enumerate().flat_map(|(b, body)| body.sites.iter().map(move |s| (b, s)))
    }

    /// The tendon of this name.
    pub fn tendon(&self, name: &str) -> Option<usize> {
        self.tendons.iter().position(|t| t.name.as_deref() == Some(name))
    }
}
