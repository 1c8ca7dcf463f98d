//! Stage `reference`: row velocities and reference accelerations. Twin: `shaders/reference.wgsl`.

use crate::constraint_anchor::{eq_anchor, half_relative};
use crate::constraint_row::{id, slot_mask, where_on};
use crate::math::*;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::eq;

/// Velocity and reference acceleration of every row (`mj_referenceConstraint`).
#[inline(always)]
pub fn reference<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for r in 0..id(d.slot_nefc[0]) {
        reference_row(m, d, r);
    }
    for e in 0..m.size.neq {
        if d.eq_efc_address[e] >= 0 && (m.eq_type[e] == eq::CONNECT || m.eq_type[e] == eq::WELD) {
            equality_bias(m, d, e);
        }
    }
}

/// Velocity `J qvel` of row `r` and its reference acceleration `-B vel - K I (pos - margin)`.
#[inline(always)]
fn reference_row<T: Real>(m: &Model<T>, d: &mut World<T>, r: usize) {
    let mut vel = T::zero();
    for n in 0..id(d.efc_J_rownnz[r]) {
        let i = id(d.efc_J_colind[r * m.size.njrow + n]);
        vel += d.efc_Jc[r * m.size.njrow + n] * d.qvel[i];
    }
    d.efc_vel[r] = vel;
    let (k, b, imp) = (d.efc_KBIP[4 * r], d.efc_KBIP[4 * r + 1], d.efc_KBIP[4 * r + 2]);
    d.efc_aref[r] = -b * vel - k * imp * (d.efc_pos[r] - d.efc_margin[r]);
}

/// The acceleration [m/s²] of the point of body `b` at `arm` from its frame while qacc is zero, gravity as in `cacc`.
#[inline(always)]
fn point_bias<T: Real>(m: &Model<T>, d: &World<T>, b: usize, arm: Vec3<T>) -> Vec3<T> {
    let offset = (ld3(&d.xpos, b) - ld3(&d.subtree_com, id(m.body_rootid[b]))) + arm;
    let (rot, lin) = (ld3(&d.cvel, 2 * b), ld3(&d.cvel, 2 * b + 1));
    let (rot_acc, lin_acc) = (ld3(&d.cacc, 2 * b), ld3(&d.cacc, 2 * b + 1));
    // the second term makes the acceleration that of the moving point
    lin_acc + rot_acc.cross(&offset) + rot.cross(&(lin + rot.cross(&offset)))
}

/// Takes what the motion does to the Jacobian of connect or weld `e`, `dJ/dt qvel`, off its reference acceleration.
#[inline(always)]
fn equality_bias<T: Real>(m: &Model<T>, d: &mut World<T>, e: usize) {
    let r0 = id(d.eq_efc_address[e]);
    let on = slot_mask::<T>(&d.efc_on[r0]);
    let (a1, a2) = (eq_anchor(m, e, 0), eq_anchor(m, e, 1));
    let (arm1, arm2) = (ld9(&d.xmat, a1.body) * a1.pos, ld9(&d.xmat, a2.body) * a2.pos);
    // gravity is in both and goes out
    let bias = point_bias(m, d, a1.body, arm1) - point_bias(m, d, a2.body, arm2);
    for k in 0..3 {
        d.efc_aref[r0 + k] -= where_on(on, bias[k]);
    }
    if m.eq_type[e] == eq::WELD {
        // of vec(conj(g2) (0, w1 - w2) g1) / 2, with dg/dt = (0, w) g / 2
        let (w1, w2) = (ld3(&d.cvel, 2 * a1.body), ld3(&d.cvel, 2 * a2.body));
        let dw = w1 - w2;
        let acc = ld3(&d.cacc, 2 * a1.body) - ld3(&d.cacc, 2 * a2.body) + w1.cross(&w2);
        let g1 = quat_mul(ld4(&d.xquat, a1.body), a1.quat);
        let g2 = quat_mul(ld4(&d.xquat, a2.body), a2.quat);
        let turn = Quat::new(-dw.dot(&dw) * T::r(0.5), acc[0], acc[1], acc[2]);
        let bias = half_relative(g1, g2, turn) * m.eq_data[12 * e + 10];
        for k in 0..3 {
            d.efc_aref[r0 + 3 + k] -= where_on(on, bias[k]);
        }
    }
}
