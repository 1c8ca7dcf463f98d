//! Stage `inertia`: composite inertia, inertia matrix, its factor. Twin: `shaders/inertia.wgsl`.
//!
//! M is kept as MuJoCo keeps it: the lower triangle by rows, a row holding the dofs above in ascending order and the
//! diagonal last. Since the dofs above are ordered by depth, entry k of a row belongs to the dof above at depth k, and the
//! dofs below dof i are the `dof_descnum[i]` next ones. LᵀDL has no fill-in.

use crate::spatial::{dot6, inert_add, inert_mul, ld6, ld10, st10};
use crate::{Real, World};
use kiloworld_layout::Model;

/// Composite inertias, M, its factor (`mj_makeM`, `mj_factorM`).
#[inline(always)]
pub fn inertia<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for level in (0..m.size.nlevel).rev() {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_composite(m, d, m.level_body[k as usize] as usize);
        }
    }
    for i in 0..m.size.nv {
        mass_row(m, d, i);
    }
    d.qLD.copy_from_slice(&d.M);
    factor_m(m, &mut d.qLD, &mut d.qLDiagInv);
}

/// Inertia of a subtree about the centre of mass of its tree; the world has none.
#[inline(always)]
fn body_composite<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let mut sum = ld10(&d.cinert, b);
    if b > 0 {
        for k in 0..m.body_childnum[b] {
            let c = m.level_body[(m.body_childadr[b] + k) as usize] as usize;
            sum = inert_add(sum, ld10(&d.crb, c));
        }
    }
    st10(&mut d.crb, b, sum);
}

/// A row of M: the force that moves the subtree below dof `i`, along the axes of the dofs above.
#[inline(always)]
fn mass_row<T: Real>(m: &Model<T>, d: &mut World<T>, i: usize) {
    let force = inert_mul(ld10(&d.crb, m.dof_bodyid[i] as usize), ld6(&d.cdof, i));
    let (adr, n) = (m.M_rowadr[i] as usize, m.M_rownnz[i] as usize);
    for k in 0..n {
        d.M[adr + k] = dot6(ld6(&d.cdof, m.M_colind[adr + k] as usize), force);
    }
    d.M[adr + n - 1] += m.dof_armature[i];
}

/// Factors a matrix of M's sparsity in place: Lᵀ D L, with D on the diagonal of `ld` and 1/D in `diag_inv`.
#[inline(always)]
pub fn factor_m<T: Real>(m: &Model<T>, ld: &mut [T], diag_inv: &mut [T]) {
    for level in (0..m.size.ndoflevel).rev() {
        for k in m.doflevel_adr[level]..m.doflevel_adr[level + 1] {
            factor_row(m, ld, diag_inv, m.doflevel_dof[k as usize] as usize);
        }
    }
    for i in 0..m.size.nv {
        scale_row(m, ld, diag_inv, i);
    }
}

/// Row `i` of D L from the rows below.
#[inline(always)]
fn factor_row<T: Real>(m: &Model<T>, ld: &mut [T], diag_inv: &mut [T], i: usize) {
    let (adr, n) = (m.M_rowadr[i] as usize, m.M_rownnz[i] as usize);
    for below in i + 1..i + 1 + m.dof_descnum[i] as usize {
        let row = m.M_rowadr[below] as usize;
        // the rows below lie behind
        let (own, other) = ld.split_at_mut(row);
        let s = other[n - 1] * diag_inv[below];
        for k in 0..n {
            own[adr + k] -= s * other[k];
        }
    }
    diag_inv[i] = T::one() / ld[adr + n - 1];
}

/// Row `i` of L from that of D L; D stays on the diagonal.
#[inline(always)]
fn scale_row<T: Real>(m: &Model<T>, ld: &mut [T], diag_inv: &[T], i: usize) {
    let adr = m.M_rowadr[i] as usize;
    for k in 0..m.M_rownnz[i] as usize - 1 {
        ld[adr + k] *= diag_inv[i];
    }
}

/// Solves Lᵀ D L x = x in place, with the factor of [`factor_m`].
#[inline(always)]
pub fn solve_m<T: Real>(m: &Model<T>, ld: &[T], diag_inv: &[T], x: &mut [T]) {
    for level in (0..m.size.ndoflevel).rev() {
        for k in m.doflevel_adr[level]..m.doflevel_adr[level + 1] {
            solve_up(m, ld, x, m.doflevel_dof[k as usize] as usize);
        }
    }
    for level in 0..m.size.ndoflevel {
        for k in m.doflevel_adr[level]..m.doflevel_adr[level + 1] {
            solve_down(m, ld, diag_inv, x, m.doflevel_dof[k as usize] as usize);
        }
    }
}

/// Element `i` of L⁻ᵀ x, from the dofs below.
#[inline(always)]
fn solve_up<T: Real>(m: &Model<T>, ld: &[T], x: &mut [T], i: usize) {
    let depth = m.M_rownnz[i] as usize - 1;
    let mut sum = x[i];
    for below in i + 1..i + 1 + m.dof_descnum[i] as usize {
        sum -= ld[m.M_rowadr[below] as usize + depth] * x[below];
    }
    x[i] = sum;
}

/// Element `i` of L⁻¹ D⁻¹ x, from the dofs above.
#[inline(always)]
fn solve_down<T: Real>(m: &Model<T>, ld: &[T], diag_inv: &[T], x: &mut [T], i: usize) {
    let adr = m.M_rowadr[i] as usize;
    let mut sum = x[i] * diag_inv[i];
    for k in 0..m.M_rownnz[i] as usize - 1 {
        sum -= ld[adr + k] * x[m.M_colind[adr + k] as usize];
    }
    x[i] = sum;
}

/// `y` = M `x` for a matrix of M's sparsity.
// CPU only: kernels write it out for their matrix
#[inline(always)]
pub fn mul_m<T: Real>(m: &Model<T>, a: &[T], x: &[T], y: &mut [T]) {
    for i in 0..m.size.nv {
        y[i] = mul_row(m, a, x, i);
    }
}

/// Element `i` of M `x`: the row, then the column below.
// CPU only: kernels write it out for their matrix
#[inline(always)]
pub fn mul_row<T: Real>(m: &Model<T>, a: &[T], x: &[T], i: usize) -> T {
    let (adr, n) = (m.M_rowadr[i] as usize, m.M_rownnz[i] as usize);
    let mut sum = T::zero();
    for k in 0..n {
        sum += a[adr + k] * x[m.M_colind[adr + k] as usize];
    }
    for below in i + 1..i + 1 + m.dof_descnum[i] as usize {
        sum += a[m.M_rowadr[below] as usize + n - 1] * x[below];
    }
    sum
}
