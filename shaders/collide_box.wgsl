// Narrow phase of two boxes: separating axes, then a clipped face or a crossing of edges.
import package::contact_set::{ContactSet, MAXCONPAIR, Pose, push_contact};

// An edge axis this close to the best face axis (cosine) must beat it clearly.
const ALIGNED: f32 = 0.99f;
// The part of the face's depth that such an edge axis must stay below.
const CLEARLY: f32 = 0.95f;
// Where the boxes are apart: the multiple of the face's distance that such an edge axis must pass.
const CLEARLY_APART: f32 = 1.05f;

// Two boxes: up to eight contacts of a face, or one where two edges cross.
fn collide_box_box(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    // indexed by numbers that are not constants
    var q = transpose(p.m1) * p.m2;
    let qt = transpose(q);
    let r1 = p.r * p.m1;
    let r2 = p.r * p.m2;
    let s1 = p.s1;
    let s2 = p.s2;

    // the face axis of least overlap: 0-2 of box 1, 3-5 of box 2
    let aq = mat3x3<f32>(abs(q[0]), abs(q[1]), abs(q[2]));
    var overlap1 = s1 + aq * s2 - abs(r1);
    var overlap2 = s2 + s1 * aq - abs(r2);
    var face = 0u;
    var face_depth = 1e30;
    for (var k = 0u; k < 6u; k += 1u) {
        let overlap = select(overlap1[k % 3u], overlap2[k % 3u], k >= 3u);
        if overlap < -margin {
            return;
        }
        if overlap < face_depth {
            face_depth = overlap;
            face = k;
        }
    }
    // its direction from box 1 to box 2, in box 1's frame
    var face_normal = q[face % 3u];
    if face < 3u {
        face_normal = unit_axis(face);
    }
    if dot(face_normal, r1) < 0.0 {
        face_normal = -face_normal;
    }

    // the edge axis of least overlap: edge i of box 1 across edge j of box 2
    var edge = 9u;
    var edge_depth = 1e30;
    var edge_normal = face_normal;
    for (var k = 0u; k < 9u; k += 1u) {
        var axis = cross(unit_axis(k / 3u), q[k % 3u]);
        let length2 = dot(axis, axis);
        // parallel edges give no axis: below f32's rounding its direction would be noise
        if length2 < 1e-8 {
            continue;
        }
        axis *= 1.0 / sqrt(length2);
        // projected in full: whatever rounding made of the axis, the overlap is that of this axis
        let centre = dot(axis, r1);
        let overlap = dot(abs(axis), s1) + dot(abs(axis * q), s2) - abs(centre);
        if overlap < -margin {
            return;
        }
        if overlap < edge_depth {
            edge_depth = overlap;
            edge = k;
            edge_normal = select(axis, -axis, centre < 0.0);
        }
    }
    let aligned = abs(dot(edge_normal, face_normal)) > ALIGNED;
    let bound = select(face_depth * CLEARLY_APART, face_depth * CLEARLY, face_depth > 0.0);
    if edge < 9u && edge_depth < select(face_depth, bound, aligned) {
        edge_contact(p, q, r1, edge / 3u, edge % 3u, edge_normal, edge_depth, out);
        return;
    }
    // one call: every call is a copy in the compiled kernel
    let first = face < 3u;
    let m = mat3x3<f32>(
        select(p.m2[0], p.m1[0], first), select(p.m2[1], p.m1[1], first), select(p.m2[2], p.m1[2], first),
    );
    let other = mat3x3<f32>(select(qt[0], q[0], first), select(qt[1], q[1], first), select(qt[2], q[2], first));
    let origin = select(p.r, vec3<f32>(0.0), first);
    face_contacts(
        m, select(s2, s1, first), select(s1, s2, first), other, select(-r2, r1, first), face % 3u, select(-1.0, 1.0, first), origin,
        margin, out,
    );
}

fn unit_axis(k: u32) -> vec3<f32> {
    return vec3<f32>(vec3<u32>(0u, 1u, 2u) == vec3<u32>(k));
}

// The contact of edge i of box 1 and edge j of box 2, normal in box 1's frame.
fn edge_contact(
    p: Pose, q: mat3x3<f32>, r1: vec3<f32>, i: u32, j: u32, normal: vec3<f32>, depth: f32, out: ptr<function, ContactSet>,
) {
    let ei = unit_axis(i);
    let ej = unit_axis(j);
    let sign1 = select(vec3<f32>(1.0), vec3<f32>(-1.0), normal < vec3<f32>(0.0));
    let sign2 = select(vec3<f32>(-1.0), vec3<f32>(1.0), normal * q < vec3<f32>(0.0));
    var a = sign1 * p.s1 * (1.0 - ei);
    let b = r1 + q * (sign2 * p.s2 * (1.0 - ej));
    let along = q * ej;
    // the nearest points of the two edges
    let h1 = dot(p.s1, ei);
    let h2 = dot(p.s2, ej);
    let w = b - a;
    let c = dot(along, ei);
    let w1 = dot(w, ei);
    let w2 = dot(w, along);
    var t = clamp((w1 - c * w2) / (1.0 - c * c), -h1, h1);
    var u = c * t - w2;
    if abs(u) > h2 {
        u = clamp(u, -h2, h2);
        t = clamp(c * u + w1, -h1, h1);
    }
    a += ei * t;
    push_contact(out, -depth, p.m1 * ((a + b + along * u) * 0.5), p.m1 * normal);
}

// The other box's face that looks at face axis of the reference box (half sizes s_), clipped by that face's sides; q_ and r
// are the other box's orientation and centre in the reference frame, flip is -1 where the reference is box 2.
fn face_contacts(
    m_: mat3x3<f32>, s_: vec3<f32>, other_: vec3<f32>, q_: mat3x3<f32>, r: vec3<f32>, axis: u32, flip: f32, origin: vec3<f32>,
    margin: f32, out: ptr<function, ContactSet>,
) {
    // indexed by numbers that are not constants
    var m = m_;
    var s = s_;
    var other = other_;
    var q = q_;
    let up = select(1.0, -1.0, r[axis] < 0.0);
    // the face of the other box that looks back most directly
    var k = 0u;
    for (var c = 1u; c < 3u; c += 1u) {
        k = select(k, c, abs(q[c][axis]) > abs(q[k][axis]));
    }
    let u = (k + 1u) % 3u;
    let v = (k + 2u) % 3u;
    let back = select(1.0, -1.0, q[k][axis] * up > 0.0);
    let centre = r + q[k] * (back * other[k]);
    let du = q[u] * other[u];
    let dv = q[v] * other[v];
    var poly: array<vec3<f32>, MAXCONPAIR>;
    poly[0] = centre + du + dv;
    poly[1] = centre - du + dv;
    poly[2] = centre - du - dv;
    poly[3] = centre + du - dv;
    var n = 4u;
    for (var cut = 0u; cut < 4u; cut += 1u) {
        let side = unit_axis((axis + 1u + cut / 2u) % 3u);
        let sign = select(1.0, -1.0, cut % 2u == 1u);
        let half = dot(s, side);
        // corners that rounding puts outside are inside: boxes stacked flush keep theirs, one contact each
        let rim = -half * 1e-6;
        var kept: array<vec3<f32>, MAXCONPAIR>;
        var count = 0u;
        for (var i = 0u; i < n; i += 1u) {
            let a = poly[i];
            let b = poly[select(0u, i + 1u, i + 1u < n)];
            let da = half - sign * dot(a, side);
            let db = half - sign * dot(b, side);
            // a polygon of four corners cut four times has at most eight; rounding must not make it more
            if da >= rim && count < MAXCONPAIR {
                kept[count] = a;
                count += 1u;
            }
            if (da >= rim) != (db >= rim) && count < MAXCONPAIR {
                kept[count] = a + (b - a) * (da / (da - db));
                count += 1u;
            }
        }
        poly = kept;
        n = count;
    }
    let normal = m[axis] * up;
    for (var i = 0u; i < n; i += 1u) {
        let dist = up * dot(poly[i], unit_axis(axis)) - s[axis];
        if dist <= margin {
            push_contact(out, dist, origin + m * poly[i] - normal * (dist * 0.5), normal * flip);
        }
    }
}
