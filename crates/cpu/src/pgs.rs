//! Projected Gauss-Seidel on the constraint forces (documentation: computation, "Algorithms"). Twin: `shaders/pgs.wgsl`.

use crate::dual::{
    block_size, dual_change, dual_finish, dual_init, dual_qacc, dual_residual, dual_set, friction_problem,
};
use crate::rows::{rows_compact, rows_force, rows_mul};
use crate::solver::scale;
use crate::{Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, disable};

// CPU only: its loop is a sequence of kernels on the GPU.
/// The stage `solver` by PGS.
#[inline(always)]
pub fn pgs<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    rows_compact(m, d);
    dual_init(m, d);
    pgs_start(m, d);
    d.solver_niter[0] = 0;
    for _ in 0..m.opt.iterations {
        let improvement = pgs_sweep(m, d);
        d.solver_niter[0] += 1;
        // written so that a NaN stops too
        let goes_on = improvement * scale(m) > m.opt_tolerance[0];
        if !goes_on {
            break;
        }
    }
    dual_finish(m, d);
}

/// Starts from the forces that `qacc_warmstart` implies if their dual cost is below 0, the cost of no force.
#[inline(always)]
fn pgs_start<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    let nefc = d.nefc[0] as usize;
    let warm = m.opt.disableflags & disable::WARMSTART == 0;
    if warm {
        d.solver_search.copy_from_slice(&d.qacc_warmstart);
        rows_mul(m, d);
        for e in 0..nefc {
            d.efc_Jaref[e] = d.efc_Jv[e] - d.efc_aref[e];
        }
        rows_force(m, d);
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
        if cost < T::zero() {
            return;
        }
    }
    d.efc_force[..nefc].fill(T::zero());
    d.qacc.copy_from_slice(&d.qacc_smooth);
}

/// One sweep over all rows; by how much the dual cost fell.
#[inline(always)]
fn pgs_sweep<T: Scalar>(m: &Model<T>, d: &mut World<T>) -> T {
    let nefc = d.nefc[0] as usize;
    let mut change = T::zero();
    let mut e = 0;
    while e < nefc {
        let n = block_size(d, e);
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            change += pgs_contact(m, d, e, n);
        } else {
            for r in 0..n {
                change += pgs_row(m, d, e + r, d.efc_A[6 * (e + r) + r]);
            }
        }
        e += n;
    }
    -change
}

/// Sets the force of one row to its best; the change of the dual cost.
#[inline(always)]
fn pgs_row<T: Scalar>(m: &Model<T>, d: &mut World<T>, e: usize, a: T) -> T {
    let (ne, nf) = (d.ne[0] as usize, d.nf[0] as usize);
    let old = d.efc_force[e];
    let a = a + d.efc_R[e];
    let res = dual_residual(m, d, e) + d.efc_R[e] * old;
    let mut force = old - res / a;
    if e >= ne + nf {
        force = force.max(T::zero());
    } else if e >= ne {
        force = force.max(-d.efc_frictionloss[e]).min(d.efc_frictionloss[e]);
    }
    dual_set(m, d, e, force);
    let delta = force - old;
    delta * (delta * a * T::r(0.5) + res)
}

/// Betters the forces of an elliptic contact: along a ray, then within the disc of that normal
/// force; the change of the dual cost.
#[inline(always)]
fn pgs_contact<T: Scalar>(m: &Model<T>, d: &mut World<T>, e: usize, n: usize) -> T {
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
    let from_tip = old[0] < T::r(MINVAL);
    if from_tip {
        let mut tt = T::zero();
        for j in 1..n {
            tt += friction[j - 1] * res[j] * friction[j - 1] * res[j];
        }
        let t = tt.sqrt();
        ray[0] = T::one();
        for j in 1..n {
            ray[j] = if t > T::zero() { -friction[j - 1] * friction[j - 1] * res[j] / t } else { T::zero() };
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
    if curvature > T::zero() {
        // not past the tip
        let step = (-slope / curvature).max(if from_tip { T::zero() } else { -T::one() });
        for r in 0..n {
            force[r] += step * ray[r];
        }
    }
    let (block, bias) = friction_terms(n, &a, &res, &old, &force);
    let normal = force[0];
    let tangent =
        if normal < T::r(MINVAL) { [T::zero(); 5] } else { friction_problem(n - 1, &block, &bias, &friction, normal) };
    force[1..n].copy_from_slice(&tangent[..n - 1]);
    let mut delta = [T::zero(); 6];
    for r in 0..n {
        delta[r] = force[r] - old[r];
    }
    let change = dual_change(&a, &res, &delta);
    // the two steps each go downhill; rounding may not
    let downhill = change <= T::zero();
    if !downhill {
        return T::zero();
    }
    for r in 0..n {
        dual_set(m, d, e + r, force[r]);
    }
    change
}

// CPU only: `friction_block` and `friction_bias` on the GPU.
/// The friction block of a contact and the linear term of its friction forces when the normal force is `force[0]`.
#[inline(always)]
pub(crate) fn friction_terms<T: Scalar>(
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
