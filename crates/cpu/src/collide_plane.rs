//! Narrow phase against a plane: sphere, capsule, box. Twin: `shaders/collide_plane.wgsl`.

use crate::Real;
use crate::contact_set::{ContactSet, Pose};
use crate::math::Vec3;

/// A sphere on a plane: one contact.
#[inline(always)]
pub fn collide_plane_sphere<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    plane_ball(out, p.m1.column(2), p.r, p.s2[0], margin);
}

/// A capsule on a plane: its two ends, the one along its axis first. The first tangent follows the axis.
#[inline(always)]
pub fn collide_plane_capsule<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let normal: Vec3<T> = p.m1.column(2);
    let axis: Vec3<T> = p.m2.column(2);
    let half = axis * p.s2[1];
    plane_ball(out, normal, p.r + half, p.s2[0], margin);
    plane_ball(out, normal, p.r - half, p.s2[0], margin);
    out.tangent = axis;
}

/// A box on a plane: of the corners on the plane's side of the box's centre, the first four within the margin.
#[inline(always)]
pub fn collide_plane_box<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let normal: Vec3<T> = p.m1.column(2);
    let centre = normal.dot(&p.r);
    let sign = [-T::one(), T::one()];
    let mut count = T::zero();
    for i in 0..8_usize {
        let corner = p.m2 * Vec3::new(p.s2[0] * sign[i & 1], p.s2[1] * sign[i >> 1 & 1], p.s2[2] * sign[i >> 2]);
        let below = normal.dot(&corner);
        let dist = centre + below;
        let on = below.le(T::zero()) & dist.le(margin) & count.lt(T::r(4.0));
        count += T::select(on, T::one(), T::zero());
        out.push(on, dist, p.r + corner - normal * (dist * T::r(0.5)), normal);
    }
}

/// A ball of this centre and radius on a plane through the origin.
#[inline(always)]
fn plane_ball<T: Real>(out: &mut ContactSet<T>, normal: Vec3<T>, centre: Vec3<T>, radius: T, margin: T) {
    let dist = normal.dot(&centre) - radius;
    out.push(dist.le(margin), dist, centre - normal * (radius + dist * T::r(0.5)), normal);
}
