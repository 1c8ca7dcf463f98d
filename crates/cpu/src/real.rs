//! The scalar that stages are generic over: `f64` (the reference), `f32` (the witness), later SIMD lanes of worlds.

use core::fmt::Debug;
use core::ops::{AddAssign, DivAssign, MulAssign, Neg, SubAssign};
use nalgebra::{ClosedAddAssign, ClosedDivAssign, ClosedMulAssign, ClosedSubAssign};
use num_traits::{One, Zero};

/// Arithmetic of one number a world. Decisions that may differ from world to world go through [`Real::lt`] and
/// [`Real::select`], never through `if`, so that a lane of worlds can stand in for the number.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + 'static
    + nalgebra::Scalar
    + ClosedAddAssign
    + ClosedSubAssign
    + ClosedMulAssign
    + ClosedDivAssign
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Neg<Output = Self>
    + Zero
    + One
{
    /// Truth a world.
    type Mask: Copy;

    /// The same number in every world.
    fn r(x: f64) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Exponential.
    fn exp(self) -> Self;
    /// Four-quadrant arc tangent of `self / x`.
    fn atan2(self, x: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Lesser of two.
    fn min(self, other: Self) -> Self;
    /// Greater of two.
    fn max(self, other: Self) -> Self;
    /// `self < other`, a world.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;

    /// True where positions carry a low part (see [`crate::two_float`]).
    const TWO_FLOAT: bool;
    /// Relative spacing of numbers near 1.
    const EPSILON: f64;
}

/// A single world's number: what data-dependent stages (narrow phase, rows, solver) are written for.
pub trait Scalar: Real<Mask = bool> + PartialOrd {
    /// As f64.
    fn to_f64(self) -> f64;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// `self` raised to a power.
    fn powf(self, p: Self) -> Self;
}

macro_rules! scalar {
    ($t:ident, $two_float:literal) => {
        impl Real for $t {
            type Mask = bool;
            const TWO_FLOAT: bool = $two_float;
            const EPSILON: f64 = $t::EPSILON as f64;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding to the scalar is what is wanted")]
            fn r(x: f64) -> Self {
                x as Self
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn sin(self) -> Self {
                self.sin()
            }
            #[inline(always)]
            fn cos(self) -> Self {
                self.cos()
            }
            #[inline(always)]
            fn exp(self) -> Self {
                self.exp()
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                self.atan2(x)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
        }

        impl Scalar for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn powf(self, p: Self) -> Self {
                self.powf(p)
            }
        }
    };
}

scalar!(f64, false);
scalar!(f32, true);
