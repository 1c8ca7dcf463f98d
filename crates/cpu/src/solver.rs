//! Stage `solver`: constraint forces and acceleration. Twin: `shaders/solver.wgsl`.
//!
//! Newton's method on MuJoCo's reduced primal problem (documentation: computation, "Constraint solver"): minimize over
//! accelerations `½ (x - qacc_smooth)ᵀ M (x - qacc_smooth) + s(J x - efc_aref)`. The cost is strictly convex, so its minimum
//! does not depend on the method: a file that asks for CG is served by Newton too. PGS works on forces, see [`crate::pgs`].
//!
//! Costs are never subtracted: what stops the iteration are the gradient, the Newton decrement `½ gᵀ H⁻¹ g` and the integral
//! of the derivative along the line, so that nothing is lost to cancellation in f32. The quadratic term is carried as
//! `M (x - qacc_smooth)` for the same reason.

use crate::Scalar;
use crate::cone::{Cone, cone_hessian};
use crate::linesearch::linesearch;
use crate::rows::{dot, rows_compact, rows_force, rows_mul, rows_start};
use kiloworld_layout::consts::{MINVAL, cnstr, disable, solver as kind, state};
use kiloworld_layout::{Data, Model};

/// `solver_scalar`: not 0 when the world has converged.
pub(crate) const DONE: usize = 0;
/// `solver_scalar`: the Newton decrement that rounding alone makes.
pub(crate) const FLOOR: usize = 1;
/// `solver_scalar`: derivative of the cost along the search direction at its start.
pub(crate) const SLOPE: usize = 2;
/// `solver_scalar`: step along the search direction.
pub(crate) const STEP: usize = 3;
/// `solver_scalar`: derivative of the cost at the end of the step.
pub(crate) const SLOPE_END: usize = 4;
/// `solver_scalar`: derivative along the search direction of the part that is quadratic everywhere.
pub(crate) const LINEAR: usize = 5;
/// `solver_scalar`: its second derivative.
pub(crate) const CURVATURE: usize = 6;

/// See `Stage`.
pub fn solver<T: Scalar>(m: &Model<T>, d: &mut Data<T>) {
    if m.opt.solver == kind::PGS {
        crate::pgs::pgs(m, d);
        return;
    }
    solver_init(m, d);
    for _ in 0..m.opt.iterations {
        if d.solver_scalar[DONE] != T::zero() {
            break;
        }
        solver_iter(m, d);
    }
}

/// Chooses where to start, and tells whether that is already the minimum.
pub fn solver_init<T: Scalar>(m: &Model<T>, d: &mut Data<T>) {
    d.solver_niter[0] = 0;
    d.solver_scalar.fill(T::zero());
    rows_compact(m, d);
    if d.nefc[0] == 0 {
        d.qacc.copy_from_slice(&d.qacc_smooth);
        d.qfrc_constraint.fill(T::zero());
        d.solver_Ma.fill(T::zero());
        d.solver_grad.fill(T::zero());
        d.solver_scalar[DONE] = T::one();
        return;
    }
    let warm = rows_start(m, d, m.opt.disableflags & disable::WARMSTART == 0);
    d.solver_scalar[FLOOR] = rounding_floor(d);
    rows_force(m, d);
    gradient(d);
    if warm {
        // every zone of the cost has at least M's curvature, so ½ gᵀ M⁻¹ g bounds how far the start is from the minimum
        let bound = {
            d.solver_search.copy_from_slice(&d.solver_grad);
            solve_m(m, &d.qLD, &d.qLDiagInv, &mut d.solver_search);
            dot(&d.solver_grad, &d.solver_search) * T::r(0.5)
        };
        if converged(m, d, bound) {
            d.solver_scalar[DONE] = T::one();
        }
    }
}

/// One Newton step.
pub fn solver_iter<T: Scalar>(m: &Model<T>, d: &mut Data<T>) {
    hessian(m, d);
    factor(&mut d.solver_H, m.size.nv, m.size.nvpad);
    for i in 0..m.size.nv {
        d.solver_search[i] = -d.solver_grad[i];
    }
    solve(&d.solver_H, m.size.nvpad, &mut d.solver_search);
    let slope = dot(&d.solver_grad, &d.solver_search);
    d.solver_scalar[SLOPE] = slope;
    let decrement = -slope * T::r(0.5);
    if converged(m, d, decrement) {
        d.solver_scalar[DONE] = T::one();
        return;
    }

    mul_m(m, &d.M, &d.solver_search, &mut d.solver_Mv);
    rows_mul(m, d);
    d.solver_scalar[LINEAR] = dot(&d.solver_search, &d.solver_Ma);
    d.solver_scalar[CURVATURE] = dot(&d.solver_search, &d.solver_Mv);
    linesearch(m, d);
    let step = d.solver_scalar[STEP];
    for i in 0..m.size.nv {
        d.qacc[i] += step * d.solver_search[i];
        d.solver_Ma[i] += step * d.solver_Mv[i];
    }
    for e in 0..d.nefc[0] as usize {
        d.efc_Jaref[e] += step * d.efc_Jv[e];
    }
    rows_force(m, d);
    gradient(d);
    d.solver_niter[0] += 1;

    // the derivative is monotone along the line: the trapezium is the improvement where the cost is quadratic, and at
    // least half of it elsewhere
    let improvement = -step * (slope + d.solver_scalar[SLOPE_END]) * T::r(0.5);
    let scale = scale(m);
    let grad = dot(&d.solver_grad, &d.solver_grad).sqrt() * scale;
    // written so that a NaN stops too
    let goes_on = improvement * scale > m.opt_tolerance[0] && grad > m.opt_tolerance[0];
    if !goes_on {
        d.solver_scalar[DONE] = T::one();
    }
}

/// MuJoCo's scale of costs and gradients.
pub(crate) fn scale<T: Scalar>(m: &Model<T>) -> T {
    T::one() / (m.stat_meaninertia[0] * T::r(m.size.nv.max(1) as f64))
}

/// True where a bound on the possible improvement is below the tolerance, or below what rounding makes of zero.
fn converged<T: Scalar>(m: &Model<T>, d: &Data<T>, bound: T) -> bool {
    // written so that a NaN stops too
    !(bound * scale(m) > m.opt_tolerance[0] && bound > d.solver_scalar[FLOOR])
}

/// The decrement that is left when every residual is off by one rounding of its terms: below it the iteration only moves
/// noise. In f64 far below any tolerance; in f32 the default tolerance 1e-8 can lie under it.
fn rounding_floor<T: Scalar>(d: &Data<T>) -> T {
    let nefc = d.nefc[0] as usize;
    let mut sum = T::zero();
    for e in 0..nefc {
        let a = d.efc_aref[e];
        sum += d.efc_D[e] * a * a;
    }
    sum * T::r(0.5 * T::EPSILON * T::EPSILON)
}

/// `solver_grad`: the gradient of the cost.
fn gradient<T: Scalar>(d: &mut Data<T>) {
    for i in 0..d.solver_grad.len() {
        d.solver_grad[i] = d.solver_Ma[i] - d.qfrc_constraint[i];
    }
}

/// `y = M x`
pub(crate) fn mul_m<T: Scalar>(m: &Model<T>, mat: &[T], x: &[T], y: &mut [T]) {
    for i in 0..m.size.nv {
        let adr = m.M_rowadr[i] as usize;
        let last = adr + m.M_rownnz[i] as usize - 1;
        let xi = x[i];
        let mut sum = mat[last] * xi;
        for k in adr..last {
            let j = m.M_colind[k] as usize;
            sum += mat[k] * x[j];
            y[j] += mat[k] * xi;
        }
        y[i] = sum;
    }
}

/// `x = M⁻¹ x` from the factor of stage `inertia`.
pub(crate) fn solve_m<T: Scalar>(m: &Model<T>, factor: &[T], diag_inv: &[T], x: &mut [T]) {
    for i in (0..m.size.nv).rev() {
        let adr = m.M_rowadr[i] as usize;
        let xi = x[i];
        for k in adr..adr + m.M_rownnz[i] as usize - 1 {
            x[m.M_colind[k] as usize] -= factor[k] * xi;
        }
    }
    for i in 0..m.size.nv {
        let adr = m.M_rowadr[i] as usize;
        let mut sum = x[i] * diag_inv[i];
        for k in adr..adr + m.M_rownnz[i] as usize - 1 {
            sum -= factor[k] * x[m.M_colind[k] as usize];
        }
        x[i] = sum;
    }
}

/// `solver_H = M + Jᵀ s″ J`, lower triangle.
fn hessian<T: Scalar>(m: &Model<T>, d: &mut Data<T>) {
    let stride = m.size.nvpad;
    for i in 0..m.size.nv {
        let row = &mut d.solver_H[i * stride..][..=i];
        row.fill(T::zero());
        let adr = m.M_rowadr[i] as usize;
        for k in adr..adr + m.M_rownnz[i] as usize {
            row[m.M_colind[k] as usize] = d.M[k];
        }
    }
    let nefc = d.nefc[0] as usize;
    let mut e = 0;
    while e < nefc {
        let n = d.solver_group[e] as usize;
        if d.efc_state[e] == state::CONE && d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            hessian_cone(m, d, e, n);
        } else {
            hessian_rows(m, d, e, n);
        }
        e += n;
    }
}

/// Adds the rows of a group that are in the quadratic zone.
fn hessian_rows<T: Scalar>(m: &Model<T>, d: &mut Data<T>, first: usize, n: usize) {
    // rows that count, four at a time: one pass over the triangle for all four
    let mut active = [0; 4];
    let mut count = 0;
    for e in first..first + n {
        if d.efc_state[e] == state::QUADRATIC {
            active[count] = e;
            count += 1;
        }
        let flush = count == 4 || e + 1 == first + n;
        if flush {
            match count {
                1 => hessian_add(m, d, first, [active[0]], None),
                2 => hessian_add(m, d, first, [active[0], active[1]], None),
                3 => hessian_add(m, d, first, [active[0], active[1], active[2]], None),
                4 => hessian_add(m, d, first, active, None),
                _ => {}
            }
            count = 0;
        }
    }
}

/// Adds an elliptic contact in the middle zone.
fn hessian_cone<T: Scalar>(m: &Model<T>, d: &mut Data<T>, e: usize, n: usize) {
    let cone = Cone::new(d, e);
    let mut x = [T::zero(); 6];
    x[..n].copy_from_slice(&d.efc_Jaref[e..e + n]);
    let block = cone_hessian(&cone, &x);
    match n {
        3 => hessian_add(m, d, e, [e, e + 1, e + 2], Some(&block)),
        4 => hessian_add(m, d, e, [e, e + 1, e + 2, e + 3], Some(&block)),
        _ => hessian_add(m, d, e, [e, e + 1, e + 2, e + 3, e + 4, e + 5], Some(&block)),
    }
}

/// Adds `Jᵀ B J` of R rows of a group: B is their block, or the diagonal `efc_D`.
#[inline(always)]
fn hessian_add<T: Scalar, const R: usize>(
    m: &Model<T>,
    d: &mut Data<T>,
    first: usize,
    rows: [usize; R],
    block: Option<&[[T; 6]; 6]>,
) {
    let stride = m.size.nvpad;
    let nnz = d.efc_J_rownnz[first] as usize;
    let colind = &d.efc_J_colind[first * m.size.nv..][..nnz];
    let jac: [&[T]; R] = core::array::from_fn(|r| &d.solver_Jc[rows[r] * stride..][..nnz]);
    for i in 0..nnz {
        let b: [T; R] = match block {
            None => core::array::from_fn(|r| d.efc_D[rows[r]] * jac[r][i]),
            Some(block) => core::array::from_fn(|r| {
                let mut sum = T::zero();
                for s in 0..R {
                    sum += block[r][s] * jac[s][i];
                }
                sum
            }),
        };
        let row = &mut d.solver_H[colind[i] as usize * stride..][..stride];
        for k in 0..=i {
            let mut sum = T::zero();
            for r in 0..R {
                sum += b[r] * jac[r][k];
            }
            row[colind[k] as usize] += sum;
        }
    }
}

/// `H = Lᵀ D L` in place, from the last dof to the first: no entry fills in on a kinematic tree. The diagonal becomes `1/D`.
pub(crate) fn factor<T: Scalar>(h: &mut [T], nv: usize, stride: usize) {
    for i in (0..nv).rev() {
        let (above, row) = h.split_at_mut(i * stride);
        // a pivot of a positive matrix; rounding may leave it at 0 or below
        let pivot = row[i].max(T::r(MINVAL));
        let inv = T::one() / pivot;
        for j in 0..i {
            if row[j] == T::zero() {
                continue;
            }
            let l = row[j] * inv;
            for (a, b) in above[j * stride..][..=j].iter_mut().zip(&row[..=j]) {
                *a -= l * *b;
            }
        }
        for b in &mut row[..i] {
            *b *= inv;
        }
        row[i] = inv;
    }
}

/// `x = H⁻¹ x` from the factor.
pub(crate) fn solve<T: Scalar>(h: &[T], stride: usize, x: &mut [T]) {
    let nv = x.len();
    for i in (0..nv).rev() {
        let xi = x[i];
        let row = &h[i * stride..][..i];
        for (a, b) in x[..i].iter_mut().zip(row) {
            *a -= *b * xi;
        }
    }
    for i in 0..nv {
        let row = &h[i * stride..][..=i];
        x[i] = x[i] * row[i] - dot(&row[..i], &x[..i]);
    }
}
