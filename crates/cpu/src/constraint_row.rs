//! What every constraint row has in common: impedance, stiffness and damping, regularizer, and where its nonzeros are.
//! Twin: `shaders/constraint_row.wgsl`.

use crate::math::{Vec3, ld3};
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MAXIMP, MINIMP, MINVAL, cone, disable};

/// `solref` of a row: two numbers, positive (time constant [s], damping ratio) or negative (stiffness, damping).
pub type Solref<T> = [T; 2];
/// `solimp` of a row: d0, dw, width, midpoint, power.
pub type Solimp<T> = [T; 5];

// CPU only: an accessor.
/// Element `i` of an array of `solref`.
#[inline(always)]
pub fn ld_solref<T: Real>(a: &[T], i: usize) -> Solref<T> {
    [a[2 * i], a[2 * i + 1]]
}

// CPU only: an accessor.
/// Element `i` of an array of `solimp`.
#[inline(always)]
pub fn ld_solimp<T: Real>(a: &[T], i: usize) -> Solimp<T> {
    [a[5 * i], a[5 * i + 1], a[5 * i + 2], a[5 * i + 3], a[5 * i + 4]]
}

// CPU only: a lane has its own row there.
/// The worlds in which an integer is not 0.
#[inline(always)]
pub fn nonzero<T: Real>(x: &T::Int) -> T::Mask {
    let mut flags = T::zero();
    for l in 0..T::LANES {
        if x.get(l) != 0 {
            flags.set_lane(l, Real::one());
        }
    }
    !flags.same(T::zero())
}

// CPU only: a lane has its own row there.
/// The worlds that have the contact or row of a slot in use, by its `contact_on` or `efc_on`. A slot of a single world is
/// there because the world has it.
#[inline(always)]
pub fn slot_mask<T: Real>(on: &T::Int) -> T::Mask {
    if T::LANES == 1 { T::Mask::splat(true) } else { nonzero::<T>(on) }
}

// CPU only: a lane has its own row there.
/// `x` in the worlds `on`, 0 in the others: a row that is zero has no effect.
#[inline(always)]
pub fn where_on<T: Real>(on: T::Mask, x: T) -> T {
    T::select(on, x, T::zero())
}

// CPU only: WGSL's own.
/// `x` within `lo` and `hi`.
#[inline(always)]
fn clamp<T: Real>(x: T, lo: f64, hi: f64) -> T {
    x.max(T::r(lo)).min(T::r(hi))
}

/// `x` to the power `p`; what the default power 2 needs without `pow`, which is good to three digits on some GPUs.
#[inline(always)]
fn impedance_power<T: Real>(x: T, p: T) -> T {
    let (square, plain) = (p.same(T::r(2.0)), p.same(T::one()));
    let y = T::select(square, x * x, x);
    let other = !(square | plain);
    if other.any() { T::select(other, x.powf(p), y) } else { y }
}

/// Impedance and its derivative at a violation `r` (documentation: modeling, "Impedance").
#[inline(always)]
pub fn impedance<T: Real>(solimp: Solimp<T>, r: T) -> (T, T) {
    let d0 = clamp(solimp[0], MINIMP, MAXIMP);
    let dw = clamp(solimp[1], MINIMP, MAXIMP);
    let width = solimp[2].max(T::zero());
    let mid = clamp(solimp[3], MINIMP, MAXIMP);
    let p = solimp[4].max(T::one());
    let flat = d0.same(dw) | width.le(T::r(MINVAL));
    let x = r.abs() / width;
    let far = x.ge(T::one());
    let still = x.same(T::zero());
    let mut imp = T::select(flat, (d0 + dw) * T::r(0.5), T::select(far, dw, d0));
    let mut slope = T::zero();
    let curved = !(flat | far | still);
    if curved.any() {
        let below = x.le(mid);
        let side = T::select(r.lt(T::zero()), -T::one(), T::one());
        // above the midpoint the curve runs backwards from the other end
        let (from, to) = (T::select(below, x, T::one() - x), T::select(below, mid, T::one() - mid));
        let a = T::one() / impedance_power(to, p - T::one());
        let y = a * impedance_power(from, p);
        let dy = p * a * impedance_power(from, p - T::one());
        let linear = p.same(T::one());
        let y = T::select(linear, x, T::select(below, y, T::one() - y));
        let dy = T::select(linear, T::one(), dy);
        imp = T::select(curved, d0 + y * (dw - d0), imp);
        slope = T::select(curved, side * dy * (dw - d0) / width, slope);
    }
    (imp, slope)
}

/// Whether a reference has one number of each format, which says nothing.
#[inline(always)]
pub fn is_mixed<T: Real>(solref: Solref<T>) -> T::Mask {
    let (timed, damped) = (solref[0].gt(T::zero()), solref[1].gt(T::zero()));
    (timed & !damped) | (damped & !timed)
}

/// Stiffness and damping of a row (documentation: modeling, "Reference"). `spring` is false for friction: no stiffness.
#[inline(always)]
pub fn spring_damper<T: Real>(m: &Model<T>, solref: Solref<T>, solimp: Solimp<T>, spring: bool) -> (T, T) {
    let tiny = T::r(MINVAL);
    let dw = clamp(solimp[1], MINIMP, MAXIMP);
    // the defaults where it says nothing
    let mixed = is_mixed(solref);
    let mut tc = T::select(mixed, T::r(0.02), solref[0]);
    let damp = T::select(mixed, T::one(), solref[1]);
    let (timed, damped) = (tc.gt(T::zero()), damp.gt(T::zero()));
    if m.opt.disableflags & disable::REFSAFE == 0 {
        tc = T::select(timed, tc.max(m.opt_timestep[0] * T::r(2.0)), tc);
    }
    let mut k = T::zero();
    if spring {
        let below = T::select(timed, dw * dw * tc * tc * damp * damp, dw * dw).max(tiny);
        k = T::select(timed, T::one(), -tc) / below;
    }
    let b = T::select(damped, T::r(2.0), -damp) / T::select(damped, dw * tc, dw).max(tiny);
    (k, b)
}

/// The regularizer of an impedance and an estimated diagonal of J M⁻¹ Jᵀ.
#[inline(always)]
pub fn regularizer<T: Real>(imp: T, diag: T) -> T {
    ((T::one() - imp) * diag / imp).max(T::r(MINVAL))
}

/// Writes stiffness, damping, impedance and its derivative of row `r` of the worlds `on`.
#[inline(always)]
pub fn st_kbip<T: Real>(d: &mut World<T>, on: T::Mask, r: usize, kb: (T, T), imp: (T, T)) {
    let kbip = [kb.0, kb.1, imp.0, imp.1];
    for (to, x) in d.efc_KBIP[4 * r..4 * r + 4].iter_mut().zip(kbip) {
        *to = where_on(on, x);
    }
}

/// Writes a regularizer and what follows from it: D, and the diagonal that the impedance stands for.
#[inline(always)]
pub fn st_regularizer<T: Real>(d: &mut World<T>, on: T::Mask, r: usize, reg: T, imp: T) {
    d.efc_R[r] = where_on(on, reg);
    d.efc_D[r] = where_on(on, T::one() / reg);
    d.efc_diagA[r] = where_on(on, reg * imp / (T::one() - imp));
}

/// Writes what identifies row `r` and what it is measured by.
#[expect(clippy::too_many_arguments, reason = "what a row is made of")]
#[inline(always)]
pub fn st_row<T: Real>(
    d: &mut World<T>,
    on: T::Mask,
    r: usize,
    kind: i32,
    id: usize,
    pos: T,
    margin: T,
    frictionloss: T,
) {
    d.efc_type[r] = kind;
    d.efc_id[r] = index(id);
    d.efc_pos[r] = where_on(on, pos);
    d.efc_margin[r] = where_on(on, margin);
    d.efc_frictionloss[r] = where_on(on, frictionloss);
}

/// A row of its own (joints and tendons): everything but its Jacobian.
#[expect(clippy::too_many_arguments, reason = "what a row is made of")]
#[inline(always)]
pub fn st_scalar_row<T: Real>(
    m: &Model<T>,
    d: &mut World<T>,
    on: T::Mask,
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
    st_row(d, on, r, kind, id, pos, margin, frictionloss);
    let imp = impedance(solimp, pos - margin);
    st_kbip(d, on, r, spring_damper(m, solref, solimp, spring), imp);
    st_regularizer(d, on, r, regularizer(imp.0, diag), imp.0);
}

/// Starts rows of the Jacobian: `nrow` from `r0` on, of one object, with room for `n` nonzeros each.
#[inline(always)]
pub fn zero_rows<T: Real>(m: &Model<T>, d: &mut World<T>, r0: usize, nrow: usize, n: usize) {
    let stride = m.size.njrow;
    d.efc_J_rownnz[r0..r0 + nrow].fill(index(n));
    d.efc_J_colind[r0 * stride + n..(r0 + 1) * stride].fill(-1);
}

// CPU only: lists of columns.
/// Gives the rows of one object the columns of their first row.
#[inline(always)]
pub fn share_columns<T: Real>(m: &Model<T>, d: &mut World<T>, r0: usize, nrow: usize) {
    let stride = m.size.njrow;
    for r in r0 + 1..r0 + nrow {
        d.efc_J_colind.copy_within(r0 * stride..(r0 + 1) * stride, r * stride);
    }
}

/// Stiffest row in f32: a regularizer below this part of the row's own inverse inertia is lost in the solver's sums.
const STIFFEST: f64 = 1e-6;

/// f32 only: keeps rows whose estimated diagonal is next to nothing (a wheel's centre does not move, so MuJoCo takes its
/// rim for immovable and gives D = 1e15) from swamping the solver. The regularizers of `nrow` rows from `r0` on rise by one
/// factor until each is 1e-6 of its row's inverse inertia; rows that move nothing get no weight at all. `diag` is the estimate
/// of the rows' inverse inertia: only an edge of a pyramid of little friction has a regularizer below 1e-4 of it.
#[inline(always)]
pub fn limit_stiffness<T: Real>(m: &Model<T>, d: &mut World<T>, r0: usize, nrow: usize, diag: T) {
    if !T::TWO_FLOAT {
        return;
    }
    // R of 1e-8 /kg: a stiff weld of 100 t; worlds without the row have R = 0 and keep it
    let stiff = slot_mask::<T>(&d.efc_on[r0]) & d.efc_R[r0].lt((diag * T::r(1e-4)).max(T::r(1e-8)));
    if !stiff.any() {
        return;
    }
    let mut factor = T::one();
    let mut moved = T::zero();
    for r in r0..r0 + nrow {
        let mut inverse = T::zero();
        for n in 0..id(d.efc_J_rownnz[r]) {
            let j = d.efc_Jc[r * m.size.njrow + n];
            inverse += j * j * m.dof_invweight0[id(d.efc_J_colind[r * m.size.njrow + n])];
        }
        moved = moved.max(inverse);
        factor = factor.max(inverse * T::r(STIFFEST) / d.efc_R[r]);
    }
    for r in r0..r0 + nrow {
        let reg = d.efc_R[r] * factor;
        let weight = T::select(moved.gt(T::zero()), T::one() / reg, T::zero());
        d.efc_R[r] = T::select(stiff, reg, d.efc_R[r]);
        d.efc_D[r] = T::select(stiff, weight, d.efc_D[r]);
    }
}

// CPU only: a kernel has no other J.
/// Writes the rows of J out in full, for whoever looks at a world; the stages need their nonzeros only.
#[inline(always)]
pub fn dense_rows<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let (stride, nvpad) = (m.size.njrow, m.size.nvpad);
    for r in 0..id(d.slot_nefc[0]) {
        let row = &mut d.efc_J[r * nvpad..][..nvpad];
        row.fill(T::zero());
        for n in 0..id(d.efc_J_rownnz[r]) {
            row[id(d.efc_J_colind[r * stride + n])] = d.efc_Jc[r * stride + n];
        }
    }
}

// CPU only: lists of columns.
/// Adds a nonzero to row `r` of the worlds `on`; columns come in ascending order.
#[inline(always)]
pub fn push_nonzero<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, r: usize, col: usize, value: T) {
    let n = id(d.efc_J_rownnz[r]);
    d.efc_Jc[r * m.size.njrow + n] = where_on(on, value);
    d.efc_J_colind[r * m.size.njrow + n] = index(col);
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
pub fn last_dof<T: Real>(m: &Model<T>, b: usize) -> i32 {
    let top = id(m.body_weldid[b]);
    if m.body_dofnum[top] > 0 { m.body_dofadr[top] + m.body_dofnum[top] - 1 } else { -1 }
}

// CPU only: lists of columns.
/// Number of dofs that move body `b1` or body `b2`; without those that move both if `common` is false.
#[inline(always)]
pub fn chain_length<T: Real>(m: &Model<T>, b1: usize, b2: usize, common: bool) -> usize {
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
pub fn point_jac<T: Real>(d: &World<T>, i: usize, offset: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    let rot = ld3(&d.cdof, 2 * i);
    (ld3(&d.cdof, 2 * i + 1) + rot.cross(&offset), rot)
}

/// Rows of a contact of `dim` dimensions between two bodies; none where nothing moves the one against the other.
#[inline(always)]
pub fn contact_rownum<T: Real>(m: &Model<T>, b1: usize, b2: usize, dim: i32) -> usize {
    if last_dof(m, b1) == last_dof(m, b2) {
        return 0;
    }
    let dim = id(dim);
    if dim > 1 && m.opt.cone == cone::PYRAMIDAL { 2 * (dim - 1) } else { dim }
}

/// The bodies of contact `c`.
#[inline(always)]
pub fn contact_bodies<T: Real>(m: &Model<T>, d: &World<T>, c: usize) -> (usize, usize) {
    let (g1, g2) = (id(d.contact_geom[2 * c]), id(d.contact_geom[2 * c + 1]));
    (id(m.geom_bodyid[g1]), id(m.geom_bodyid[g2]))
}
