// Constraint rows as the solver uses them: products with J, forces and zones of the cost.
import package::layout::{
    CNSTR_CONTACT_ELLIPTIC, CONE_ELLIPTIC, LANES, NV, OPT_CONE, STATE_CONE, STATE_LINEARNEG, STATE_LINEARPOS, STATE_QUADRATIC,
    STATE_SATISFIED, WORLDS_PER_GROUP, ld4_efc_J, ld_contact_efc_address, ld_efc_D, ld_efc_Jaref, ld_efc_Jv, ld_efc_R,
    ld_efc_aref, ld_efc_force, ld_efc_frictionloss, ld_efc_id, ld_efc_state, ld_efc_type, ld_ncon, ld_ne, ld_nefc, ld_nf, ld_nl, ld_qacc_smooth,
    ld_qacc_warmstart, ld_solver_Mv, ld_solver_search, st_efc_Jaref, st_efc_Jv, st_efc_force, st_efc_state, st_qacc,
    st_qfrc_constraint, st_solver_Ma, st_solver_search
};
import package::cone::{cone_cost, cone_force, cone_new};
import package::lanes::{sum_lanes};
import package::math::{sync};
import package::solver_vector::{NBLOCK, dof_vec, gather, mul_m};

// Where kinds of rows end; `plain`: rows that are treated one by one, then come those of elliptic contacts, of which there
// are `cones` (some may have no rows). Two loops, not one that asks: a branch costs both its sides where lanes are worlds.
struct RowCounts { equality: u32, friction: u32, plain: u32, all: u32, cones: u32 }

// GPU only: the CPU reads the counts where it needs them.
fn row_counts(w: u32) -> RowCounts {
    let equality = u32(ld_ne(w));
    let friction = equality + u32(ld_nf(w));
    let all = u32(ld_nefc(w));
    if OPT_CONE == CONE_ELLIPTIC {
        return RowCounts(equality, friction, friction + u32(ld_nl(w)), all, u32(ld_ncon(w)));
    }
    return RowCounts(equality, friction, all, all, 0u);
}

// GPU only: the CPU walks contacts whole.
// True where row e is of an elliptic contact.
fn is_elliptic(w: u32, e: u32) -> bool {
    return OPT_CONE == CONE_ELLIPTIC && ld_efc_type(w, e) == CNSTR_CONTACT_ELLIPTIC;
}

// GPU only: the CPU walks contacts whole.
// True where row e of an elliptic contact is its first.
fn is_first(w: u32, e: u32) -> bool {
    return u32(ld_contact_efc_address(w, u32(ld_efc_id(w, e)))) == e;
}

// efc_Jv = J times the shared vector, a lane a row.
fn rows_mul(w: u32, lane: u32) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    let n = row_counts(w).all;
    for (var e = lane; e < n; e += LANES) {
        var sum = vec4<f32>(0.0);
        for (var k = 0u; k < NBLOCK; k += 1u) {
            sum += ld4_efc_J(w, e, k) * dof_vec[base + k];
        }
        st_efc_Jv(w, e, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

// Starts from qacc_warmstart if its cost is below that of qacc_smooth (and if warm allows), else from qacc_smooth: sets qacc,
// solver_Ma, efc_Jaref.
fn rows_start(w: u32, lane: u32, warm: bool) {
    let rows = row_counts(w);
    // J qacc_smooth - aref
    for (var i = lane; i < NV; i += LANES) {
        st_solver_search(w, i, ld_qacc_smooth(w, i));
    }
    gather(w, lane);
    rows_mul(w, lane);
    for (var e = lane; e < rows.all; e += LANES) {
        st_efc_Jaref(w, e, ld_efc_Jv(w, e) - ld_efc_aref(w, e));
    }
    sync();
    for (var i = lane; i < NV; i += LANES) {
        st_solver_search(w, i, ld_qacc_warmstart(w, i) - ld_qacc_smooth(w, i));
    }
    gather(w, lane);
    mul_m(w, lane);
    rows_mul(w, lane);
    sync();
    var costs = vec2<f32>(0.0);
    for (var e = lane; e < rows.plain; e += LANES) {
        costs += row_costs(w, e, rows);
    }
    for (var c = lane; c < rows.cones; c += LANES) {
        costs += contact_costs(w, c);
    }
    for (var i = lane; i < NV; i += LANES) {
        costs[1] += 0.5 * ld_solver_search(w, i) * ld_solver_Mv(w, i);
    }
    let total = sum_lanes(w, lane, costs);
    let use_warm = warm && total[1] < total[0];
    for (var e = lane; e < rows.all; e += LANES) {
        // selected, not scaled: a bad warm start may be infinite
        let x = ld_efc_Jaref(w, e);
        st_efc_Jaref(w, e, select(x, x + ld_efc_Jv(w, e), use_warm));
    }
    for (var i = lane; i < NV; i += LANES) {
        st_qacc(w, i, select(ld_qacc_smooth(w, i), ld_qacc_warmstart(w, i), use_warm));
        st_solver_Ma(w, i, select(0.0, ld_solver_Mv(w, i), use_warm));
    }
    sync();
}

// GPU only: the CPU sums rows_cost over all rows.
// The cost of row e: at efc_Jaref, at efc_Jaref + efc_Jv.
fn row_costs(w: u32, e: u32, rows: RowCounts) -> vec2<f32> {
    let start = ld_efc_Jaref(w, e);
    let x = vec2<f32>(start, start + ld_efc_Jv(w, e));
    let quadratic = 0.5 * ld_efc_D(w, e) * x * x;
    if e < rows.equality {
        return quadratic;
    }
    if e < rows.friction {
        let loss = ld_efc_frictionloss(w, e);
        let knee = ld_efc_R(w, e) * loss;
        return select(loss * (abs(x) - 0.5 * knee), quadratic, abs(x) < vec2<f32>(knee));
    }
    return select(vec2<f32>(0.0), quadratic, x < vec2<f32>(0.0));
}

// GPU only: the CPU sums rows_cost over all rows.
// row_costs of elliptic contact c.
fn contact_costs(w: u32, c: u32) -> vec2<f32> {
    let first = ld_contact_efc_address(w, c);
    if first < 0 {
        return vec2<f32>(0.0);
    }
    let e = u32(first);
    let cone = cone_new(w, c, e);
    let v = rows_load_Jv(w, e, cone.dim);
    var x = rows_load_Jaref(w, e, cone.dim);
    let at_start = cone_cost(cone, x);
    for (var j = 0u; j < 6u; j += 1u) {
        x[j] += v[j];
    }
    return vec2<f32>(at_start, cone_cost(cone, x));
}

// GPU only: Cone::load on the CPU.
fn rows_load_Jaref(w: u32, e: u32, dim: u32) -> array<f32, 6> {
    var x: array<f32, 6>;
    for (var j = 0u; j < 6u; j += 1u) {
        if j < dim {
            x[j] = ld_efc_Jaref(w, e + j);
        }
    }
    return x;
}

// GPU only: Cone::load on the CPU.
fn rows_load_Jv(w: u32, e: u32, dim: u32) -> array<f32, 6> {
    var x: array<f32, 6>;
    for (var j = 0u; j < 6u; j += 1u) {
        if j < dim {
            x[j] = ld_efc_Jv(w, e + j);
        }
    }
    return x;
}

// efc_force, efc_state and qfrc_constraint = Jᵀ efc_force from efc_Jaref. Of the lane's rows and contacts, how many make the
// Hessian another than before; uniform control flow only.
fn rows_force(w: u32, lane: u32, go: bool) -> f32 {
    let rows = row_counts(w);
    var changed = 0.0;
    if go {
        for (var e = lane; e < rows.plain; e += LANES) {
            changed += row_force(w, e, rows);
        }
        for (var c = lane; c < rows.cones; c += LANES) {
            changed += cone_rows_force(w, c);
        }
    }
    sync();
    if go {
        rows_mul_t(w, lane);
    }
    sync();
    return changed;
}

// GPU only: a row of rows_force.
fn row_force(w: u32, e: u32, rows: RowCounts) -> f32 {
    let x = ld_efc_Jaref(w, e);
    var force = -ld_efc_D(w, e) * x;
    var zone = STATE_QUADRATIC;
    if e >= rows.friction {
        if x >= 0.0 {
            force = 0.0;
            zone = STATE_SATISFIED;
        }
    } else if e >= rows.equality {
        let loss = ld_efc_frictionloss(w, e);
        let knee = ld_efc_R(w, e) * loss;
        if x <= -knee {
            force = loss;
            zone = STATE_LINEARNEG;
        } else if x >= knee {
            force = -loss;
            zone = STATE_LINEARPOS;
        }
    }
    let changed = select(0.0, 1.0, ld_efc_state(w, e) != zone);
    st_efc_force(w, e, force);
    st_efc_state(w, e, zone);
    return changed;
}

// GPU only: an elliptic contact of rows_force.
fn cone_rows_force(w: u32, c: u32) -> f32 {
    let first = ld_contact_efc_address(w, c);
    if first < 0 {
        return 0.0;
    }
    let e = u32(first);
    let cone = cone_new(w, c, e);
    let out = cone_force(cone, rows_load_Jaref(w, e, cone.dim));
    // in the middle zone the Hessian is another everywhere
    let changed = select(0.0, 1.0, out.zone == STATE_CONE || ld_efc_state(w, e) != out.zone);
    for (var j = 0u; j < 6u; j += 1u) {
        if j < cone.dim {
            st_efc_force(w, e + j, out.force[j]);
            st_efc_state(w, e + j, out.zone);
        }
    }
    return changed;
}

// qfrc_constraint = Jᵀ efc_force, a lane a block of 4 dofs.
fn rows_mul_t(w: u32, lane: u32) {
    let n = row_counts(w).all;
    for (var k = lane; k < NBLOCK; k += LANES) {
        var sum = vec4<f32>(0.0);
        for (var e = 0u; e < n; e += 1u) {
            sum += ld_efc_force(w, e) * ld4_efc_J(w, e, k);
        }
        for (var j = 0u; j < 4u; j += 1u) {
            if 4u * k + j < NV {
                st_qfrc_constraint(w, 4u * k + j, sum[j]);
            }
        }
    }
}
