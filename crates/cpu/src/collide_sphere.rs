//! Narrow phase of a sphere: against sphere, capsule, box. Twin: `shaders/collide_sphere.wgsl`.

use crate::contact_set::{ContactSet, Pose};
use crate::math::{Mat3, Vec3};
use crate::{Mask, Real};
use kiloworld_layout::consts::MINVAL;

/// Two spheres: one contact.
#[inline(always)]
pub fn collide_sphere_sphere<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let all = T::Mask::splat(true);
    sphere_sphere(out, all, Vec3::zeros(), p.s1[0], &p.m1, p.r, p.s2[0], &p.m2, margin);
}

/// A sphere and a capsule: the sphere and the nearest ball of the capsule.
#[inline(always)]
pub fn collide_sphere_capsule<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let axis: Vec3<T> = p.m2.column(2);
    let along = (-axis.dot(&p.r)).max(-p.s2[1]).min(p.s2[1]);
    let all = T::Mask::splat(true);
    sphere_sphere(out, all, Vec3::zeros(), p.s1[0], &p.m1, p.r + axis * along, p.s2[0], &p.m2, margin);
}

/// A sphere and a box: one contact.
#[inline(always)]
pub fn collide_sphere_box<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    ball_box(out, Vec3::zeros(), p.s1[0], p, margin);
}

/// Two balls of given centres and radii, in the worlds that the mask names, the matrices being those of their geoms.
#[inline(always)]
pub(crate) fn sphere_sphere<T: Real>(
    out: &mut ContactSet<T>,
    worlds: T::Mask,
    c1: Vec3<T>,
    radius1: T,
    m1: &Mat3<T>,
    c2: Vec3<T>,
    radius2: T,
    m2: &Mat3<T>,
    margin: T,
) {
    let d = c2 - c1;
    let length = d.dot(&d).sqrt();
    let dist = length - radius1 - radius2;
    let on = worlds & dist.le(margin);
    if !on.any() {
        return;
    }
    let mut normal = d * (T::one() / length);
    let apart = length.gt(T::r(MINVAL));
    if !apart.all() {
        // no direction in the centres: one across both geoms' axes, or x
        let (z1, z2): (Vec3<T>, Vec3<T>) = (m1.column(2), m2.column(2));
        let across = z1.cross(&z2);
        let n = across.dot(&across).sqrt();
        let across = Vec3::select(n.gt(T::r(MINVAL)), across * (T::one() / n), Vec3::x());
        normal = Vec3::select(apart, normal, across);
    }
    out.push(on, dist, c1 + normal * (radius1 + dist * T::r(0.5)), normal);
}

/// A ball of geom 1 (centre relative to geom 1's) and the box that is geom 2.
#[inline(always)]
pub(crate) fn ball_box<T: Real>(out: &mut ContactSet<T>, centre: Vec3<T>, radius: T, p: &Pose<T>, margin: T) {
    let local = p.m2.transpose() * (centre - p.r);
    let nearest = Vec3::new(
        local[0].max(-p.s2[0]).min(p.s2[0]),
        local[1].max(-p.s2[1]).min(p.s2[1]),
        local[2].max(-p.s2[2]).min(p.s2[2]),
    );
    let d = nearest - local;
    let length = d.dot(&d).sqrt();
    let on = (length - radius).le(margin);
    if !on.any() {
        return;
    }
    let mut inward = d * (T::one() / length);
    let mut gap = length;
    let outside = length.gt(T::r(MINVAL));
    if !outside.all() {
        // the centre is inside: out through the nearest face
        let mut depth = T::r(f64::INFINITY);
        let mut out_of = Vec3::zeros();
        for k in 0..3 {
            let mut n = Vec3::zeros();
            n[k] = T::select(local[k].gt(T::zero()), -T::one(), T::one());
            let here = p.s2[k] - local[k].abs();
            let nearer = here.lt(depth);
            depth = T::select(nearer, here, depth);
            out_of = Vec3::select(nearer, n, out_of);
        }
        inward = Vec3::select(outside, inward, out_of);
        gap = T::select(outside, gap, -depth);
    }
    let normal = p.m2 * inward;
    let dist = gap - radius;
    out.push(on, dist, centre + normal * (radius + dist * T::r(0.5)), normal);
}
