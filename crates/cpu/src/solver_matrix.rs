//! Matrices over dofs: M times a vector, the solver's Hessian, its factor and solution. Twin: `shaders/solver_matrix.wgsl`.

use crate::cone::{Cone, cone_hessian};
use crate::{Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr};

// CPU only: in `solver_vector.wgsl`.
/// `y = M x`
#[inline(always)]
pub(crate) fn mul_m<T: Real>(m: &Model<T>, mat: &[T], x: &[T], y: &mut [T]) {
    for i in 0..m.size.nv {
        let adr = m.M_rowadr[i] as usize;
        let last = adr + m.M_rownnz[i] as usize - 1;
        let xi = x[i];
        let mut sum = mat[last] * xi;
        for (a, j) in mat[adr..last].iter().zip(&m.M_colind[adr..last]) {
            let j = *j as usize;
            sum += *a * x[j];
            y[j] += *a * xi;
        }
        y[i] = sum;
    }
}

// CPU only: `dual_solve` on the GPU.
/// `x = M⁻¹ x` from the factor of stage `inertia`.
#[inline(always)]
pub(crate) fn solve_m<T: Real>(m: &Model<T>, factor: &[T], diag_inv: &[T], x: &mut [T]) {
    for i in (0..m.size.nv).rev() {
        let adr = m.M_rowadr[i] as usize;
        let last = adr + m.M_rownnz[i] as usize - 1;
        let xi = x[i];
        for (a, j) in factor[adr..last].iter().zip(&m.M_colind[adr..last]) {
            x[*j as usize] -= *a * xi;
        }
    }
    for i in 0..m.size.nv {
        let adr = m.M_rowadr[i] as usize;
        let last = adr + m.M_rownnz[i] as usize - 1;
        let mut sum = x[i] * diag_inv[i];
        for (a, j) in factor[adr..last].iter().zip(&m.M_colind[adr..last]) {
            sum -= *a * x[*j as usize];
        }
        x[i] = sum;
    }
}

/// `solver_H = M + Jᵀ s″ J`, lower triangle. Rows count in the worlds that are `live`; the others' forces are found.
#[inline(always)]
pub(crate) fn hessian<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    let stride = m.size.nvpad;
    for i in 0..m.size.nv {
        let row = &mut d.solver_H[i * stride..][..=i];
        row.fill(T::zero());
        let adr = m.M_rowadr[i] as usize;
        let end = adr + m.M_rownnz[i] as usize;
        for (a, j) in d.M[adr..end].iter().zip(&m.M_colind[adr..end]) {
            row[*j as usize] = *a;
        }
    }
    let nefc = d.slot_nefc[0] as usize;
    let mut e = 0;
    while e < nefc {
        let n = d.solver_group[e] as usize;
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            hessian_cone(m, d, e, n, live);
        } else {
            hessian_rows(m, d, e, n, live);
        }
        e += n;
    }
}

// CPU only: tiles take row by row.
/// Adds the rows of a group, up to four in one pass over the triangle.
#[inline(always)]
fn hessian_rows<T: Real>(m: &Model<T>, d: &mut World<T>, first: usize, n: usize, live: T::Mask) {
    for e in (first..first + n).step_by(4) {
        let count = (first + n - e).min(4);
        let mut weight = [T::zero(); 4];
        let mut sum = T::zero();
        for r in 0..count {
            weight[r] = T::select(live, d.solver_D[e + r], T::zero());
            sum += weight[r];
        }
        if sum.same(T::zero()).all() {
            continue;
        }
        match count {
            1 => hessian_add::<T, 1>(m, d, e, first, &weight, None),
            2 => hessian_add::<T, 2>(m, d, e, first, &weight, None),
            3 => hessian_add::<T, 3>(m, d, e, first, &weight, None),
            _ => hessian_add::<T, 4>(m, d, e, first, &weight, None),
        }
    }
}

/// Adds an elliptic contact, all its rows in one pass.
#[inline(always)]
fn hessian_cone<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, n: usize, live: T::Mask) {
    let cone = Cone::new(d, e);
    let x = cone.load(&d.efc_Jaref, e);
    let zones = cone.zones(&x);
    let (quadratic, middle) = (zones.quadratic & live, zones.middle & live);
    if !(quadratic | middle).any() {
        return;
    }
    let mut weight = [T::zero(); 6];
    for r in 0..n {
        weight[r] = T::select(quadratic, cone.stiffness[r], T::zero());
    }
    let block = middle.any().then(|| {
        let mut block = cone_hessian(&cone, &x);
        for r in 0..n {
            for s in 0..n {
                block[r][s] = T::select(middle, block[r][s], if r == s { weight[r] } else { T::zero() });
            }
        }
        block
    });
    match n {
        3 => hessian_add::<T, 3>(m, d, e, e, &weight, block.as_ref()),
        4 => hessian_add::<T, 4>(m, d, e, e, &weight, block.as_ref()),
        _ => hessian_add::<T, 6>(m, d, e, e, &weight, block.as_ref()),
    }
}

/// Adds `Jᵀ B J` of R rows from row `e` on, of the group with this first row: B is their block, or the diagonal `weight`.
#[inline(always)]
fn hessian_add<T: Real, const R: usize>(
    m: &Model<T>,
    d: &mut World<T>,
    e: usize,
    first: usize,
    weight: &[T],
    block: Option<&[[T; 6]; 6]>,
) {
    let stride = m.size.nvpad;
    let nnz = d.efc_J_rownnz[first] as usize;
    let colind = &d.efc_J_colind[first * m.size.nv..][..nnz];
    let jac: [&[T]; R] = core::array::from_fn(|r| &d.solver_Jc[(e + r) * stride..][..nnz]);
    // two rows of H in one pass along the rows of J
    for i in (1..nnz).step_by(2) {
        let (p, q) = (weighted(&jac, i - 1, weight, block), weighted(&jac, i, weight, block));
        let (above, row_q) = d.solver_H.split_at_mut(colind[i] as usize * stride);
        let (row_p, row_q) = (&mut above[colind[i - 1] as usize * stride..][..stride], &mut row_q[..stride]);
        for k in 0..i {
            let (mut sum_p, mut sum_q) = (p[0] * jac[0][k], q[0] * jac[0][k]);
            for r in 1..R {
                sum_p += p[r] * jac[r][k];
                sum_q += q[r] * jac[r][k];
            }
            let j = colind[k] as usize;
            row_p[j] += sum_p;
            row_q[j] += sum_q;
        }
        row_q[colind[i] as usize] += sum_of(&jac, i, &q);
    }
    if nnz % 2 == 1 {
        let q = weighted(&jac, nnz - 1, weight, block);
        let row = &mut d.solver_H[colind[nnz - 1] as usize * stride..][..stride];
        for k in 0..nnz {
            row[colind[k] as usize] += sum_of(&jac, k, &q);
        }
    }
}

// CPU only: tiles have it in line.
/// Column `i` of rows of J, times their block or the diagonal `weight`.
#[inline(always)]
fn weighted<T: Real, const R: usize>(jac: &[&[T]; R], i: usize, weight: &[T], block: Option<&[[T; 6]; 6]>) -> [T; R] {
    let mut out = [T::zero(); R];
    for r in 0..R {
        out[r] = match block {
            None => weight[r] * jac[r][i],
            Some(block) => {
                let mut sum = block[r][0] * jac[0][i];
                for s in 1..R {
                    sum += block[r][s] * jac[s][i];
                }
                sum
            }
        };
    }
    out
}

// CPU only: tiles have it in line.
/// Column `k` of rows of J times a vector.
#[inline(always)]
fn sum_of<T: Real, const R: usize>(jac: &[&[T]; R], k: usize, x: &[T; R]) -> T {
    let mut sum = x[0] * jac[0][k];
    for r in 1..R {
        sum += x[r] * jac[r][k];
    }
    sum
}

/// `H = Lᵀ D L` in place, from the last dof to the first: no entry fills in on a kinematic tree. The diagonal becomes `1/D`.
///
/// Two rows are eliminated in one pass over each pair of rows above where they are not 0.
#[inline(always)]
pub(crate) fn factor<T: Real>(h: &mut [T], nv: usize, stride: usize) {
    for last in (0..nv).rev().step_by(2) {
        let (above, row) = h.split_at_mut(last * stride);
        let row = &mut row[..=last];
        let inv = pivot_inverse(row[last]);
        if last == 0 {
            row[0] = inv;
            return;
        }
        let (above, next) = above.split_at_mut((last - 1) * stride);
        let next = &mut next[..last];
        let l = row[last - 1] * inv;
        if !l.same(T::zero()).all() {
            for (a, b) in next.iter_mut().zip(&*row) {
                *a -= l * *b;
            }
        }
        let next_inv = pivot_inverse(next[last - 1]);
        for (j, above) in (0..last - 1).step_by(2).zip(above.chunks_mut(2 * stride)) {
            let (l, next_l) = (row[j] * inv, next[j] * next_inv);
            let (upper, lower) = above.split_at_mut(stride);
            let (upper, b, c) = (&mut upper[..=j], &row[..=j], &next[..=j]);
            if j + 2 == last {
                for k in 0..=j {
                    upper[k] = upper[k] - l * b[k] - next_l * c[k];
                }
                break;
            }
            let (l2, next_l2) = (row[j + 1] * inv, next[j + 1] * next_inv);
            let zero = |x: T| x.same(T::zero());
            if (zero(l) & zero(next_l) & zero(l2) & zero(next_l2)).all() {
                continue;
            }
            lower[j + 1] = lower[j + 1] - l2 * row[j + 1] - next_l2 * next[j + 1];
            let lower = &mut lower[..=j];
            for k in 0..=j {
                upper[k] = upper[k] - l * b[k] - next_l * c[k];
                lower[k] = lower[k] - l2 * b[k] - next_l2 * c[k];
            }
        }
        for b in &mut row[..last] {
            *b *= inv;
        }
        for b in &mut next[..last - 1] {
            *b *= next_inv;
        }
        (row[last], next[last - 1]) = (inv, next_inv);
    }
}

// CPU only: written out in the kernel.
/// The inverse of a pivot of a positive matrix; rounding may have left it at 0 or below.
#[inline(always)]
fn pivot_inverse<T: Real>(pivot: T) -> T {
    T::one() / pivot.max(T::r(MINVAL))
}

/// `x = H⁻¹ x` from the factor, two rows in one pass.
#[inline(always)]
pub(crate) fn solve<T: Real>(h: &[T], stride: usize, x: &mut [T]) {
    let nv = x.len();
    for last in (1..nv).rev().step_by(2) {
        let (row, next) = (&h[last * stride..][..last], &h[(last - 1) * stride..][..last - 1]);
        let p = x[last];
        let q = x[last - 1] - row[last - 1] * p;
        x[last - 1] = q;
        for ((a, b), c) in x[..last - 1].iter_mut().zip(row).zip(next) {
            *a = *a - *b * p - *c * q;
        }
    }
    for i in (0..nv).step_by(2) {
        let row = &h[i * stride..][..=i];
        let (before, here) = x.split_at_mut(i);
        let mut p = here[0] * row[i];
        if i + 1 == nv {
            for (a, b) in before.iter().zip(row) {
                p -= *a * *b;
            }
            here[0] = p;
            return;
        }
        let next = &h[(i + 1) * stride..][..i + 2];
        let mut q = here[1] * next[i + 1];
        for ((a, b), c) in before.iter().zip(row).zip(next) {
            p -= *a * *b;
            q -= *a * *c;
        }
        (here[0], here[1]) = (p, q - p * next[i]);
    }
}
