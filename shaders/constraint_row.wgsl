// What every constraint row has in common: impedance, stiffness and damping, regularizer, and where its nonzeros are.
import package::layout::{
    CONE_PYRAMIDAL, DISABLE_REFSAFE, MAXIMP, MINIMP, MINVAL, NV, NVPAD, OPT_CONE, OPT_DISABLEFLAGS, Vec6, ld_body_dofadr, ld_body_dofnum, ld_body_weldid,
    ld_cdof, ld_contact_geom, ld_dof_invweight0, ld_dof_parentid, ld_efc_J, ld_efc_R, ld_geom_bodyid, ld_opt_timestep, st4_efc_J, st_efc_D, st_efc_KBIP, st_efc_R, st_efc_diagA,
    st_efc_frictionloss, st_efc_id, st_efc_margin, st_efc_pos, st_efc_type
};

// solimp of a row
struct Solimp { d0: f32, dw: f32, width: f32, mid: f32, power: f32 }

// x to the power p; what the default power 2 needs without pow, which is good to three digits on some GPUs.
fn impedance_power(x: f32, p: f32) -> f32 {
    if p == 2.0 {
        return x * x;
    }
    if p == 1.0 {
        return x;
    }
    return pow(x, p);
}

// Impedance and its derivative at a violation r (documentation: modeling, "Impedance").
fn impedance(solimp: Solimp, r: f32) -> vec2<f32> {
    let d0 = clamp(solimp.d0, MINIMP, MAXIMP);
    let dw = clamp(solimp.dw, MINIMP, MAXIMP);
    let width = max(solimp.width, 0.0);
    let mid = clamp(solimp.mid, MINIMP, MAXIMP);
    let p = max(solimp.power, 1.0);
    if d0 == dw || width <= MINVAL {
        return vec2<f32>((d0 + dw) * 0.5, 0.0);
    }
    let x = abs(r) / width;
    let side = select(1.0, -1.0, r < 0.0);
    if x >= 1.0 {
        return vec2<f32>(dw, 0.0);
    }
    if x == 0.0 {
        return vec2<f32>(d0, 0.0);
    }
    var y = x;
    var dy = 1.0;
    if p != 1.0 {
        if x <= mid {
            let a = 1.0 / impedance_power(mid, p - 1.0);
            y = a * impedance_power(x, p);
            dy = p * a * impedance_power(x, p - 1.0);
        } else {
            let b = 1.0 / impedance_power(1.0 - mid, p - 1.0);
            y = 1.0 - b * impedance_power(1.0 - x, p);
            dy = p * b * impedance_power(1.0 - x, p - 1.0);
        }
    }
    return vec2<f32>(d0 + y * (dw - d0), side * dy * (dw - d0) / width);
}

// Whether a reference has one number of each format, which says nothing.
fn is_mixed(solref: vec2<f32>) -> bool {
    return (solref.x > 0.0) != (solref.y > 0.0);
}

// Stiffness and damping of a row (documentation: modeling, "Reference"). spring is false for friction: no stiffness.
fn spring_damper(w: u32, solref: vec2<f32>, solimp: Solimp, spring: bool) -> vec2<f32> {
    let dw = clamp(solimp.dw, MINIMP, MAXIMP);
    var tc = solref[0];
    var damp = solref[1];
    // the defaults where it says nothing
    if is_mixed(solref) {
        tc = 0.02;
        damp = 1.0;
    }
    if (OPT_DISABLEFLAGS & DISABLE_REFSAFE) == 0 && tc > 0.0 {
        tc = max(tc, ld_opt_timestep(w) * 2.0);
    }
    var k = 0.0;
    if spring {
        if tc > 0.0 {
            k = 1.0 / max(dw * dw * tc * tc * damp * damp, MINVAL);
        } else {
            k = -tc / max(dw * dw, MINVAL);
        }
    }
    var b = -damp / max(dw, MINVAL);
    if damp > 0.0 {
        b = 2.0 / max(dw * tc, MINVAL);
    }
    return vec2<f32>(k, b);
}

// The regularizer of an impedance and an estimated diagonal of J inv(M) J'.
fn regularizer(imp: f32, diag: f32) -> f32 {
    return max((1.0 - imp) * diag / imp, MINVAL);
}

// Writes stiffness, damping, impedance and its derivative of row r.
fn st_kbip(w: u32, r: u32, kb: vec2<f32>, imp: vec2<f32>) {
    st_efc_KBIP(w, r, vec4<f32>(kb, imp));
}

// Writes a regularizer and what follows from it: D, and the diagonal that the impedance stands for.
fn st_regularizer(w: u32, r: u32, reg: f32, imp: f32) {
    st_efc_R(w, r, reg);
    st_efc_D(w, r, 1.0 / reg);
    st_efc_diagA(w, r, reg * imp / (1.0 - imp));
}

// Writes what identifies row r and what it is measured by.
fn st_row(w: u32, r: u32, kind: i32, id: u32, pos: f32, margin: f32, frictionloss: f32) {
    st_efc_type(w, r, kind);
    st_efc_id(w, r, i32(id));
    st_efc_pos(w, r, pos);
    st_efc_margin(w, r, margin);
    st_efc_frictionloss(w, r, frictionloss);
}

// A row of its own (joints and tendons): everything but its Jacobian.
fn st_scalar_row(
    w: u32, r: u32, kind: i32, id: u32, pos: f32, margin: f32, frictionloss: f32, diag: f32, solref: vec2<f32>, solimp: Solimp,
    spring: bool,
) {
    st_row(w, r, kind, id, pos, margin, frictionloss);
    let imp = impedance(solimp, pos - margin);
    st_kbip(w, r, spring_damper(w, solref, solimp, spring), imp);
    st_regularizer(w, r, regularizer(imp.x, diag), imp.x);
}

// Sets rows of the Jacobian to zero: nrow from r0 on.
fn zero_rows(w: u32, r0: u32, nrow: u32) {
    for (var r = r0; r < r0 + nrow; r += 1u) {
        for (var j = 0u; j < NVPAD / 4u; j += 1u) {
            st4_efc_J(w, r, j, vec4<f32>(0.0));
        }
    }
}

// Stiffest row in f32: a regularizer below this part of the row's own inverse inertia is lost in the solver's sums.
const STIFFEST: f32 = 1e-6f;

// f32 only: keeps rows whose estimated diagonal is next to nothing (a wheel's centre does not move, so MuJoCo takes its rim
// for immovable and gives D = 1e15) from swamping the solver. The regularizers of nrow rows from r0 on rise by one factor until
// each is 1e-6 of its row's inverse inertia; rows that move nothing get no weight at all. diag is the estimate of the rows'
// inverse inertia: only an edge of a pyramid of little friction has a regularizer below 1e-4 of it.
fn limit_stiffness(w: u32, r0: u32, nrow: u32, diag: f32) {
    // R of 1e-8 /kg: a stiff weld of 100 t
    if ld_efc_R(w, r0) >= max(1e-4f * diag, 1e-8f) {
        return;
    }
    var factor = 1.0;
    var moved = 0.0;
    for (var r = r0; r < r0 + nrow; r += 1u) {
        var inverse = 0.0;
        for (var i = 0u; i < NV; i += 1u) {
            let j = ld_efc_J(w, r, i);
            inverse += j * j * ld_dof_invweight0(w, i);
        }
        moved = max(moved, inverse);
        factor = max(factor, inverse * STIFFEST / ld_efc_R(w, r));
    }
    for (var r = r0; r < r0 + nrow; r += 1u) {
        let reg = ld_efc_R(w, r) * factor;
        st_efc_R(w, r, reg);
        st_efc_D(w, r, select(0.0, 1.0 / reg, moved > 0.0));
    }
}

// The last dof that moves body b, -1: none.
fn last_dof(w: u32, b: u32) -> i32 {
    let top = u32(ld_body_weldid(w, b));
    let n = ld_body_dofnum(w, top);
    return select(-1, ld_body_dofadr(w, top) + n - 1, n > 0);
}

// Velocity of the point at offset from the tree's centre of mass, and the angular velocity, a unit of dof i.
fn point_jac(w: u32, i: u32, offset: vec3<f32>) -> Vec6 {
    let c = ld_cdof(w, i);
    return Vec6(c.r, c.t + cross(c.r, offset));
}

// GPU only: the device has no lists of columns.
// The dof above dof i in its chain, -1: none.
fn dof_above(w: u32, i: i32) -> i32 {
    return ld_dof_parentid(w, u32(i));
}

// Rows of a contact of dim dimensions between two bodies; none where nothing moves the one against the other.
fn contact_rownum(w: u32, b1: u32, b2: u32, dim: i32) -> i32 {
    if last_dof(w, b1) == last_dof(w, b2) {
        return 0;
    }
    return select(dim, 2 * (dim - 1), dim > 1 && OPT_CONE == CONE_PYRAMIDAL);
}

// The bodies of contact c.
fn contact_bodies(w: u32, c: u32) -> vec2<u32> {
    let g = ld_contact_geom(w, c);
    return vec2<u32>(u32(ld_geom_bodyid(w, u32(g.x))), u32(ld_geom_bodyid(w, u32(g.y))));
}
