//! MuJoCo's enumerations and constants that files and kernels refer to (documentation: APIreference, "Types").

/// `mjtJoint`
pub mod jnt {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const FREE: i32 = 0;
    pub const BALL: i32 = 1;
    pub const SLIDE: i32 = 2;
    pub const HINGE: i32 = 3;
}

/// `mjtGeom`
pub mod geom {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const PLANE: i32 = 0;
    pub const HFIELD: i32 = 1;
    pub const SPHERE: i32 = 2;
    pub const CAPSULE: i32 = 3;
    pub const ELLIPSOID: i32 = 4;
    pub const CYLINDER: i32 = 5;
    pub const BOX: i32 = 6;
    pub const MESH: i32 = 7;
    pub const SDF: i32 = 8;
}

/// `mjtEq`
pub mod eq {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const CONNECT: i32 = 0;
    pub const WELD: i32 = 1;
    pub const JOINT: i32 = 2;
    pub const TENDON: i32 = 3;
}

/// `mjtObj`, the kinds that compiled fields refer to
pub mod obj {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const BODY: i32 = 1;
    pub const JOINT: i32 = 3;
    pub const GEOM: i32 = 5;
    pub const SITE: i32 = 6;
}

/// `mjtIntegrator`
pub mod integrator {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const EULER: i32 = 0;
    pub const RK4: i32 = 1;
    pub const IMPLICIT: i32 = 2;
    pub const IMPLICITFAST: i32 = 3;
}

/// `mjtCone`
pub mod cone {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const PYRAMIDAL: i32 = 0;
    pub const ELLIPTIC: i32 = 1;
}

/// `mjtSolver`
pub mod solver {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const PGS: i32 = 0;
    pub const CG: i32 = 1;
    pub const NEWTON: i32 = 2;
}

/// `mjtTrn`
pub mod trn {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const JOINT: i32 = 0;
    pub const JOINTINPARENT: i32 = 1;
    pub const TENDON: i32 = 3;
}

/// `mjtDyn`
pub mod dyn_type {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const NONE: i32 = 0;
    pub const INTEGRATOR: i32 = 1;
    pub const FILTER: i32 = 2;
    pub const FILTEREXACT: i32 = 3;
}

/// `mjtGain`
pub mod gain {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const FIXED: i32 = 0;
    pub const AFFINE: i32 = 1;
}

/// `mjtBias`
pub mod bias {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const NONE: i32 = 0;
    pub const AFFINE: i32 = 1;
}

/// `mjtConstraint`
pub mod cnstr {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const EQUALITY: i32 = 0;
    pub const FRICTION_DOF: i32 = 1;
    pub const FRICTION_TENDON: i32 = 2;
    pub const LIMIT_JOINT: i32 = 3;
    pub const LIMIT_TENDON: i32 = 4;
    pub const CONTACT_FRICTIONLESS: i32 = 5;
    pub const CONTACT_PYRAMIDAL: i32 = 6;
    pub const CONTACT_ELLIPTIC: i32 = 7;
}

/// `mjtConstraintState`
pub mod state {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const SATISFIED: i32 = 0;
    pub const QUADRATIC: i32 = 1;
    pub const LINEARNEG: i32 = 2;
    pub const LINEARPOS: i32 = 3;
    pub const CONE: i32 = 4;
}

/// `mjtDisableBit`
pub mod disable {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const CONSTRAINT: i32 = 1;
    pub const EQUALITY: i32 = 2;
    pub const FRICTIONLOSS: i32 = 4;
    pub const LIMIT: i32 = 8;
    pub const CONTACT: i32 = 16;
    pub const SPRING: i32 = 32;
    pub const DAMPER: i32 = 64;
    pub const GRAVITY: i32 = 128;
    pub const CLAMPCTRL: i32 = 256;
    pub const WARMSTART: i32 = 512;
    pub const FILTERPARENT: i32 = 1024;
    pub const ACTUATION: i32 = 2048;
    pub const REFSAFE: i32 = 4096;
    pub const SENSOR: i32 = 8192;
    pub const MIDPHASE: i32 = 16384;
    pub const EULERDAMP: i32 = 32768;
    pub const AUTORESET: i32 = 65536;
    pub const NATIVECCD: i32 = 131_072;
    pub const ISLAND: i32 = 262_144;
    pub const MULTICCD: i32 = 524_288;
}

/// `mjtEnableBit`
pub mod enable {
    #![allow(missing_docs, reason = "MuJoCo's own names")]
    pub const OVERRIDE: i32 = 1;
    pub const ENERGY: i32 = 2;
    pub const FWDINV: i32 = 4;
    pub const INVDISCRETE: i32 = 8;
    pub const SLEEP: i32 = 16;
    pub const DIAGEXACT: i32 = 32;
}

/// Bits of the per-world word `status`. A world with a bit of [`status::FROZEN`] no longer moves.
pub mod status {
    /// more contacts than `nconmax`: `ncon_need` holds the number
    pub const CONTACT_OVERFLOW: i32 = 1;
    /// more constraint rows than `njmax`: `nefc_need` holds the number
    pub const ROW_OVERFLOW: i32 = 2;
    /// a non-finite state would have been written
    pub const NONFINITE: i32 = 4;
    /// a non-finite control or applied force was given
    pub const BAD_CTRL: i32 = 8;
    /// the bits that freeze a world at its last good state
    pub const FROZEN: i32 = CONTACT_OVERFLOW | ROW_OVERFLOW | NONFINITE | BAD_CTRL;
}

/// `mjMINVAL`: the smallest value that is divided by.
pub const MINVAL: f64 = 1e-15;
/// `mjMINIMP`: the smallest constraint impedance.
pub const MINIMP: f64 = 1e-4;
/// `mjMAXIMP`: the largest constraint impedance.
pub const MAXIMP: f64 = 0.9999;
/// `mjMINMU`: the smallest friction coefficient.
pub const MINMU: f64 = 1e-5;
/// `mjMAXVAL`: the largest coordinate, velocity or acceleration that is not called bad.
pub const MAXVAL: f64 = 1e10;
