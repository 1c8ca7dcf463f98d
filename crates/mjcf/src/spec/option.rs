//! Settings of the compiler and of the simulation.

use crate::span::At;

/// Where a body's inertia comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InertiaFromGeom {
    /// never from geoms
    False,
    /// always from geoms
    True,
    /// from geoms where there is no `inertial`
    #[default]
    Auto,
}

/// Actuators whose range of lengths is found (`compiler/lengthrange`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthRangeMode {
    /// none
    None,
    /// those with the gain or bias of a muscle
    #[default]
    Muscle,
    /// these and those of the user
    MuscleUser,
    /// all
    All,
}

/// `compiler/lengthrange`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthRange {
    /// for which actuators
    pub mode: LengthRangeMode,
    /// a range that the actuator has is kept
    pub useexisting: bool,
    /// the limit of the joint or tendon is taken where it has one
    pub uselimit: bool,
    /// norm of the acceleration that the pulling force would give \[rad/s², m/s²\]
    pub accel: f64,
    /// largest norm of that force, 0: any
    pub maxforce: f64,
    /// time constant in which the motion loses its velocity \[s\]
    pub timeconst: f64,
    /// time of a step, 0: that of the model \[s\]
    pub timestep: f64,
    /// time of a pull \[s\]
    pub inttotal: f64,
    /// its last part, in which lengths count \[s\]
    pub interval: f64,
    /// how much the length may change in that part, relative to the range
    pub tolrange: f64,
}

impl Default for LengthRange {
    fn default() -> Self {
        Self {
            mode: LengthRangeMode::Muscle,
            useexisting: true,
            uselimit: false,
            accel: 20.0,
            maxforce: 0.0,
            timeconst: 1.0,
            timestep: 0.01,
            inttotal: 10.0,
            interval: 2.0,
            tolrange: 0.05,
        }
    }
}

/// `compiler`.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiler {
    /// where each setting was written last
    pub at: At,
    /// angles are in degrees
    pub degrees: bool,
    /// limits follow from ranges
    pub autolimits: bool,
    /// axes of Euler angles: lower case turns with the frame, upper case is fixed
    pub eulerseq: [char; 3],
    /// whether inertia is inferred
    pub inertiafromgeom: InertiaFromGeom,
    /// groups of geoms from which inertia is inferred, both ends included
    pub inertiagrouprange: [i32; 2],
    /// smallest mass of a body \[kg\]
    pub boundmass: f64,
    /// smallest diagonal inertia of a body \[kg m²\]
    pub boundinertia: f64,
    /// total mass to scale to; not positive: do not scale \[kg\]
    pub settotalmass: f64,
    /// average a diagonal inertia that breaks the triangle inequality
    pub balanceinertia: bool,
    /// drop visual geoms
    pub discardvisual: bool,
    /// bodies that cannot move against their parents become part of them
    pub fusestatic: bool,
    /// align free bodies with their inertial frame
    pub alignfree: bool,
    /// fit primitives to the bounding boxes of meshes
    pub fitaabb: bool,
    /// keep only file names of assets
    pub strippath: bool,
    /// what is to be done about options of attached models that differ, where that is not to keep the main model's
    pub conflict: Option<String>,
    /// how the ranges of actuators' lengths are found
    pub lengthrange: LengthRange,
    /// folder of meshes and height fields
    pub meshdir: Option<String>,
    /// folder of textures
    pub texturedir: Option<String>,
}

impl Default for Compiler {
    fn default() -> Self {
        Self {
            at: At::default(),
            degrees: true,
            autolimits: true,
            eulerseq: ['x', 'y', 'z'],
            inertiafromgeom: InertiaFromGeom::Auto,
            inertiagrouprange: [0, 5],
            boundmass: 0.0,
            boundinertia: 0.0,
            settotalmass: -1.0,
            balanceinertia: false,
            discardvisual: false,
            fusestatic: false,
            alignfree: false,
            fitaabb: false,
            strippath: false,
            conflict: None,
            lengthrange: LengthRange::default(),
            meshdir: None,
            texturedir: None,
        }
    }
}

/// Integrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum Integrator {
    #[default]
    Euler,
    Rk4,
    Implicit,
    ImplicitFast,
    Discrete,
}

/// Friction cone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum Cone {
    #[default]
    Pyramidal,
    Elliptic,
}

/// Storage of the constraint Jacobian (of no consequence here).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum Jacobian {
    Dense,
    Sparse,
    #[default]
    Auto,
}

/// Constraint solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum Solver {
    Pgs,
    Cg,
    #[default]
    Newton,
}

/// `option`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "MuJoCo's own names, documented under mjOption")]
pub struct Options {
    /// where each setting was written last
    pub at: At,
    pub timestep: f64,
    pub impratio: f64,
    pub tolerance: f64,
    pub ls_tolerance: f64,
    pub noslip_tolerance: f64,
    pub ccd_tolerance: f64,
    pub sleep_tolerance: f64,
    pub gravity: [f64; 3],
    pub wind: [f64; 3],
    pub magnetic: [f64; 3],
    pub density: f64,
    pub viscosity: f64,
    pub o_margin: f64,
    pub o_solref: [f64; 2],
    pub o_solimp: [f64; 5],
    pub o_friction: [f64; 5],
    pub integrator: Integrator,
    pub cone: Cone,
    pub jacobian: Jacobian,
    pub solver: Solver,
    pub iterations: i32,
    pub ls_iterations: i32,
    pub noslip_iterations: i32,
    pub ccd_iterations: i32,
    pub sdf_iterations: i32,
    pub sdf_initpoints: i32,
    /// bit i: actuators of group i are off
    pub actuatorgroupdisable: u32,
    pub flags: Flags,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            at: At::default(),
            timestep: 0.002,
            impratio: 1.0,
            tolerance: 1e-8,
            ls_tolerance: 0.01,
            noslip_tolerance: 1e-6,
            ccd_tolerance: 1e-6,
            sleep_tolerance: 1e-3,
            gravity: [0.0, 0.0, -9.81],
            wind: [0.0; 3],
            magnetic: [0.0, -0.5, 0.0],
            density: 0.0,
            viscosity: 0.0,
            o_margin: 0.0,
            o_solref: super::constraint::SOLREF,
            o_solimp: super::constraint::SOLIMP,
            o_friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            integrator: Integrator::Euler,
            cone: Cone::Pyramidal,
            jacobian: Jacobian::Auto,
            solver: Solver::Newton,
            iterations: 100,
            ls_iterations: 50,
            noslip_iterations: 0,
            ccd_iterations: 35,
            sdf_iterations: 10,
            sdf_initpoints: 40,
            actuatorgroupdisable: 0,
            flags: Flags::default(),
        }
    }
}

macro_rules! flags {
    ($($name:ident $word:literal = $default:literal,)*) => {
        /// `option/flag`: true means "enable".
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "MuJoCo's own names")]
        pub struct Flags { $(pub $name: bool,)* }

        impl Default for Flags {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Flags {
            /// The names of the flags, in order.
            pub const NAMES: &'static [&'static str] = &[$($word,)*];

            /// Sets a flag by name; false if there is no such flag.
            pub fn set(&mut self, name: &str, on: bool) -> bool {
                match name {
                    $($word => self.$name = on,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

flags! {
    constraint "constraint" = true,
    equality "equality" = true,
    frictionloss "frictionloss" = true,
    limit "limit" = true,
    contact "contact" = true,
    spring "spring" = true,
    damper "damper" = true,
    gravity "gravity" = true,
    clampctrl "clampctrl" = true,
    warmstart "warmstart" = true,
    filterparent "filterparent" = true,
    actuation "actuation" = true,
    refsafe "refsafe" = true,
    sensor "sensor" = true,
    midphase "midphase" = true,
    nativeccd "nativeccd" = true,
    island "island" = true,
    eulerdamp "eulerdamp" = true,
    autoreset "autoreset" = true,
    multiccd "multiccd" = true,
    override_ "override" = false,
    energy "energy" = false,
    fwdinv "fwdinv" = false,
    invdiscrete "invdiscrete" = false,
    sleep "sleep" = false,
    diagexact "diagexact" = false,
    ipc "ipc" = false,
    speculative "speculative" = false,
}

/// `size`: what the file asks for; `None` where it does not.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "MuJoCo's own names")]
pub struct SizeHints {
    /// where each was written last
    pub at: At,
    /// "-1" or a number with an optional unit letter, as written
    pub memory: Option<String>,
    pub njmax: Option<i32>,
    pub nconmax: Option<i32>,
    pub nstack: Option<i32>,
    pub nuserdata: Option<i32>,
    pub nkey: Option<i32>,
}

/// `statistic`: values that replace computed ones.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "MuJoCo's own names")]
pub struct Statistic {
    /// where each was written last
    pub at: At,
    pub meaninertia: Option<f64>,
    pub meanmass: Option<f64>,
    pub meansize: Option<f64>,
    pub extent: Option<f64>,
    pub center: Option<[f64; 3]>,
}
