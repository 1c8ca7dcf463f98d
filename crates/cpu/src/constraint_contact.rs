//! Rows of contacts: frictionless, elliptic, pyramidal. Twin: `shaders/constraint_contact.wgsl`.

use crate::constraint_row::*;
use crate::math::*;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, cnstr, cone};

/// Fills the rows of all contacts that have room.
#[inline(always)]
pub fn constraint_contact<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for c in 0..id(d.slot_ncon[0]) {
        if d.contact_efc_address[c] >= 0 {
            contact_rows(m, d, c, id(d.contact_efc_address[c]));
        } else {
            d.contact_mu[c] = T::zero();
        }
    }
}

/// Fills the rows of contact `c`, from row `r0`.
#[inline(always)]
fn contact_rows<T: Real>(m: &Model<T>, d: &mut World<T>, c: usize, r0: usize) {
    let on = slot_mask::<T>(&d.efc_on[r0]);
    let dim = id(d.contact_dim[c]);
    let (b1, b2) = contact_bodies(m, d, c);
    let (dist, margin) = (d.contact_dist[c], d.contact_includemargin[c]);
    let solimp = ld_solimp(&d.contact_solimp, c);
    let solref = ld_solref(&d.contact_solref, c);
    let imp = impedance(solimp, dist - margin);
    let kb = spring_damper(m, solref, solimp, true);
    let tran = m.body_invweight0[2 * b1] + m.body_invweight0[2 * b2];
    let mu = d.contact_friction[5 * c];

    if dim == 1 {
        st_row(d, on, r0, cnstr::CONTACT_FRICTIONLESS, c, dist, margin, T::zero());
        st_kbip(d, on, r0, kb, imp);
        st_regularizer(d, on, r0, regularizer(imp.0, tran), imp.0);
        st_mu(d, on, c, T::zero());
        contact_jac(m, d, on, c, r0, 1, false);
    } else if m.opt.cone == cone::PYRAMIDAL {
        // every edge has the regularizer that makes opposite edges together as stiff as the friction of the elliptic cone
        let normal = regularizer(imp.0, tran + mu * mu * tran);
        let regularized = mu * (T::one() / m.opt_impratio[0]).sqrt();
        st_mu(d, on, c, regularized);
        let reg = (T::r(2.0) * regularized * regularized * normal).max(T::r(MINVAL));
        for k in 0..2 * (dim - 1) {
            st_row(d, on, r0 + k, cnstr::CONTACT_PYRAMIDAL, c, dist, margin, T::zero());
            st_kbip(d, on, r0 + k, kb, imp);
            st_regularizer(d, on, r0 + k, reg, imp.0);
        }
        contact_jac(m, d, on, c, r0, dim, true);
    } else {
        let normal = regularizer(imp.0, tran);
        let friction = (normal / m.opt_impratio[0]).max(T::r(MINVAL));
        st_mu(d, on, c, mu * (friction / normal).sqrt());
        let mut solref_friction = ld_solref(&d.contact_solreffriction, c);
        // none, or one that says nothing: the contact's own
        let unset =
            is_mixed(solref_friction) | (solref_friction[0].same(T::zero()) & solref_friction[1].same(T::zero()));
        for k in 0..2 {
            solref_friction[k] = T::select(unset, solref[k], solref_friction[k]);
        }
        let kb_friction = spring_damper(m, solref_friction, solimp, false);
        for k in 0..dim {
            let (pos, margin) = if k == 0 { (dist, margin) } else { (T::zero(), T::zero()) };
            st_row(d, on, r0 + k, cnstr::CONTACT_ELLIPTIC, c, pos, margin, T::zero());
            st_kbip(d, on, r0 + k, if k == 0 { kb } else { kb_friction }, imp);
            let mut reg = normal;
            if k > 0 {
                let mu_k = d.contact_friction[5 * c + k - 1];
                reg = friction * mu * mu / (mu_k * mu_k).max(T::r(MINVAL));
            }
            st_regularizer(d, on, r0 + k, reg, imp.0);
        }
        contact_jac(m, d, on, c, r0, dim, false);
    }
}

// CPU only: a lane has its own contact there.
/// Writes the regularized friction of contact `c`: 1 in worlds without its rows, where it is divided by and nothing comes
/// of it.
#[inline(always)]
fn st_mu<T: Real>(d: &mut World<T>, on: T::Mask, c: usize, mu: T) {
    d.contact_mu[c] = T::select(on, mu, T::one());
}

// CPU only: an accessor.
/// The friction coefficients of contact `c`, 0 in worlds without its rows.
#[inline(always)]
fn ld_friction<T: Real>(d: &World<T>, on: T::Mask, c: usize) -> [T; 5] {
    let f = &d.contact_friction[5 * c..5 * c + 5];
    [where_on(on, f[0]), where_on(on, f[1]), where_on(on, f[2]), where_on(on, f[3]), where_on(on, f[4])]
}

/// Fills the Jacobian of contact `c`: relative velocity of the second body's point against the first's in the contact
/// frame, and from the fourth row on relative angular velocity; as they are, or as pyramid edges normal ± μ × tangent.
#[inline(always)]
fn contact_jac<T: Real>(m: &Model<T>, d: &mut World<T>, on: T::Mask, c: usize, r0: usize, dim: usize, pyramid: bool) {
    let (b1, b2) = contact_bodies(m, d, c);
    // what worlds without the contact have in its slot is nobody's
    let frame = Mat3::select(on, ld9(&d.contact_frame, c), Mat3::zeros());
    let pos = Vec3::select(on, ld3(&d.contact_pos, c), Vec3::zeros());
    let offset1 = pos - ld3(&d.subtree_com, id(m.body_rootid[b1]));
    let offset2 = pos - ld3(&d.subtree_com, id(m.body_rootid[b2]));
    let nrow = if pyramid { 2 * (dim - 1) } else { dim };
    let stride = m.size.njrow;
    let mu = ld_friction(d, on, c);
    let mut n = chain_length(m, b1, b2, false);
    zero_rows(m, d, r0, nrow, n);
    let (mut i1, mut i2) = (last_dof(m, b1), last_dof(m, b2));
    // dofs that move both bodies move the point with both: the rest of the chain is zero
    while i1 != i2 {
        let first = i1 > i2;
        let i = id(i1.max(i2));
        let (mut jp, mut jr) = point_jac(d, i, if first { offset1 } else { offset2 });
        if first {
            (jp, jr) = (-jp, -jr);
            i1 = m.dof_parentid[i];
        } else {
            i2 = m.dof_parentid[i];
        }
        jp = frame * jp;
        if dim > 3 {
            jr = frame * jr;
        }
        n -= 1;
        d.efc_J_colind[r0 * stride + n] = index(i);
        if pyramid {
            for k in 1..dim {
                let tangent = mu[k - 1] * (if k < 3 { jp[k] } else { jr[k - 3] });
                d.efc_Jc[(r0 + 2 * k - 2) * stride + n] = jp[0] + tangent;
                d.efc_Jc[(r0 + 2 * k - 1) * stride + n] = jp[0] - tangent;
            }
        } else {
            for k in 0..dim {
                d.efc_Jc[(r0 + k) * stride + n] = if k < 3 { jp[k] } else { jr[k - 3] };
            }
        }
    }
    share_columns(m, d, r0, nrow);
    let tran = m.body_invweight0[2 * b1] + m.body_invweight0[2 * b2];
    limit_stiffness(m, d, r0, nrow, tran);
}
