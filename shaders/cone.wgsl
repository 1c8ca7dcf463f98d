// The cost of an elliptic contact: its three zones, forces and curvature.
//
// With N = mu x0, U = friction x1..., T = |U| the cost is 0 where N >= mu T, the sum of the rows' quadratics where
// mu N + T <= 0, and 1/2 Dm (N - mu T)^2 between.
import package::layout::{STATE_CONE, STATE_QUADRATIC, STATE_SATISFIED, ld_contact_dim, ld_contact_friction, ld_contact_mu, ld_efc_D};

// Parameters of a contact: rows, regularized friction, what scales a residual to (N, U), stiffness of the rows and of the
// middle zone; entries past the last row are 0.
struct Cone { dim: u32, mu: f32, middle: f32, scale: array<f32, 6>, stiffness: array<f32, 6> }

// A residual: N, U, T.
struct ConePoint { n: f32, t: f32, u: array<f32, 6> }

// Force and zone.
struct ConeForce { zone: i32, force: array<f32, 6> }

// GPU only: Cone::new on the CPU.
// Contact c, whose first row is e. A contact without friction is a cone that has no middle zone.
fn cone_new(w: u32, c: u32, e: u32) -> Cone {
    var cone: Cone;
    cone.dim = u32(ld_contact_dim(w, c));
    cone.mu = select(ld_contact_mu(w, c), 1.0, cone.dim == 1u);
    cone.scale[0] = cone.mu;
    for (var j = 0u; j < 6u; j += 1u) {
        if j < cone.dim {
            cone.stiffness[j] = ld_efc_D(w, e + j);
            if j > 0u {
                cone.scale[j] = ld_contact_friction(w, c, j - 1u);
            }
        }
    }
    let mumu = cone.mu * cone.mu;
    cone.middle = cone.stiffness[0] / (mumu * (1.0 + mumu));
    return cone;
}

// (N, U, T) of a residual.
fn cone_point(cone: Cone, x: array<f32, 6>) -> ConePoint {
    var point: ConePoint;
    var uu = 0.0;
    for (var j = 1u; j < 6u; j += 1u) {
        point.u[j] = cone.scale[j] * x[j];
        uu += point.u[j] * point.u[j];
    }
    point.n = cone.mu * x[0];
    point.t = sqrt(uu);
    return point;
}

// The zone of (N, T), as mjtConstraintState.
fn cone_zone(mu: f32, n: f32, t: f32) -> i32 {
    if n >= mu * t {
        return STATE_SATISFIED;
    }
    return select(STATE_CONE, STATE_QUADRATIC, mu * n + t <= 0.0);
}

// The cost of a residual.
fn cone_cost(cone: Cone, x: array<f32, 6>) -> f32 {
    let point = cone_point(cone, x);
    let zone = cone_zone(cone.mu, point.n, point.t);
    if zone == STATE_SATISFIED {
        return 0.0;
    }
    if zone == STATE_QUADRATIC {
        var sum = 0.0;
        for (var j = 0u; j < 6u; j += 1u) {
            sum += cone.stiffness[j] * x[j] * x[j];
        }
        return 0.5 * sum;
    }
    let g = point.n - cone.mu * point.t;
    return 0.5 * cone.middle * g * g;
}

// The force, minus the gradient of the cost, and the zone.
fn cone_force(cone: Cone, x: array<f32, 6>) -> ConeForce {
    let point = cone_point(cone, x);
    var out: ConeForce;
    out.zone = cone_zone(cone.mu, point.n, point.t);
    if out.zone == STATE_QUADRATIC {
        for (var j = 0u; j < 6u; j += 1u) {
            out.force[j] = -cone.stiffness[j] * x[j];
        }
    } else if out.zone == STATE_CONE {
        let normal = -cone.middle * (point.n - cone.mu * point.t) * cone.mu;
        out.force[0] = normal;
        for (var j = 1u; j < 6u; j += 1u) {
            out.force[j] = -normal / point.t * point.u[j] * cone.scale[j];
        }
    }
    return out;
}

// The curvature of the cost in the middle zone as the solver's tiles use it: [0] is mu (N - mu T) / T, [j] the unit vector
// U / T times friction j.
fn cone_hessian(cone: Cone, x: array<f32, 6>) -> array<f32, 6> {
    let point = cone_point(cone, x);
    var out: array<f32, 6>;
    out[0] = cone.mu * (point.n - cone.mu * point.t) / point.t;
    for (var j = 1u; j < 6u; j += 1u) {
        out[j] = cone.scale[j] * point.u[j] / point.t;
    }
    return out;
}

// First and second derivative of the cost of x + a v with respect to a, at a = 0.
fn cone_line(cone: Cone, x: array<f32, 6>, v: array<f32, 6>) -> vec2<f32> {
    let point = cone_point(cone, x);
    let zone = cone_zone(cone.mu, point.n, point.t);
    if zone == STATE_SATISFIED {
        return vec2<f32>(0.0);
    }
    if zone == STATE_QUADRATIC {
        var sum = vec2<f32>(0.0);
        for (var j = 0u; j < 6u; j += 1u) {
            sum += cone.stiffness[j] * v[j] * vec2<f32>(x[j], v[j]);
        }
        return sum;
    }
    var uv = 0.0;
    var vv = 0.0;
    for (var j = 1u; j < 6u; j += 1u) {
        let s = cone.scale[j] * v[j];
        uv += point.u[j] * s;
        vv += s * s;
    }
    let g = point.n - cone.mu * point.t;
    let t1 = uv / point.t;
    // the square of a perpendicular part: not below 0 but for rounding
    let t2 = max(vv - t1 * t1, 0.0) / point.t;
    let g1 = cone.mu * (v[0] - t1);
    return cone.middle * vec2<f32>(g * g1, g1 * g1 - cone.mu * g * t2);
}
