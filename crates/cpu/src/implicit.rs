//! The acceleration of a step that is implicit in velocity, for `integrate`. Twin: `shaders/implicit.wgsl`.
//!
//! With D = -d(force)/d(velocity) the step wants (M + h D) a = M qacc. It is solved for the difference,
//! (M + h D) (a - qacc) = -h D qacc, so that nothing changes, to the last bit, where nothing damps.

use crate::actuation::{actuator_disabled, actuator_gain_rate};
use crate::inertia::{factor_m, mul_row, solve_m};
use crate::math::{Mat3, Vec3, ld3, ld9};
use crate::spatial::ld10;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{disable, integrator, jnt, trn};

/// The acceleration of the step in `int_dacc`.
#[inline(always)]
pub fn implicit<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let fast = m.opt.integrator == integrator::IMPLICITFAST;
    for i in 0..m.size.nv {
        derivative_row(m, d, i);
    }
    for i in 0..m.size.nv {
        d.int_dacc[i] = -m.opt_timestep[0] * mul_row(m, &d.int_H, &d.qacc, i);
    }
    for k in 0..m.size.nC {
        d.int_H[k] = d.M[k] + m.opt_timestep[0] * d.int_H[k];
    }
    if fast {
        for j in 0..m.size.njnt {
            if free_standing(m, j) {
                free_body(m, d, j);
            }
        }
    }
    factor_m(m, &mut d.int_H, &mut d.int_HDiagInv);
    solve_m(m, &d.int_H, &d.int_HDiagInv, &mut d.int_dacc);
    for i in 0..m.size.nv {
        let by_itself = fast && free_standing(m, m.dof_jntid[i] as usize);
        d.int_dacc[i] = d.qacc[i] + if by_itself { d.int_dvel[i] } else { d.int_dacc[i] };
    }
}

/// Row `i` of D in M's sparsity, into `int_H`: joint damping; in the fast implicit step also tendons and actuators.
#[inline(always)]
fn derivative_row<T: Real>(m: &Model<T>, d: &mut World<T>, i: usize) {
    let (adr, n, nv) = (m.M_rowadr[i] as usize, m.M_rownnz[i] as usize, m.size.nv);
    let damper_on = m.opt.disableflags & disable::DAMPER == 0;
    for k in 0..n {
        d.int_H[adr + k] = T::zero();
    }
    if damper_on {
        d.int_H[adr + n - 1] = m.dof_damping[i];
    }
    if m.opt.integrator != integrator::IMPLICITFAST {
        return;
    }
    if damper_on {
        for t in 0..m.size.ntendon {
            let s = m.tendon_damping[t] * d.ten_J[t * nv + i];
            for k in 0..n {
                d.int_H[adr + k] += s * d.ten_J[t * nv + m.M_colind[adr + k] as usize];
            }
        }
    }
    for a in 0..m.size.nu {
        let arm = d.actuator_moment[a * nv + i];
        if arm != T::zero() && !actuator_disabled(m, a) {
            let s = arm * actuator_gain_rate(m, d, a);
            for k in 0..n {
                d.int_H[adr + k] -= s * d.actuator_moment[a * nv + m.M_colind[adr + k] as usize];
            }
        }
    }
}

/// The joint is the free joint of a body with no joints below: its six dofs are a tree of their own.
#[inline(always)]
fn free_standing<T: Real>(m: &Model<T>, j: usize) -> bool {
    let i = m.jnt_dofadr[j] as usize;
    m.jnt_type[j] == jnt::FREE && (i + 6 == m.size.nv || m.dof_treeid[i + 6] != m.dof_treeid[i])
}

/// Solves the six dofs of a free body with the derivative of its gyroscopic forces, into `int_dvel`.
///
/// With w the angular velocity, s the centre of mass and I the inertia about the body's origin, all in the body's frame R,
/// the forces are R (m w x (w x s)) and w x (I w).
#[inline(always)]
fn free_body<T: Real>(m: &Model<T>, d: &mut World<T>, j: usize) {
    let h = m.opt_timestep[0];
    let b = m.jnt_bodyid[j] as usize;
    let i = m.jnt_dofadr[j] as usize;
    let rot = ld9(&d.xmat, b);
    let w = Vec3::new(d.qvel[i + 3], d.qvel[i + 4], d.qvel[i + 5]);
    let s = rot.transpose() * (ld3(&d.subtree_com, b) - ld3(&d.xpos, b));
    let crb = ld10(&d.crb, b);
    let about_com = Mat3::new(crb.d[0], crb.o[0], crb.o[1], crb.o[0], crb.d[1], crb.o[2], crb.o[1], crb.o[2], crb.d[2]);
    let shift = skew(s);
    let about_origin = rot.transpose() * about_com * rot - shift * shift * crb.m;
    let gyro_t = rot * (skew(w.cross(&s)) + skew(w) * shift) * (-h * crb.m);
    let gyro_r = (skew(w) * about_origin - skew(about_origin * w)) * h;

    let mut tt = free_block(m, d, i, 0, 0);
    let mut tr = free_block(m, d, i, 0, 3);
    let mut rr = free_block(m, d, i, 3, 3) + gyro_r;
    let acc_t = Vec3::new(d.qacc[i], d.qacc[i + 1], d.qacc[i + 2]);
    let acc = Vec3::new(d.qacc[i + 3], d.qacc[i + 4], d.qacc[i + 5]);
    let mut rhs_t = Vec3::new(d.int_dacc[i], d.int_dacc[i + 1], d.int_dacc[i + 2]) - gyro_t * acc;
    let mut rhs_r = Vec3::new(d.int_dacc[i + 3], d.int_dacc[i + 4], d.int_dacc[i + 5]) - gyro_r * acc;
    if m.M_rownnz[i + 5] == 1 {
        // rows of a simple body have room for the diagonal of D only: the rest of what its actuators add
        for a in 0..m.size.nu {
            let drives = m.actuator_trntype[a] != trn::TENDON && m.actuator_trnid[2 * a] as usize == j;
            if drives && !actuator_disabled(m, a) {
                let s = h * actuator_gain_rate(m, d, a);
                let k = a * m.size.nv + i;
                let arm = &d.actuator_moment[k..k + 6];
                let (t, r) = (Vec3::new(arm[0], arm[1], arm[2]), Vec3::new(arm[3], arm[4], arm[5]));
                let across = Mat3::from_fn(|k, l| t[k] * r[l]);
                let (beside_t, beside_r) = (beside(t), beside(r));
                tt = tt - beside_t * s;
                tr = tr - across * s;
                rr = rr - beside_r * s;
                rhs_t += (beside_t * acc_t + across * acc) * s;
                rhs_r += (across.transpose() * acc_t + beside_r * acc) * s;
            }
        }
    }

    let tt_inv = inverse3(tt);
    let down = tr.transpose() * tt_inv;
    let x_r = inverse3(rr - down * (tr + gyro_t)) * (rhs_r - down * rhs_t);
    let x_t = tt_inv * (rhs_t - (tr + gyro_t) * x_r);
    for k in 0..3 {
        d.int_dvel[i + k] = x_t[k];
        d.int_dvel[i + 3 + k] = x_r[k];
    }
}

/// v vᵀ without its diagonal.
#[inline(always)]
fn beside<T: Real>(v: Vec3<T>) -> Mat3<T> {
    let (xy, xz, yz) = (v[0] * v[1], v[0] * v[2], v[1] * v[2]);
    Mat3::new(T::zero(), xy, xz, xy, T::zero(), yz, xz, yz, T::zero())
}

/// The matrix of v x.
#[inline(always)]
fn skew<T: Real>(v: Vec3<T>) -> Mat3<T> {
    let o = T::zero();
    Mat3::new(o, -v[2], v[1], v[2], o, -v[0], -v[1], v[0], o)
}

/// The inverse of a 3x3 matrix.
#[inline(always)]
fn inverse3<T: Real>(a: Mat3<T>) -> Mat3<T> {
    let (x, y, z): (Vec3<T>, Vec3<T>, Vec3<T>) = (a.column(0), a.column(1), a.column(2));
    let (yz, zx, xy) = (y.cross(&z), z.cross(&x), x.cross(&y));
    let s = T::one() / x.dot(&yz);
    Mat3::new(yz[0] * s, yz[1] * s, yz[2] * s, zx[0] * s, zx[1] * s, zx[2] * s, xy[0] * s, xy[1] * s, xy[2] * s)
}

/// Block of `int_H` at rows `i + r`.., columns `i + c`.. of a tree that starts at dof `i`.
#[inline(always)]
fn free_block<T: Real>(m: &Model<T>, d: &World<T>, i: usize, r: usize, c: usize) -> Mat3<T> {
    Mat3::from_fn(|dr, dc| free_entry(m, d, i, r + dr, c + dc))
}

/// Entry of `int_H` at row `i + r`, column `i + c`; a row of a simple body holds the diagonal only.
#[inline(always)]
fn free_entry<T: Real>(m: &Model<T>, d: &World<T>, i: usize, r: usize, c: usize) -> T {
    let (low, high) = (r.min(c), r.max(c));
    let last = m.M_rownnz[i + high] as usize - 1;
    let adr = m.M_rowadr[i + high] as usize;
    if low == high {
        d.int_H[adr + last]
    } else if last > 0 {
        d.int_H[adr + low]
    } else {
        T::zero()
    }
}
