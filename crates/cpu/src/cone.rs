//! The cost of an elliptic contact: its three zones, forces and curvature. Twin: `shaders/cone.wgsl`.
//!
//! With `N = mu x₀`, `U = friction x₁…`, `T = |U|` the cost is 0 where `N ≥ mu T` (the residual is in the dual cone), the sum
//! of the rows' quadratics where `mu N + T ≤ 0` (the force is in the cone), and `½ Dm (N - mu T)²` between; `mu` and the rows'
//! `efc_D` are coupled so that value and slope are continuous.

use crate::{Mask, Real, World};

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

/// The worlds in each zone.
#[derive(Clone, Copy, Debug)]
pub struct Zones<M> {
    /// no force
    pub satisfied: M,
    /// every row on its own
    pub quadratic: M,
    /// on the cone
    pub middle: M,
}

impl<T: Real> Cone<T> {
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

    /// The zones of a residual.
    #[inline(always)]
    pub fn zones(&self, x: &[T; 6]) -> Zones<T::Mask> {
        let (n, _, t) = cone_point(self, x);
        cone_zone(self.mu, n, t)
    }
}

/// `(N, U, T)` of a residual.
#[inline(always)]
fn cone_point<T: Real>(cone: &Cone<T>, x: &[T; 6]) -> (T, [T; 6], T) {
    let mut u = [T::zero(); 6];
    let mut uu = T::zero();
    for j in 1..cone.dim {
        u[j] = cone.scale[j] * x[j];
        uu += u[j] * u[j];
    }
    (cone.mu * x[0], u, uu.sqrt())
}

/// The zone of `(N, T)`.
#[inline(always)]
pub fn cone_zone<T: Real>(mu: T, n: T, t: T) -> Zones<T::Mask> {
    let satisfied = n.ge(mu * t);
    let quadratic = (mu * n + t).le(T::zero()) & !satisfied;
    Zones { satisfied, quadratic, middle: !(satisfied | quadratic) }
}

/// The cost of a residual.
#[inline(always)]
pub fn cone_cost<T: Real>(cone: &Cone<T>, x: &[T; 6]) -> T {
    let (n, _, t) = cone_point(cone, x);
    let zones = cone_zone(cone.mu, n, t);
    let mut sum = T::zero();
    for j in 0..cone.dim {
        sum += cone.stiffness[j] * x[j] * x[j];
    }
    let g = n - cone.mu * t;
    let cost = T::select(zones.quadratic, sum, cone.middle * g * g) * T::r(0.5);
    T::select(zones.satisfied, T::zero(), cost)
}

/// The force, minus the gradient of the cost, and the zones.
#[inline(always)]
pub fn cone_force<T: Real>(cone: &Cone<T>, x: &[T; 6]) -> ([T; 6], Zones<T::Mask>) {
    let (n, u, t) = cone_point(cone, x);
    let zones = cone_zone(cone.mu, n, t);
    let mut force = [T::zero(); 6];
    if zones.satisfied.all() {
        return (force, zones);
    }
    for j in 0..cone.dim {
        force[j] = T::select(zones.quadratic, -cone.stiffness[j] * x[j], T::zero());
    }
    if zones.middle.any() {
        let normal = -cone.middle * (n - cone.mu * t) * cone.mu;
        force[0] = T::select(zones.middle, normal, force[0]);
        let tangent = -normal / t;
        for j in 1..cone.dim {
            force[j] = T::select(zones.middle, tangent * u[j] * cone.scale[j], force[j]);
        }
    }
    (force, zones)
}

/// The curvature of the cost in the middle zone.
#[inline(always)]
pub fn cone_hessian<T: Real>(cone: &Cone<T>, x: &[T; 6]) -> [[T; 6]; 6] {
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
pub fn cone_line<T: Real>(cone: &Cone<T>, x: &[T; 6], v: &[T; 6]) -> (T, T) {
    let (n, u, t) = cone_point(cone, x);
    let zones = cone_zone(cone.mu, n, t);
    let (mut p, mut h) = (T::zero(), T::zero());
    if zones.quadratic.any() {
        for j in 0..cone.dim {
            let dv = cone.stiffness[j] * v[j];
            p += dv * x[j];
            h += dv * v[j];
        }
        p = T::select(zones.quadratic, p, T::zero());
        h = T::select(zones.quadratic, h, T::zero());
    }
    if zones.middle.any() {
        let (mut uv, mut vv) = (T::zero(), T::zero());
        for j in 1..cone.dim {
            let w = cone.scale[j] * v[j];
            uv += u[j] * w;
            vv += w * w;
        }
        let g = n - cone.mu * t;
        let t1 = uv / t;
        // the square of a perpendicular part: not below 0 but for rounding
        let t2 = (vv - t1 * t1).max(T::zero()) / t;
        let g1 = cone.mu * (v[0] - t1);
        p = T::select(zones.middle, cone.middle * g * g1, p);
        h = T::select(zones.middle, cone.middle * (g1 * g1 - cone.mu * g * t2), h);
    }
    (p, h)
}
