//! Constraint rows as the solver uses them: products with J, forces and zones of the cost. Twin: `shaders/rows.wgsl`.
//!
//! A group is the run of rows of one object (a contact, an equality constraint, a joint limit …). Its rows have the same
//! columns, so their nonzeros are kept side by side in `efc_Jc`. Rows of a group are taken up to four at a time, by their
//! place in the group, and products with J run along ascending columns: a row or a column of zeros, which another world of
//! the register may have put there, changes no bit.

use crate::cone::{Cone, cone_cost, cone_force};
use crate::solver_matrix::mul_m;
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{cnstr, state};

// CPU only: WGSL has its own.
/// The scalar product of vectors over dofs, in four partial sums.
#[inline(always)]
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut s = [T::zero(); 4];
    let (ac, bc) = (a.chunks_exact(4), b.chunks_exact(4));
    let mut tail = T::zero();
    for (x, y) in ac.remainder().iter().zip(bc.remainder()) {
        tail += *x * *y;
    }
    for (x, y) in ac.zip(bc) {
        for k in 0..4 {
            s[k] += x[k] * y[k];
        }
    }
    (s[0] + s[1]) + (s[2] + s[3]) + tail
}

// CPU only: the GPU reads rows of J whole.
/// Finds the groups.
#[inline(always)]
pub(crate) fn rows_group<T: Real>(d: &mut World<T>) {
    let nefc = d.slot_nefc[0] as usize;
    let mut first = 0;
    while first < nefc {
        let mut e = first + 1;
        while e < nefc && d.efc_type[e] == d.efc_type[first] && d.efc_id[e] == d.efc_id[first] {
            e += 1;
        }
        d.solver_group[first] = (e - first) as i32;
        first = e;
    }
    d.solver_live[..nefc].fill(1);
}

// CPU only: a world has its own rows on the GPU.
/// Finds the rows that some world of the mask has: the others need no work.
#[inline(always)]
pub(crate) fn rows_live<T: Real>(d: &mut World<T>, live: T::Mask) {
    let mut first = 0;
    while first < d.slot_nefc[0] as usize {
        let last = first + d.solver_group[first] as usize;
        let mut weight = T::zero();
        for e in first..last {
            weight += d.efc_D[e];
        }
        let any = (live & !weight.same(T::zero())).any();
        d.solver_live[first..last].fill(i32::from(any));
        first = last;
    }
}

/// `efc_Jv = J solver_search`, of the rows that are live.
#[inline(always)]
pub(crate) fn rows_mul<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let stride = m.size.njrow;
    let nefc = d.slot_nefc[0] as usize;
    let mut first = 0;
    while first < nefc {
        let nnz = d.efc_J_rownnz[first] as usize;
        let last = first + d.solver_group[first] as usize;
        if d.solver_live[first] == 0 {
            first = last;
            continue;
        }
        let colind = &d.efc_J_colind[first * stride..][..nnz];
        for e in (first..last).step_by(4) {
            let (jac, out) = (&d.efc_Jc[e * stride..], &mut d.efc_Jv[e..last]);
            match last - e {
                1 => some_rows_mul::<T, 1>(jac, stride, colind, &d.solver_search, out),
                2 => some_rows_mul::<T, 2>(jac, stride, colind, &d.solver_search, out),
                3 => some_rows_mul::<T, 3>(jac, stride, colind, &d.solver_search, out),
                _ => some_rows_mul::<T, 4>(jac, stride, colind, &d.solver_search, out),
            }
        }
        first = last;
    }
}

// CPU only: a sum a row for the processor to work on at once.
/// The first `N` rows of `jac` times a vector over dofs.
#[inline(always)]
fn some_rows_mul<T: Real, const N: usize>(jac: &[T], stride: usize, colind: &[i32], x: &[T], out: &mut [T]) {
    let rows: [&[T]; N] = core::array::from_fn(|r| &jac[r * stride..][..colind.len()]);
    let mut sum = [T::zero(); N];
    for (k, j) in colind.iter().enumerate() {
        let x = x[*j as usize];
        for r in 0..N {
            sum[r] += rows[r][k] * x;
        }
    }
    out[..N].copy_from_slice(&sum);
}

/// Starts from `qacc_warmstart` if its cost is below that of `qacc_smooth` (and if `warm` allows), else from `qacc_smooth`:
/// sets `qacc`, `solver_Ma`, `efc_Jaref`. Tells where it started from `qacc_warmstart`.
#[inline(always)]
pub(crate) fn rows_start<T: Real>(m: &Model<T>, d: &mut World<T>, warm: bool) -> T::Mask {
    let nefc = d.slot_nefc[0] as usize;
    // J qacc_smooth - aref
    d.solver_search.copy_from_slice(&d.qacc_smooth);
    rows_mul(m, d);
    for e in 0..nefc {
        d.efc_Jaref[e] = d.efc_Jv[e] - d.efc_aref[e];
    }
    d.qacc.copy_from_slice(&d.qacc_smooth);
    if !warm {
        d.solver_Ma.fill(T::zero());
        return T::Mask::splat(false);
    }
    let smooth_cost = rows_cost(d);
    for i in 0..m.size.nv {
        d.solver_search[i] = d.qacc_warmstart[i] - d.qacc_smooth[i];
    }
    mul_m(m, &d.M, &d.solver_search, &mut d.solver_Ma);
    rows_mul(m, d);
    for e in 0..nefc {
        // kept: a bad warm start may be so large that subtracting it again would lose everything
        d.efc_force[e] = d.efc_Jaref[e];
        d.efc_Jaref[e] += d.efc_Jv[e];
    }
    let warm_cost = rows_cost(d) + dot(&d.solver_search, &d.solver_Ma) * T::r(0.5);
    let warm = warm_cost.lt(smooth_cost);
    for i in 0..m.size.nv {
        d.qacc[i] = T::select(warm, d.qacc_warmstart[i], d.qacc[i]);
        d.solver_Ma[i] = T::select(warm, d.solver_Ma[i], T::zero());
    }
    for e in 0..nefc {
        d.efc_Jaref[e] = T::select(warm, d.efc_Jaref[e], d.efc_force[e]);
    }
    warm
}

// CPU only: `row_costs` on the GPU.
/// `s(efc_Jaref)`: what violated constraints cost.
#[inline(always)]
fn rows_cost<T: Real>(d: &World<T>) -> T {
    let half = T::r(0.5);
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    let mut cost = T::zero();
    for e in 0..ne {
        cost += d.efc_D[e] * d.efc_Jaref[e] * d.efc_Jaref[e] * half;
    }
    for e in ne..ne + nf {
        let (x, loss) = (d.efc_Jaref[e].abs(), d.efc_frictionloss[e]);
        let knee = d.efc_R[e] * loss;
        cost += T::select(x.lt(knee), d.efc_D[e] * x * x * half, loss * (x - knee * half));
    }
    let mut e = ne + nf;
    while e < nefc {
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let cone = Cone::new(d, e);
            cost += cone_cost(&cone, &cone.load(&d.efc_Jaref, e));
            e += cone.dim;
        } else {
            let x = d.efc_Jaref[e].min(T::zero());
            cost += d.efc_D[e] * x * x * half;
            e += 1;
        }
    }
    cost
}

/// `efc_force`, `solver_D` and `qfrc_constraint = Jᵀ efc_force` from `efc_Jaref`, where something is `live`. Tells where the
/// Hessian is another than before.
#[inline(always)]
pub(crate) fn rows_force<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) -> T::Mask {
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    let mut changed = T::Mask::splat(false);
    for e in 0..ne {
        d.efc_force[e] = -d.efc_D[e] * d.efc_Jaref[e];
        d.solver_D[e] = d.efc_D[e];
    }
    for e in ne..ne + nf {
        let (x, loss) = (d.efc_Jaref[e], d.efc_frictionloss[e]);
        let knee = d.efc_R[e] * loss;
        let (negative, positive) = (x.le(-knee), x.ge(knee));
        d.efc_force[e] = T::select(negative, loss, T::select(positive, -loss, -d.efc_D[e] * x));
        let weight = T::select(negative | positive, T::zero(), d.efc_D[e]);
        changed = changed | !weight.same(d.solver_D[e]);
        d.solver_D[e] = weight;
    }
    let mut e = ne + nf;
    while e < nefc {
        if d.solver_live[e] == 0 {
            e += 1;
        } else if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let cone = Cone::new(d, e);
            let (force, zones) = cone_force(&cone, &cone.load(&d.efc_Jaref, e));
            d.efc_force[e..e + cone.dim].copy_from_slice(&force[..cone.dim]);
            let weight = T::select(zones.quadratic, d.efc_D[e], T::zero());
            // in the middle zone the Hessian is another everywhere
            changed = changed | zones.middle | !weight.same(d.solver_D[e]);
            d.solver_D[e] = T::select(zones.middle, T::r(-1.0), weight);
            e += cone.dim;
        } else {
            let x = d.efc_Jaref[e];
            let weight = T::select(x.lt(T::zero()), d.efc_D[e], T::zero());
            changed = changed | !weight.same(d.solver_D[e]);
            d.solver_D[e] = weight;
            // the lesser: no force where x is not finite
            d.efc_force[e] = -weight * x.min(T::zero());
            e += 1;
        }
    }
    rows_mul_t(m, d, live);
    changed
}

// CPU only: `row_force` has it at hand on the GPU.
/// `efc_state` from `efc_Jaref`.
#[inline(always)]
pub(crate) fn rows_state<T: Real>(d: &mut World<T>) {
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    d.efc_state[..ne].fill(T::Int::splat(state::QUADRATIC));
    for e in ne..ne + nf {
        let (x, knee) = (d.efc_Jaref[e], d.efc_R[e] * d.efc_frictionloss[e]);
        let state = [state::LINEARNEG, state::LINEARPOS, state::QUADRATIC];
        d.efc_state[e] = choice::<T>(x.le(-knee), x.ge(knee), state);
    }
    let mut e = ne + nf;
    while e < nefc {
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let cone = Cone::new(d, e);
            let zones = cone.zones(&cone.load(&d.efc_Jaref, e));
            let state = [state::SATISFIED, state::QUADRATIC, state::CONE];
            d.efc_state[e..e + cone.dim].fill(choice::<T>(zones.satisfied, zones.quadratic, state));
            e += cone.dim;
        } else {
            let violated = d.efc_Jaref[e].lt(T::zero());
            d.efc_state[e] = choice::<T>(violated, violated, [state::QUADRATIC, state::QUADRATIC, state::SATISFIED]);
            e += 1;
        }
    }
}

// CPU only: integers of several worlds.
/// The first integer where the first mask holds, else the second where the second holds, else the third.
#[inline(always)]
pub(crate) fn choice<T: Real>(first: T::Mask, second: T::Mask, of: [i32; 3]) -> T::Int {
    let mut out = T::Int::splat(of[2]);
    for l in 0..T::LANES {
        if first.get(l) {
            out.set(l, of[0]);
        } else if second.get(l) {
            out.set(l, of[1]);
        }
    }
    out
}

/// `qfrc_constraint = Jᵀ efc_force` in the worlds that are `live`, from the rows that are.
#[inline(always)]
pub(crate) fn rows_mul_t<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    let stride = m.size.njrow;
    let nefc = d.slot_nefc[0] as usize;
    d.solver_x.fill(T::zero());
    let mut first = 0;
    while first < nefc {
        let nnz = d.efc_J_rownnz[first] as usize;
        let last = first + d.solver_group[first] as usize;
        if d.solver_live[first] == 0 {
            first = last;
            continue;
        }
        let colind = &d.efc_J_colind[first * stride..][..nnz];
        for e in (first..last).step_by(4) {
            let (jac, force, out) = (&d.efc_Jc[e * stride..], &d.efc_force[e..last], &mut d.solver_x);
            match last - e {
                1 => some_rows_mul_t::<T, 1>(jac, stride, colind, force, out),
                2 => some_rows_mul_t::<T, 2>(jac, stride, colind, force, out),
                3 => some_rows_mul_t::<T, 3>(jac, stride, colind, force, out),
                _ => some_rows_mul_t::<T, 4>(jac, stride, colind, force, out),
            }
        }
        first = last;
    }
    for (f, x) in d.qfrc_constraint.iter_mut().zip(&d.solver_x) {
        *f = T::select(live, *x, *f);
    }
}

// CPU only: as `some_rows_mul`.
/// Adds the first `N` rows of `jac`, each times its factor, to a vector over dofs.
#[inline(always)]
fn some_rows_mul_t<T: Real, const N: usize>(jac: &[T], stride: usize, colind: &[i32], f: &[T], out: &mut [T]) {
    let mut none = f[0].same(T::zero());
    for r in 1..N {
        none = none & f[r].same(T::zero());
    }
    if none.all() {
        return;
    }
    let rows: [&[T]; N] = core::array::from_fn(|r| &jac[r * stride..][..colind.len()]);
    for (k, j) in colind.iter().enumerate() {
        let mut sum = f[0] * rows[0][k];
        for r in 1..N {
            sum += f[r] * rows[r][k];
        }
        out[*j as usize] += sum;
    }
}
