//! The scalar that stages are generic over: `f64` (the reference), `f32` (the witness), lanes of worlds (see [`crate::lanes`]).

use core::fmt::Debug;
use core::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

/// Truth a world.
pub trait Mask: Copy + Debug + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// The same in every world.
    fn splat(b: bool) -> Self;
    /// True in some world.
    fn any(self) -> bool;
    /// True in world `l`.
    fn get(self, l: usize) -> bool;
    /// True in every world.
    #[inline(always)]
    fn all(self) -> bool {
        !(!self).any()
    }
}

impl Mask for bool {
    #[inline(always)]
    fn splat(b: bool) -> Self {
        b
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn get(self, _: usize) -> bool {
        self
    }
}

/// An integer a world.
pub trait Ints: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// The same in every world.
    fn splat(x: i32) -> Self;
    /// That of world `l`.
    fn get(&self, l: usize) -> i32;
    /// Sets that of world `l`.
    fn set(&mut self, l: usize, x: i32);
}

impl Ints for i32 {
    #[inline(always)]
    fn splat(x: i32) -> Self {
        x
    }
    #[inline(always)]
    fn get(&self, _: usize) -> i32 {
        *self
    }
    #[inline(always)]
    fn set(&mut self, _: usize, x: i32) {
        *self = x;
    }
}

/// Arithmetic of one number a world. Decisions that may differ from world to world go through masks and [`Real::select`],
/// never through `if`, so that a register with a world in each lane can stand in for the number. No operation is fused and
/// none looks at another lane: a world's bits are the same in any lane, and those of the scalar.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// Truth a world.
    type Mask: Mask;
    /// An integer a world.
    type Int: Ints;
    /// The number of one world.
    type One: Scalar;
    /// How many worlds it stands for.
    const LANES: usize;

    /// The same number in every world.
    fn r(x: f64) -> Self;
    /// The same number in every world.
    fn splat(x: Self::One) -> Self;
    /// The number of world `l`.
    fn lane(&self, l: usize) -> Self::One;
    /// Sets the number of world `l`.
    fn set_lane(&mut self, l: usize, x: Self::One);
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Lesser of two; `other` where one is not a number.
    fn min(self, other: Self) -> Self;
    /// Greater of two; `other` where one is not a number.
    fn max(self, other: Self) -> Self;
    /// `self < other`, a world.
    fn lt(self, other: Self) -> Self::Mask;
    /// `self <= other`, a world.
    fn le(self, other: Self) -> Self::Mask;
    /// `self == other`, a world.
    fn same(self, other: Self) -> Self::Mask;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;

    /// True where positions carry a low part (see [`crate::two_float`]).
    const TWO_FLOAT: bool;
    /// Relative spacing of numbers near 1.
    const EPSILON: f64;

    /// 0 in every world.
    #[inline(always)]
    fn zero() -> Self {
        Self::r(0.0)
    }
    /// 1 in every world.
    #[inline(always)]
    fn one() -> Self {
        Self::r(1.0)
    }
    /// `self > other`, a world.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// `self >= other`, a world.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }
    /// Neither infinite nor NaN, a world.
    #[inline(always)]
    fn finite(self) -> Self::Mask {
        self.abs().lt(Self::r(f64::INFINITY))
    }
    /// World by world, by a function of one.
    #[inline(always)]
    fn map(self, f: impl Fn(Self::One) -> Self::One) -> Self {
        let mut out = self;
        for l in 0..Self::LANES {
            out.set_lane(l, f(self.lane(l)));
        }
        out
    }
    /// World by world, by a function of two.
    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(Self::One, Self::One) -> Self::One) -> Self {
        let mut out = self;
        for l in 0..Self::LANES {
            out.set_lane(l, f(self.lane(l), other.lane(l)));
        }
        out
    }
    /// Exponential.
    #[inline(always)]
    fn exp(self) -> Self {
        self.map(Scalar::exp_one)
    }
    /// Four-quadrant arc tangent of `self / x`.
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        self.map2(x, Scalar::atan2_one)
    }
    /// `self` raised to a power.
    #[inline(always)]
    fn powf(self, p: Self) -> Self {
        self.map2(p, Scalar::powf_one)
    }
    /// Sine and cosine.
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        crate::trig::sin_cos(self)
    }
}

/// A single world's number: what narrow phases with many branches are written for.
pub trait Scalar: Real<Mask = bool, Int = i32, One = Self> + crate::Compiled + PartialOrd {
    /// As f64.
    fn to_f64(self) -> f64;
    /// See [`Real::exp`].
    fn exp_one(self) -> Self;
    /// See [`Real::atan2`].
    fn atan2_one(self, x: Self) -> Self;
    /// See [`Real::powf`].
    fn powf_one(self, p: Self) -> Self;
    /// Sine and cosine of any argument, however large.
    fn sin_cos_one(self) -> (Self, Self);
}

macro_rules! scalar {
    ($t:ident, $two_float:literal) => {
        impl Real for $t {
            type Mask = bool;
            type Int = i32;
            type One = Self;
            const LANES: usize = 1;
            const TWO_FLOAT: bool = $two_float;
            const EPSILON: f64 = $t::EPSILON as f64;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding to the scalar is what is wanted")]
            fn r(x: f64) -> Self {
                x as Self
            }
            #[inline(always)]
            fn splat(x: Self) -> Self {
                x
            }
            #[inline(always)]
            fn lane(&self, _: usize) -> Self {
                *self
            }
            #[inline(always)]
            fn set_lane(&mut self, _: usize, x: Self) {
                *self = x;
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
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
            fn le(self, other: Self) -> bool {
                self <= other
            }
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self == other
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
            fn exp_one(self) -> Self {
                self.exp()
            }
            #[inline(always)]
            fn atan2_one(self, x: Self) -> Self {
                self.atan2(x)
            }
            // out of the compiler's sight: it would fold `p == 2 ? x x : x^p` to the power alone
            #[inline(never)]
            fn powf_one(self, p: Self) -> Self {
                self.powf(p)
            }
            #[inline(always)]
            fn sin_cos_one(self) -> (Self, Self) {
                self.sin_cos()
            }
        }
    };
}

scalar!(f64, false);
scalar!(f32, true);
