//! What connects and welds hold together: bodies, points and orientations. Twin: `shaders/constraint_anchor.wgsl`.

use crate::Real;
use crate::constraint_row::id;
use crate::math::*;
use kiloworld_layout::Model;
use kiloworld_layout::consts::{eq, obj};

/// Where an object of an equality is fixed: its body, and the fixed point and orientation in the body's frame.
pub struct Anchor<T> {
    /// body
    pub body: usize,
    /// point in the body's frame [m]
    pub pos: Vec3<T>,
    /// orientation in the body's frame
    pub quat: Quat<T>,
}

/// The body of an object of equality `e`: `k` is 0 or 1.
#[inline(always)]
pub fn eq_body<T: Real>(m: &Model<T>, e: usize, k: usize) -> usize {
    let o = id(if k == 0 { m.eq_obj1id[e] } else { m.eq_obj2id[e] });
    if m.eq_objtype[e] == obj::SITE { id(m.site_bodyid[o]) } else { o }
}

/// The anchor of object `k` of equality `e`.
#[inline(always)]
pub fn eq_anchor<T: Real>(m: &Model<T>, e: usize, k: usize) -> Anchor<T> {
    let body = eq_body(m, e, k);
    if m.eq_objtype[e] == obj::SITE {
        let s = id(if k == 0 { m.eq_obj1id[e] } else { m.eq_obj2id[e] });
        return Anchor { body, pos: ld3(&m.site_pos, s), quat: ld4(&m.site_quat, s) };
    }
    let unit = Quat::new(T::one(), T::zero(), T::zero(), T::zero());
    let data = &m.eq_data[12 * e..12 * e + 12];
    if m.eq_type[e] == eq::WELD {
        // a weld keeps the second body's anchor first, then the relative pose in the first body
        if k == 0 {
            return Anchor { body, pos: ld3(data, 1), quat: Quat::new(data[6], data[7], data[8], data[9]) };
        }
        return Anchor { body, pos: ld3(data, 0), quat: unit };
    }
    Anchor { body, pos: ld3(data, k), quat: unit }
}

/// Half the vector part of `conj(g2) turn g1`.
#[inline(always)]
pub fn half_relative<T: Real>(g1: Quat<T>, g2: Quat<T>, turn: Quat<T>) -> Vec3<T> {
    let q = quat_mul(quat_mul(quat_conj(g2), turn), g1);
    Vec3::new(q[1], q[2], q[3]) * T::r(0.5)
}
