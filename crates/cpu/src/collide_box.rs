//! Narrow phase of two boxes: separating axes, then a clipped face or a crossing of edges. Twin: `shaders/collide_box.wgsl`.

use crate::Scalar;
use crate::contact_set::{ContactSet, Pose};
use crate::math::{Mat3, Vec3};

/// An edge axis this close to the best face axis (cosine) must beat it clearly.
const ALIGNED: f64 = 0.99;
/// The part of the face's depth that such an edge axis must stay below.
const CLEARLY: f64 = 0.95;
/// Where the boxes are apart: the multiple of the face's distance that such an edge axis must pass.
const CLEARLY_APART: f64 = 1.05;

/// Two boxes: up to eight contacts of a face, or one where two edges cross.
#[inline(always)]
pub fn collide_box_box<T: Scalar>(p: &Pose<T>, margin: T, out: &mut ContactSet<T>) {
    let (zero, one) = (T::zero(), T::one());
    let q = p.m1.transpose() * p.m2;
    let r1 = p.m1.transpose() * p.r;
    let r2 = p.m2.transpose() * p.r;
    let (s1, s2) = (p.s1, p.s2);

    // the face axis of least overlap: 0–2 of box 1, 3–5 of box 2
    let mut face = 0;
    let mut face_depth = T::r(1e30);
    for k in 0..6_usize {
        let overlap = if k < 3 {
            s1[k] + q[(k, 0)].abs() * s2[0] + q[(k, 1)].abs() * s2[1] + q[(k, 2)].abs() * s2[2] - r1[k].abs()
        } else {
            let j = k - 3;
            s2[j] + q[(0, j)].abs() * s1[0] + q[(1, j)].abs() * s1[1] + q[(2, j)].abs() * s1[2] - r2[j].abs()
        };
        if overlap < -margin {
            return;
        }
        if overlap < face_depth {
            face_depth = overlap;
            face = k;
        }
    }
    // its direction from box 1 to box 2, in box 1's frame
    let mut face_normal = if face < 3 { unit_axis(face) } else { q.column(face - 3) };
    if face_normal.dot(&r1) < zero {
        face_normal = -face_normal;
    }

    // the edge axis of least overlap: edge i of box 1 across edge j of box 2
    let mut edge = 9;
    let mut edge_depth = T::r(1e30);
    let mut edge_normal = face_normal;
    for k in 0..9_usize {
        let (i, j) = (k / 3, k % 3);
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        let length2 = q[(i1, j)] * q[(i1, j)] + q[(i2, j)] * q[(i2, j)];
        // parallel edges give no axis: below f32's rounding its direction would be noise
        if length2 < T::r(if T::TWO_FLOAT { 1e-8 } else { 1e-12 }) {
            continue;
        }
        let scale = one / length2.sqrt();
        let mut axis = Vec3::zeros();
        axis[i1] = -q[(i2, j)] * scale;
        axis[i2] = q[(i1, j)] * scale;
        let reach1 = axis[i1].abs() * s1[i1] + axis[i2].abs() * s1[i2];
        // projected in full: whatever rounding made of the axis, the overlap is that of this axis
        let other = q.transpose() * axis;
        let reach2 = other[0].abs() * s2[0] + other[1].abs() * s2[1] + other[2].abs() * s2[2];
        let centre = axis.dot(&r1);
        let overlap = reach1 + reach2 - centre.abs();
        if overlap < -margin {
            return;
        }
        if overlap < edge_depth {
            edge_depth = overlap;
            edge = k;
            edge_normal = if centre < zero { -axis } else { axis };
        }
    }
    let aligned = edge_normal.dot(&face_normal).abs() > T::r(ALIGNED);
    let bound = if face_depth > zero { face_depth * T::r(CLEARLY) } else { face_depth * T::r(CLEARLY_APART) };
    let use_edge = edge < 9 && edge_depth < if aligned { bound } else { face_depth };
    if use_edge {
        edge_contact(p, &q, r1, edge / 3, edge % 3, edge_normal, edge_depth, out);
    } else if face < 3 {
        face_contacts(&p.m1, s1, s2, &q, r1, face, one, Vec3::zeros(), margin, out);
    } else {
        face_contacts(&p.m2, s2, s1, &q.transpose(), -r2, face - 3, -one, p.r, margin, out);
    }
}

#[inline(always)]
fn unit_axis<T: Scalar>(k: usize) -> Vec3<T> {
    let mut v = Vec3::zeros();
    v[k] = T::one();
    v
}

/// The contact of edge i of box 1 and edge j of box 2, `normal` in box 1's frame.
#[inline(always)]
fn edge_contact<T: Scalar>(
    p: &Pose<T>,
    q: &Mat3<T>,
    r1: Vec3<T>,
    i: usize,
    j: usize,
    normal: Vec3<T>,
    depth: T,
    out: &mut ContactSet<T>,
) {
    let sign = |x: T| if x < T::zero() { -T::one() } else { T::one() };
    let other = q.transpose() * normal;
    let mut a = Vec3::zeros();
    let mut b = Vec3::zeros();
    for k in 0..3 {
        if k != i {
            a[k] = sign(normal[k]) * p.s1[k];
        }
        if k != j {
            b[k] = -sign(other[k]) * p.s2[k];
        }
    }
    let b = r1 + *q * b;
    let along: Vec3<T> = q.column(j);
    // the nearest points of the two edges
    let (h1, h2) = (p.s1[i], p.s2[j]);
    let w = b - a;
    let c = along[i];
    let (w1, w2) = (w[i], w.dot(&along));
    let mut t = ((w1 - c * w2) / (T::one() - c * c)).max(-h1).min(h1);
    let mut u = c * t - w2;
    if u.abs() > h2 {
        u = u.max(-h2).min(h2);
        t = (c * u + w1).max(-h1).min(h1);
    }
    a[i] = t;
    out.push(true, -depth, p.m1 * ((a + b + along * u) * T::r(0.5)), p.m1 * normal);
}

/// The other box's face that looks at face `axis` of the reference box (half sizes `s`), clipped by that face's sides; `q`
/// and `r` are the other box's orientation and centre in the reference frame, `flip` is -1 where the reference is box 2.
#[inline(always)]
fn face_contacts<T: Scalar>(
    m: &Mat3<T>,
    s: Vec3<T>,
    other: Vec3<T>,
    q: &Mat3<T>,
    r: Vec3<T>,
    axis: usize,
    flip: T,
    origin: Vec3<T>,
    margin: T,
    out: &mut ContactSet<T>,
) {
    let (zero, one) = (T::zero(), T::one());
    let up = if r[axis] < zero { -one } else { one };
    // the face of the other box that looks back most directly
    let mut k = 0;
    for c in 1..3 {
        if q[(axis, c)].abs() > q[(axis, k)].abs() {
            k = c;
        }
    }
    let (u, v) = ((k + 1) % 3, (k + 2) % 3);
    let back = if q[(axis, k)] * up > zero { -one } else { one };
    let column = |c: usize| -> Vec3<T> { q.column(c) };
    let centre = r + column(k) * (back * other[k]);
    let (du, dv) = (column(u) * other[u], column(v) * other[v]);
    let mut poly = [Vec3::zeros(); 8];
    poly[0] = centre + du + dv;
    poly[1] = centre - du + dv;
    poly[2] = centre - du - dv;
    poly[3] = centre + du - dv;
    let mut n = 4;
    for cut in 0..4_usize {
        let k = if cut < 2 { (axis + 1) % 3 } else { (axis + 2) % 3 };
        let sign = if cut % 2 == 0 { one } else { -one };
        // corners that rounding puts outside are inside: boxes stacked flush keep theirs, one contact each
        let rim = -s[k] * T::r(if T::TWO_FLOAT { 1e-6 } else { 1e-13 });
        let mut kept = [Vec3::zeros(); 8];
        let mut count = 0;
        for i in 0..n {
            let (a, b) = (poly[i], poly[if i + 1 < n { i + 1 } else { 0 }]);
            let (da, db) = (s[k] - sign * a[k], s[k] - sign * b[k]);
            // a polygon of four corners cut four times has at most eight; rounding must not make it more
            if da >= rim && count < 8 {
                kept[count] = a;
                count += 1;
            }
            if (da >= rim) != (db >= rim) && count < 8 {
                kept[count] = a + (b - a) * (da / (da - db));
                count += 1;
            }
        }
        poly = kept;
        n = count;
    }
    let normal: Vec3<T> = m.column(axis);
    let normal = normal * up;
    for x in &poly[..n] {
        let dist = up * x[axis] - s[axis];
        if dist <= margin {
            out.push(true, dist, origin + *m * *x - normal * (dist * T::r(0.5)), normal * flip);
        }
    }
}
