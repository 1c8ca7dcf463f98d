//! Spatial vectors and inertias: motions and forces of rigid bodies. Twin: `shaders/spatial.wgsl`.

use crate::Real;
use crate::math::{Mat3, Vec3};

/// A spatial vector: motion (angular, linear velocity) or force (torque, force).
#[derive(Clone, Copy, Debug)]
pub struct Vec6<T> {
    /// rotation part
    pub r: Vec3<T>,
    /// translation part
    pub t: Vec3<T>,
}

/// Element `i` of an array of spatial vectors.
// CPU only: the accessors do it
#[inline(always)]
pub fn ld6<T: Real>(a: &[T], i: usize) -> Vec6<T> {
    let s = &a[6 * i..6 * i + 6];
    Vec6 { r: Vec3::new(s[0], s[1], s[2]), t: Vec3::new(s[3], s[4], s[5]) }
}

/// Sets element `i` of an array of spatial vectors.
// CPU only: the accessors do it
#[inline(always)]
pub fn st6<T: Real>(a: &mut [T], i: usize, v: Vec6<T>) {
    let s = &mut a[6 * i..6 * i + 6];
    s[..3].copy_from_slice(v.r.as_slice());
    s[3..].copy_from_slice(v.t.as_slice());
}

/// The null vector of six.
#[inline(always)]
pub fn zero6<T: Real>() -> Vec6<T> {
    Vec6 { r: Vec3::zeros(), t: Vec3::zeros() }
}

/// `a + b`
#[inline(always)]
pub fn add6<T: Real>(a: Vec6<T>, b: Vec6<T>) -> Vec6<T> {
    Vec6 { r: a.r + b.r, t: a.t + b.t }
}

/// `a s`
#[inline(always)]
pub fn scale6<T: Real>(a: Vec6<T>, s: T) -> Vec6<T> {
    Vec6 { r: a.r * s, t: a.t * s }
}

/// Scalar product: power, where one is a motion and the other a force.
#[inline(always)]
pub fn dot6<T: Real>(a: Vec6<T>, b: Vec6<T>) -> T {
    a.r.dot(&b.r) + a.t.dot(&b.t)
}

/// The rate of the motion `s` carried along with `v`.
#[inline(always)]
pub fn cross_motion<T: Real>(v: Vec6<T>, s: Vec6<T>) -> Vec6<T> {
    Vec6 { r: v.r.cross(&s.r), t: v.r.cross(&s.t) + v.t.cross(&s.r) }
}

/// The rate of the force `f` carried along with `v`.
#[inline(always)]
pub fn cross_force<T: Real>(v: Vec6<T>, f: Vec6<T>) -> Vec6<T> {
    Vec6 { r: v.r.cross(&f.r) + v.t.cross(&f.t), t: v.r.cross(&f.t) }
}

/// Spatial inertia about a point.
#[derive(Clone, Copy, Debug)]
pub struct Inert<T> {
    /// xx, yy, zz
    pub d: Vec3<T>,
    /// xy, xz, yz
    pub o: Vec3<T>,
    /// mass times the offset of the centre of mass
    pub c: Vec3<T>,
    /// mass
    pub m: T,
}

/// Element `i` of an array of spatial inertias.
// CPU only: the accessors do it
#[inline(always)]
pub fn ld10<T: Real>(a: &[T], i: usize) -> Inert<T> {
    let s = &a[10 * i..10 * i + 10];
    Inert { d: Vec3::new(s[0], s[1], s[2]), o: Vec3::new(s[3], s[4], s[5]), c: Vec3::new(s[6], s[7], s[8]), m: s[9] }
}

/// Sets element `i` of an array of spatial inertias.
// CPU only: the accessors do it
#[inline(always)]
pub fn st10<T: Real>(a: &mut [T], i: usize, v: Inert<T>) {
    let s = &mut a[10 * i..10 * i + 10];
    s[..3].copy_from_slice(v.d.as_slice());
    s[3..6].copy_from_slice(v.o.as_slice());
    s[6..9].copy_from_slice(v.c.as_slice());
    s[9] = v.m;
}

/// Sum of two inertias about the same point.
#[inline(always)]
pub fn inert_add<T: Real>(a: Inert<T>, b: Inert<T>) -> Inert<T> {
    Inert { d: a.d + b.d, o: a.o + b.o, c: a.c + b.c, m: a.m + b.m }
}

/// The inertia of mass `m` with principal moments `p` along the columns of `r` whose centre lies at `x` from the point.
#[inline(always)]
pub fn inert_at<T: Real>(p: Vec3<T>, r: Mat3<T>, x: Vec3<T>, m: T) -> Inert<T> {
    let rp = Mat3::from_columns(&[r.column(0) * p[0], r.column(1) * p[1], r.column(2) * p[2]]);
    let i = rp * r.transpose();
    Inert {
        d: Vec3::new(
            i[(0, 0)] + m * (x[1] * x[1] + x[2] * x[2]),
            i[(1, 1)] + m * (x[0] * x[0] + x[2] * x[2]),
            i[(2, 2)] + m * (x[0] * x[0] + x[1] * x[1]),
        ),
        o: Vec3::new(i[(0, 1)] - m * x[0] * x[1], i[(0, 2)] - m * x[0] * x[2], i[(1, 2)] - m * x[1] * x[2]),
        c: x * m,
        m,
    }
}

/// Momentum of the inertia in motion `v` (or force for an acceleration).
#[inline(always)]
pub fn inert_mul<T: Real>(i: Inert<T>, v: Vec6<T>) -> Vec6<T> {
    let rot = Vec3::new(
        i.d[0] * v.r[0] + i.o[0] * v.r[1] + i.o[1] * v.r[2],
        i.o[0] * v.r[0] + i.d[1] * v.r[1] + i.o[2] * v.r[2],
        i.o[1] * v.r[0] + i.o[2] * v.r[1] + i.d[2] * v.r[2],
    );
    Vec6 { r: rot + i.c.cross(&v.t), t: v.t * i.m - i.c.cross(&v.r) }
}
