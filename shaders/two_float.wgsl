// Positions as unevaluated sums of two numbers: hi + lo.
import package::layout::{opaque_zero};

// The sum of two numbers and what its rounding lost: a + b = x + y exactly. Compilers that take sums for associative would
// fold the error to zero: the sum and its difference pass through a value that they cannot see through.
fn two_sum(a: f32, b: f32) -> vec2<f32> {
    let zero = opaque_zero();
    let s = bitcast<f32>(bitcast<u32>(a + b) ^ zero);
    let bb = bitcast<f32>(bitcast<u32>(s - a) ^ zero);
    return vec2<f32>(s, (a - bitcast<f32>(bitcast<u32>(s - bb) ^ zero)) + (b - bb));
}

// (hi + lo) + x, normalized.
fn tf_add(hi: f32, lo: f32, x: f32) -> vec2<f32> {
    let s = two_sum(hi, x);
    return two_sum(s.x, s.y + lo);
}

// Two vectors, hi and lo.
struct Tf3 { hi: vec3<f32>, lo: vec3<f32> }

// (hi + lo) + v, component by component.
fn tf_add3(hi: vec3<f32>, lo: vec3<f32>, v: vec3<f32>) -> Tf3 {
    let x = tf_add(hi[0], lo[0], v[0]);
    let y = tf_add(hi[1], lo[1], v[1]);
    let z = tf_add(hi[2], lo[2], v[2]);
    return Tf3(vec3<f32>(x.x, y.x, z.x), vec3<f32>(x.y, y.y, z.y));
}

// (ahi + alo) - (bhi + blo) rounded once: exact to the last bit where the two are close.
fn tf_diff3(ahi: vec3<f32>, alo: vec3<f32>, bhi: vec3<f32>, blo: vec3<f32>) -> vec3<f32> {
    let zero = opaque_zero();
    let d = bitcast<vec3<f32>>(bitcast<vec3<u32>>(ahi - bhi) ^ vec3<u32>(zero));
    return d + (alo - blo);
}
