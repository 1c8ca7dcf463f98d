// Composite inertia, inertia matrix, its factor.
//
// M is kept as MuJoCo keeps it: the lower triangle by rows, a row holding the dofs above in ascending order and the
// diagonal last. Since the dofs above are ordered by depth, entry k of a row belongs to the dof above at depth k, and the
// dofs below dof i are the dof_descnum[i] next ones. LT D L has no fill-in.
import package::layout::{
    LANES, NDOFLEVEL, NLEVEL, NV, WORLDS_PER_GROUP, ld_M, ld_M_colind, ld_M_rowadr, ld_M_rownnz, ld_body_childadr,
    ld_body_childnum, ld_cdof, ld_dof_armature, ld_dof_bodyid, ld_dof_descnum, ld_doflevel_adr, ld_doflevel_dof,
    ld_level_adr, ld_level_body, ld_qLD, ld_qLDiagInv, ld_qacc_smooth, st_M, st_qLD, st_qLDiagInv, st_qacc_smooth, lane_of, world_of,
};
import package::math::{sync};
import package::spatial::{dot6, inert_add, inert_mul, ld10_cinert, ld10_crb, st10_crb};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    inertia(world_of(group, local), lane_of(local));
}

// Composite inertias, M, its factor (mj_makeM, mj_factorM).
fn inertia(w: u32, lane: u32) {
    for (var up = 1u; up <= NLEVEL; up++) {
        let level = NLEVEL - up;
        let end = u32(ld_level_adr(w, level + 1u));
        for (var k = u32(ld_level_adr(w, level)) + lane; k < end; k += LANES) {
            body_composite(w, u32(ld_level_body(w, k)));
        }
        sync();
    }
    for (var i = lane; i < NV; i += LANES) {
        mass_row(w, i);
    }
    sync();
    factor_m(w, lane);
}

// Inertia of a subtree about the centre of mass of its tree; the world has none.
fn body_composite(w: u32, b: u32) {
    var sum = ld10_cinert(w, b);
    if b > 0u {
        let first = u32(ld_body_childadr(w, b));
        let end = first + u32(ld_body_childnum(w, b));
        for (var k = first; k < end; k++) {
            sum = inert_add(sum, ld10_crb(w, u32(ld_level_body(w, k))));
        }
    }
    st10_crb(w, b, sum);
}

// A row of M: the force that moves the subtree below dof i, along the axes of the dofs above.
fn mass_row(w: u32, i: u32) {
    let force = inert_mul(ld10_crb(w, u32(ld_dof_bodyid(w, i))), ld_cdof(w, i));
    let adr = u32(ld_M_rowadr(w, i));
    let end = adr + u32(ld_M_rownnz(w, i));
    for (var k = adr; k < end; k++) {
        st_M(w, k, dot6(ld_cdof(w, u32(ld_M_colind(w, k))), force));
    }
    st_M(w, end - 1u, ld_M(w, end - 1u) + ld_dof_armature(w, i));
}

// Factors M into qLD: LT D L, with D on the diagonal and 1/D in qLDiagInv. The lanes share the entries of a level's rows.
fn factor_m(w: u32, lane: u32) {
    for (var up = 1u; up <= NDOFLEVEL; up++) {
        let level = NDOFLEVEL - up;
        let first = u32(ld_doflevel_adr(w, level));
        let n = (u32(ld_doflevel_adr(w, level + 1u)) - first) * (level + 1u);
        for (var e = lane; e < n; e += LANES) {
            factor_row(w, u32(ld_doflevel_dof(w, first + e / (level + 1u))), e % (level + 1u));
        }
        sync();
    }
    for (var i = lane; i < NV; i += LANES) {
        scale_row(w, i);
    }
}

// Entry k of row i of D L from the rows below.
fn factor_row(w: u32, i: u32, k: u32) {
    let adr = u32(ld_M_rowadr(w, i));
    let depth = u32(ld_M_rownnz(w, i)) - 1u;
    var x = ld_M(w, adr + k);
    let end = i + 1u + u32(ld_dof_descnum(w, i));
    for (var below = i + 1u; below < end; below++) {
        let row = u32(ld_M_rowadr(w, below));
        x -= ld_qLD(w, row + depth) * ld_qLDiagInv(w, below) * ld_qLD(w, row + k);
    }
    st_qLD(w, adr + k, x);
    if k == depth {
        st_qLDiagInv(w, i, 1.0 / x);
    }
}

// Row i of L from that of D L; D stays on the diagonal. (llvmpipe leaves the loop over the rows when an inner loop that
// stores runs zero times: so the diagonal takes part, with a factor of 1.)
fn scale_row(w: u32, i: u32) {
    let adr = u32(ld_M_rowadr(w, i));
    let end = adr + u32(ld_M_rownnz(w, i));
    let s = ld_qLDiagInv(w, i);
    for (var k = adr; k < end; k++) {
        st_qLD(w, k, ld_qLD(w, k) * select(s, 1.0, k + 1u == end));
    }
}

// Solves LT D L x = x for x = qacc_smooth in place.
fn solve_m(w: u32, lane: u32) {
    for (var up = 1u; up <= NDOFLEVEL; up++) {
        let level = NDOFLEVEL - up;
        let end = u32(ld_doflevel_adr(w, level + 1u));
        for (var k = u32(ld_doflevel_adr(w, level)) + lane; k < end; k += LANES) {
            solve_up(w, u32(ld_doflevel_dof(w, k)));
        }
        sync();
    }
    for (var level = 0u; level < NDOFLEVEL; level++) {
        let end = u32(ld_doflevel_adr(w, level + 1u));
        for (var k = u32(ld_doflevel_adr(w, level)) + lane; k < end; k += LANES) {
            solve_down(w, u32(ld_doflevel_dof(w, k)));
        }
        sync();
    }
}

// Element i of the solution with LT, from the dofs below.
fn solve_up(w: u32, i: u32) {
    let depth = u32(ld_M_rownnz(w, i)) - 1u;
    var sum = ld_qacc_smooth(w, i);
    let end = i + 1u + u32(ld_dof_descnum(w, i));
    // from i on, which adds nothing: see scale_row
    for (var below = i; below < end; below++) {
        let l = select(ld_qLD(w, u32(ld_M_rowadr(w, below)) + depth), 0.0, below == i);
        sum -= l * ld_qacc_smooth(w, below);
    }
    st_qacc_smooth(w, i, sum);
}

// Element i of the solution with D L, from the dofs above.
fn solve_down(w: u32, i: u32) {
    let adr = u32(ld_M_rowadr(w, i));
    let end = adr + u32(ld_M_rownnz(w, i));
    var sum = ld_qacc_smooth(w, i) * ld_qLDiagInv(w, i);
    // to the diagonal, which adds nothing: see scale_row
    for (var k = adr; k < end; k++) {
        let l = select(ld_qLD(w, k), 0.0, k + 1u == end);
        sum -= l * ld_qacc_smooth(w, u32(ld_M_colind(w, k)));
    }
    st_qacc_smooth(w, i, sum);
}
