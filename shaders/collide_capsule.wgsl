// Narrow phase of a capsule: against capsule and box.
import package::layout::MINVAL;
import package::collide_sphere::{ball_box, sphere_sphere};
import package::contact_set::{ContactSet, Pose};

// The square of the sine below which two capsules are parallel.
const PARALLEL_CAPSULES: f32 = 1e-8f;

// Two capsules: the nearest balls; two contacts, at the ends of the common part, where the axes are parallel.
fn collide_capsule_capsule(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    let a1 = p.m1[2];
    let a2 = p.m2[2];
    let h1 = p.s1[1];
    let h2 = p.s2[1];
    let across = cross(a1, a2);
    if dot(across, across) >= PARALLEL_CAPSULES {
        let near = nearest_on_segments(vec3<f32>(0.0), a1 * h1, p.r, a2 * h2);
        sphere_sphere(out, a1 * (h1 * near.t), p.s1[0], p.m1, p.r + a2 * (h2 * near.q), p.s2[0], p.m2, margin);
        return;
    }
    for (var i = 0u; i < 2u; i += 1u) {
        // the end of either capsule that comes first from the middle, and the other's ball nearest to it
        let side = select(-1.0, 1.0, i == 1u);
        let sense = select(side, -side, dot(a1, a2) < 0.0);
        var c2 = p.r + a2 * (h2 * sense);
        let along = dot(c2, a1);
        var c1 = a1 * clamp(along, -h1, h1);
        if along * side >= h1 {
            c1 = a1 * (h1 * side);
            c2 = p.r + a2 * clamp(dot(c1 - p.r, a2), -h2, h2);
        }
        sphere_sphere(out, c1, p.s1[0], p.m1, c2, p.s2[0], p.m2, margin);
    }
}

// The nearest points of two segments as parameters in -1 ... 1: t on the first, q on the second, and line_q on the second's
// line, nearest to the first's line.
struct Near { t: f32, q: f32, line_q: f32 }

// The nearest points of the segments c1 +- d1 and c2 +- d2.
fn nearest_on_segments(c1: vec3<f32>, d1: vec3<f32>, c2: vec3<f32>, d2: vec3<f32>) -> Near {
    let aa = dot(d1, d1);
    let bb = dot(d2, d2);
    let ab = dot(d1, d2);
    let w = c2 - c1;
    let wa = dot(w, d1);
    let wb = dot(w, d2);
    // aa bb - ab ab, without its cancellation near parallel
    let n = cross(d1, d2);
    let det = dot(n, n);
    var inv = 0.0;
    if det > parallel_sin2() * aa * bb {
        inv = 1.0 / det;
    }
    let line_q = dot(cross(w, d1), n) * inv;
    var t = clamp(dot(cross(w, d2), n) * inv, -1.0, 1.0);
    var q = (ab * t - wb) / bb;
    if abs(q) > 1.0 {
        q = clamp(q, -1.0, 1.0);
        t = clamp((ab * q + wa) / aa, -1.0, 1.0);
    }
    return Near(t, q, line_q);
}

// The square of the sine below which two directions are parallel but for rounding: 30 times f32's 1e-7.
fn parallel_sin2() -> f32 {
    return 1e-11;
}

// A capsule and a box: the capsule's ball nearest to the box and, where the capsule lies along a face or an edge, the ball
// where it leaves that face or edge.
fn collide_capsule_box(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    let axis = p.m1[2] * p.s1[1];
    let t = capsule_box_points(-p.r * p.m2, axis * p.m2, p.s2);
    for (var i = 0u; i < 2u; i += 1u) {
        if t[i] >= -1.0 {
            ball_box(out, axis * t[i], p.s1[0], p, margin);
        }
    }
}

// Where the segment c +- a touches the box of half sizes s: parameters of the first and second ball; -2: no second.
fn capsule_box_points(c: vec3<f32>, a_: vec3<f32>, s_: vec3<f32>) -> vec2<f32> {
    // indexed by numbers that are not constants
    var a = a_;
    var s = s_;
    // the nearest feature: an end over a face, else an edge (axis k, on the sides side)
    var best = 1e30;
    var t1 = 0.0;
    var face = 3u;
    var edge = 0u;
    var side = vec3<f32>(0.0);
    var q1 = 0.0;
    var line_q = 0.0;
    for (var e = 0u; e < 2u; e += 1u) {
        let end = select(-1.0, 1.0, e == 1u);
        let over = abs(c + a * end) - s;
        let outside = vec3<u32>(over > vec3<f32>(0.0));
        let count = outside.x + outside.y + outside.z;
        if count == 0u {
            return vec2<f32>(end, -2.0);
        }
        let far = max(over.x, max(over.y, over.z));
        if count == 1u && far * far < best {
            best = far * far;
            t1 = end;
            face = outside.y + 2u * outside.z;
        }
    }
    for (var i = 0u; i < 12u; i += 1u) {
        let k = i / 4u;
        var along = vec3<f32>(0.0);
        along[k] = s[k];
        var signs = vec3<f32>(0.0);
        signs[(k + 1u) % 3u] = select(-1.0, 1.0, (i & 1u) != 0u);
        signs[(k + 2u) % 3u] = select(-1.0, 1.0, (i & 2u) != 0u);
        let near = nearest_on_segments(c, a, signs * s, along);
        let d = c + a * near.t - signs * s - along * near.q;
        let d2 = dot(d, d);
        if d2 < best {
            best = d2;
            t1 = near.t;
            face = 3u;
            edge = k;
            side = signs;
            q1 = near.q;
            line_q = near.line_q;
        }
    }

    // the way to walk along the segment and the first place where it ends or leaves the face or the edge
    var x = clamp(c + a * t1, -s, s);
    if face < 3u {
        let i = (face + 1u) % 3u;
        let j = (face + 2u) % 3u;
        let step = min(2.0, min(way_out(-t1 * a[i], s[i], x[i]), way_out(-t1 * a[j], s[j], x[j])));
        return vec2<f32>(t1, t1 - t1 * step);
    }
    let i = (edge + 1u) % 3u;
    let j = (edge + 2u) % 3u;
    if abs(line_q) <= 1.0 && abs(q1) < 1.0 {
        // across an edge: into the face that the segment is more parallel to
        let swap = abs(a[i]) <= abs(a[j]);
        let into = select(i, j, swap);
        let other = select(j, i, swap);
        // through the edge, not across it; what rounding makes of a segment along the face does not count
        if a[into] * side[into] * a[other] * side[other] > parallel_sin2() * dot(a, a) {
            return vec2<f32>(t1, -2.0);
        }
        let dir = select(1.0, -1.0, a[into] * side[into] > 0.0);
        let leave = min(way_out(dir * a[into], s[into], side[into] * s[into]), way_out(dir * a[edge], s[edge], x[edge]));
        return vec2<f32>(t1, t1 + dir * min(1.0 - dir * t1, leave));
    }
    // at a corner: the axis whose sense differs from the two others'
    side[edge] = select(q1, select(-1.0, 1.0, line_q > 0.0), abs(q1) < 1.0);
    var up = a * side > vec3<f32>(0.0);
    if all(up) || !any(up) {
        return vec2<f32>(t1, -2.0);
    }
    let lone = select(select(2u, 1u, up.x == up.z), 0u, up.y == up.z);
    if a[lone] * a[lone] > 0.5 * dot(a, a) {
        // along the edge of that axis
        let dir = select(1.0, -1.0, up[lone]);
        let leave = way_out(dir * a[lone], s[lone], side[lone] * s[lone]);
        return vec2<f32>(t1, t1 + dir * min(1.0 - dir * t1, leave));
    }
    // over the face of that axis
    let m = (lone + 1u) % 3u;
    let n = (lone + 2u) % 3u;
    let dir = select(1.0, -1.0, up[m]);
    let leave = min(way_out(dir * a[m], s[m], side[m] * s[m]), way_out(dir * a[n], s[n], side[n] * s[n]));
    return vec2<f32>(t1, t1 + dir * min(1.0 - dir * t1, leave));
}

// How long a point that starts at start with velocity v stays within -half ... half, at most 2: no walk is longer.
fn way_out(v: f32, half: f32, start: f32) -> f32 {
    let rest = select(half - start, half + start, v < 0.0);
    return select(2.0, rest / max(abs(v), MINVAL), abs(v) > MINVAL);
}
