//! Vectors, quaternions (w, x, y, z), frames: the helpers that every stage uses. Twin: `shaders/math.wgsl`.

use crate::Real;
pub use crate::linalg::{Mat3, Quat, Vec3};

/// Element `i` of an array of vectors of three.
// CPU only: the accessors do it
#[inline(always)]
pub fn ld3<T: Real>(a: &[T], i: usize) -> Vec3<T> {
    let s = &a[3 * i..3 * i + 3];
    Vec3::new(s[0], s[1], s[2])
}

/// Sets element `i` of an array of vectors of three.
// CPU only: the accessors do it
#[inline(always)]
pub fn st3<T: Real>(a: &mut [T], i: usize, v: Vec3<T>) {
    a[3 * i..3 * i + 3].copy_from_slice(v.as_slice());
}

/// Element `i` of an array of quaternions.
// CPU only: the accessors do it
#[inline(always)]
pub fn ld4<T: Real>(a: &[T], i: usize) -> Quat<T> {
    let s = &a[4 * i..4 * i + 4];
    Quat::new(s[0], s[1], s[2], s[3])
}

/// Sets element `i` of an array of quaternions.
// CPU only: the accessors do it
#[inline(always)]
pub fn st4<T: Real>(a: &mut [T], i: usize, q: Quat<T>) {
    a[4 * i..4 * i + 4].copy_from_slice(q.as_slice());
}

/// Element `i` of an array of 3×3 matrices.
// CPU only: the accessors do it
#[inline(always)]
pub fn ld9<T: Real>(a: &[T], i: usize) -> Mat3<T> {
    Mat3::from_row_slice(&a[9 * i..9 * i + 9])
}

/// Sets element `i` of an array of 3×3 matrices.
// CPU only: the accessors do it
#[inline(always)]
pub fn st9<T: Real>(a: &mut [T], i: usize, m: Mat3<T>) {
    a[9 * i..9 * i + 9].copy_from_slice(m.as_slice());
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
    let (s, c) = half.sin_cos();
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
