//! Stages compiled for a type of number, and for the processor instructions that it stands for.
// CPU only: what pipelines are on the GPU.
#![allow(unsafe_code, reason = "calls of functions compiled for instructions that the type's owner has found")]

use crate::lanes::{F32x4, F64x2};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{F32x8, F32x16, F64x4, F64x8};
use crate::{Real, World};
use kiloworld_layout::{Call, Model, Stage};

/// A number that the stages are compiled for.
pub trait Compiled: Real {
    /// True where this processor has the instructions. It has them wherever code outside this crate sees the type.
    fn available() -> bool;
    /// Runs one entry of the step's list on the worlds that the number stands for.
    fn run(call: Call, m: &Model<Self>, d: &mut World<Self>);
}

/// Something to do with a number, whichever it is.
pub trait WithNumber {
    /// what comes of it
    type Out;
    /// Does it.
    fn with<T: Compiled>(self) -> Self::Out;
}

/// Does something with the number of `lanes` worlds in f32 (`single`) or f64, 1: the scalar; `None` where this processor has
/// no such register. This is the only way to the types of wide registers, so that no safe code runs instructions that are not there.
///
/// ```compile_fail
/// use kiloworld_cpu::lanes::F32x16;
/// ```
pub fn with_lanes<W: WithNumber>(single: bool, lanes: usize, what: W) -> Option<W::Out> {
    fn of<T: Compiled, W: WithNumber>(what: W) -> Option<W::Out> {
        T::available().then(|| what.with::<T>())
    }
    match (single, lanes) {
        (true, 1) => of::<f32, W>(what),
        (true, F32x4::LANES) => of::<F32x4, W>(what),
        (false, 1) => of::<f64, W>(what),
        (false, F64x2::LANES) => of::<F64x2, W>(what),
        #[cfg(target_arch = "x86_64")]
        (true, F32x8::LANES) => of::<F32x8, W>(what),
        #[cfg(target_arch = "x86_64")]
        (true, F32x16::LANES) => of::<F32x16, W>(what),
        #[cfg(target_arch = "x86_64")]
        (false, F64x4::LANES) => of::<F64x4, W>(what),
        #[cfg(target_arch = "x86_64")]
        (false, F64x8::LANES) => of::<F64x8, W>(what),
        _ => None,
    }
}

/// The numbers of lanes that [`with_lanes`] knows on this processor in f32 (`single`) or f64, the most first, 1 last.
pub fn widths(single: bool) -> Vec<usize> {
    struct Lanes;
    impl WithNumber for Lanes {
        type Out = usize;
        fn with<T: Compiled>(self) -> usize {
            T::LANES
        }
    }
    [16, 8, 4, 2, 1].into_iter().filter_map(|n| with_lanes(single, n, Lanes)).collect()
}

/// A function a stage, so that each is optimised as a whole and no larger than it is.
macro_rules! compiled {
    ($module:ident, $t:ty, $available:expr $(, $feature:literal)?) => {
        mod $module {
            use super::*;
            compiled!(@stages $t, [$($feature)?], kinematics::kinematics, kinematics::com_pos, transmission::transmission,
                inertia::inertia, collision::collision, constraint::constraint, velocity::velocity, passive::passive, bias::bias,
                reference::reference, actuation::actuation, acceleration::acceleration, solver::solver, noslip::noslip,
                health::health);

            $(#[target_feature(enable = $feature)])?
            fn integrate(m: &Model<$t>, d: &mut World<$t>, sub: u32) {
                crate::integrate::integrate(m, d, sub);
            }

            impl Compiled for $t {
                fn available() -> bool {
                    $available
                }
                fn run(call: Call, m: &Model<Self>, d: &mut World<Self>) {
                    assert!(Self::available(), "this processor lacks the instructions");
                    #[allow(unused_unsafe, reason = "without special instructions the functions are safe")]
                    // SAFETY: the instructions are there
                    unsafe {
                        match call.stage {
                            Stage::Load => {}
                            Stage::Kinematics => kinematics(m, d),
                            Stage::ComPos => com_pos(m, d),
                            Stage::Transmission => transmission(m, d),
                            Stage::Inertia => inertia(m, d),
                            Stage::Collision => collision(m, d),
                            Stage::Constraint => constraint(m, d),
                            Stage::Velocity => velocity(m, d),
                            Stage::Passive => passive(m, d),
                            Stage::Bias => bias(m, d),
                            Stage::Reference => reference(m, d),
                            Stage::Actuation => actuation(m, d),
                            Stage::Acceleration => acceleration(m, d),
                            Stage::Solver => solver(m, d),
                            Stage::Noslip => noslip(m, d),
                            Stage::Health => health(m, d),
                            Stage::Integrate => integrate(m, d, call.sub),
                        }
                    }
                }
            }
        }
    };
    (@stages $t:ty, $feature:tt, $($file:ident :: $stage:ident),*) => {
        $(compiled!(@stage $t, $feature, $file, $stage);)*
    };
    (@stage $t:ty, [$($feature:literal)?], $file:ident, $stage:ident) => {
        $(#[target_feature(enable = $feature)])?
        fn $stage(m: &Model<$t>, d: &mut World<$t>) {
            crate::$file::$stage(m, d);
        }
    };
}

compiled!(double, f64, true);
compiled!(single, f32, true);
compiled!(double2, F64x2, true);
compiled!(single4, F32x4, true);
#[cfg(target_arch = "x86_64")]
compiled!(double4, F64x4, is_x86_feature_detected!("avx2"), "avx2");
#[cfg(target_arch = "x86_64")]
compiled!(single8, F32x8, is_x86_feature_detected!("avx2"), "avx2");
#[cfg(target_arch = "x86_64")]
compiled!(double8, F64x8, avx512(), "avx512f,avx512dq,avx512bw,avx512vl");
#[cfg(target_arch = "x86_64")]
compiled!(single16, F32x16, avx512(), "avx512f,avx512dq,avx512bw,avx512vl");

#[cfg(target_arch = "x86_64")]
fn avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}
