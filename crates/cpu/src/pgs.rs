//! Projected Gauss-Seidel on the constraint forces (documentation: computation, "Algorithms"). Twin: `shaders/pgs.wgsl`.

use crate::dual::{
    block_size, dual_change, dual_finish, dual_init, dual_qacc, dual_residual, dual_set, friction_forces,
};
use crate::rows::{rows_force, rows_group, rows_mul};
use crate::solver::{count, scale};
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, disable};

// CPU only: its loop is a sequence of kernels on the GPU.
/// The stage `solver` by PGS.
#[inline(always)]
pub fn pgs<T: Real>(m: &Model<T>, d: &mut World<T>) {
    rows_group(d);
    dual_init(m, d);
    pgs_start(m, d);
    d.solver_niter[0] = T::Int::splat(0);
    let mut live = T::Mask::splat(true);
    for _ in 0..m.opt.iterations {
        let improvement = pgs_sweep(m, d, live);
        count::<T>(&mut d.solver_niter[0], live);
        // written so that a NaN stops too
        live = live & (improvement * scale(m, d)).gt(m.opt_tolerance[0]);
        if !live.any() {
            break;
        }
    }
    dual_finish(m, d);
}

/// Starts from the forces that `qacc_warmstart` implies if their dual cost is below 0, the cost of no force.
#[inline(always)]
fn pgs_start<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let nefc = d.slot_nefc[0] as usize;
    let mut keep = T::Mask::splat(false);
    if m.opt.disableflags & disable::WARMSTART == 0 {
        d.solver_search.copy_from_slice(&d.qacc_warmstart);
        rows_mul(m, d);
        for e in 0..nefc {
            d.efc_Jaref[e] = d.efc_Jv[e] - d.efc_aref[e];
        }
        rows_force(m, d, T::Mask::splat(true));
        dual_qacc(m, d);
        for i in 0..m.size.nv {
            d.solver_search[i] = d.qacc[i] + d.qacc_smooth[i];
        }
        rows_mul(m, d);
        let mut cost = T::zero();
        for e in 0..nefc {
            let f = d.efc_force[e];
            cost += f * (d.efc_Jv[e] - d.efc_aref[e] - d.efc_aref[e] + d.efc_R[e] * f) * T::r(0.5);
        }
        keep = cost.lt(T::zero());
    }
    for e in 0..nefc {
        d.efc_force[e] = T::select(keep, d.efc_force[e], T::zero());
    }
    for i in 0..m.size.nv {
        d.qacc[i] = T::select(keep, d.qacc[i], d.qacc_smooth[i]);
    }
}

/// One sweep over all rows of the worlds that are `live`; by how much the dual cost fell.
#[inline(always)]
fn pgs_sweep<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) -> T {
    let nefc = d.slot_nefc[0] as usize;
    let mut change = T::zero();
    let mut e = 0;
    while e < nefc {
        let n = block_size(d, e);
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            change += pgs_contact(m, d, e, n, live);
        } else {
            for r in 0..n {
                change += pgs_row(m, d, e + r, d.efc_A[6 * (e + r) + r], live);
            }
        }
        e += n;
    }
    -change
}

/// Sets the force of one row to its best; the change of the dual cost.
#[inline(always)]
fn pgs_row<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, a: T, live: T::Mask) -> T {
    let (ne, nf) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize);
    let old = d.efc_force[e];
    let a = a + d.efc_R[e];
    let res = dual_residual(m, d, e) + d.efc_R[e] * old;
    let mut force = old - res / a;
    if e >= ne + nf {
        force = force.max(T::zero());
    } else if e >= ne {
        force = force.max(-d.efc_frictionloss[e]).min(d.efc_frictionloss[e]);
    }
    let there = live & has_row(d, e);
    dual_set(m, d, e, force, there);
    let delta = T::select(there, force - old, T::zero());
    delta * (delta * a * T::r(0.5) + res)
}

// CPU only: a world has its own rows on the GPU.
/// The worlds that have the row: they alone have a regularizer.
#[inline(always)]
fn has_row<T: Real>(d: &World<T>, e: usize) -> T::Mask {
    d.efc_R[e].gt(T::zero())
}

/// Betters the forces of an elliptic contact: along a ray, then within the disc of that normal
/// force; the change of the dual cost.
#[inline(always)]
fn pgs_contact<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, n: usize, live: T::Mask) -> T {
    let mut a = [[T::zero(); 6]; 6];
    let mut res = [T::zero(); 6];
    let mut old = [T::zero(); 6];
    for r in 0..n {
        a[r][..n].copy_from_slice(&d.efc_A[6 * (e + r)..][..n]);
        a[r][r] += d.efc_R[e + r];
        old[r] = d.efc_force[e + r];
        res[r] = dual_residual(m, d, e + r) + d.efc_R[e + r] * old[r];
    }
    let c = d.efc_id[e] as usize;
    let mut friction = [T::zero(); 5];
    friction[..n - 1].copy_from_slice(&d.contact_friction[5 * c..][..n - 1]);
    // the ray: through the present force, or from the tip along the edge of steepest descent, which may go down where the
    // normal alone does not
    let mut ray = old;
    let from_tip = old[0].lt(T::r(MINVAL));
    if from_tip.any() {
        let mut tt = T::zero();
        for j in 1..n {
            tt += friction[j - 1] * res[j] * friction[j - 1] * res[j];
        }
        let t = tt.sqrt();
        ray[0] = T::select(from_tip, T::one(), ray[0]);
        for j in 1..n {
            let steepest = -friction[j - 1] * friction[j - 1] * res[j] / t;
            ray[j] = T::select(from_tip, T::select(t.gt(T::zero()), steepest, T::zero()), ray[j]);
        }
    }
    let (mut curvature, mut slope) = (T::zero(), T::zero());
    for r in 0..n {
        slope += ray[r] * res[r];
        for c in 0..n {
            curvature += ray[r] * a[r][c] * ray[c];
        }
    }
    let mut force = old;
    // not past the tip
    let least = T::select(from_tip, T::zero(), -T::one());
    let step = T::select(curvature.gt(T::zero()), (-slope / curvature).max(least), T::zero());
    for r in 0..n {
        force[r] += step * ray[r];
    }
    let (block, bias) = friction_terms(n, &a, &res, &old, &force);
    let normal = force[0];
    // written so that a NaN is not left out
    let pushes = live & !normal.lt(T::r(MINVAL));
    let tangent = friction_forces(n - 1, &block, &bias, &friction, normal, pushes);
    force[1..n].copy_from_slice(&tangent[..n - 1]);
    let mut delta = [T::zero(); 6];
    for r in 0..n {
        delta[r] = force[r] - old[r];
    }
    let change = dual_change(&a, &res, &delta);
    // the two steps each go downhill; rounding may not
    let downhill = live & change.le(T::zero());
    for r in 0..n {
        dual_set(m, d, e + r, force[r], downhill);
    }
    T::select(downhill, change, T::zero())
}

// CPU only: `friction_block` and `friction_bias` on the GPU.
/// The friction block of a contact and the linear term of its friction forces when the normal force is `force[0]`.
#[inline(always)]
pub(crate) fn friction_terms<T: Real>(
    n: usize,
    a: &[[T; 6]; 6],
    res: &[T; 6],
    old: &[T; 6],
    force: &[T; 6],
) -> ([[T; 5]; 5], [T; 5]) {
    let mut block = [[T::zero(); 5]; 5];
    let mut bias = [T::zero(); 5];
    for r in 1..n {
        let mut b = res[r] + a[r][0] * (force[0] - old[0]);
        for c in 1..n {
            block[r - 1][c - 1] = a[r][c];
            b -= a[r][c] * old[c];
        }
        bias[r - 1] = b;
    }
    (block, bias)
}
