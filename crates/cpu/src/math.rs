//! Vectors, quaternions (w, x, y, z), frames: the helpers that every stage uses. Twin: `shaders/math.wgsl`.

use crate::Real;
use nalgebra::{Matrix3, Vector3, Vector4};

/// A vector of three.
pub type Vec3<T> = Vector3<T>;
/// A quaternion, stored (w, x, y, z): component 0 is w.
pub type Quat<T> = Vector4<T>;
/// A 3×3 matrix; in memory its nine numbers are stored row by row, as MuJoCo does.
pub type Mat3<T> = Matrix3<T>;

/// Element `i` of an array of vectors of three.
#[inline(always)]
pub fn ld3<T: Real>(a: &[T], i: usize) -> Vec3<T> {
    let s = &a[3 * i..3 * i + 3];
    Vec3::new(s[0], s[1], s[2])
}

/// Sets element `i` of an array of vectors of three.
#[inline(always)]
pub fn st3<T: Real>(a: &mut [T], i: usize, v: Vec3<T>) {
    a[3 * i..3 * i + 3].copy_from_slice(v.as_slice());
}

/// Element `i` of an array of quaternions.
#[inline(always)]
pub fn ld4<T: Real>(a: &[T], i: usize) -> Quat<T> {
    let s = &a[4 * i..4 * i + 4];
    Quat::new(s[0], s[1], s[2], s[3])
}

/// Sets element `i` of an array of quaternions.
#[inline(always)]
pub fn st4<T: Real>(a: &mut [T], i: usize, q: Quat<T>) {
    a[4 * i..4 * i + 4].copy_from_slice(q.as_slice());
}

/// Element `i` of an array of 3×3 matrices.
#[inline(always)]
pub fn ld9<T: Real>(a: &[T], i: usize) -> Mat3<T> {
    Mat3::from_row_slice(&a[9 * i..9 * i + 9])
}

/// Sets element `i` of an array of 3×3 matrices.
#[inline(always)]
pub fn st9<T: Real>(a: &mut [T], i: usize, m: Mat3<T>) {
    // nalgebra keeps columns together
    a[9 * i..9 * i + 9].copy_from_slice(m.transpose().as_slice());
}

/// A spatial vector: motion (angular, linear velocity) or force (torque, force).
#[derive(Clone, Copy, Debug)]
pub struct Vec6<T> {
    /// rotation part
    pub r: Vec3<T>,
    /// translation part
    pub t: Vec3<T>,
}

/// Element `i` of an array of spatial vectors.
#[inline(always)]
pub fn ld6<T: Real>(a: &[T], i: usize) -> Vec6<T> {
    let s = &a[6 * i..6 * i + 6];
    Vec6 { r: Vec3::new(s[0], s[1], s[2]), t: Vec3::new(s[3], s[4], s[5]) }
}

/// Sets element `i` of an array of spatial vectors.
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
#[inline(always)]
pub fn ld10<T: Real>(a: &[T], i: usize) -> Inert<T> {
    let s = &a[10 * i..10 * i + 10];
    Inert { d: Vec3::new(s[0], s[1], s[2]), o: Vec3::new(s[3], s[4], s[5]), c: Vec3::new(s[6], s[7], s[8]), m: s[9] }
}

/// Sets element `i` of an array of spatial inertias.
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

/// Product of two quaternions.
#[inline(always)]
pub fn quat_mul<T: Real>(a: Quat<T>, b: Quat<T>) -> Quat<T> {
    Quat::new(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )
}

/// The inverse of a unit quaternion.
#[inline(always)]
pub fn quat_conj<T: Real>(q: Quat<T>) -> Quat<T> {
    Quat::new(q[0], -q[1], -q[2], -q[3])
}

/// Rotates `v` by the unit quaternion `q`.
#[inline(always)]
pub fn quat_rotate<T: Real>(q: Quat<T>, v: Vec3<T>) -> Vec3<T> {
    let u = Vec3::new(q[1], q[2], q[3]);
    let t = u.cross(&v) + v * q[0];
    v + u.cross(&t) * T::r(2.0)
}

/// The rotation matrix of a unit quaternion.
#[inline(always)]
pub fn quat_to_mat<T: Real>(q: Quat<T>) -> Mat3<T> {
    let (w, x, y, z) = (q[0], q[1], q[2], q[3]);
    let two = T::r(2.0);
    Mat3::new(
        w * w + x * x - y * y - z * z,
        two * (x * y - w * z),
        two * (x * z + w * y),
        two * (x * y + w * z),
        w * w - x * x + y * y - z * z,
        two * (y * z - w * x),
        two * (x * z - w * y),
        two * (y * z + w * x),
        w * w - x * x - y * y + z * z,
    )
}

/// The quaternion scaled to unit length; the identity where its length is below `mjMINVAL`.
#[inline(always)]
pub fn quat_normalize<T: Real>(q: Quat<T>) -> Quat<T> {
    let n = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    let tiny = n.lt(T::r(kiloworld_layout::consts::MINVAL));
    let s = T::one() / T::select(tiny, T::one(), n);
    Quat::new(
        T::select(tiny, T::one(), q[0] * s),
        T::select(tiny, T::zero(), q[1] * s),
        T::select(tiny, T::zero(), q[2] * s),
        T::select(tiny, T::zero(), q[3] * s),
    )
}

/// The quaternion of a turn by `angle` [rad] about the unit `axis`.
#[inline(always)]
pub fn axis_angle_to_quat<T: Real>(axis: Vec3<T>, angle: T) -> Quat<T> {
    let half = angle * T::r(0.5);
    let (s, c) = (half.sin(), half.cos());
    Quat::new(c, axis[0] * s, axis[1] * s, axis[2] * s)
}

/// `q` turned by the angular velocity `w` [rad/s] (body frame) for `h` [s]; unit length.
#[inline(always)]
pub fn quat_integrate<T: Real>(q: Quat<T>, w: Vec3<T>, h: T) -> Quat<T> {
    let speed = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]).sqrt();
    let tiny = speed.lt(T::r(kiloworld_layout::consts::MINVAL));
    let s = T::one() / T::select(tiny, T::one(), speed);
    let axis = Vec3::new(T::select(tiny, T::one(), w[0] * s), w[1] * s, w[2] * s);
    quat_mul(quat_normalize(q), axis_angle_to_quat(axis, speed * h))
}

/// The rotation vector (axis × angle, angle in (-π, π]) of a unit quaternion: what turns the identity into `q`
/// over 1 s (`mju_quat2Vel`).
#[inline(always)]
pub fn quat_to_vel<T: Real>(q: Quat<T>) -> Vec3<T> {
    let sin_half = (q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    let tiny = sin_half.lt(T::r(kiloworld_layout::consts::MINVAL));
    let s = T::one() / T::select(tiny, T::one(), sin_half);
    let angle = T::r(2.0) * sin_half.atan2(q[0]);
    let pi = T::r(core::f64::consts::PI);
    let angle = T::select(pi.lt(angle), angle - pi * T::r(2.0), angle);
    Vec3::new(q[1], q[2], q[3]) * (s * T::select(tiny, T::zero(), angle))
}
