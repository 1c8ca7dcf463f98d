// Which constraint rows there are, where they start, and the rows of friction loss and limits.
//
// Every item (an equality, a friction loss, a side of a limit, a contact) counts its rows and a running sum gives each its
// first row. The rows of equalities and contacts are filled by kernels of their own.
import package::layout::{
    CNSTR_FRICTION_DOF, CNSTR_FRICTION_TENDON, CNSTR_LIMIT_JOINT, CNSTR_LIMIT_TENDON, DISABLE_CONSTRAINT,
    DISABLE_CONTACT, DISABLE_EQUALITY, DISABLE_FRICTIONLOSS, DISABLE_LIMIT, JNT_BALL,
    JNT_HINGE, JNT_SLIDE, LANES, NCONMAX, NEQ, NJMAX, NJNT, NTENDON, NV, OPT_DISABLEFLAGS, STATUS_ROW_OVERFLOW,
    WORLDS_PER_GROUP, ld_contact_dim, ld_contact_exclude, ld_dof_frictionloss, ld_dof_invweight0, ld_dof_solimp, ld_dof_solref,
    ld_eq_active, ld_eq_rownum, ld_jnt_dofadr, ld_jnt_limited, ld_jnt_margin, ld_jnt_qposadr, ld_jnt_range, ld_jnt_solimp,
    ld_jnt_solref, ld_jnt_type, ld_ncon, ld_nefc_lost, ld_nefc_need, ld_qpos, ld_qpos_lo, ld_status, ld_ten_J, ld_ten_length,
    ld_tendon_frictionloss, ld_tendon_invweight0, ld_tendon_limited, ld_tendon_margin, ld_tendon_range, ld_tendon_solimp_fri,
    ld_tendon_solimp_lim, ld_tendon_solref_fri, ld_tendon_solref_lim, st_contact_efc_address, st_efc_J, st_eq_efc_address, st_ne,
    st_nefc, st_nefc_need, st_nf, st_nl, st_status, lane_of, world_of
};
import package::math::{quat_normalize, quat_to_vel};
import package::constraint_row::{Solimp, contact_bodies, contact_rownum, st_scalar_row, zero_rows};
import package::loops::{loops_ran};

// Rows wanted and held so far; the same in all lanes of a world.
struct Rows { need: i32, held: i32 }

// Rows wanted by each lane.
var<workgroup> wanted: array<i32, LANES * WORLDS_PER_GROUP>;

// GPU only: rows are given out to lanes at once.
// Room for the n rows of this lane's item, behind those of lower lanes: the first of them, or -1 where nothing is wanted or
// they do not fit.
fn take(w: u32, lane: u32, rows: ptr<function, Rows>, n: i32) -> i32 {
    let slot = (w % WORLDS_PER_GROUP) * LANES;
    wanted[slot + lane] = n;
    if LANES > 1u {
        workgroupBarrier();
    }
    var first = -1;
    for (var l = 0u; l < LANES; l += 1u) {
        let k = wanted[slot + l];
        let end = (*rows).need + k;
        if k > 0 && end <= i32(NJMAX) {
            (*rows).held = end;
            first = select(first, (*rows).need, l == lane);
        }
        (*rows).need = end;
    }
    if LANES > 1u {
        workgroupBarrier();
    }
    return first;
}

// All constraint rows of a world, in MuJoCo's order: equality, friction loss, limits, contacts.
fn constraint(w: u32, lane: u32) {
    let off = (OPT_DISABLEFLAGS & DISABLE_CONSTRAINT) != 0;
    var rows = Rows(0, 0);

    for (var first = 0u; first < NEQ; first += LANES) {
        let e = first + lane;
        var n = 0;
        if e < NEQ && !off {
            n = equality_count(w, e);
        }
        let r = take(w, lane, &rows, n);
        if e < NEQ {
            st_eq_efc_address(w, e, r);
        }
    }
    let ne = rows.held;
    for (var first = 0u; first < NV; first += LANES) {
        let i = first + lane;
        var n = 0;
        if i < NV && !off {
            n = dof_friction_count(w, i);
        }
        let r = take(w, lane, &rows, n);
        if r >= 0 {
            dof_friction_row(w, i, u32(r));
        }
    }
    for (var first = 0u; first < NTENDON; first += LANES) {
        let t = first + lane;
        var n = 0;
        if t < NTENDON && !off {
            n = tendon_friction_count(w, t);
        }
        let r = take(w, lane, &rows, n);
        if r >= 0 {
            tendon_friction_row(w, t, u32(r));
        }
    }
    let nf = rows.held - ne;
    for (var first = 0u; first < 2u * NJNT; first += LANES) {
        let i = first + lane;
        var limit = Limit(0.0, 0);
        if i < 2u * NJNT && !off {
            limit = joint_limit_count(w, i);
        }
        let r = take(w, lane, &rows, limit.n);
        if r >= 0 {
            joint_limit_row(w, i, u32(r), limit.pos);
        }
    }
    for (var first = 0u; first < 2u * NTENDON; first += LANES) {
        let i = first + lane;
        var limit = Limit(0.0, 0);
        if i < 2u * NTENDON && !off {
            limit = tendon_limit_count(w, i);
        }
        let r = take(w, lane, &rows, limit.n);
        if r >= 0 {
            tendon_limit_row(w, i, u32(r), limit.pos);
        }
    }
    let nl = rows.held - ne - nf;
    for (var first = 0u; first < NCONMAX; first += LANES) {
        let c = first + lane;
        var n = 0;
        if c < NCONMAX && !off {
            n = contact_count(w, c);
        }
        let r = take(w, lane, &rows, n);
        if c < NCONMAX {
            st_contact_efc_address(w, c, r);
        }
    }

    if lane == 0u {
        st_ne(w, ne);
        st_nf(w, nf);
        st_nl(w, nl);
        st_nefc(w, rows.held);
        // with those of contacts that found no slot: room for both is asked for at once
        st_nefc_need(w, max(ld_nefc_need(w), rows.need + ld_nefc_lost(w)));
        if rows.need > i32(NJMAX) {
            st_status(w, ld_status(w) | STATUS_ROW_OVERFLOW);
        }
    }
    loops_ran(w);
}

// Number of rows of equality e in this world.
fn equality_count(w: u32, e: u32) -> i32 {
    if (OPT_DISABLEFLAGS & DISABLE_EQUALITY) != 0 || ld_eq_active(w, e) == 0 {
        return 0;
    }
    return ld_eq_rownum(w, e);
}

// Number of friction loss rows of dof i.
fn dof_friction_count(w: u32, i: u32) -> i32 {
    return select(0, 1, (OPT_DISABLEFLAGS & DISABLE_FRICTIONLOSS) == 0 && ld_dof_frictionloss(w, i) > 0.0);
}

// Fills the friction loss row of dof i.
fn dof_friction_row(w: u32, i: u32, r: u32) {
    let solimp = Solimp(
        ld_dof_solimp(w, i, 0u), ld_dof_solimp(w, i, 1u), ld_dof_solimp(w, i, 2u), ld_dof_solimp(w, i, 3u), ld_dof_solimp(w, i, 4u),
    );
    let loss = ld_dof_frictionloss(w, i);
    st_scalar_row(w, r, CNSTR_FRICTION_DOF, i, 0.0, 0.0, loss, ld_dof_invweight0(w, i), ld_dof_solref(w, i), solimp, false);
    zero_rows(w, r, 1u);
    st_efc_J(w, r, i, 1.0);
}

// Number of friction loss rows of tendon t.
fn tendon_friction_count(w: u32, t: u32) -> i32 {
    return select(0, 1, (OPT_DISABLEFLAGS & DISABLE_FRICTIONLOSS) == 0 && ld_tendon_frictionloss(w, t) > 0.0);
}

// Fills the friction loss row of tendon t.
fn tendon_friction_row(w: u32, t: u32, r: u32) {
    let solimp = Solimp(
        ld_tendon_solimp_fri(w, t, 0u), ld_tendon_solimp_fri(w, t, 1u), ld_tendon_solimp_fri(w, t, 2u),
        ld_tendon_solimp_fri(w, t, 3u), ld_tendon_solimp_fri(w, t, 4u),
    );
    let loss = ld_tendon_frictionloss(w, t);
    let diag = ld_tendon_invweight0(w, t);
    st_scalar_row(w, r, CNSTR_FRICTION_TENDON, t, 0.0, 0.0, loss, diag, ld_tendon_solref_fri(w, t), solimp, false);
    tendon_jac(w, t, r, 1.0);
}

// Fills a row's Jacobian with that of tendon t, times sign.
fn tendon_jac(w: u32, t: u32, r: u32, sign: f32) {
    zero_rows(w, r, 1u);
    for (var i = 0u; i < NV; i += 1u) {
        st_efc_J(w, r, i, ld_ten_J(w, t, i) * sign);
    }
}

// The axis and the angle [rad] that a ball joint is turned by.
fn ball_angle(w: u32, j: u32) -> vec4<f32> {
    let a = u32(ld_jnt_qposadr(w, j));
    let q = quat_normalize(vec4<f32>(ld_qpos(w, a), ld_qpos(w, a + 1u), ld_qpos(w, a + 2u), ld_qpos(w, a + 3u)));
    let v = quat_to_vel(q);
    let angle = sqrt(dot(v, v));
    if angle > 0.0 {
        return vec4<f32>(v / angle, angle);
    }
    return vec4<f32>(1.0, 0.0, 0.0, 0.0);
}

// Distance to a side of a limit and the number of its rows.
struct Limit { pos: f32, n: i32 }

// Side i % 2 (0: lower, 1: upper) of the limits of joint i / 2. The limit of a ball joint has one side, counted as the lower.
fn joint_limit_count(w: u32, i: u32) -> Limit {
    let j = i / 2u;
    let upper = i % 2u == 1u;
    if (OPT_DISABLEFLAGS & DISABLE_LIMIT) != 0 || ld_jnt_limited(w, j) == 0 {
        return Limit(0.0, 0);
    }
    let range = ld_jnt_range(w, j);
    let kind = ld_jnt_type(w, j);
    var pos = 0.0;
    if kind == JNT_SLIDE || kind == JNT_HINGE {
        let a = u32(ld_jnt_qposadr(w, j));
        let q = ld_qpos(w, a);
        let lo = ld_qpos_lo(w, a);
        pos = select((q - range.x) + lo, (range.y - q) - lo, upper);
    } else if kind == JNT_BALL && !upper {
        pos = max(range.x, range.y) - ball_angle(w, j).w;
    } else {
        return Limit(0.0, 0);
    }
    return Limit(pos, select(0, 1, pos < ld_jnt_margin(w, j)));
}

// Fills the row of a side of a joint's limits.
fn joint_limit_row(w: u32, i: u32, r: u32, pos: f32) {
    let j = i / 2u;
    let v = u32(ld_jnt_dofadr(w, j));
    let solimp = Solimp(
        ld_jnt_solimp(w, j, 0u), ld_jnt_solimp(w, j, 1u), ld_jnt_solimp(w, j, 2u), ld_jnt_solimp(w, j, 3u), ld_jnt_solimp(w, j, 4u),
    );
    let diag = ld_dof_invweight0(w, v);
    st_scalar_row(w, r, CNSTR_LIMIT_JOINT, j, pos, ld_jnt_margin(w, j), 0.0, diag, ld_jnt_solref(w, j), solimp, true);
    zero_rows(w, r, 1u);
    if ld_jnt_type(w, j) == JNT_BALL {
        let axis = ball_angle(w, j).xyz;
        st_efc_J(w, r, v, -axis.x);
        st_efc_J(w, r, v + 1u, -axis.y);
        st_efc_J(w, r, v + 2u, -axis.z);
    } else {
        st_efc_J(w, r, v, select(1.0, -1.0, i % 2u == 1u));
    }
}

// Side i % 2 (0: lower, 1: upper) of the limits of tendon i / 2.
fn tendon_limit_count(w: u32, i: u32) -> Limit {
    let t = i / 2u;
    if (OPT_DISABLEFLAGS & DISABLE_LIMIT) != 0 || ld_tendon_limited(w, t) == 0 {
        return Limit(0.0, 0);
    }
    let range = ld_tendon_range(w, t);
    let length = ld_ten_length(w, t);
    let pos = select(length - range.x, range.y - length, i % 2u == 1u);
    return Limit(pos, select(0, 1, pos < ld_tendon_margin(w, t)));
}

// Fills the row of a side of a tendon's limits.
fn tendon_limit_row(w: u32, i: u32, r: u32, pos: f32) {
    let t = i / 2u;
    let solimp = Solimp(
        ld_tendon_solimp_lim(w, t, 0u), ld_tendon_solimp_lim(w, t, 1u), ld_tendon_solimp_lim(w, t, 2u),
        ld_tendon_solimp_lim(w, t, 3u), ld_tendon_solimp_lim(w, t, 4u),
    );
    let diag = ld_tendon_invweight0(w, t);
    let solref = ld_tendon_solref_lim(w, t);
    st_scalar_row(w, r, CNSTR_LIMIT_TENDON, t, pos, ld_tendon_margin(w, t), 0.0, diag, solref, solimp, true);
    tendon_jac(w, t, r, select(1.0, -1.0, i % 2u == 1u));
}

// Number of rows of contact c: none in the gap, or where nothing moves the one body against the other.
fn contact_count(w: u32, c: u32) -> i32 {
    if (OPT_DISABLEFLAGS & DISABLE_CONTACT) != 0 || i32(c) >= ld_ncon(w) || ld_contact_exclude(w, c) != 0 {
        return 0;
    }
    let b = contact_bodies(w, c);
    return contact_rownum(w, b.x, b.y, ld_contact_dim(w, c));
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    constraint(world_of(group, local), lane_of(local));
}
