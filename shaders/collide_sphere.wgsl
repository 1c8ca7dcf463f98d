// Narrow phase of a sphere: against sphere, capsule, box.
import package::layout::MINVAL;
import package::contact_set::{ContactSet, Pose, push_contact};

// Two spheres: one contact.
fn collide_sphere_sphere(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    sphere_sphere(out, vec3<f32>(0.0), p.s1[0], p.m1, p.r, p.s2[0], p.m2, margin);
}

// A sphere and a capsule: the sphere and the nearest ball of the capsule.
fn collide_sphere_capsule(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    let axis = p.m2[2];
    let along = clamp(-dot(axis, p.r), -p.s2[1], p.s2[1]);
    sphere_sphere(out, vec3<f32>(0.0), p.s1[0], p.m1, p.r + axis * along, p.s2[0], p.m2, margin);
}

// A sphere and a box: one contact.
fn collide_sphere_box(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    ball_box(out, vec3<f32>(0.0), p.s1[0], p, margin);
}

// Two balls of given centres and radii, the matrices being those of their geoms.
fn sphere_sphere(
    out: ptr<function, ContactSet>, c1: vec3<f32>, radius1: f32, m1: mat3x3<f32>, c2: vec3<f32>, radius2: f32, m2: mat3x3<f32>,
    margin: f32,
) {
    let d = c2 - c1;
    let length = sqrt(dot(d, d));
    let dist = length - radius1 - radius2;
    if dist > margin {
        return;
    }
    var normal = vec3<f32>(1.0, 0.0, 0.0);
    if length > MINVAL {
        normal = d * (1.0 / length);
    } else {
        // no direction in the centres: one across both geoms' axes, or x
        let across = cross(m1[2], m2[2]);
        let n = sqrt(dot(across, across));
        if n > MINVAL {
            normal = across * (1.0 / n);
        }
    }
    push_contact(out, dist, c1 + normal * (radius1 + dist * 0.5), normal);
}

// A ball of geom 1 (centre relative to geom 1's) and the box that is geom 2.
fn ball_box(out: ptr<function, ContactSet>, centre: vec3<f32>, radius: f32, p: Pose, margin: f32) {
    let local = (centre - p.r) * p.m2;
    let nearest = clamp(local, -p.s2, p.s2);
    let d = nearest - local;
    let length = sqrt(dot(d, d));
    if length - radius > margin {
        return;
    }
    var inward = vec3<f32>(0.0);
    var gap = length;
    if length > MINVAL {
        inward = d * (1.0 / length);
    } else {
        // the centre is inside: out through the nearest face
        let depth = p.s2 - abs(local);
        gap = -min(depth.x, min(depth.y, depth.z));
        let outward = select(vec3<f32>(1.0), vec3<f32>(-1.0), local > vec3<f32>(0.0));
        if depth.x == -gap {
            inward.x = outward.x;
        } else if depth.y == -gap {
            inward.y = outward.y;
        } else {
            inward.z = outward.z;
        }
    }
    let normal = p.m2 * inward;
    let dist = gap - radius;
    push_contact(out, dist, centre + normal * (radius + dist * 0.5), normal);
}
