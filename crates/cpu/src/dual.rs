//! What the solvers over forces (PGS, noslip) share: `J M⁻¹`, residuals, the friction problem of an elliptic contact.
//! Twin: `shaders/dual.wgsl`.
//!
//! The dual cost is `½ fᵀ (A + R) f + fᵀ (J qacc_smooth - aref)` with `A = J M⁻¹ Jᵀ`. `A` is not formed: `qacc` follows the
//! forces (`qacc = qacc_smooth + M⁻¹ Jᵀ f`), so a row's residual is `J qacc - aref + R f` and costs one row of J.

use crate::rows::{choice, rows_mul_t};
use crate::solver_matrix::solve_m;
use crate::{Ints, Mask, Real, Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, state};

/// Fills `efc_Y` and `efc_A`.
#[inline(always)]
pub(crate) fn dual_init<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let (nv, stride, nonzeros) = (m.size.nv, m.size.nvpad, m.size.njrow);
    let nefc = d.slot_nefc[0] as usize;
    for e in 0..nefc {
        let row = &mut d.efc_Y[e * stride..][..stride];
        row.fill(T::zero());
        for k in 0..d.efc_J_rownnz[e] as usize {
            row[d.efc_J_colind[e * nonzeros + k] as usize] = d.efc_Jc[e * nonzeros + k];
        }
        solve_m(m, &d.qLD, &d.qLDiagInv, &mut row[..nv]);
    }
    let mut e = 0;
    while e < nefc {
        let n = block_size(d, e);
        for r in e..e + n {
            for c in 0..n {
                d.efc_A[6 * r + c] = row_mul(m, d, r, &d.efc_Y[(e + c) * stride..][..stride]);
            }
        }
        e += n;
    }
}

/// Rows that are treated together from row `e` on: an elliptic contact, two opposite edges of a pyramid, or one row.
#[inline(always)]
pub(crate) fn block_size<T: Real>(d: &World<T>, e: usize) -> usize {
    match d.efc_type[e] {
        cnstr::CONTACT_ELLIPTIC => d.contact_dim[d.efc_id[e] as usize] as usize,
        cnstr::CONTACT_PYRAMIDAL => 2,
        _ => 1,
    }
}

/// `J qacc - aref` of a row: its residual without the regularizer.
#[inline(always)]
pub(crate) fn dual_residual<T: Real>(m: &Model<T>, d: &World<T>, e: usize) -> T {
    row_mul(m, d, e, &d.qacc) - d.efc_aref[e]
}

// CPU only: rows are dense on the GPU.
/// Row `e` of J times a vector over dofs.
#[inline(always)]
fn row_mul<T: Real>(m: &Model<T>, d: &World<T>, e: usize, x: &[T]) -> T {
    let nnz = d.efc_J_rownnz[e] as usize;
    let mut sum = T::zero();
    for (c, j) in d.efc_Jc[e * m.size.njrow..][..nnz].iter().zip(&d.efc_J_colind[e * m.size.njrow..]) {
        sum += *c * x[*j as usize];
    }
    sum
}

/// Sets a row's force and lets `qacc` follow, in the worlds of the mask.
#[inline(always)]
pub(crate) fn dual_set<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, force: T, mask: T::Mask) {
    let change = T::select(mask, force - d.efc_force[e], T::zero());
    if !change.same(T::zero()).all() {
        d.efc_force[e] = T::select(mask, force, d.efc_force[e]);
        let row = &d.efc_Y[e * m.size.nvpad..][..m.size.nv];
        d.qacc.iter_mut().zip(row).for_each(|(a, y)| *a += change * *y);
    }
}

/// `qacc = qacc_smooth + M⁻¹ Jᵀ efc_force`, from `efc_Y`.
#[inline(always)]
pub(crate) fn dual_qacc<T: Real>(m: &Model<T>, d: &mut World<T>) {
    d.qacc.copy_from_slice(&d.qacc_smooth);
    for e in 0..d.slot_nefc[0] as usize {
        let f = d.efc_force[e];
        let row = &d.efc_Y[e * m.size.nvpad..][..m.size.nv];
        d.qacc.iter_mut().zip(row).for_each(|(a, y)| *a += f * *y);
    }
}

/// What the change of a block's forces does to the dual cost: `½ Δᵀ A Δ + Δᵀ res`, with `a` and `res` before the change.
#[inline(always)]
pub(crate) fn dual_change<T: Real, const N: usize>(a: &[[T; N]; N], res: &[T; N], delta: &[T; N]) -> T {
    let mut sum = T::zero();
    for i in 0..N {
        let mut row = T::zero();
        for j in 0..N {
            row += a[i][j] * delta[j];
        }
        sum += delta[i] * (row * T::r(0.5) + res[i]);
    }
    sum
}

/// The friction forces of an elliptic contact under a fixed normal force: minimizes `½ xᵀ A x + bᵀ x` over
/// `Σ (x_j / friction_j)² ≤ radius²`; entries from `n` on are 0 and stay 0.
#[inline(always)]
fn friction_problem<T: Scalar>(n: usize, a: &[[T; 5]; 5], b: &[T; 5], friction: &[T; 5], radius: T) -> [T; 5] {
    // y = x / friction turns the ellipsoid into a ball
    let mut ball = [[T::zero(); 5]; 5];
    let mut rhs = [T::zero(); 5];
    let mut trace = T::zero();
    for i in 0..n {
        for j in 0..n {
            ball[i][j] = a[i][j] * friction[i] * friction[j];
        }
        rhs[i] = -b[i] * friction[i];
        trace += ball[i][i];
    }
    // A may be singular (more friction rows than motions); this much of its size changes nothing that can be seen
    let tiny = trace * T::r(T::EPSILON);
    // the multiplier: y(λ) = (A + λ)⁻¹ rhs has length `radius`, or λ = 0 and y is inside. Newton on 1/|y| - 1/radius, which is
    // nearly linear in λ and concave, so it comes from the left without overshooting
    let mut lambda = T::zero();
    let mut y = [T::zero(); 5];
    for _ in 0..FRICTION_ITERATIONS {
        let mut l = ball;
        for i in 0..n {
            l[i][i] += lambda + tiny;
        }
        small_factor(n, &mut l);
        y = small_solve(n, &l, &rhs);
        let mut yy = T::zero();
        for i in 0..n {
            yy += y[i] * y[i];
        }
        let length = yy.sqrt();
        // inside, or on the boundary to rounding
        if length <= radius * T::r(1.0 + 4.0 * T::EPSILON) {
            break;
        }
        let z = small_solve(n, &l, &y);
        let mut yz = T::zero();
        for i in 0..n {
            yz += y[i] * z[i];
        }
        lambda += yy / yz * (length - radius) / radius;
    }
    let mut x = [T::zero(); 5];
    let mut yy = T::zero();
    for i in 0..n {
        yy += y[i] * y[i];
    }
    // never outside the cone
    let length = yy.sqrt();
    let shrink = if length > radius { radius / length } else { T::one() };
    for i in 0..n {
        x[i] = y[i] * friction[i] * shrink;
    }
    x
}

/// Newton steps for the multiplier; about 5 are taken.
const FRICTION_ITERATIONS: usize = 20;

/// `A = L D Lᵀ` in place, the lower triangle; the diagonal becomes 1/D.
#[inline(always)]
fn small_factor<T: Scalar>(n: usize, a: &mut [[T; 5]; 5]) {
    for j in 0..n {
        let inv = T::one() / a[j][j].max(T::r(MINVAL));
        for i in j + 1..n {
            let l = a[i][j] * inv;
            for k in j + 1..=i {
                a[i][k] -= l * a[k][j];
            }
        }
        for i in j + 1..n {
            a[i][j] *= inv;
        }
        a[j][j] = inv;
    }
}

/// `A⁻¹ b` from the factor.
#[inline(always)]
fn small_solve<T: Scalar>(n: usize, a: &[[T; 5]; 5], b: &[T; 5]) -> [T; 5] {
    let mut x = *b;
    for i in 0..n {
        for j in 0..i {
            x[i] -= a[i][j] * x[j];
        }
    }
    for i in (0..n).rev() {
        x[i] *= a[i][i];
        for j in i + 1..n {
            x[i] -= a[j][i] * x[j];
        }
    }
    x
}

/// True where MuJoCo takes the friction block of a contact, scaled by its coefficients, for singular: its determinant (of five rows a
/// pivot) is below 1e-10. A pivot that rounding alone may leave counts as none.
#[inline(always)]
pub(crate) fn friction_singular<T: Real>(n: usize, a: &[[T; 5]; 5], friction: &[T; 5]) -> T::Mask {
    let mut l = [[T::zero(); 5]; 5];
    for i in 0..n {
        for j in 0..n {
            l[i][j] = a[i][j] * friction[i] * friction[j];
        }
    }
    let tiny = T::r(SINGULAR);
    let mut singular = T::Mask::splat(false);
    let mut det = T::one();
    for j in 0..n {
        let rounding = a[j][j] * friction[j] * friction[j] * T::r(64.0 * T::EPSILON);
        let least = if n == 5 { rounding.max(tiny) } else { rounding };
        // written so that a NaN counts too
        singular = singular | !l[j][j].gt(least);
        det *= l[j][j];
        let inv = T::one() / l[j][j].max(T::r(MINVAL));
        for i in j + 1..n {
            let f = l[i][j] * inv;
            for k in j + 1..=i {
                l[i][k] -= f * l[k][j];
            }
        }
    }
    if n == 5 { singular } else { singular | !det.gt(tiny) }
}

/// MuJoCo's bound for singular friction blocks, found with models of growing mass.
const SINGULAR: f64 = 1e-10;

// CPU only: a world has its own on the GPU.
/// `friction_problem`, world by world, in the worlds of the mask; no force in others.
#[inline(always)]
pub(crate) fn friction_forces<T: Real>(
    n: usize,
    a: &[[T; 5]; 5],
    b: &[T; 5],
    friction: &[T; 5],
    radius: T,
    mask: T::Mask,
) -> [T; 5] {
    let mut x = [T::zero(); 5];
    for l in 0..T::LANES {
        if mask.get(l) {
            let of = |v: &[T; 5]| core::array::from_fn(|j| v[j].lane(l));
            let a = core::array::from_fn(|i| of(&a[i]));
            let forces: [T::One; 5] = friction_problem(n, &a, &of(b), &of(friction), radius.lane(l));
            for j in 0..n {
                x[j].set_lane(l, forces[j]);
            }
        }
    }
    x
}

/// `efc_state` from the forces.
#[inline(always)]
pub(crate) fn dual_state<T: Real>(d: &mut World<T>) {
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    d.efc_state[..ne].fill(T::Int::splat(state::QUADRATIC));
    for e in ne..ne + nf {
        let (f, loss) = (d.efc_force[e], d.efc_frictionloss[e]);
        d.efc_state[e] = choice::<T>(f.ge(loss), f.le(-loss), [state::LINEARNEG, state::LINEARPOS, state::QUADRATIC]);
    }
    let mut e = ne + nf;
    while e < nefc {
        let n = block_size(d, e);
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let c = d.efc_id[e] as usize;
            let mut tt = T::zero();
            for j in 1..n {
                let t = d.efc_force[e + j] / d.contact_friction[5 * c + j - 1];
                tt += t * t;
            }
            let normal = d.efc_force[e];
            let satisfied = normal.lt(T::r(MINVAL));
            let quadratic = tt.sqrt().lt(normal * T::r(1.0 - 8.0 * T::EPSILON));
            let zone = choice::<T>(satisfied, quadratic, [state::SATISFIED, state::QUADRATIC, state::CONE]);
            d.efc_state[e..e + n].fill(zone);
        } else {
            for r in e..e + n {
                let pushes = d.efc_force[r].gt(T::zero());
                d.efc_state[r] = choice::<T>(pushes, pushes, [state::QUADRATIC, state::QUADRATIC, state::SATISFIED]);
            }
        }
        e += n;
    }
}

/// Everything that follows from the forces: `qfrc_constraint`, `qacc`, `efc_state`.
#[inline(always)]
pub(crate) fn dual_finish<T: Real>(m: &Model<T>, d: &mut World<T>) {
    rows_mul_t(m, d, T::Mask::splat(true));
    dual_qacc(m, d);
    dual_state(d);
}
