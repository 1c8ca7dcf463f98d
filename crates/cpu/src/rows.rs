//! Constraint rows as the solver uses them: products with J, forces and zones of the cost. Twin: `shaders/rows.wgsl`.
//!
//! A group is the run of rows of one object (a contact, an equality constraint, a joint limit …). Its rows have the same
//! columns, so their nonzeros are kept side by side in `solver_Jc` and a vector over dofs is gathered once a group.

use crate::cone::{Cone, cone_cost, cone_force};
use crate::solver_matrix::mul_m;
use crate::{Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{cnstr, state};

// CPU only: WGSL has its own.
/// The scalar product, in four partial sums.
#[inline(always)]
pub(crate) fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
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
/// Finds the groups and copies the nonzeros of their rows to `solver_Jc`.
#[inline(always)]
pub(crate) fn rows_compact<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    let (nv, stride) = (m.size.nv, m.size.nvpad);
    let nefc = d.nefc[0] as usize;
    let mut first = 0;
    while first < nefc {
        let nnz = d.efc_J_rownnz[first] as usize;
        let colind = &d.efc_J_colind[first * nv..][..nnz];
        let mut e = first;
        while e < nefc && d.efc_type[e] == d.efc_type[first] && d.efc_id[e] == d.efc_id[first] {
            let (from, to) = (&d.efc_J[e * stride..][..stride], &mut d.solver_Jc[e * stride..][..stride]);
            for k in 0..nnz {
                to[k] = from[colind[k] as usize];
            }
            e += 1;
        }
        d.solver_group[first] = (e - first) as i32;
        first = e;
    }
}

// CPU only: in `solver_vector.wgsl`, for all groups at once.
/// Gathers the columns of a group from a vector over dofs.
#[inline(always)]
pub(crate) fn gather<T: Scalar>(out: &mut [T], colind: &[i32], x: &[T]) {
    for (o, j) in out.iter_mut().zip(colind) {
        *o = x[*j as usize];
    }
}

/// `efc_Jv = J solver_search`
#[inline(always)]
pub(crate) fn rows_mul<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    let (nv, stride) = (m.size.nv, m.size.nvpad);
    let nefc = d.nefc[0] as usize;
    let mut first = 0;
    while first < nefc {
        let nnz = d.efc_J_rownnz[first] as usize;
        let last = first + d.solver_group[first] as usize;
        gather(&mut d.solver_x[..nnz], &d.efc_J_colind[first * nv..][..nnz], &d.solver_search);
        for e in first..last {
            d.efc_Jv[e] = dot(&d.solver_Jc[e * stride..][..nnz], &d.solver_x[..nnz]);
        }
        first = last;
    }
}

/// Starts from `qacc_warmstart` if its cost is below that of `qacc_smooth` (and if `warm` allows), else from `qacc_smooth`:
/// sets `qacc`, `solver_Ma`, `efc_Jaref`. Tells whether it started from `qacc_warmstart`.
#[inline(always)]
pub(crate) fn rows_start<T: Scalar>(m: &Model<T>, d: &mut World<T>, warm: bool) -> bool {
    let nefc = d.nefc[0] as usize;
    // J qacc_smooth - aref
    d.solver_search.copy_from_slice(&d.qacc_smooth);
    rows_mul(m, d);
    for e in 0..nefc {
        d.efc_Jaref[e] = d.efc_Jv[e] - d.efc_aref[e];
    }
    let mut use_warm = false;
    if warm {
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
        use_warm = warm_cost < smooth_cost;
    }
    if use_warm {
        d.qacc.copy_from_slice(&d.qacc_warmstart);
        return true;
    }
    if warm {
        for e in 0..nefc {
            d.efc_Jaref[e] = d.efc_force[e];
        }
    }
    d.qacc.copy_from_slice(&d.qacc_smooth);
    d.solver_Ma.fill(T::zero());
    false
}

// CPU only: `row_costs` on the GPU.
/// `s(efc_Jaref)`: what violated constraints cost.
#[inline(always)]
fn rows_cost<T: Scalar>(d: &World<T>) -> T {
    let half = T::r(0.5);
    let (ne, nf, nefc) = (d.ne[0] as usize, d.nf[0] as usize, d.nefc[0] as usize);
    let mut cost = T::zero();
    for e in 0..ne {
        cost += d.efc_D[e] * d.efc_Jaref[e] * d.efc_Jaref[e] * half;
    }
    for e in ne..ne + nf {
        let (x, loss) = (d.efc_Jaref[e].abs(), d.efc_frictionloss[e]);
        let knee = d.efc_R[e] * loss;
        cost += if x < knee { d.efc_D[e] * x * x * half } else { loss * (x - knee * half) };
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

/// `efc_force`, `efc_state` and `qfrc_constraint = Jᵀ efc_force` from `efc_Jaref`.
#[inline(always)]
pub(crate) fn rows_force<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    let (ne, nf, nefc) = (d.ne[0] as usize, d.nf[0] as usize, d.nefc[0] as usize);
    for e in 0..ne {
        d.efc_force[e] = -d.efc_D[e] * d.efc_Jaref[e];
        d.efc_state[e] = state::QUADRATIC;
    }
    for e in ne..ne + nf {
        let (x, loss) = (d.efc_Jaref[e], d.efc_frictionloss[e]);
        let knee = d.efc_R[e] * loss;
        (d.efc_force[e], d.efc_state[e]) = if x <= -knee {
            (loss, state::LINEARNEG)
        } else if x >= knee {
            (-loss, state::LINEARPOS)
        } else {
            (-d.efc_D[e] * x, state::QUADRATIC)
        };
    }
    let mut e = ne + nf;
    while e < nefc {
        if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let cone = Cone::new(d, e);
            let (force, zone) = cone_force(&cone, &cone.load(&d.efc_Jaref, e));
            d.efc_force[e..e + cone.dim].copy_from_slice(&force[..cone.dim]);
            d.efc_state[e..e + cone.dim].fill(zone);
            e += cone.dim;
        } else {
            let x = d.efc_Jaref[e];
            (d.efc_force[e], d.efc_state[e]) =
                if x < T::zero() { (-d.efc_D[e] * x, state::QUADRATIC) } else { (T::zero(), state::SATISFIED) };
            e += 1;
        }
    }
    rows_mul_t(m, d);
}

/// `qfrc_constraint = Jᵀ efc_force`
#[inline(always)]
pub(crate) fn rows_mul_t<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    let (nv, stride) = (m.size.nv, m.size.nvpad);
    let nefc = d.nefc[0] as usize;
    d.qfrc_constraint.fill(T::zero());
    let mut first = 0;
    while first < nefc {
        let nnz = d.efc_J_rownnz[first] as usize;
        let last = first + d.solver_group[first] as usize;
        let x = &mut d.solver_x[..nnz];
        let mut any = false;
        for e in first..last {
            let f = d.efc_force[e];
            if f == T::zero() {
                continue;
            }
            let row = &d.solver_Jc[e * stride..][..nnz];
            if any {
                x.iter_mut().zip(row).for_each(|(a, j)| *a += f * *j);
            } else {
                x.iter_mut().zip(row).for_each(|(a, j)| *a = f * *j);
            }
            any = true;
        }
        if any {
            for (a, j) in x.iter().zip(&d.efc_J_colind[first * nv..]) {
                d.qfrc_constraint[*j as usize] += *a;
            }
        }
        first = last;
    }
}
