//! Matrices over dofs: M times a vector, the solver's Hessian, its factor and solution. Twin: `shaders/solver_matrix.wgsl`.

use crate::cone::{Cone, cone_hessian};
use crate::{Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr};
use kiloworld_layout::triangle;

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

// CPU only: the GPU's tiles are dense.
/// Where `solver_H` and its factor can have entries. Its rows are taken in pairs from the last one up, so are its columns; a
/// pair touches another where M or a group of rows has an entry, or where elimination makes one.
#[inline(always)]
pub(crate) fn tiles<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let nv = m.size.nv;
    let npair = nv.div_ceil(2);
    let pair = |i: i32| (nv - 1 - i as usize) / 2;
    d.solver_touch.fill(0);
    for i in 0..nv {
        let adr = m.M_rowadr[i] as usize;
        let row = &mut d.solver_touch[(nv - 1 - i) / 2 * npair..][..npair];
        for k in adr..adr + m.M_rownnz[i] as usize {
            row[pair(m.M_colind[k])] = 1;
        }
    }
    let mut e = 0;
    while e < d.slot_nefc[0] as usize {
        let colind = &d.efc_J_colind[e * m.size.njrow..][..d.efc_J_rownnz[e] as usize];
        for (k, &i) in colind.iter().enumerate() {
            // once a pair of rows: for the one with more columns
            if k + 1 == colind.len() || pair(colind[k + 1]) != pair(i) {
                let row = &mut d.solver_touch[pair(i) * npair..][..npair];
                for &j in &colind[..=k] {
                    row[pair(j)] = 1;
                }
            }
        }
        e += d.solver_group[e] as usize;
    }
    for p in 0..npair {
        let (row, rest) = d.solver_touch[p * npair..].split_at_mut(npair);
        let list = &mut d.solver_tile[p * npair..][..npair];
        let mut n = 0;
        for q in p + 1..npair {
            if row[q] != 0 {
                n += 1;
                list[n] = q as i32;
            }
        }
        list[0] = n as i32;
        for k in 1..=n {
            let fill = &mut rest[(list[k] as usize - p - 1) * npair..][..npair];
            for &q in &list[k + 1..=n] {
                fill[q as usize] = 1;
            }
        }
    }
}

// CPU only: as `tiles`.
/// The columns of pair `p`: the higher, and the lower if there are two.
#[inline(always)]
fn columns(nv: usize, p: i32) -> (usize, Option<usize>) {
    let high = nv - 1 - 2 * p as usize;
    (high, high.checked_sub(1))
}

/// `solver_Hc = M + Jᵀ s″ J`. Rows count in the worlds that are `live`; the others' forces are found.
#[inline(always)]
pub(crate) fn hessian<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    let nv = m.size.nv;
    for i in 0..nv {
        let row = &mut d.solver_Hc[triangle(i)..][..=i];
        row[i.saturating_sub(1)] = T::zero();
        let list = &d.solver_tile[(nv - 1 - i) / 2 * nv.div_ceil(2)..];
        for &q in &list[1..=list[0] as usize] {
            let (high, low) = columns(nv, q);
            row[high] = T::zero();
            if let Some(low) = low {
                row[low] = T::zero();
            }
        }
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
    let nnz = d.efc_J_rownnz[first] as usize;
    let colind = &d.efc_J_colind[first * m.size.njrow..][..nnz];
    let jac: [&[T]; R] = core::array::from_fn(|r| &d.efc_Jc[(e + r) * m.size.njrow..][..nnz]);
    // two rows of H in one pass along the rows of J
    for i in (1..nnz).step_by(2) {
        let (p, q) = (weighted(&jac, i - 1, weight, block), weighted(&jac, i, weight, block));
        let [at_p, at_q] = [colind[i - 1], colind[i]].map(|j| j as usize);
        let (above, row_q) = d.solver_Hc.split_at_mut(triangle(at_q));
        let (row_p, row_q) = (&mut above[triangle(at_p)..][..=at_p], &mut row_q[..=at_q]);
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
        row_q[at_q] += sum_of(&jac, i, &q);
    }
    if nnz % 2 == 1 {
        let q = weighted(&jac, nnz - 1, weight, block);
        let row = &mut d.solver_Hc[triangle(colind[nnz - 1] as usize)..];
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
/// Two rows are eliminated at once from each pair of rows above that they touch, tile by tile of [`tiles`].
#[inline(always)]
pub(crate) fn factor<T: Real>(h: &mut [T], nv: usize, tile: &[i32]) {
    let npair = nv.div_ceil(2);
    for p in 0..npair {
        let list = &tile[p * npair..][..npair];
        let list = &list[1..=list[0] as usize];
        let (last, next) = columns(nv, p as i32);
        let inv = pivot_inverse(h[triangle(last) + last]);
        let Some(next) = next else {
            h[0] = inv;
            return;
        };
        let (above, rows) = h.split_at_mut(triangle(next));
        let (c, b) = rows.split_at_mut(last);
        let b = &mut b[..=last];
        // the upper of the two rows loses what the lower one has of it
        let l = b[next] * inv;
        c[next] -= l * b[next];
        for &q in list {
            let (high, low) = columns(nv, q);
            c[high] -= l * b[high];
            if let Some(low) = low {
                c[low] -= l * b[low];
            }
        }
        let next_inv = pivot_inverse(c[next]);
        for (k, &q) in list.iter().enumerate() {
            let (high, low) = columns(nv, q);
            let (l, next_l) = (b[high] * inv, c[high] * next_inv);
            let Some(low) = low else {
                above[0] = above[0] - l * b[0] - next_l * c[0];
                break;
            };
            let (l2, next_l2) = (b[low] * inv, c[low] * next_inv);
            let zero = |x: T| x.same(T::zero());
            if (zero(l) & zero(next_l) & zero(l2) & zero(next_l2)).all() {
                continue;
            }
            let (lower, upper) = above[triangle(low)..].split_at_mut(high);
            let upper = &mut upper[..=high];
            upper[high] = upper[high] - l * b[high] - next_l * c[high];
            upper[low] = upper[low] - l * b[low] - next_l * c[low];
            lower[low] = lower[low] - l2 * b[low] - next_l2 * c[low];
            for &q in &list[k + 1..] {
                let (high, low) = columns(nv, q);
                let (x, y) = (b[high], c[high]);
                upper[high] = upper[high] - l * x - next_l * y;
                lower[high] = lower[high] - l2 * x - next_l2 * y;
                if let Some(low) = low {
                    let (x, y) = (b[low], c[low]);
                    upper[low] = upper[low] - l * x - next_l * y;
                    lower[low] = lower[low] - l2 * x - next_l2 * y;
                }
            }
        }
        b[next] = l;
        for &q in list {
            let (high, low) = columns(nv, q);
            (b[high], c[high]) = (b[high] * inv, c[high] * next_inv);
            if let Some(low) = low {
                (b[low], c[low]) = (b[low] * inv, c[low] * next_inv);
            }
        }
        (b[last], c[next]) = (inv, next_inv);
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
pub(crate) fn solve<T: Real>(h: &[T], tile: &[i32], x: &mut [T]) {
    let nv = x.len();
    let npair = nv.div_ceil(2);
    for p in 0..nv / 2 {
        let list = &tile[p * npair..][..npair];
        let last = nv - 1 - 2 * p;
        let (b, c) = (&h[triangle(last)..][..last], &h[triangle(last - 1)..][..last]);
        let u = x[last];
        let v = x[last - 1] - b[last - 1] * u;
        x[last - 1] = v;
        for &q in &list[1..=list[0] as usize] {
            let (high, low) = columns(nv, q);
            x[high] = x[high] - b[high] * u - c[high] * v;
            if let Some(low) = low {
                x[low] = x[low] - b[low] * u - c[low] * v;
            }
        }
    }
    for p in (0..npair).rev() {
        let list = &tile[p * npair..][..npair];
        let (last, next) = columns(nv, p as i32);
        let b = &h[triangle(last)..][..=last];
        let mut u = x[last] * b[last];
        let Some(next) = next else {
            x[last] = u;
            continue;
        };
        let c = &h[triangle(next)..][..=next];
        let mut v = x[next] * c[next];
        for &q in list[1..=list[0] as usize].iter().rev() {
            let (high, low) = columns(nv, q);
            if let Some(low) = low {
                u -= x[low] * b[low];
                v -= x[low] * c[low];
            }
            u -= x[high] * b[high];
            v -= x[high] * c[high];
        }
        (x[last], x[next]) = (u - v * b[next], v);
    }
}
