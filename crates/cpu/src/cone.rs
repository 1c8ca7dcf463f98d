//! The cost of an elliptic contact: its three zones, forces and curvature. Twin: `shaders/cone.wgsl`.
//!
//! With `N = mu x₀`, `U = friction x₁…`, `T = |U|` the cost is 0 where `N ≥ mu T` (the residual is in the dual cone), the sum
//! of the rows' quadratics where `mu N + T ≤ 0` (the force is in the cone), and `½ Dm (N - mu T)²` between; `mu` and the rows'
//! `efc_D` are coupled so that value and slope are continuous.

use crate::{Scalar, World};
use kiloworld_layout::consts::state;

/// Parameters of a contact.
#[derive(Clone, Copy, Debug)]
pub struct Cone<T> {
    /// rows
    pub dim: usize,
    /// regularized friction
    pub mu: T,
    /// `mu`, then the friction coefficients: what scales a residual to (N, U)
    pub scale: [T; 6],
    /// `efc_D` of the rows
    pub stiffness: [T; 6],
    /// stiffness of the middle zone
    pub middle: T,
}

impl<T: Scalar> Cone<T> {
    /// The contact whose first row is `e`.
    #[inline(always)]
    pub fn new(d: &World<T>, e: usize) -> Self {
        let c = d.efc_id[e] as usize;
        let dim = d.contact_dim[c] as usize;
        let mu = d.contact_mu[c];
        let mut scale = [T::zero(); 6];
        let mut stiffness = [T::zero(); 6];
        scale[0] = mu;
        for j in 1..dim {
            scale[j] = d.contact_friction[5 * c + j - 1];
        }
        stiffness[..dim].copy_from_slice(&d.efc_D[e..e + dim]);
        let middle = stiffness[0] / (mu * mu * (T::one() + mu * mu));
        Self { dim, mu, scale, stiffness, middle }
    }

    /// The contact's rows of an array, 0 past the last.
    #[inline(always)]
    pub fn load(&self, a: &[T], e: usize) -> [T; 6] {
        let mut out = [T::zero(); 6];
        out[..self.dim].copy_from_slice(&a[e..e + self.dim]);
        out
    }
}

/// `(N, U, T)` of a residual.
#[inline(always)]
fn cone_point<T: Scalar>(cone: &Cone<T>, x: &[T; 6]) -> (T, [T; 6], T) {
    let mut u = [T::zero(); 6];
    let mut uu = T::zero();
    for j in 1..6 {
        u[j] = cone.scale[j] * x[j];
        uu += u[j] * u[j];
    }
    (cone.mu * x[0], u, uu.sqrt())
}

/// The zone of `(N, T)`, as `mjtConstraintState`.
#[inline(always)]
pub fn cone_zone<T: Scalar>(mu: T, n: T, t: T) -> i32 {
    if n >= mu * t {
        state::SATISFIED
    } else if mu * n + t <= T::zero() {
        state::QUADRATIC
    } else {
        state::CONE
    }
}

/// The cost of a residual.
#[inline(always)]
pub fn cone_cost<T: Scalar>(cone: &Cone<T>, x: &[T; 6]) -> T {
    let (n, _, t) = cone_point(cone, x);
    match cone_zone(cone.mu, n, t) {
        state::SATISFIED => T::zero(),
        state::QUADRATIC => {
            let mut sum = T::zero();
            for j in 0..6 {
                sum += cone.stiffness[j] * x[j] * x[j];
            }
            sum * T::r(0.5)
        }
        _ => {
            let g = n - cone.mu * t;
            cone.middle * g * g * T::r(0.5)
        }
    }
}

/// The force, minus the gradient of the cost, and the zone.
#[inline(always)]
pub fn cone_force<T: Scalar>(cone: &Cone<T>, x: &[T; 6]) -> ([T; 6], i32) {
    let (n, u, t) = cone_point(cone, x);
    let zone = cone_zone(cone.mu, n, t);
    let mut force = [T::zero(); 6];
    if zone == state::QUADRATIC {
        for j in 0..6 {
            force[j] = -cone.stiffness[j] * x[j];
        }
    } else if zone == state::CONE {
        let normal = -cone.middle * (n - cone.mu * t) * cone.mu;
        force[0] = normal;
        for j in 1..6 {
            force[j] = -normal / t * u[j] * cone.scale[j];
        }
    }
    (force, zone)
}

/// The curvature of the cost in the middle zone.
#[inline(always)]
pub fn cone_hessian<T: Scalar>(cone: &Cone<T>, x: &[T; 6]) -> [[T; 6]; 6] {
    let (n, u, t) = cone_point(cone, x);
    let inv = T::one() / t;
    let mu = cone.mu;
    // across the cone the curvature is that of the circle of radius t
    let ring = mu * (n - mu * t) * inv;
    let mut h = [[T::zero(); 6]; 6];
    h[0][0] = T::one();
    for j in 1..cone.dim {
        h[0][j] = -mu * u[j] * inv;
        h[j][0] = h[0][j];
        for k in 1..cone.dim {
            h[j][k] = (mu * mu + ring) * (u[j] * inv) * (u[k] * inv);
        }
        h[j][j] -= ring;
    }
    for j in 0..cone.dim {
        for k in 0..cone.dim {
            h[j][k] *= cone.middle * cone.scale[j] * cone.scale[k];
        }
    }
    h
}

/// First and second derivative of the cost of `x + a v` with respect to `a`, at `a = 0`.
#[inline(always)]
pub fn cone_line<T: Scalar>(cone: &Cone<T>, x: &[T; 6], v: &[T; 6]) -> (T, T) {
    let (n, u, t) = cone_point(cone, x);
    match cone_zone(cone.mu, n, t) {
        state::SATISFIED => (T::zero(), T::zero()),
        state::QUADRATIC => {
            let (mut p, mut h) = (T::zero(), T::zero());
            for j in 0..6 {
                let dv = cone.stiffness[j] * v[j];
                p += dv * x[j];
                h += dv * v[j];
            }
            (p, h)
        }
        _ => {
            let (mut uv, mut vv) = (T::zero(), T::zero());
            for j in 1..6 {
                let w = cone.scale[j] * v[j];
                uv += u[j] * w;
                vv += w * w;
            }
            let g = n - cone.mu * t;
            let t1 = uv / t;
            // the square of a perpendicular part: not below 0 but for rounding
            let t2 = (vv - t1 * t1).max(T::zero()) / t;
            let g1 = cone.mu * (v[0] - t1);
            (cone.middle * g * g1, cone.middle * (g1 * g1 - cone.mu * g * t2))
        }
    }
}
