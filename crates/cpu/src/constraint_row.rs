//! What every constraint row has in common: impedance, stiffness and damping, regularizer, and where its nonzeros are.
//! Twin: `shaders/constraint_row.wgsl`.

use crate::math::{Vec3, ld3};
use crate::{Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MAXIMP, MINIMP, MINVAL, disable};

/// `solref` of a row: two numbers, positive (time constant [s], damping ratio) or negative (stiffness, damping).
pub type Solref<T> = [T; 2];
/// `solimp` of a row: d0, dw, width, midpoint, power.
pub type Solimp<T> = [T; 5];

// CPU only: an accessor.
/// Element `i` of an array of `solref`.
#[inline(always)]
pub fn ld_solref<T: Scalar>(a: &[T], i: usize) -> Solref<T> {
    [a[2 * i], a[2 * i + 1]]
}

// CPU only: an accessor.
/// Element `i` of an array of `solimp`.
#[inline(always)]
pub fn ld_solimp<T: Scalar>(a: &[T], i: usize) -> Solimp<T> {
    [a[5 * i], a[5 * i + 1], a[5 * i + 2], a[5 * i + 3], a[5 * i + 4]]
}

// CPU only: WGSL's own.
/// `x` within `lo` and `hi`.
#[inline(always)]
fn clamp<T: Scalar>(x: T, lo: f64, hi: f64) -> T {
    x.max(T::r(lo)).min(T::r(hi))
}

/// `x` to the power `p`; what the default power 2 needs without `pow`, which is good to three digits on some GPUs.
#[inline(always)]
fn impedance_power<T: Scalar>(x: T, p: T) -> T {
    if p == T::r(2.0) {
        x * x
    } else if p == T::one() {
        x
    } else {
        x.powf(p)
    }
}

/// Impedance and its derivative at a violation `r` (documentation: modeling, "Impedance").
#[inline(always)]
pub fn impedance<T: Scalar>(solimp: Solimp<T>, r: T) -> (T, T) {
    let d0 = clamp(solimp[0], MINIMP, MAXIMP);
    let dw = clamp(solimp[1], MINIMP, MAXIMP);
    let width = solimp[2].max(T::zero());
    let mid = clamp(solimp[3], MINIMP, MAXIMP);
    let p = solimp[4].max(T::one());
    if d0 == dw || width <= T::r(MINVAL) {
        return ((d0 + dw) * T::r(0.5), T::zero());
    }
    let x = r.abs() / width;
    let side = if r < T::zero() { -T::one() } else { T::one() };
    if x >= T::one() {
        return (dw, T::zero());
    }
    if x == T::zero() {
        return (d0, T::zero());
    }
    let (y, dy) = if p == T::one() {
        (x, T::one())
    } else if x <= mid {
        let a = T::one() / impedance_power(mid, p - T::one());
        (a * impedance_power(x, p), p * a * impedance_power(x, p - T::one()))
    } else {
        let b = T::one() / impedance_power(T::one() - mid, p - T::one());
        (T::one() - b * impedance_power(T::one() - x, p), p * b * impedance_power(T::one() - x, p - T::one()))
    };
    (d0 + y * (dw - d0), side * dy * (dw - d0) / width)
}

/// Stiffness and damping of a row (documentation: modeling, "Reference"). `spring` is false for friction: no stiffness.
#[inline(always)]
pub fn spring_damper<T: Scalar>(m: &Model<T>, solref: Solref<T>, solimp: Solimp<T>, spring: bool) -> (T, T) {
    let tiny = T::r(MINVAL);
    let dw = clamp(solimp[1], MINIMP, MAXIMP);
    let mut tc = solref[0];
    let mut damp = solref[1];
    // one number of each format says nothing: the defaults then
    if (tc > T::zero()) != (damp > T::zero()) {
        tc = T::r(0.02);
        damp = T::one();
    }
    if m.opt.disableflags & disable::REFSAFE == 0 && tc > T::zero() {
        tc = tc.max(m.opt_timestep[0] * T::r(2.0));
    }
    let k = if !spring {
        T::zero()
    } else if tc > T::zero() {
        T::one() / (dw * dw * tc * tc * damp * damp).max(tiny)
    } else {
        -tc / (dw * dw).max(tiny)
    };
    let b = if damp > T::zero() { T::r(2.0) / (dw * tc).max(tiny) } else { -damp / dw.max(tiny) };
    (k, b)
}

/// The regularizer of an impedance and an estimated diagonal of J M⁻¹ Jᵀ.
#[inline(always)]
pub fn regularizer<T: Scalar>(imp: T, diag: T) -> T {
    ((T::one() - imp) * diag / imp).max(T::r(MINVAL))
}

/// Writes stiffness, damping, impedance and its derivative of row `r`.
#[inline(always)]
pub fn st_kbip<T: Scalar>(d: &mut World<T>, r: usize, kb: (T, T), imp: (T, T)) {
    d.efc_KBIP[4 * r..4 * r + 4].copy_from_slice(&[kb.0, kb.1, imp.0, imp.1]);
}

/// Writes a regularizer and what follows from it: D, and the diagonal that the impedance stands for.
#[inline(always)]
pub fn st_regularizer<T: Scalar>(d: &mut World<T>, r: usize, reg: T, imp: T) {
    d.efc_R[r] = reg;
    d.efc_D[r] = T::one() / reg;
    d.efc_diagA[r] = reg * imp / (T::one() - imp);
}

/// Writes what identifies row `r` and what it is measured by.
#[inline(always)]
pub fn st_row<T: Scalar>(d: &mut World<T>, r: usize, kind: i32, id: usize, pos: T, margin: T, frictionloss: T) {
    d.efc_type[r] = kind;
    d.efc_id[r] = index(id);
    d.efc_pos[r] = pos;
    d.efc_margin[r] = margin;
    d.efc_frictionloss[r] = frictionloss;
}

/// A row of its own (joints and tendons): everything but its Jacobian.
#[expect(clippy::too_many_arguments, reason = "what a row is made of")]
#[inline(always)]
pub fn st_scalar_row<T: Scalar>(
    m: &Model<T>,
    d: &mut World<T>,
    r: usize,
    kind: i32,
    id: usize,
    pos: T,
    margin: T,
    frictionloss: T,
    diag: T,
    solref: Solref<T>,
    solimp: Solimp<T>,
    spring: bool,
) {
    st_row(d, r, kind, id, pos, margin, frictionloss);
    let imp = impedance(solimp, pos - margin);
    st_kbip(d, r, spring_damper(m, solref, solimp, spring), imp);
    st_regularizer(d, r, regularizer(imp.0, diag), imp.0);
}

/// Sets rows of the Jacobian to zero: `nrow` from `r0` on, of one object, with room for `n` nonzeros each.
#[inline(always)]
pub fn zero_rows<T: Scalar>(m: &Model<T>, d: &mut World<T>, r0: usize, nrow: usize, n: usize) {
    let (nv, nvpad) = (m.size.nv, m.size.nvpad);
    d.efc_J[r0 * nvpad..(r0 + nrow) * nvpad].fill(T::zero());
    d.efc_J_rownnz[r0..r0 + nrow].fill(index(n));
    d.efc_J_colind[r0 * nv + n..(r0 + 1) * nv].fill(-1);
}

// CPU only: lists of columns.
/// Gives the rows of one object the columns of their first row.
#[inline(always)]
pub fn share_columns<T: Scalar>(m: &Model<T>, d: &mut World<T>, r0: usize, nrow: usize) {
    let nv = m.size.nv;
    for r in r0 + 1..r0 + nrow {
        d.efc_J_colind.copy_within(r0 * nv..(r0 + 1) * nv, r * nv);
    }
}

/// Stiffest row in f32: a regularizer below this part of the row's own inverse inertia is lost in the solver's sums.
const STIFFEST: f64 = 1e-6;

/// f32 only: keeps rows whose estimated diagonal is next to nothing (a wheel's centre does not move, so MuJoCo takes its
/// rim for immovable and gives D = 1e15) from swamping the solver. The regularizers of `nrow` rows from `r0` on rise by one
/// factor until each is 1e-6 of its row's inverse inertia; rows that move nothing get no weight at all.
#[inline(always)]
pub fn limit_stiffness<T: Scalar>(m: &Model<T>, d: &mut World<T>, r0: usize, nrow: usize) {
    // R of 1e-8 /kg: a stiff weld of 100 t
    if !T::TWO_FLOAT || d.efc_R[r0] >= T::r(1e-8) {
        return;
    }
    let mut factor = T::one();
    let mut moved = T::zero();
    for r in r0..r0 + nrow {
        let mut inverse = T::zero();
        for i in 0..m.size.nv {
            let j = d.efc_J[r * m.size.nvpad + i];
            inverse += j * j * m.dof_invweight0[i];
        }
        moved = moved.max(inverse);
        factor = factor.max(inverse * T::r(STIFFEST) / d.efc_R[r]);
    }
    for r in r0..r0 + nrow {
        d.efc_R[r] *= factor;
        d.efc_D[r] = if moved > T::zero() { T::one() / d.efc_R[r] } else { T::zero() };
    }
}

// CPU only: lists of columns.
/// Adds a nonzero to row `r`; columns come in ascending order.
#[inline(always)]
pub fn push_nonzero<T: Scalar>(m: &Model<T>, d: &mut World<T>, r: usize, col: usize, value: T) {
    let n = id(d.efc_J_rownnz[r]);
    d.efc_J[r * m.size.nvpad + col] = value;
    d.efc_J_colind[r * m.size.nv + n] = index(col);
    d.efc_J_rownnz[r] = index(n + 1);
}

// CPU only: a cast.
/// An id or a count as an index; what is not one reads as 0.
#[inline(always)]
pub fn id(x: i32) -> usize {
    usize::try_from(x).unwrap_or(0)
}

// CPU only: a cast.
/// An index as the table keeps it.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "sizes of a model fit")]
pub fn index(x: usize) -> i32 {
    x as i32
}

/// The last dof that moves body `b`, -1: none.
#[inline(always)]
pub fn last_dof<T: Scalar>(m: &Model<T>, b: usize) -> i32 {
    let top = id(m.body_weldid[b]);
    if m.body_dofnum[top] > 0 { m.body_dofadr[top] + m.body_dofnum[top] - 1 } else { -1 }
}

// CPU only: lists of columns.
/// Number of dofs that move body `b1` or body `b2`; without those that move both if `common` is false.
#[inline(always)]
pub fn chain_length<T: Scalar>(m: &Model<T>, b1: usize, b2: usize, common: bool) -> usize {
    let mut i1 = last_dof(m, b1);
    let mut i2 = last_dof(m, b2);
    let mut n = 0;
    while i1 != i2 || (common && i1 >= 0) {
        let i = i1.max(i2);
        if i == i1 {
            i1 = m.dof_parentid[id(i)];
        }
        if i == i2 {
            i2 = m.dof_parentid[id(i)];
        }
        n += 1;
    }
    n
}

/// Velocity of the point at `offset` from the tree's centre of mass, and the angular velocity, a unit of dof `i`.
#[inline(always)]
pub fn point_jac<T: Scalar>(d: &World<T>, i: usize, offset: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    let rot = ld3(&d.cdof, 2 * i);
    (ld3(&d.cdof, 2 * i + 1) + rot.cross(&offset), rot)
}

/// The bodies of contact `c`.
#[inline(always)]
pub fn contact_bodies<T: Scalar>(m: &Model<T>, d: &World<T>, c: usize) -> (usize, usize) {
    let (g1, g2) = (id(d.contact_geom[2 * c]), id(d.contact_geom[2 * c + 1]));
    (id(m.geom_bodyid[g1]), id(m.geom_bodyid[g2]))
}
