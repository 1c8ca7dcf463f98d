// Narrow phase against a plane: sphere, capsule, box.
import package::contact_set::{ContactSet, Pose, push_contact};

// A sphere on a plane: one contact.
fn collide_plane_sphere(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    plane_ball(out, p.m1[2], p.r, p.s2[0], margin);
}

// A capsule on a plane: its two ends, the one along its axis first. The first tangent follows the axis.
fn collide_plane_capsule(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    let normal = p.m1[2];
    let axis = p.m2[2];
    let half = axis * p.s2[1];
    plane_ball(out, normal, p.r + half, p.s2[0], margin);
    plane_ball(out, normal, p.r - half, p.s2[0], margin);
    (*out).tangent = axis;
}

// A box on a plane: of the corners on the plane's side of the box's centre, the first four within the margin.
fn collide_plane_box(p: Pose, margin: f32, out: ptr<function, ContactSet>) {
    let normal = p.m1[2];
    let centre = dot(normal, p.r);
    for (var i = 0u; i < 8u; i += 1u) {
        let signs = vec3<f32>(vec3<u32>(i & 1u, (i >> 1u) & 1u, i >> 2u)) * 2.0 - 1.0;
        let corner = p.m2 * (p.s2 * signs);
        let below = dot(normal, corner);
        let dist = centre + below;
        if below <= 0.0 && dist <= margin && (*out).count < 4u {
            push_contact(out, dist, p.r + corner - normal * (dist * 0.5), normal);
        }
    }
}

// A ball of this centre and radius on a plane through the origin.
fn plane_ball(out: ptr<function, ContactSet>, normal: vec3<f32>, centre: vec3<f32>, radius: f32, margin: f32) {
    let dist = dot(normal, centre) - radius;
    if dist <= margin {
        push_contact(out, dist, centre - normal * (radius + dist * 0.5), normal);
    }
}
