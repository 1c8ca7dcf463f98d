//! Stage `constraint`: which rows there are, where they start, and what is in them. Twin: `shaders/constraint.wgsl`.
//!
//! Two phases, so that lanes can share the work: every item (an equality, a friction loss, a side of a limit, a contact)
//! counts its rows and a running sum gives each its first row; then every item fills its own rows.

use crate::constraint_anchor::eq_body;
use crate::constraint_contact::constraint_contact;
use crate::constraint_equality::constraint_equality;
use crate::constraint_row::*;
use crate::math::*;
use crate::{Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{cnstr, cone, disable, eq, jnt, status};

/// Rows wanted and held so far, and how many of the held ones are of each class.
#[derive(Default)]
struct Rows {
    need: usize,
    held: usize,
}

impl Rows {
    /// Room for `n` rows: the first of them, or `None` where nothing is wanted or they do not fit.
    #[inline(always)]
    fn take(&mut self, n: usize, njmax: usize) -> Option<usize> {
        let first = self.need;
        self.need += n;
        if n == 0 || self.need > njmax {
            return None;
        }
        self.held = self.need;
        Some(first)
    }
}

/// All constraint rows of a world, in MuJoCo's order: equality, friction loss, limits, contacts (`mj_makeConstraint`).
#[inline(always)]
pub fn constraint<T: Scalar>(m: &Model<T>, d: &mut World<T>) {
    let njmax = m.size.njmax;
    let off = m.opt.disableflags & disable::CONSTRAINT != 0;
    let mut rows = Rows::default();

    for e in 0..m.size.neq {
        let n = if off { 0 } else { equality_count(m, d, e) };
        d.eq_efc_address[e] = rows.take(n, njmax).map_or(-1, index);
    }
    let ne = rows.held;
    for i in 0..m.size.nv {
        let n = if off { 0 } else { dof_friction_count(m, i) };
        if let Some(r) = rows.take(n, njmax) {
            dof_friction_row(m, d, i, r);
        }
    }
    for t in 0..m.size.ntendon {
        let n = if off { 0 } else { tendon_friction_count(m, t) };
        if let Some(r) = rows.take(n, njmax) {
            tendon_friction_row(m, d, t, r);
        }
    }
    let nf = rows.held - ne;
    for i in 0..2 * m.size.njnt {
        let (pos, n) = if off { (T::zero(), 0) } else { joint_limit_count(m, d, i) };
        if let Some(r) = rows.take(n, njmax) {
            joint_limit_row(m, d, i, r, pos);
        }
    }
    for i in 0..2 * m.size.ntendon {
        let (pos, n) = if off { (T::zero(), 0) } else { tendon_limit_count(m, d, i) };
        if let Some(r) = rows.take(n, njmax) {
            tendon_limit_row(m, d, i, r, pos);
        }
    }
    let nl = rows.held - ne - nf;
    for c in 0..m.size.nconmax {
        let n = if off { 0 } else { contact_count(m, d, c) };
        d.contact_efc_address[c] = rows.take(n, njmax).map_or(-1, index);
    }

    d.ne[0] = index(ne);
    d.nf[0] = index(nf);
    d.nl[0] = index(nl);
    d.nefc[0] = index(rows.held);
    d.efc_on.fill(1);
    (d.slot_ne[0], d.slot_nf[0], d.slot_nefc[0]) = (d.ne[0], d.nf[0], d.nefc[0]);
    d.nefc_need[0] = d.nefc_need[0].max(index(rows.need));
    if rows.need > njmax {
        d.status[0] |= status::ROW_OVERFLOW;
    }

    // kernels of their own on the device
    constraint_equality(m, d);
    constraint_contact(m, d);
}

/// Number of rows of equality `e` in this world.
#[inline(always)]
fn equality_count<T: Scalar>(m: &Model<T>, d: &World<T>, e: usize) -> usize {
    if m.opt.disableflags & disable::EQUALITY != 0 || d.eq_active[e] == 0 {
        return 0;
    }
    match m.eq_type[e] {
        eq::CONNECT | eq::WELD => {
            let (b1, b2) = (eq_body(m, e, 0), eq_body(m, e, 1));
            if last_dof(m, b1) < 0 && last_dof(m, b2) < 0 {
                0
            } else if m.eq_type[e] == eq::WELD {
                6
            } else {
                3
            }
        }
        eq::JOINT | eq::TENDON => 1,
        _ => 0,
    }
}

/// Number of friction loss rows of dof `i`.
#[inline(always)]
fn dof_friction_count<T: Scalar>(m: &Model<T>, i: usize) -> usize {
    usize::from(m.opt.disableflags & disable::FRICTIONLOSS == 0 && m.dof_frictionloss[i] > T::zero())
}

/// Fills the friction loss row of dof `i`.
#[inline(always)]
fn dof_friction_row<T: Scalar>(m: &Model<T>, d: &mut World<T>, i: usize, r: usize) {
    let (solref, solimp) = (ld_solref(&m.dof_solref, i), ld_solimp(&m.dof_solimp, i));
    let (loss, diag) = (m.dof_frictionloss[i], m.dof_invweight0[i]);
    st_scalar_row(m, d, r, cnstr::FRICTION_DOF, i, T::zero(), T::zero(), loss, diag, solref, solimp, false);
    zero_rows(m, d, r, 1, 0);
    push_nonzero(m, d, r, i, T::one());
}

/// Number of friction loss rows of tendon `t`.
#[inline(always)]
fn tendon_friction_count<T: Scalar>(m: &Model<T>, t: usize) -> usize {
    usize::from(m.opt.disableflags & disable::FRICTIONLOSS == 0 && m.tendon_frictionloss[t] > T::zero())
}

/// Fills the friction loss row of tendon `t`.
#[inline(always)]
fn tendon_friction_row<T: Scalar>(m: &Model<T>, d: &mut World<T>, t: usize, r: usize) {
    let (solref, solimp) = (ld_solref(&m.tendon_solref_fri, t), ld_solimp(&m.tendon_solimp_fri, t));
    let (loss, diag) = (m.tendon_frictionloss[t], m.tendon_invweight0[t]);
    st_scalar_row(m, d, r, cnstr::FRICTION_TENDON, t, T::zero(), T::zero(), loss, diag, solref, solimp, false);
    tendon_jac(m, d, t, r, T::one());
}

/// Fills a row's Jacobian with that of tendon `t`, times `sign`.
#[inline(always)]
fn tendon_jac<T: Scalar>(m: &Model<T>, d: &mut World<T>, t: usize, r: usize, sign: T) {
    zero_rows(m, d, r, 1, 0);
    for i in 0..m.size.nv {
        let v = d.ten_J[t * m.size.nv + i] * sign;
        if v != T::zero() {
            push_nonzero(m, d, r, i, v);
        }
    }
}

/// The angle [rad] that a ball joint is turned by, and the axis.
#[inline(always)]
fn ball_angle<T: Scalar>(m: &Model<T>, d: &World<T>, j: usize) -> (T, Vec3<T>) {
    let a = id(m.jnt_qposadr[j]);
    let q = quat_normalize(Quat::new(d.qpos[a], d.qpos[a + 1], d.qpos[a + 2], d.qpos[a + 3]));
    let v = quat_to_vel(q);
    let angle = v.dot(&v).sqrt();
    if angle > T::zero() { (angle, v / angle) } else { (angle, Vec3::new(T::one(), T::zero(), T::zero())) }
}

/// Distance to side `i % 2` (0: lower, 1: upper) of the limits of joint `i / 2` and the number of its rows. The limit of
/// a ball joint has one side, counted as the lower.
#[inline(always)]
fn joint_limit_count<T: Scalar>(m: &Model<T>, d: &World<T>, i: usize) -> (T, usize) {
    let (j, upper) = (i / 2, i % 2 == 1);
    if m.opt.disableflags & disable::LIMIT != 0 || m.jnt_limited[j] == 0 {
        return (T::zero(), 0);
    }
    let (lo, hi) = (m.jnt_range[2 * j], m.jnt_range[2 * j + 1]);
    let pos = match m.jnt_type[j] {
        jnt::SLIDE | jnt::HINGE => {
            let a = id(m.jnt_qposadr[j]);
            if upper { (hi - d.qpos[a]) - d.qpos_lo[a] } else { (d.qpos[a] - lo) + d.qpos_lo[a] }
        }
        jnt::BALL if !upper => lo.max(hi) - ball_angle(m, d, j).0,
        _ => return (T::zero(), 0),
    };
    (pos, usize::from(pos < m.jnt_margin[j]))
}

/// Fills the row of a side of a joint's limits.
#[inline(always)]
fn joint_limit_row<T: Scalar>(m: &Model<T>, d: &mut World<T>, i: usize, r: usize, pos: T) {
    let j = i / 2;
    let v = id(m.jnt_dofadr[j]);
    let (solref, solimp) = (ld_solref(&m.jnt_solref, j), ld_solimp(&m.jnt_solimp, j));
    let diag = m.dof_invweight0[v];
    st_scalar_row(m, d, r, cnstr::LIMIT_JOINT, j, pos, m.jnt_margin[j], T::zero(), diag, solref, solimp, true);
    zero_rows(m, d, r, 1, 0);
    if m.jnt_type[j] == jnt::BALL {
        let axis = ball_angle(m, d, j).1;
        for k in 0..3 {
            push_nonzero(m, d, r, v + k, -axis[k]);
        }
    } else {
        push_nonzero(m, d, r, v, if i % 2 == 1 { -T::one() } else { T::one() });
    }
}

/// Distance to side `i % 2` (0: lower, 1: upper) of the limits of tendon `i / 2` and the number of its rows.
#[inline(always)]
fn tendon_limit_count<T: Scalar>(m: &Model<T>, d: &World<T>, i: usize) -> (T, usize) {
    let (t, upper) = (i / 2, i % 2 == 1);
    if m.opt.disableflags & disable::LIMIT != 0 || m.tendon_limited[t] == 0 {
        return (T::zero(), 0);
    }
    let (lo, hi) = (m.tendon_range[2 * t], m.tendon_range[2 * t + 1]);
    let pos = if upper { hi - d.ten_length[t] } else { d.ten_length[t] - lo };
    (pos, usize::from(pos < m.tendon_margin[t]))
}

/// Fills the row of a side of a tendon's limits.
#[inline(always)]
fn tendon_limit_row<T: Scalar>(m: &Model<T>, d: &mut World<T>, i: usize, r: usize, pos: T) {
    let t = i / 2;
    let (solref, solimp) = (ld_solref(&m.tendon_solref_lim, t), ld_solimp(&m.tendon_solimp_lim, t));
    let (margin, diag) = (m.tendon_margin[t], m.tendon_invweight0[t]);
    st_scalar_row(m, d, r, cnstr::LIMIT_TENDON, t, pos, margin, T::zero(), diag, solref, solimp, true);
    tendon_jac(m, d, t, r, if i % 2 == 1 { -T::one() } else { T::one() });
}

/// Number of rows of contact `c`: none in the gap, or where nothing moves the one body against the other.
#[inline(always)]
fn contact_count<T: Scalar>(m: &Model<T>, d: &World<T>, c: usize) -> usize {
    if m.opt.disableflags & disable::CONTACT != 0 || c >= id(d.ncon[0]) || d.contact_exclude[c] != 0 {
        return 0;
    }
    let (b1, b2) = contact_bodies(m, d, c);
    if last_dof(m, b1) == last_dof(m, b2) {
        return 0;
    }
    let dim = id(d.contact_dim[c]);
    if dim > 1 && m.opt.cone == cone::PYRAMIDAL { 2 * (dim - 1) } else { dim }
}
