// Rows of contacts: frictionless, elliptic, pyramidal.
import package::layout::{
    CNSTR_CONTACT_ELLIPTIC, CNSTR_CONTACT_FRICTIONLESS, CNSTR_CONTACT_PYRAMIDAL, CONE_PYRAMIDAL, LANES, MINVAL, OPT_CONE,
    WORLDS_PER_GROUP, ld_body_invweight0, ld_body_rootid, ld_contact_dim, ld_contact_dist, ld_contact_efc_address,
    ld_contact_frame, ld_contact_friction, ld_contact_includemargin, ld_contact_pos, ld_contact_solimp, ld_contact_solref,
    ld_contact_solreffriction, ld_ncon, ld_opt_impratio, ld_subtree_com, st_contact_mu, st_efc_J, lane_of, world_of
};
import package::constraint_row::{
    Solimp, contact_bodies, dof_above, impedance, is_mixed, last_dof, limit_stiffness, point_jac, regularizer, spring_damper, st_kbip, st_regularizer, st_row,
    zero_rows
};
import package::loops::{loops_ran};

// Fills the rows of all contacts that have room.
fn constraint_contact(w: u32, lane: u32) {
    let n = u32(ld_ncon(w));
    for (var c = lane; c < n; c += LANES) {
        let r = ld_contact_efc_address(w, c);
        if r >= 0 {
            contact_rows(w, c, u32(r));
        } else {
            st_contact_mu(w, c, 0.0);
        }
    }
    loops_ran(w);
}

// Fills the rows of contact c, from row r0.
fn contact_rows(w: u32, c: u32, r0: u32) {
    let dim = u32(ld_contact_dim(w, c));
    let b = contact_bodies(w, c);
    let dist = ld_contact_dist(w, c);
    let margin = ld_contact_includemargin(w, c);
    let solimp = Solimp(
        ld_contact_solimp(w, c, 0u), ld_contact_solimp(w, c, 1u), ld_contact_solimp(w, c, 2u), ld_contact_solimp(w, c, 3u),
        ld_contact_solimp(w, c, 4u),
    );
    let solref = ld_contact_solref(w, c);
    let imp = impedance(solimp, dist - margin);
    let kb = spring_damper(w, solref, solimp, true);
    let tran = ld_body_invweight0(w, b.x).x + ld_body_invweight0(w, b.y).x;
    let mu = ld_contact_friction(w, c, 0u);

    if dim == 1u {
        st_row(w, r0, CNSTR_CONTACT_FRICTIONLESS, c, dist, margin, 0.0);
        st_kbip(w, r0, kb, imp);
        st_regularizer(w, r0, regularizer(imp.x, tran), imp.x);
        st_contact_mu(w, c, 0.0);
        contact_jac(w, c, r0, 1u, false);
    } else if OPT_CONE == CONE_PYRAMIDAL {
        // every edge has the regularizer that makes opposite edges together as stiff as the friction of the elliptic cone
        let normal = regularizer(imp.x, tran + mu * mu * tran);
        let cone_mu = mu * sqrt(1.0 / ld_opt_impratio(w));
        st_contact_mu(w, c, cone_mu);
        let reg = max(2.0 * cone_mu * cone_mu * normal, MINVAL);
        for (var k = 0u; k < 2u * (dim - 1u); k += 1u) {
            st_row(w, r0 + k, CNSTR_CONTACT_PYRAMIDAL, c, dist, margin, 0.0);
            st_kbip(w, r0 + k, kb, imp);
            st_regularizer(w, r0 + k, reg, imp.x);
        }
        contact_jac(w, c, r0, dim, true);
    } else {
        let normal = regularizer(imp.x, tran);
        let friction = max(normal / ld_opt_impratio(w), MINVAL);
        st_contact_mu(w, c, mu * sqrt(friction / normal));
        var solref_friction = ld_contact_solreffriction(w, c);
        // none, or one that says nothing: the contact's own
        if is_mixed(solref_friction) || (solref_friction.x == 0.0 && solref_friction.y == 0.0) {
            solref_friction = solref;
        }
        let kb_friction = spring_damper(w, solref_friction, solimp, false);
        st_row(w, r0, CNSTR_CONTACT_ELLIPTIC, c, dist, margin, 0.0);
        st_kbip(w, r0, kb, imp);
        st_regularizer(w, r0, normal, imp.x);
        for (var k = 1u; k < dim; k += 1u) {
            st_row(w, r0 + k, CNSTR_CONTACT_ELLIPTIC, c, 0.0, 0.0, 0.0);
            st_kbip(w, r0 + k, kb_friction, imp);
            let mu_k = ld_contact_friction(w, c, k - 1u);
            st_regularizer(w, r0 + k, friction * mu * mu / max(mu_k * mu_k, MINVAL), imp.x);
        }
        contact_jac(w, c, r0, dim, false);
    }
}

// Fills the Jacobian of contact c: relative velocity of the second body's point against the first's in the contact frame,
// and from the fourth row on relative angular velocity; as they are, or as pyramid edges normal +- mu * tangent.
fn contact_jac(w: u32, c: u32, r0: u32, dim: u32, pyramid: bool) {
    let b = contact_bodies(w, c);
    let frame = ld_contact_frame(w, c);
    let pos = ld_contact_pos(w, c);
    let offset1 = pos - ld_subtree_com(w, u32(ld_body_rootid(w, b.x)));
    let offset2 = pos - ld_subtree_com(w, u32(ld_body_rootid(w, b.y)));
    let nrow = select(dim, 2u * (dim - 1u), pyramid);
    zero_rows(w, r0, nrow);
    var i1 = last_dof(w, b.x);
    var i2 = last_dof(w, b.y);
    // dofs that move both bodies move the point with both: the rest of the chain is zero
    while i1 != i2 {
        let first = i1 > i2;
        let i = u32(max(i1, i2));
        let j = point_jac(w, i, select(offset2, offset1, first));
        let side = select(1.0, -1.0, first);
        if first {
            i1 = dof_above(w, i1);
        } else {
            i2 = dof_above(w, i2);
        }
        let jp = frame * (j.t * side);
        let jr = frame * (j.r * side);
        if pyramid {
            for (var k = 1u; k < dim; k += 1u) {
                let tangent = ld_contact_friction(w, c, k - 1u) * select(jr[k % 3u], jp[k % 3u], k < 3u);
                st_efc_J(w, r0 + 2u * k - 2u, i, jp[0] + tangent);
                st_efc_J(w, r0 + 2u * k - 1u, i, jp[0] - tangent);
            }
        } else {
            for (var k = 0u; k < dim; k += 1u) {
                st_efc_J(w, r0 + k, i, select(jr[k % 3u], jp[k % 3u], k < 3u));
            }
        }
    }
    let tran = ld_body_invweight0(w, b.x).x + ld_body_invweight0(w, b.y).x;
    limit_stiffness(w, r0, nrow, tran);
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    constraint_contact(world_of(group, local), lane_of(local));
}
