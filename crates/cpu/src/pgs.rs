//! Projected Gauss-Seidel on the constraint forces (documentation: computation, "Algorithms"). Twin: `shaders/pgs.wgsl`.
//!
//! Sweeps are MuJoCo's (found with it as a black box; its changelog names the two ingredients): contacts and rows in an order that
//! PCG32 shuffles on before each sweep, and Nesterov's momentum between sweeps, which begins anew where a sweep turns against it.

use crate::dual::{
    block_size, dual_change, dual_finish, dual_init, dual_qacc, dual_residual, dual_set, friction_forces,
};
use crate::rows::{rows_force, rows_group, rows_mul};
use crate::solver::{count, scale};
use crate::{Ints, Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, disable};

/// `solver_scalar`: sweeps since the momentum began anew.
const AGE: usize = 1;

// CPU only: its loop is a sequence of kernels on the GPU.
/// The stage `solver` by PGS.
#[inline(always)]
pub fn pgs<T: Real>(m: &Model<T>, d: &mut World<T>) {
    rows_group(d);
    dual_init(m, d);
    pgs_start(m, d);
    d.solver_niter[0] = T::Int::splat(0);
    let mut left = T::Mask::splat(true);
    while left.any() {
        let (n, mut live) = pgs_blocks(d, left);
        left = left & !live;
        for _ in 0..m.opt.iterations {
            let improvement = pgs_sweep(m, d, n, live);
            count::<T>(&mut d.solver_niter[0], live);
            // a tolerance of 0 lets none stop: forces come nearer still where rounding makes less than nothing of an improvement
            live = live & (improvement.max(T::zero()) * scale(m, d)).ge(m.opt_tolerance[0]);
            if !live.any() {
                break;
            }
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
    d.solver_scalar[AGE] = T::zero();
    for e in 0..nefc {
        d.efc_force[e] = T::select(keep, d.efc_force[e], T::zero());
    }
    for i in 0..m.size.nv {
        d.qacc[i] = T::select(keep, d.qacc[i], d.qacc_smooth[i]);
    }
}

/// Rows of what a sweep treats together from row `e` on: an elliptic contact, or one row.
#[inline(always)]
fn pgs_size<T: Real>(d: &World<T>, e: usize) -> usize {
    if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC { block_size(d, e) } else { 1 }
}

/// Fills `solver_order` with what the first world that is `left` has; how many, and the worlds that have the same: an order is
/// that of a world by itself, so worlds of a register with other rows are swept by themselves.
#[inline(always)]
fn pgs_blocks<T: Real>(d: &mut World<T>, left: T::Mask) -> (usize, T::Mask) {
    let leader = (0..T::LANES).find(|&l| left.get(l)).unwrap_or(0);
    let mut alike = left;
    let (mut n, mut e) = (0, 0);
    while e < d.slot_nefc[0] as usize {
        let there = has_row(d, e);
        if there.get(leader) {
            alike = alike & there;
            d.solver_order[n] = e as i32;
            n += 1;
        } else {
            alike = alike & !there;
        }
        e += pgs_size(d, e);
    }
    d.solver_random.copy_from_slice(&[1, 0]);
    (n, alike)
}

// CPU only: a world has its own rows on the GPU.
/// The worlds that have the row: they alone have a regularizer.
#[inline(always)]
fn has_row<T: Real>(d: &World<T>, e: usize) -> T::Mask {
    d.efc_R[e].gt(T::zero())
}

/// The next number of PCG32 (M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms", 2014).
#[inline(always)]
fn pgs_random<T: Real>(d: &mut World<T>) -> u32 {
    let [low, high] = [0, 1].map(|k| u64::from(d.solver_random[k] as u32));
    let old = high << 32 | low;
    let new = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    d.solver_random.copy_from_slice(&[new as u32 as i32, (new >> 32) as u32 as i32]);
    ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
}

/// Shuffles the first `n` of `solver_order` on.
#[inline(always)]
fn pgs_shuffle<T: Real>(d: &mut World<T>, n: usize) {
    for i in (1..n).rev() {
        let j = pgs_random(d) as usize % (i + 1);
        d.solver_order.swap(i, j);
    }
}

/// Moves the forces of the worlds that are `live` on by `momentum` times what the sweep before changed, kept within their sets.
#[inline(always)]
fn pgs_ahead<T: Real>(m: &Model<T>, d: &mut World<T>, momentum: T, live: T::Mask) {
    let (ne, nf) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize);
    let mut e = 0;
    while e < d.slot_nefc[0] as usize {
        let n = pgs_size(d, e);
        let mut force = [T::zero(); 6];
        for r in 0..n {
            let (now, last) = (d.efc_force[e + r], d.solver_last[e + r]);
            force[r] = now + momentum * (now - last);
            d.solver_last[e + r] = T::select(live, now, last);
        }
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let c = d.efc_id[e] as usize;
            let mut tt = T::zero();
            for r in 1..n {
                let t = force[r] / d.contact_friction[5 * c + r - 1];
                tt += t * t;
            }
            let (normal, tangent) = (force[0].max(T::zero()), tt.sqrt());
            let shrink = T::select(tangent.gt(normal), normal / tangent, T::one());
            force[0] = normal;
            for r in 1..n {
                force[r] *= shrink;
            }
        } else if e >= ne + nf {
            force[0] = force[0].max(T::zero());
        } else if e >= ne {
            force[0] = force[0].max(-d.efc_frictionloss[e]).min(d.efc_frictionloss[e]);
        }
        let moves = live & momentum.gt(T::zero()) & has_row(d, e);
        for r in 0..n {
            dual_set(m, d, e + r, force[r], moves);
        }
        e += n;
    }
}

/// One sweep over the first `n` of `solver_order`, of the worlds that are `live`; by how much the dual cost fell in it.
#[inline(always)]
fn pgs_sweep<T: Real>(m: &Model<T>, d: &mut World<T>, n: usize, live: T::Mask) -> T {
    pgs_shuffle(d, n);
    let age = d.solver_scalar[AGE] + T::one();
    let momentum = ((age - T::r(2.0)) / (age + T::one())).max(T::zero());
    pgs_ahead(m, d, momentum, live);
    let (mut change, mut along) = (T::zero(), T::zero());
    for k in 0..n {
        let e = d.solver_order[k] as usize;
        let [less, more] =
            if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC { pgs_contact(m, d, e, live) } else { pgs_row(m, d, e, live) };
        change += less;
        along += more;
    }
    // it turned against the momentum
    let age = T::select(along.lt(T::zero()), T::zero(), age);
    d.solver_scalar[AGE] = T::select(live, age, d.solver_scalar[AGE]);
    -change
}

/// Sets the force of one row to its best; the change of the dual cost, and that of the force along the momentum.
#[inline(always)]
fn pgs_row<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, live: T::Mask) -> [T; 2] {
    let (ne, nf) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize);
    let old = d.efc_force[e];
    // of a pyramid `efc_A` has two edges a row
    let own = if d.efc_type[e] == cnstr::CONTACT_PYRAMIDAL {
        (e - d.contact_efc_address[d.efc_id[e] as usize] as usize) % 2
    } else {
        0
    };
    let a = d.efc_A[6 * e + own] + d.efc_R[e];
    let res = dual_residual(m, d, e) + d.efc_R[e] * old;
    let mut force = old - res / a;
    if e >= ne + nf {
        force = force.max(T::zero());
    } else if e >= ne {
        force = force.max(-d.efc_frictionloss[e]).min(d.efc_frictionloss[e]);
    }
    dual_set(m, d, e, force, live);
    let delta = force - old;
    [delta * (delta * a * T::r(0.5) + res), delta * (old - d.solver_last[e])]
}

/// Betters the forces of an elliptic contact: along a ray, then within the disc of that normal force; the change of the dual cost,
/// and that of the forces along the momentum.
#[inline(always)]
fn pgs_contact<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, live: T::Mask) -> [T; 2] {
    let n = block_size(d, e);
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
    // the ray: through the present force; from the tip the normal, and where that alone does not go down, where MuJoCo stays at the
    // tip for good, the edge of steepest descent, which may
    let mut ray = old;
    let from_tip = old[0].lt(T::r(MINVAL));
    if from_tip.any() {
        let mut tt = T::zero();
        for j in 1..n {
            tt += friction[j - 1] * res[j] * friction[j - 1] * res[j];
        }
        let t = tt.sqrt();
        let edge = res[0].ge(T::zero()) & t.gt(T::zero());
        ray[0] = T::select(from_tip, T::one(), ray[0]);
        for j in 1..n {
            let steepest = -friction[j - 1] * friction[j - 1] * res[j] / t;
            ray[j] = T::select(from_tip, T::select(edge, steepest, T::zero()), ray[j]);
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
    // the two steps each go downhill, but for the last bits of the forces
    let mut rounding = T::zero();
    for r in 0..n {
        rounding += (force[r] * res[r]).abs() * T::r(256.0 * T::EPSILON);
    }
    let downhill = live & change.le(rounding);
    let mut along = T::zero();
    for r in 0..n {
        along += delta[r] * (old[r] - d.solver_last[e + r]);
        dual_set(m, d, e + r, force[r], downhill);
    }
    [change, along].map(|x| T::select(downhill, x, T::zero()))
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
