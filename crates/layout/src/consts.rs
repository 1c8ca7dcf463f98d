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
        /// the bits that freeze a world at its last good state
        FROZEN = CONTACT_OVERFLOW | ROW_OVERFLOW | NONFINITE | BAD_CTRL,
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
