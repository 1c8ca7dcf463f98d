//! Positions as unevaluated sums of two numbers: hi + lo. Twin: `shaders/two_float.wgsl`.
//!
//! In f32 one ulp at 0.5 m is 60 nm, as much as a slow creep moves in a step; hi + lo resolves 1e-14 of the value.
//! In f64 ([`Real::TWO_FLOAT`] is false) the low part stays 0 and costs nothing.

use crate::Real;
use crate::math::Vec3;

/// The sum of two numbers and what its rounding lost: `a + b = sum + error` exactly.
#[inline(always)]
pub fn two_sum<T: Real>(a: T, b: T) -> (T, T) {
    let s = a + b;
    let bb = s - a;
    (s, (a - (s - bb)) + (b - bb))
}

/// `(hi + lo) + x`, normalized.
#[inline(always)]
pub fn tf_add<T: Real>(hi: T, lo: T, x: T) -> (T, T) {
    if !T::TWO_FLOAT {
        return (hi + x, lo);
    }
    let (s, e) = two_sum(hi, x);
    two_sum(s, e + lo)
}

/// `(hi + lo) + v`, component by component.
#[inline(always)]
pub fn tf_add3<T: Real>(hi: Vec3<T>, lo: Vec3<T>, v: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    let (x, y, z) = (tf_add(hi[0], lo[0], v[0]), tf_add(hi[1], lo[1], v[1]), tf_add(hi[2], lo[2], v[2]));
    (Vec3::new(x.0, y.0, z.0), Vec3::new(x.1, y.1, z.1))
}

/// `(ahi + alo) - (bhi + blo)` rounded once: exact to the last bit where the two are close.
#[inline(always)]
pub fn tf_diff3<T: Real>(ahi: Vec3<T>, alo: Vec3<T>, bhi: Vec3<T>, blo: Vec3<T>) -> Vec3<T> {
    (ahi - bhi) + (alo - blo)
}
