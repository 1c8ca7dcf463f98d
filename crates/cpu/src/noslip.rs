//! Stage `noslip`: friction forces again, without regularization (documentation: computation, "NoSlip").
//! Twin: `shaders/noslip.wgsl`.
//!
//! Dry friction and contact friction are swept by projected Gauss-Seidel with R = 0; normal forces (for a pyramid the sum of
//! two opposite edges), equality and limit forces keep the values that the solver gave them.

use crate::dual::{
    block_size, dual_change, dual_finish, dual_init, dual_qacc, dual_residual, dual_set, friction_forces,
    friction_singular,
};
use crate::pgs::friction_terms;
use crate::rows::rows_group;
use crate::solver::{count, scale};
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr};

// CPU only: its loop is a sequence of kernels on the GPU.
/// See `Stage`.
#[inline(always)]
pub fn noslip<T: Real>(m: &Model<T>, d: &mut World<T>) {
    d.noslip_niter[0] = T::Int::splat(0);
    if m.opt.noslip_iterations <= 0 || d.slot_nefc[0] == 0 {
        return;
    }
    rows_group(d);
    dual_init(m, d);
    dual_qacc(m, d);
    let mut live = has_rows(d);
    for k in 0..m.opt.noslip_iterations {
        let dropped = if k == 0 { regularizer_cost(d) } else { T::zero() };
        let improvement = dropped + noslip_sweep(m, d, live);
        count::<T>(&mut d.noslip_niter[0], live);
        // written so that a NaN stops too
        live = live & (improvement * scale(m, d)).gt(m.opt_noslip_tolerance[0]);
        if !live.any() {
            break;
        }
    }
    dual_finish(m, d);
}

/// What the regularizer of the swept rows cost before it was dropped: part of the first sweep's improvement.
#[inline(always)]
fn regularizer_cost<T: Real>(d: &World<T>) -> T {
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    let mut sum = T::zero();
    for e in ne..nefc {
        let f = d.efc_force[e];
        let swept =
            e < ne + nf || d.efc_type[e] == cnstr::CONTACT_PYRAMIDAL || d.efc_type[e] == cnstr::CONTACT_ELLIPTIC;
        if swept {
            sum += f * f * d.efc_R[e] * T::r(0.5);
        }
    }
    sum
}

// CPU only: a world has its own count on the GPU.
/// The worlds that have rows.
#[inline(always)]
fn has_rows<T: Real>(d: &World<T>) -> T::Mask {
    let mut rows = T::zero();
    for l in 0..T::LANES {
        rows.set_lane(l, Real::r(f64::from(d.nefc[0].get(l))));
    }
    rows.gt(T::zero())
}

/// One sweep over the friction rows of the worlds that are `live`; by how much the dual cost fell.
#[inline(always)]
fn noslip_sweep<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) -> T {
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    let mut change = T::zero();
    for e in ne..ne + nf {
        change += noslip_dry(m, d, e, live);
    }
    let mut e = ne + nf;
    while e < nefc {
        let n = block_size(d, e);
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            change += noslip_elliptic(m, d, e, n, live);
        } else if d.efc_type[e] == cnstr::CONTACT_PYRAMIDAL {
            change += noslip_pyramid(m, d, e, live);
        }
        e += n;
    }
    -change
}

/// Dry friction of a dof or tendon.
#[inline(always)]
fn noslip_dry<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, live: T::Mask) -> T {
    let (old, a, loss) = (d.efc_force[e], d.efc_A[6 * e], d.efc_frictionloss[e]);
    let res = dual_residual(m, d, e);
    let force = (old - res / a.max(T::r(MINVAL))).max(-loss).min(loss);
    dual_set(m, d, e, force, live);
    let delta = force - old;
    delta * (delta * a * T::r(0.5) + res)
}

/// Two opposite edges of a pyramid: their difference is friction, their sum is kept.
#[inline(always)]
fn noslip_pyramid<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, live: T::Mask) -> T {
    let a = [[d.efc_A[6 * e], d.efc_A[6 * e + 1]], [d.efc_A[6 * e + 6], d.efc_A[6 * e + 7]]];
    let res = [dual_residual(m, d, e), dual_residual(m, d, e + 1)];
    let old = [d.efc_force[e], d.efc_force[e + 1]];
    let half = T::r(0.5);
    let sum = (old[0] + old[1]) * half;
    let curvature = a[0][0] + a[1][1] - a[0][1] - a[1][0];
    // the forces are sum ± diff: the slope of the cost along (1, -1), and the curvature
    let diff = (old[0] - old[1]) * half - (res[0] - res[1]) / curvature;
    let diff = T::select(curvature.ge(T::r(MINVAL)), diff.max(-sum).min(sum), T::zero());
    let force = [sum + diff, sum - diff];
    let delta = [force[0] - old[0], force[1] - old[1]];
    dual_set(m, d, e, force[0], live);
    dual_set(m, d, e + 1, force[1], live);
    dual_change(&a, &res, &delta)
}

/// The friction forces of an elliptic contact under its normal force; where they do not follow from it, as they are.
#[inline(always)]
fn noslip_elliptic<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, n: usize, live: T::Mask) -> T {
    let mut a = [[T::zero(); 6]; 6];
    let mut res = [T::zero(); 6];
    let mut old = [T::zero(); 6];
    for r in 0..n {
        a[r][..n].copy_from_slice(&d.efc_A[6 * (e + r)..][..n]);
        old[r] = d.efc_force[e + r];
        res[r] = dual_residual(m, d, e + r);
    }
    let c = d.efc_id[e] as usize;
    let mut friction = [T::zero(); 5];
    friction[..n - 1].copy_from_slice(&d.contact_friction[5 * c..][..n - 1]);
    let (block, bias) = friction_terms(n, &a, &res, &old, &old);
    // written so that a NaN is not left out
    let pushes = live & !old[0].lt(T::r(MINVAL));
    let kept = pushes & friction_singular(n - 1, &block, &friction);
    let tangent = friction_forces(n - 1, &block, &bias, &friction, old[0], pushes & !kept);
    let mut delta = [T::zero(); 6];
    for r in 1..n {
        let force = T::select(kept, old[r], tangent[r - 1]);
        delta[r] = force - old[r];
        dual_set(m, d, e + r, force, live);
    }
    dual_change(&a, &res, &delta)
}
