// What a narrow phase sees and what it gives.

const MAXCONPAIR: u32 = 8u;

// Two geoms: sizes, orientations, and the centre of geom 2 minus the centre of geom 1.
struct Pose { s1: vec3<f32>, s2: vec3<f32>, r: vec3<f32>, m1: mat3x3<f32>, m2: mat3x3<f32> }

// The contacts of a pair: distances, midpoints relative to the centre of geom 1, directions from geom 1 to geom 2, and where
// the first tangent shall point (0: anywhere).
struct ContactSet {
    count: u32,
    tangent: vec3<f32>,
    dist: array<f32, MAXCONPAIR>,
    pos: array<vec3<f32>, MAXCONPAIR>,
    normal: array<vec3<f32>, MAXCONPAIR>,
}

// GPU only: a method in Rust.
// Adds a contact; none beyond MAXCONPAIR.
fn push_contact(out: ptr<function, ContactSet>, dist: f32, pos: vec3<f32>, normal: vec3<f32>) {
    let i = (*out).count;
    if i < MAXCONPAIR {
        (*out).dist[i] = dist;
        (*out).pos[i] = pos;
        (*out).normal[i] = normal;
        (*out).count = i + 1u;
    }
}
