//! Stage `constraint`: which rows there are, where they start, and what is in them. Twin: `shaders/constraint.wgsl`.
//!
//! Two phases, so that lanes can share the work: every item (an equality, a friction loss, a side of a limit, a contact)
//! counts its rows and a running sum gives each its first row; then every item fills its own rows.
//!
//! Where a number stands for several worlds they share slots of rows: an item has rows where some world has it, and they are
//! zero in the others. A single world's slots are its rows.

use crate::constraint_contact::constraint_contact;
use crate::constraint_equality::constraint_equality;
use crate::constraint_row::*;
use crate::integrate::set_status;
use crate::math::*;
use crate::{Ints, Mask, Real, Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{cnstr, disable, jnt, status};

/// Rows wanted and held so far, a world, and the slots in use.
struct Rows<T> {
    need: T,
    held: T,
    /// rows that a world may have
    most: T,
    slots: usize,
    most_slots: usize,
}

impl<T: Real> Rows<T> {
    #[inline(always)]
    fn new(m: &Model<T>) -> Self {
        let most = T::r(f64::from(index(m.opt.world_nefc.min(m.size.njmax))));
        Self { need: T::zero(), held: T::zero(), most, slots: 0, most_slots: m.size.njmax }
    }

    /// Room for the `n` rows of an item that some worlds have: the first slot, and the worlds that hold them; `None` where
    /// nothing is wanted or they fit nowhere.
    #[inline(always)]
    fn take(&mut self, m: &Model<T>, d: &mut World<T>, wanted: T::Mask, n: usize) -> Option<(usize, T::Mask)> {
        if n == 0 || !wanted.any() {
            return None;
        }
        let rows = T::r(f64::from(index(n)));
        self.need = T::select(wanted, self.need + rows, self.need);
        let on = wanted & self.need.le(self.most);
        let first = self.slots;
        if !on.any() || first + n > self.most_slots {
            return None;
        }
        self.held = T::select(on, self.held + rows, self.held);
        self.slots += n;
        let len = d.efc_pos.len();
        if self.slots > len {
            crate::lengthen(m, d, crate::ROWS, len, self.slots, self.most_slots);
        }
        for r in first..self.slots {
            for l in 0..T::LANES {
                d.efc_on[r].set(l, i32::from(on.get(l)));
            }
        }
        Some((first, on))
    }
}

/// Whole numbers as integers.
// CPU only: a world has counts of its own there
#[inline(always)]
fn whole<T: Real>(x: T) -> T::Int {
    let mut out = T::Int::default();
    for l in 0..T::LANES {
        #[expect(clippy::cast_possible_truncation, reason = "counts of rows")]
        out.set(l, x.lane(l).to_f64() as i32);
    }
    out
}

/// All constraint rows of a world, in MuJoCo's order: equality, friction loss, limits, contacts (`mj_makeConstraint`).
#[inline(always)]
pub fn constraint<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let on = m.opt.disableflags & disable::CONSTRAINT == 0;
    let mut rows = Rows::new(m);

    for e in 0..m.size.neq {
        let (worlds, n) = equality_count(m, d, e);
        d.eq_efc_address[e] = match rows.take(m, d, worlds, if on { n } else { 0 }) {
            Some((r, _)) => index(r),
            None => -1,
        };
    }
    let (ne, slot_ne) = (rows.held, rows.slots);
    if on {
        for i in 0..m.size.nv {
            let worlds = dof_friction_count(m, i);
            if let Some((r, on)) = rows.take(m, d, worlds, 1) {
                dof_friction_row(m, d, on, i, r);
            }
        }
        for t in 0..m.size.ntendon {
            let worlds = tendon_friction_count(m, t);
            if let Some((r, on)) = rows.take(m, d, worlds, 1) {
                tendon_friction_row(m, d, on, t, r);
            }
        }
    }
    let (nf, slot_nf) = (rows.held - ne, rows.slots - slot_ne);
    if on {
        for i in 0..2 * m.size.njnt {
            let (pos, worlds) = joint_limit_count(m, d, i);
            if let Some((r, on)) = rows.take(m, d, worlds, 1) {
                joint_limit_row(m, d, on, i, r, pos);
            }
        }
        for i in 0..2 * m.size.ntendon {
            let (pos, worlds) = tendon_limit_count(m, d, i);
            if let Some((r, on)) = rows.take(m, d, worlds, 1) {
                tendon_limit_row(m, d, on, i, r, pos);
            }
        }
    }
    let nl = rows.held - ne - nf;
    for c in 0..id(d.slot_ncon[0]) {
        let (worlds, n) = contact_count(m, d, c);
        d.contact_efc_address[c] = match rows.take(m, d, worlds, if on { n } else { 0 }) {
            Some((r, _)) => index(r),
            None => -1,
        };
    }

    d.ne[0] = whole(ne);
    d.nf[0] = whole(nf);
    d.nl[0] = whole(nl);
    d.nefc[0] = whole(rows.held);
    (d.slot_ne[0], d.slot_nf[0], d.slot_nefc[0]) = (index(slot_ne), index(slot_nf), index(rows.slots));
    let need = whole(rows.need);
    for l in 0..T::LANES {
        // with those of contacts that found no slot: room for both is asked for at once
        let most = d.nefc_need[0].get(l).max(need.get(l) + d.nefc_lost[0].get(l));
        d.nefc_need[0].set(l, most);
    }
    set_status::<T>(&mut d.status[0], rows.need.gt(rows.held), status::ROW_OVERFLOW);

    // kernels of their own on the device
    constraint_equality(m, d);
    constraint_contact(m, d);
    // where somebody looks: never at a world in a lane
    if T::LANES == 1 && !d.efc_J.is_empty() {
        dense_rows(m, d);
    }
}

/// The worlds that equality `e` holds in, and the number of its rows.
#[inline(always)]
fn equality_count<T: Real>(m: &Model<T>, d: &World<T>, e: usize) -> (T::Mask, usize) {
    let on = m.opt.disableflags & disable::EQUALITY == 0;
    (nonzero::<T>(&d.eq_active[e]), if on { id(m.eq_rownum[e]) } else { 0 })
}

/// The worlds with a friction loss row of dof `i`.
#[inline(always)]
fn dof_friction_count<T: Real>(m: &Model<T>, i: usize) -> T::Mask {
    T::Mask::splat(m.opt.disableflags & disable::FRICTIONLOSS == 0) & m.dof_frictionloss[i].gt(T::zero())
}

/// Fills the friction loss row of dof `i`.
#[inline(always)]
fn dof_friction_row<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, i: usize, r: usize) {
    let (solref, solimp) = (ld_solref(&m.dof_solref, i), ld_solimp(&m.dof_solimp, i));
    let (loss, diag) = (m.dof_frictionloss[i], m.dof_invweight0[i]);
    st_scalar_row(m, d, on, r, cnstr::FRICTION_DOF, i, T::zero(), T::zero(), loss, diag, solref, solimp, false);
    zero_rows(m, d, r, 1, 0);
    push_nonzero(m, d, on, r, i, T::one());
}

/// The worlds with a friction loss row of tendon `t`.
#[inline(always)]
fn tendon_friction_count<T: Real>(m: &Model<T>, t: usize) -> T::Mask {
    T::Mask::splat(m.opt.disableflags & disable::FRICTIONLOSS == 0) & m.tendon_frictionloss[t].gt(T::zero())
}

/// Fills the friction loss row of tendon `t`.
#[inline(always)]
fn tendon_friction_row<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, t: usize, r: usize) {
    let (solref, solimp) = (ld_solref(&m.tendon_solref_fri, t), ld_solimp(&m.tendon_solimp_fri, t));
    let (loss, diag) = (m.tendon_frictionloss[t], m.tendon_invweight0[t]);
    st_scalar_row(m, d, on, r, cnstr::FRICTION_TENDON, t, T::zero(), T::zero(), loss, diag, solref, solimp, false);
    tendon_jac(m, d, on, t, r, T::one());
}

/// Fills a row's Jacobian with that of tendon `t`, times `sign`.
#[inline(always)]
fn tendon_jac<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, t: usize, r: usize, sign: T) {
    zero_rows(m, d, r, 1, 0);
    for i in 0..m.size.nv {
        let v = d.ten_J[t * m.size.nv + i] * sign;
        if (on & !v.same(T::zero())).any() {
            push_nonzero(m, d, on, r, i, v);
        }
    }
}

/// The angle [rad] that a ball joint is turned by, and the axis.
#[inline(always)]
fn ball_angle<T: Real>(m: &Model<T>, d: &World<T>, j: usize) -> (T, Vec3<T>) {
    let a = id(m.jnt_qposadr[j]);
    let q = quat_normalize(Quat::new(d.qpos[a], d.qpos[a + 1], d.qpos[a + 2], d.qpos[a + 3]));
    let v = quat_to_vel(q);
    let angle = v.dot(&v).sqrt();
    let turned = angle.gt(T::zero());
    (angle, Vec3::select(turned, v / T::select(turned, angle, T::one()), Vec3::x()))
}

/// Distance to side `i % 2` (0: lower, 1: upper) of the limits of joint `i / 2` and the worlds that have its row. The limit
/// of a ball joint has one side, counted as the lower.
#[inline(always)]
fn joint_limit_count<T: Real>(m: &Model<T>, d: &World<T>, i: usize) -> (T, T::Mask) {
    let (j, upper) = (i / 2, i % 2 == 1);
    if m.opt.disableflags & disable::LIMIT != 0 || m.jnt_limited[j] == 0 {
        return (T::zero(), T::Mask::splat(false));
    }
    let (lo, hi) = (m.jnt_range[2 * j], m.jnt_range[2 * j + 1]);
    let pos = match m.jnt_type[j] {
        jnt::SLIDE | jnt::HINGE => {
            let a = id(m.jnt_qposadr[j]);
            if upper { (hi - d.qpos[a]) - d.qpos_lo[a] } else { (d.qpos[a] - lo) + d.qpos_lo[a] }
        }
        jnt::BALL if !upper => lo.max(hi) - ball_angle(m, d, j).0,
        _ => return (T::zero(), T::Mask::splat(false)),
    };
    (pos, pos.lt(m.jnt_margin[j]))
}

/// Fills the row of a side of a joint's limits.
#[inline(always)]
fn joint_limit_row<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, i: usize, r: usize, pos: T) {
    let j = i / 2;
    let v = id(m.jnt_dofadr[j]);
    let (solref, solimp) = (ld_solref(&m.jnt_solref, j), ld_solimp(&m.jnt_solimp, j));
    let diag = m.dof_invweight0[v];
    st_scalar_row(m, d, on, r, cnstr::LIMIT_JOINT, j, pos, m.jnt_margin[j], T::zero(), diag, solref, solimp, true);
    zero_rows(m, d, r, 1, 0);
    if m.jnt_type[j] == jnt::BALL {
        let axis = ball_angle(m, d, j).1;
        for k in 0..3 {
            push_nonzero(m, d, on, r, v + k, -axis[k]);
        }
    } else {
        push_nonzero(m, d, on, r, v, if i % 2 == 1 { -T::one() } else { T::one() });
    }
}

/// Distance to side `i % 2` (0: lower, 1: upper) of the limits of tendon `i / 2` and the worlds that have its row.
#[inline(always)]
fn tendon_limit_count<T: Real>(m: &Model<T>, d: &World<T>, i: usize) -> (T, T::Mask) {
    let (t, upper) = (i / 2, i % 2 == 1);
    if m.opt.disableflags & disable::LIMIT != 0 || m.tendon_limited[t] == 0 {
        return (T::zero(), T::Mask::splat(false));
    }
    let (lo, hi) = (m.tendon_range[2 * t], m.tendon_range[2 * t + 1]);
    let pos = if upper { hi - d.ten_length[t] } else { d.ten_length[t] - lo };
    (pos, pos.lt(m.tendon_margin[t]))
}

/// Fills the row of a side of a tendon's limits.
#[inline(always)]
fn tendon_limit_row<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, i: usize, r: usize, pos: T) {
    let t = i / 2;
    let (solref, solimp) = (ld_solref(&m.tendon_solref_lim, t), ld_solimp(&m.tendon_solimp_lim, t));
    let (margin, diag) = (m.tendon_margin[t], m.tendon_invweight0[t]);
    st_scalar_row(m, d, on, r, cnstr::LIMIT_TENDON, t, pos, margin, T::zero(), diag, solref, solimp, true);
    tendon_jac(m, d, on, t, r, if i % 2 == 1 { -T::one() } else { T::one() });
}

/// The worlds that contact `c` has rows in, and their number: none in the gap, or where nothing moves the one body against
/// the other.
#[inline(always)]
fn contact_count<T: Real>(m: &Model<T>, d: &World<T>, c: usize) -> (T::Mask, usize) {
    let worlds = slot_mask::<T>(&d.contact_on[c]) & !nonzero::<T>(&d.contact_exclude[c]);
    let (b1, b2) = contact_bodies(m, d, c);
    let off = m.opt.disableflags & disable::CONTACT != 0;
    (worlds, if off { 0 } else { contact_rownum(m, b1, b2, d.contact_dim[c]) })
}
