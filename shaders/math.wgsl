// Vectors, quaternions (component 0 is w), barriers: the helpers that every stage uses.
import package::layout::{LANES, MINVAL, opaque_zero};

const PI: f32 = 3.14159265f;
// Relative spacing of numbers near 1.
const EPSILON: f32 = 1.1920929e-7;

// Waits for the lanes of the group and makes what they wrote visible to each other; uniform control flow only. A lane that
// has its world to itself need not wait.
// GPU only: a world is one thread's there
fn sync() {
    if LANES > 1u {
        workgroupBarrier();
        storageBarrier();
    }
}

// The same number, which no compiler knows: a loop up to it is not unrolled. Unrolled tiles of a matrix make a kernel that
// takes four times as long to compile, and is no faster.
// GPU only: Rust compiles once
fn rolled(n: u32) -> u32 {
    return n + opaque_zero();
}

// Sine and cosine. WGSL's own may be off by 5e-4, which a turn of a few milliradians a step does not bear; this is good to
// 1e-7: reduction by multiples of pi/2 in three parts, then fits on [-pi/4, pi/4] (largest errors 4e-9 and 1e-10).
// GPU only: Rust has exact ones
fn sin_cos(x: f32) -> vec2<f32> {
    let n = round(x * 0.63661977f);
    // the parts must not be folded into one
    let a = bitcast<f32>(bitcast<u32>(x - n * 1.5703125f) ^ opaque_zero());
    let b = bitcast<f32>(bitcast<u32>(a - n * 4.83751297e-4f) ^ opaque_zero());
    let y = b - n * 7.5497901e-8f;
    let z = y * y;
    let s = y + y * z * (-0.16666655f + z * (0.008332176f - z * 1.9516975e-4f));
    let c = 1.0 - 0.5 * z + z * z * (0.041666646f + z * (-0.0013887364f + z * 2.4438086e-5f));
    let q = i32(n) & 3;
    let turned = select(vec2<f32>(s, c), vec2<f32>(c, -s), (q & 1) != 0);
    return select(turned, -turned, (q & 2) != 0);
}

// Product of two quaternions.
fn quat_mul(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    );
}

// The inverse of a unit quaternion.
fn quat_conj(q: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(q[0], -q[1], -q[2], -q[3]);
}

// Rotates v by the unit quaternion q.
fn quat_rotate(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let u = q.yzw;
    let t = cross(u, v) + v * q[0];
    return v + cross(u, t) * 2.0;
}

// The rotation matrix of a unit quaternion.
fn quat_to_mat(q: vec4<f32>) -> mat3x3<f32> {
    let w = q[0];
    let x = q[1];
    let y = q[2];
    let z = q[3];
    // column by column
    return mat3x3<f32>(
        w * w + x * x - y * y - z * z,
        2.0 * (x * y + w * z),
        2.0 * (x * z - w * y),
        2.0 * (x * y - w * z),
        w * w - x * x + y * y - z * z,
        2.0 * (y * z + w * x),
        2.0 * (x * z + w * y),
        2.0 * (y * z - w * x),
        w * w - x * x - y * y + z * z,
    );
}

// The quaternion scaled to unit length; the identity where its length is below mjMINVAL.
fn quat_normalize(q: vec4<f32>) -> vec4<f32> {
    let n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    let tiny = n < MINVAL;
    let s = 1.0 / select(n, 1.0, tiny);
    return select(q * s, vec4<f32>(1.0, 0.0, 0.0, 0.0), vec4<bool>(tiny));
}

// The quaternion of a turn by angle [rad] about the unit axis.
fn axis_angle_to_quat(axis: vec3<f32>, angle: f32) -> vec4<f32> {
    let half = sin_cos(angle * 0.5);
    return vec4<f32>(half.y, axis * half.x);
}

// q turned by the angular velocity w [rad/s] (body frame) for h [s]; unit length.
fn quat_integrate(q: vec4<f32>, w: vec3<f32>, h: f32) -> vec4<f32> {
    let speed = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    let tiny = speed < MINVAL;
    let s = 1.0 / select(speed, 1.0, tiny);
    let axis = vec3<f32>(select(w[0] * s, 1.0, tiny), w[1] * s, w[2] * s);
    return quat_mul(quat_normalize(q), axis_angle_to_quat(axis, speed * h));
}

// GPU only: Rust's atan2 is good.
// Arc tangent of y / x for y >= 0, in [0, pi]. WGSL's own may be off by 4096 ulp; this one is good to 2 ulp: twice the
// half-angle formula, then a fit of atan on [0, tan(pi/8)] (largest error 7e-10).
// GPU only: Rust has exact ones
fn atan2_upper(y: f32, x: f32) -> f32 {
    let small = min(y, abs(x));
    let large = max(y, abs(x));
    if large == 0.0 {
        return 0.0;
    }
    let t = small / large;
    let u = t / (1.0 + sqrt(1.0 + t * t));
    let z = u * u;
    let p = -0.33333313f + z * (0.19998439f + z * (-0.1424301f + z * (0.10590352f - z * 0.06070188f)));
    var angle = 2.0 * (u + u * z * p);
    if y > abs(x) {
        angle = 0.5 * PI - angle;
    }
    return select(angle, PI - angle, x < 0.0);
}

// The rotation vector (axis x angle, angle in (-pi, pi]) of a unit quaternion.
fn quat_to_vel(q: vec4<f32>) -> vec3<f32> {
    let sin_half = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    let tiny = sin_half < MINVAL;
    let s = 1.0 / select(sin_half, 1.0, tiny);
    var angle = 2.0 * atan2_upper(sin_half, q[0]);
    angle = select(angle, angle - 2.0 * PI, PI < angle);
    return q.yzw * (s * select(angle, 0.0, tiny));
}
