//! Matrices over dofs: M times a vector, the solver's Hessian, its factor and solution. Twin: `shaders/solver_matrix.wgsl`.

use crate::cone::{Cone, cone_hessian};
use crate::rows::dot;
use crate::{Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, state};

// CPU only: in `solver_vector.wgsl`.
/// `y = M x`
#[inline(always)]
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

// CPU only: `dual_solve` on the GPU.
/// `x = M⁻¹ x` from the factor of stage `inertia`.
#[inline(always)]
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
#[inline(always)]
pub(crate) fn hessian<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
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

// CPU only: tiles take row by row.
/// Adds the rows of a group that are in the quadratic zone.
#[inline(always)]
fn hessian_rows<T: Scalar>(m: &Model<T>, d: &mut World<T>, first: usize, n: usize) {
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
#[inline(always)]
fn hessian_cone<T: Scalar>(m: &Model<T>, d: &mut World<T>, e: usize, n: usize) {
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
    d: &mut World<T>,
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
#[inline(always)]
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
#[inline(always)]
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
