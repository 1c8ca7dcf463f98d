//! Narrow phase of a capsule: against capsule and box. Twin: `shaders/collide_capsule.wgsl`.

use crate::collide_sphere::{ball_box, sphere_sphere};
use crate::contact_set::{ContactSet, Pose};
use crate::math::Vec3;
use crate::{Mask, Real, Scalar};
use kiloworld_layout::consts::MINVAL;

/// The square of the sine below which two capsules are parallel.
const PARALLEL_CAPSULES: f64 = 1e-8;

/// Two capsules: the nearest balls; two contacts, at the ends of the common part, where the axes are parallel.
#[inline(always)]
pub fn collide_capsule_capsule<T: Real>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let a1: Vec3<T> = p.m1.column(2);
    let a2: Vec3<T> = p.m2.column(2);
    let (h1, h2) = (p.s1[1], p.s2[1]);
    let across = a1.cross(&a2);
    let skew = across.dot(&across).ge(T::r(PARALLEL_CAPSULES));
    if skew.any() {
        let near = nearest_on_segments(Vec3::zeros(), a1 * h1, p.r, a2 * h2);
        let (c1, c2) = (a1 * (h1 * near.t), p.r + a2 * (h2 * near.q));
        sphere_sphere(out, skew, c1, p.s1[0], &p.m1, c2, p.s2[0], &p.m2, margin);
    }
    if skew.all() {
        return;
    }
    for side in [-T::one(), T::one()] {
        // the end of either capsule that comes first from the middle, and the other's ball nearest to it
        let sense = T::select(a1.dot(&a2).lt(T::zero()), -side, side);
        let end2 = p.r + a2 * (h2 * sense);
        let along = end2.dot(&a1);
        let end1 = a1 * (h1 * side);
        let second = (along * side).lt(h1);
        let c1 = Vec3::select(second, a1 * along.max(-h1).min(h1), end1);
        let c2 = Vec3::select(second, end2, p.r + a2 * (end1 - p.r).dot(&a2).max(-h2).min(h2));
        sphere_sphere(out, !skew, c1, p.s1[0], &p.m1, c2, p.s2[0], &p.m2, margin);
    }
}

/// The nearest points of two segments, as parameters in -1 … 1.
struct Near<T> {
    /// on the first
    t: T,
    /// on the second
    q: T,
    /// on the second's line, nearest to the first's line
    line_q: T,
}

/// The nearest points of the segments c1 ± d1 and c2 ± d2.
#[inline(always)]
fn nearest_on_segments<T: Real>(c1: Vec3<T>, d1: Vec3<T>, c2: Vec3<T>, d2: Vec3<T>) -> Near<T> {
    let one = T::one();
    let (aa, bb, ab) = (d1.dot(&d1), d2.dot(&d2), d1.dot(&d2));
    let w = c2 - c1;
    let (wa, wb) = (w.dot(&d1), w.dot(&d2));
    // aa bb - ab², without its cancellation near parallel
    let n = d1.cross(&d2);
    let det = n.dot(&n);
    let parallel = det.le(parallel_sin2::<T>() * aa * bb);
    let inv = T::select(parallel, T::zero(), one / det);
    let line_q = w.cross(&d1).dot(&n) * inv;
    let mut t = (w.cross(&d2).dot(&n) * inv).max(-one).min(one);
    let mut q = (ab * t - wb) / bb;
    let beyond = q.abs().gt(one);
    if beyond.any() {
        q = T::select(beyond, q.max(-one).min(one), q);
        t = T::select(beyond, ((ab * q + wa) / aa).max(-one).min(one), t);
    }
    Near { t, q, line_q }
}

/// The square of the sine below which two directions are parallel but for rounding: 30 times f32's 1e-7; MuJoCo's f64 tells
/// much smaller angles apart.
#[inline(always)]
fn parallel_sin2<T: Real>() -> T {
    T::r(if T::TWO_FLOAT { 1e-11 } else { 1e-20 })
}

/// A capsule and a box: the capsule's ball nearest to the box and, where the capsule lies along a face or an edge, the ball
/// where it leaves that face or edge.
#[inline(always)]
pub fn collide_capsule_box<T: Scalar>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let axis: Vec3<T> = p.m1.column(2) * p.s1[1];
    let to_box = p.m2.transpose();
    let (t1, t2) = capsule_box_points(to_box * -p.r, to_box * axis, p.s2);
    ball_box(out, axis * t1, p.s1[0], p, margin);
    if t2 >= -T::one() {
        ball_box(out, axis * t2, p.s1[0], p, margin);
    }
}

/// Where the segment c ± a touches the box of half sizes s: parameters of the first and second ball; -2: no second.
#[inline(always)]
fn capsule_box_points<T: Scalar>(c: Vec3<T>, a: Vec3<T>, s: Vec3<T>) -> (T, T) {
    let (zero, one, none) = (T::zero(), T::one(), T::r(-2.0));
    // the nearest feature: an end over a face, else an edge (axis `edge`, on the sides `side`)
    let mut best = T::r(1e30);
    let mut t1 = zero;
    let mut face = 3;
    let mut edge = 0;
    let mut side: Vec3<T> = Vec3::zeros();
    let mut q1 = zero;
    let mut line_q = zero;
    for end in [-one, one] {
        let x = c + a * end;
        let over = Vec3::new(x[0].abs() - s[0], x[1].abs() - s[1], x[2].abs() - s[2]);
        let outside = (0..3).filter(|&k| over[k] > zero).count();
        if outside == 0 {
            return (end, none);
        }
        if outside == 1 {
            let k = if over[0] > zero {
                0
            } else if over[1] > zero {
                1
            } else {
                2
            };
            if over[k] * over[k] < best {
                best = over[k] * over[k];
                t1 = end;
                face = k;
            }
        }
    }
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let mut along = Vec3::zeros();
        along[k] = s[k];
        for corner in 0..4 {
            let mut signs = Vec3::zeros();
            signs[i] = if corner & 1 == 0 { -one } else { one };
            signs[j] = if corner & 2 == 0 { -one } else { one };
            let middle = Vec3::new(signs[0] * s[0], signs[1] * s[1], signs[2] * s[2]);
            let near = nearest_on_segments(c, a, middle, along);
            let d = c + a * near.t - middle - along * near.q;
            let d2 = d.dot(&d);
            if d2 < best {
                best = d2;
                t1 = near.t;
                face = 3;
                edge = k;
                side = signs;
                q1 = near.q;
                line_q = near.line_q;
            }
        }
    }

    // the way to walk along the segment and the first place where it ends or leaves the face or the edge
    let x = c + a * t1;
    let room = |dir: T| one - dir * t1;
    let leave = |dir: T, k: usize, from: T| way_out(dir * a[k], s[k], from);
    let clip = |k: usize| x[k].max(-s[k]).min(s[k]);
    if face < 3 {
        let (i, j) = ((face + 1) % 3, (face + 2) % 3);
        let step = room(-t1).min(leave(-t1, i, clip(i))).min(leave(-t1, j, clip(j)));
        return (t1, t1 - t1 * step);
    }
    let (i, j) = ((edge + 1) % 3, (edge + 2) % 3);
    if line_q.abs() <= one && q1.abs() < one {
        // across an edge: into the face that the segment is more parallel to
        let (into, other) = if a[i].abs() > a[j].abs() { (i, j) } else { (j, i) };
        // through the edge, not across it; what rounding makes of a segment along the face does not count
        if a[into] * side[into] * a[other] * side[other] > parallel_sin2::<T>() * a.dot(&a) {
            return (t1, none);
        }
        let dir = if a[into] * side[into] > zero { -one } else { one };
        let step = room(dir).min(leave(dir, into, side[into] * s[into])).min(leave(dir, edge, clip(edge)));
        return (t1, t1 + dir * step);
    }
    // at a corner: the axis whose sense differs from the two others'
    side[edge] = if q1.abs() < one { if line_q > zero { one } else { -one } } else { q1 };
    let up = [a[0] * side[0] > zero, a[1] * side[1] > zero, a[2] * side[2] > zero];
    if up[0] == up[1] && up[1] == up[2] {
        return (t1, none);
    }
    let lone = if up[1] == up[2] {
        0
    } else if up[0] == up[2] {
        1
    } else {
        2
    };
    if a[lone] * a[lone] > T::r(0.5) * a.dot(&a) {
        // along the edge of that axis
        let dir = if up[lone] { -one } else { one };
        let step = room(dir).min(leave(dir, lone, side[lone] * s[lone]));
        return (t1, t1 + dir * step);
    }
    // over the face of that axis
    let (i, j) = ((lone + 1) % 3, (lone + 2) % 3);
    let dir = if up[i] { -one } else { one };
    let step = room(dir).min(leave(dir, i, side[i] * s[i])).min(leave(dir, j, side[j] * s[j]));
    (t1, t1 + dir * step)
}

/// How long a point that starts at `start` with velocity `v` stays within -half … half, at most 2: no walk is longer.
#[inline(always)]
fn way_out<T: Scalar>(v: T, half: T, start: T) -> T {
    let rest = if v < T::zero() { half + start } else { half - start };
    if v.abs() > T::r(MINVAL) { rest / v.abs() } else { T::r(2.0) }
}
