//! MuJoCo's enumerations and constants that files and kernels refer to (documentation: APIreference, "Types").

macro_rules! integers {
    ($($(#[doc = $mdoc:literal])+ $module:ident $prefix:literal { $($(#[doc = $doc:literal])* $name:ident = $value:expr,)* })*) => {
        $($(#[doc = $mdoc])+ pub mod $module {
            #![allow(missing_docs, reason = "MuJoCo's own names")]
            $($(#[doc = $doc])* pub const $name: i32 = $value;)*
        })*

        /// Every integer constant as (prefix, name, value); a kernel knows it as `PREFIX_NAME`.
        pub const INTEGERS: &[(&str, &str, i32)] = &[$($(($prefix, stringify!($name), $module::$name),)*)*];
    };
}

macro_rules! reals {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:expr,)*) => {
        $($(#[doc = $doc])+ pub const $name: f64 = $value;)*

        /// Every real constant as (name, value).
        pub const REALS: &[(&str, f64)] = &[$((stringify!($name), $name),)*];
    };
}

integers! {
    /// `mjtJoint`
    jnt "JNT" {
        FREE = 0,
        BALL = 1,
        SLIDE = 2,
        HINGE = 3,
    }

    /// `mjtGeom`
    geom "GEOM" {
        PLANE = 0,
        HFIELD = 1,
        SPHERE = 2,
        CAPSULE = 3,
        ELLIPSOID = 4,
        CYLINDER = 5,
        BOX = 6,
        MESH = 7,
        SDF = 8,
    }

    /// `mjtEq`
    eq "EQ" {
        CONNECT = 0,
        WELD = 1,
        JOINT = 2,
        TENDON = 3,
    }

    /// `mjtObj`, the kinds that compiled fields refer to
    obj "OBJ" {
        BODY = 1,
        JOINT = 3,
        GEOM = 5,
        SITE = 6,
    }

    /// `mjtIntegrator`
    integrator "INTEGRATOR" {
        EULER = 0,
        RK4 = 1,
        IMPLICIT = 2,
        IMPLICITFAST = 3,
    }

    /// `mjtCone`
    cone "CONE" {
        PYRAMIDAL = 0,
        ELLIPTIC = 1,
    }

    /// `mjtJacobian`
    jac "JAC" {
        DENSE = 0,
        SPARSE = 1,
        AUTO = 2,
    }

    /// `mjtSolver`
    solver "SOLVER" {
        PGS = 0,
        CG = 1,
        NEWTON = 2,
    }

    /// `mjtTrn`
    trn "TRN" {
        JOINT = 0,
        JOINTINPARENT = 1,
        TENDON = 3,
    }

    /// `mjtDyn`
    dyn_type "DYN" {
        NONE = 0,
        INTEGRATOR = 1,
        FILTER = 2,
        FILTEREXACT = 3,
    }

    /// `mjtGain`
    gain "GAIN" {
        FIXED = 0,
        AFFINE = 1,
    }

    /// `mjtBias`
    bias "BIAS" {
        NONE = 0,
        AFFINE = 1,
    }

    /// `mjtConstraint`
    cnstr "CNSTR" {
        EQUALITY = 0,
        FRICTION_DOF = 1,
        FRICTION_TENDON = 2,
        LIMIT_JOINT = 3,
        LIMIT_TENDON = 4,
        CONTACT_FRICTIONLESS = 5,
        CONTACT_PYRAMIDAL = 6,
        CONTACT_ELLIPTIC = 7,
    }

    /// `mjtConstraintState`
    state "STATE" {
        SATISFIED = 0,
        QUADRATIC = 1,
        LINEARNEG = 2,
        LINEARPOS = 3,
        CONE = 4,
    }

    /// `mjtDisableBit`
    disable "DISABLE" {
        CONSTRAINT = 1,
        EQUALITY = 2,
        FRICTIONLOSS = 4,
        LIMIT = 8,
        CONTACT = 16,
        SPRING = 32,
        DAMPER = 64,
        GRAVITY = 128,
        CLAMPCTRL = 256,
        WARMSTART = 512,
        FILTERPARENT = 1024,
        ACTUATION = 2048,
        REFSAFE = 4096,
        SENSOR = 8192,
        MIDPHASE = 16384,
        EULERDAMP = 32768,
        AUTORESET = 65536,
        NATIVECCD = 131_072,
        ISLAND = 262_144,
        MULTICCD = 524_288,
    }

    /// `mjtEnableBit`
    enable "ENABLE" {
        OVERRIDE = 1,
        ENERGY = 2,
        FWDINV = 4,
        INVDISCRETE = 8,
        SLEEP = 16,
        DIAGEXACT = 32,
    }

    /// Bits of the per-world word `status`. A world with a bit of [`status::FROZEN`] no longer moves.
    status "STATUS" {
        /// more contacts than `nconmax`: `ncon_need` holds the number
        CONTACT_OVERFLOW = 1,
        /// more constraint rows than `njmax`: `nefc_need` holds the number
        ROW_OVERFLOW = 2,
        /// a non-finite state would have been written
        NONFINITE = 4,
        /// a non-finite control or applied force was given
        BAD_CTRL = 8,
        /// the next state or the acceleration would have been finite, but beyond [`MAXVAL`]
        DIVERGED = 16,
        /// the device stopped loops before their end, as software devices may where a world is large
        LOOP_LIMIT = 32,
        /// the bits that freeze a world at its last good state
        FROZEN = CONTACT_OVERFLOW | ROW_OVERFLOW | NONFINITE | BAD_CTRL | DIVERGED | LOOP_LIMIT,
    }

    /// Bits of the per-world word `bad_fields`.
    bad "BAD" {
        QPOS = 1,
        QVEL = 2,
        QACC = 4,
        ACT = 8,
        CTRL = 16,
        QFRC_APPLIED = 32,
        XFRC_APPLIED = 64,
    }

    /// What the stage `health` looks at; indexes `health_size`, `health_limit` and the like.
    health "HEALTH" {
        /// distance between the two points of a connect or weld [m]
        POSITION = 0,
        /// angle between the two frames of a weld [rad]
        ANGLE = 1,
        /// penetration beyond what load and approach speed explain [m]
        PENETRATION = 2,
        /// energy from nowhere, relative to the kinetic energy that is explained
        ENERGY = 3,
        /// the solver's residual force relative to the forces
        RESIDUAL = 4,
        /// number of checks
        COUNT = 5,
    }

    /// Places in `health_memory`.
    memory "MEMORY" {
        /// fading maximum of the speed at which contacts close [m/s]
        APPROACH = 0,
        /// work since the last look at the energy of what is not conservative, where positive [J]
        WORK = 1,
        /// kinetic and potential energy when last looked at [J]
        ENERGY = 2,
        /// energy from nowhere, fading [J]
        SURPLUS = 3,
        /// largest kinetic energy that is explained, fading [J]
        KINETIC = 4,
        /// 0: there was no step before
        ARMED = 5,
    }
}

reals! {
    /// `mjMINVAL`: the smallest value that is divided by.
    MINVAL = 1e-15,
    /// `mjMINIMP`: the smallest constraint impedance.
    MINIMP = 1e-4,
    /// `mjMAXIMP`: the largest constraint impedance.
    MAXIMP = 0.9999,
    /// `mjMINMU`: the smallest friction coefficient.
    MINMU = 1e-5,
    /// `mjMAXVAL`: the largest coordinate, velocity or acceleration that is not called bad.
    MAXVAL = 1e10,
}

/// What each check of [`health`] allows where nothing else is asked for: `health_limit` of a compiled model. A weld that is off by
/// more than 1 mm or 1 mrad no longer holds; a penetration 1 mm deeper than explained is one that contacts do not push out;
/// a bounce gives back at most the energy that it took, which twice leaves room for; a residual of 1 % of the forces shows.
pub const HEALTH_LIMITS: [f64; health::COUNT as usize] = [1e-3, 1e-3, 1e-3, 2.0, 1e-2];
