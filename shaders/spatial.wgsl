// Spatial vectors and inertias: motions and forces of rigid bodies.
import package::layout::{Vec6, ld_cinert, ld_crb, st_cinert, st_crb};

// The null vector of six.
fn zero6() -> Vec6 {
    return Vec6(vec3<f32>(0.0), vec3<f32>(0.0));
}

// a + b
fn add6(a: Vec6, b: Vec6) -> Vec6 {
    return Vec6(a.r + b.r, a.t + b.t);
}

// a s
fn scale6(a: Vec6, s: f32) -> Vec6 {
    return Vec6(a.r * s, a.t * s);
}

// Scalar product: power, where one is a motion and the other a force.
fn dot6(a: Vec6, b: Vec6) -> f32 {
    return dot(a.r, b.r) + dot(a.t, b.t);
}

// The rate of the motion s carried along with v.
fn cross_motion(v: Vec6, s: Vec6) -> Vec6 {
    return Vec6(cross(v.r, s.r), cross(v.r, s.t) + cross(v.t, s.r));
}

// The rate of the force f carried along with v.
fn cross_force(v: Vec6, f: Vec6) -> Vec6 {
    return Vec6(cross(v.r, f.r) + cross(v.t, f.t), cross(v.r, f.t));
}

// Spatial inertia about a point: xx yy zz, xy xz yz, mass times the offset of the centre of mass, mass.
struct Inert { d: vec3<f32>, o: vec3<f32>, c: vec3<f32>, m: f32 }

// Sum of two inertias about the same point.
fn inert_add(a: Inert, b: Inert) -> Inert {
    return Inert(a.d + b.d, a.o + b.o, a.c + b.c, a.m + b.m);
}

// The inertia of mass m with principal moments p along the columns of r whose centre lies at x from the point.
fn inert_at(p: vec3<f32>, r: mat3x3<f32>, x: vec3<f32>, m: f32) -> Inert {
    let i = mat3x3<f32>(r[0] * p[0], r[1] * p[1], r[2] * p[2]) * transpose(r);
    return Inert(
        vec3<f32>(
            i[0][0] + m * (x[1] * x[1] + x[2] * x[2]),
            i[1][1] + m * (x[0] * x[0] + x[2] * x[2]),
            i[2][2] + m * (x[0] * x[0] + x[1] * x[1]),
        ),
        vec3<f32>(i[1][0] - m * x[0] * x[1], i[2][0] - m * x[0] * x[2], i[2][1] - m * x[1] * x[2]),
        x * m,
        m,
    );
}

// Momentum of the inertia in motion v (or force for an acceleration).
fn inert_mul(i: Inert, v: Vec6) -> Vec6 {
    let rot = vec3<f32>(
        i.d[0] * v.r[0] + i.o[0] * v.r[1] + i.o[1] * v.r[2],
        i.o[0] * v.r[0] + i.d[1] * v.r[1] + i.o[2] * v.r[2],
        i.o[1] * v.r[0] + i.o[2] * v.r[1] + i.d[2] * v.r[2],
    );
    return Vec6(rot + cross(i.c, v.t), v.t * i.m - cross(i.c, v.r));
}

// The field cinert of a body.
// GPU only: Rust loads any field
fn ld10_cinert(w: u32, b: u32) -> Inert {
    return Inert(
        vec3<f32>(ld_cinert(w, b, 0u), ld_cinert(w, b, 1u), ld_cinert(w, b, 2u)),
        vec3<f32>(ld_cinert(w, b, 3u), ld_cinert(w, b, 4u), ld_cinert(w, b, 5u)),
        vec3<f32>(ld_cinert(w, b, 6u), ld_cinert(w, b, 7u), ld_cinert(w, b, 8u)),
        ld_cinert(w, b, 9u),
    );
}

// Sets the field cinert of a body.
// GPU only: Rust stores any field
fn st10_cinert(w: u32, b: u32, v: Inert) {
    for (var k = 0u; k < 3u; k++) {
        st_cinert(w, b, k, v.d[k]);
        st_cinert(w, b, 3u + k, v.o[k]);
        st_cinert(w, b, 6u + k, v.c[k]);
    }
    st_cinert(w, b, 9u, v.m);
}

// The field crb of a body.
// GPU only: Rust loads any field
fn ld10_crb(w: u32, b: u32) -> Inert {
    return Inert(
        vec3<f32>(ld_crb(w, b, 0u), ld_crb(w, b, 1u), ld_crb(w, b, 2u)),
        vec3<f32>(ld_crb(w, b, 3u), ld_crb(w, b, 4u), ld_crb(w, b, 5u)),
        vec3<f32>(ld_crb(w, b, 6u), ld_crb(w, b, 7u), ld_crb(w, b, 8u)),
        ld_crb(w, b, 9u),
    );
}

// Sets the field crb of a body.
// GPU only: Rust stores any field
fn st10_crb(w: u32, b: u32, v: Inert) {
    for (var k = 0u; k < 3u; k++) {
        st_crb(w, b, k, v.d[k]);
        st_crb(w, b, 3u + k, v.o[k]);
        st_crb(w, b, 6u + k, v.c[k]);
    }
    st_crb(w, b, 9u, v.m);
}
