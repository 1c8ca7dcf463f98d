//! Rows of equality constraints: connect, weld, joint, tendon. Twin: `shaders/constraint_equality.wgsl`.

use crate::constraint_anchor::*;
use crate::constraint_row::*;
use crate::math::*;
use crate::two_float::tf_add3;
use crate::{Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{cnstr, eq};

/// Fills the rows of all equalities that have room.
#[inline(always)]
pub fn constraint_equality<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for e in 0..m.size.neq {
        if d.eq_efc_address[e] >= 0 {
            equality_rows(m, d, e, id(d.eq_efc_address[e]));
        }
    }
}

/// Fills the rows of equality `e`, from row `r0`.
#[inline(always)]
fn equality_rows<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, r0: usize) {
    match m.eq_type[e] {
        eq::JOINT => joint_equality_row(m, d, e, r0),
        eq::TENDON => tendon_equality_row(m, d, e, r0),
        _ => body_equality_rows(m, d, e, r0),
    }
}

/// Difference of two anchors' positions [m]. The sum runs in two-float: what is near zero in it is good to an ulp of the
/// rotated anchors, not of the world's coordinates.
#[inline(always)]
fn anchor_difference<T: Real>(d: &World<T>, b1: usize, arm1: Vec3<T>, b2: usize, arm2: Vec3<T>) -> Vec3<T> {
    let (hi, lo) = tf_add3(ld3(&d.xpos, b1), ld3(&d.xpos_lo, b1), -ld3(&d.xpos, b2));
    let (hi, lo) = tf_add3(hi, lo - ld3(&d.xpos_lo, b2), arm1);
    let (hi, lo) = tf_add3(hi, lo, -arm2);
    hi + lo
}

/// The vector part of `conj(q2) q1`, from differences: where the two are close nothing cancels.
#[inline(always)]
fn rotation_difference<T: Real>(q1: Quat<T>, q2: Quat<T>) -> Vec3<T> {
    let side = T::select(q1.dot(&q2).lt(T::zero()), -T::one(), T::one());
    let dq = q1 * side - q2;
    let dv = Vec3::new(dq[1], dq[2], dq[3]);
    let v2 = Vec3::new(q2[1], q2[2], q2[3]);
    (dv * q2[0] - v2 * dq[0] - v2.cross(&dv)) * side
}

/// Fills the rows of a connect or weld: position, then for a weld orientation.
#[inline(always)]
fn body_equality_rows<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, r0: usize) {
    let (a1, a2) = (eq_anchor(m, e, 0), eq_anchor(m, e, 1));
    let weld = m.eq_type[e] == eq::WELD;
    let nrow = if weld { 6 } else { 3 };
    let stride = m.size.njrow;
    let on = slot_mask::<T>(&d.efc_on[r0]);

    // residual
    let (q1, q2) = (ld4(&d.xquat, a1.body), ld4(&d.xquat, a2.body));
    let (arm1, arm2) = (ld9(&d.xmat, a1.body) * a1.pos, ld9(&d.xmat, a2.body) * a2.pos);
    let dpos = anchor_difference(d, a1.body, arm1, a2.body, arm2);
    let (g1, g2) = (quat_mul(q1, a1.quat), quat_mul(q2, a2.quat));
    let scale = m.eq_data[12 * e + 10];
    let mut drot = Vec3::zeros();
    if weld {
        drot = rotation_difference(g1, g2) * scale;
    }

    // the rows of an equality share the impedance, of the length of the whole residual
    let solimp = ld_solimp(&m.eq_solimp, e);
    let imp = impedance(solimp, (dpos.dot(&dpos) + drot.dot(&drot)).sqrt());
    let kb = spring_damper(m, ld_solref(&m.eq_solref, e), solimp, true);
    for k in 0..nrow {
        let r = r0 + k;
        let pos = if k < 3 { dpos[k] } else { drot[k - 3] };
        st_row(d, on, r, cnstr::EQUALITY, e, pos, T::zero(), T::zero());
        st_kbip(d, on, r, kb, imp);
        let part = usize::from(k >= 3);
        let diag = m.body_invweight0[2 * a1.body + part] + m.body_invweight0[2 * a2.body + part];
        st_regularizer(d, on, r, regularizer(imp.0, diag), imp.0);
    }

    // Jacobian, dof by dof from the last one down
    let (root1, root2) = (id(m.body_rootid[a1.body]), id(m.body_rootid[a2.body]));
    let offset1 = ld3(&d.xpos, a1.body) + arm1 - ld3(&d.subtree_com, root1);
    let offset2 = ld3(&d.xpos, a2.body) + arm2 - ld3(&d.subtree_com, root2);
    let mut n = chain_length(m, a1.body, a2.body, true);
    zero_rows(m, d, r0, nrow, n);
    let (mut i1, mut i2) = (last_dof(m, a1.body), last_dof(m, a2.body));
    while i1 >= 0 || i2 >= 0 {
        let last = i1.max(i2);
        let i = id(last);
        let jp;
        let mut jr = Vec3::zeros();
        if last == i1 && last == i2 {
            // a dof that moves both turns one point about the other
            jp = ld3(&d.cdof, 2 * i).cross(&dpos);
        } else if last == i1 {
            (jp, jr) = point_jac(d, i, offset1);
        } else {
            let (p, r) = point_jac(d, i, offset2);
            (jp, jr) = (-p, -r);
        }
        if last == i1 {
            i1 = m.dof_parentid[i];
        }
        if last == i2 {
            i2 = m.dof_parentid[i];
        }
        n -= 1;
        d.efc_J_colind[r0 * stride + n] = index(i);
        for k in 0..3 {
            d.efc_Jc[(r0 + k) * stride + n] = where_on(on, jp[k]);
        }
        if weld {
            let q = half_relative(g1, g2, Quat::new(T::zero(), jr[0], jr[1], jr[2])) * scale;
            for k in 0..3 {
                d.efc_Jc[(r0 + 3 + k) * stride + n] = where_on(on, q[k]);
            }
        }
    }
    share_columns(m, d, r0, nrow);
    for r in r0..r0 + nrow {
        limit_stiffness(m, d, r, 1, T::zero());
    }
}

/// Value and derivative of the polynomial of equality `e` at `x`.
#[inline(always)]
fn eq_poly<T: Real>(m: &Model<T>, e: usize, x: T) -> (T, T) {
    let c = &m.eq_data[12 * e..12 * e + 5];
    (
        c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4]))),
        c[1] + x * (c[2] * T::r(2.0) + x * (c[3] * T::r(3.0) + x * c[4] * T::r(4.0))),
    )
}

/// How far joint `j` is from its reference position.
#[inline(always)]
fn joint_offset<T: Real>(m: &Model<T>, d: &World<T>, j: usize) -> T {
    let a = id(m.jnt_qposadr[j]);
    (d.qpos[a] - m.qpos0[a]) + d.qpos_lo[a]
}

/// Fills the row that ties one joint to another by a polynomial, or holds it.
#[inline(always)]
fn joint_equality_row<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, r: usize) {
    let on = slot_mask::<T>(&d.efc_on[r]);
    let j1 = id(m.eq_obj1id[e]);
    let v1 = id(m.jnt_dofadr[j1]);
    let mut pos = joint_offset(m, d, j1);
    let mut diag = m.dof_invweight0[v1];
    zero_rows(m, d, r, 1, 0);
    if m.eq_obj2id[e] < 0 {
        pos -= m.eq_data[12 * e];
        push_nonzero(m, d, on, r, v1, T::one());
    } else {
        let j2 = id(m.eq_obj2id[e]);
        let v2 = id(m.jnt_dofadr[j2]);
        let (value, slope) = eq_poly(m, e, joint_offset(m, d, j2));
        pos -= value;
        diag += m.dof_invweight0[v2];
        if v1 < v2 {
            push_nonzero(m, d, on, r, v1, T::one());
            push_nonzero(m, d, on, r, v2, -slope);
        } else {
            push_nonzero(m, d, on, r, v2, -slope);
            push_nonzero(m, d, on, r, v1, T::one());
        }
    }
    let (solref, solimp) = (ld_solref(&m.eq_solref, e), ld_solimp(&m.eq_solimp, e));
    st_scalar_row(m, d, on, r, cnstr::EQUALITY, e, pos, T::zero(), T::zero(), diag, solref, solimp, true);
}

/// Fills the row that ties one tendon's length to another's by a polynomial, or holds it.
#[inline(always)]
fn tendon_equality_row<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize, r: usize) {
    let nv = m.size.nv;
    let on = slot_mask::<T>(&d.efc_on[r]);
    let t1 = id(m.eq_obj1id[e]);
    let mut pos = d.ten_length[t1] - m.tendon_length0[t1];
    let mut diag = m.tendon_invweight0[t1];
    let mut t2 = t1;
    let mut slope = T::zero();
    if m.eq_obj2id[e] < 0 {
        pos -= m.eq_data[12 * e];
    } else {
        t2 = id(m.eq_obj2id[e]);
        let value;
        (value, slope) = eq_poly(m, e, d.ten_length[t2] - m.tendon_length0[t2]);
        pos -= value;
        diag += m.tendon_invweight0[t2];
    }
    zero_rows(m, d, r, 1, 0);
    for i in 0..nv {
        let (j1, j2) = (d.ten_J[t1 * nv + i], d.ten_J[t2 * nv + i]);
        let v = j1 - slope * j2;
        // a slope that is not finite makes something of zeros too: a row has room for the dofs of its tendons
        let still = j1.same(T::zero()) & j2.same(T::zero());
        if (on & !still & !v.same(T::zero())).any() {
            push_nonzero(m, d, on, r, i, v);
        }
    }
    let (solref, solimp) = (ld_solref(&m.eq_solref, e), ld_solimp(&m.eq_solimp, e));
    st_scalar_row(m, d, on, r, cnstr::EQUALITY, e, pos, T::zero(), T::zero(), diag, solref, solimp, true);
}
