// The solver's Hessian in tiles of 4 by 4, its factor and solution.
import package::layout::{
    CONE_ELLIPTIC, LANES, NV, NVPAD, OPT_CONE, STATE_CONE, STATE_QUADRATIC, WORLDS_PER_GROUP, ld4_efc_J, ld4_solver_H, ld_M,
    ld_M_colind, ld_M_rowadr, ld_M_rownnz, ld_contact_efc_address, ld_efc_D, ld_efc_state, ld_solver_grad, ld_solver_weight,
    st4_solver_H, st_solver_H, st_solver_search, st_solver_weight
};
import package::cone::{cone_hessian, cone_new};
import package::math::{rolled, sync};
import package::rows::{row_counts, rows_load_Jaref};
import package::solver_vector::{NBLOCK, dof_vec};

// Tiles across and down that a lane sums at once: a lane that has the whole world reads a row of J half as often, lanes that
// share it have more to share.
const SPAN: u32 = select(1u, 2u, LANES == 1u);

// solver_H = M + Jᵀ s″ J, tiles on and below the diagonal; past the last dof the identity. Uniform control flow only.
fn hessian(w: u32, lane: u32, go: bool) {
    let rows = row_counts(w);
    let n = rows.all;
    if go {
        for (var i = lane; i < NVPAD; i += LANES) {
            hessian_start(w, i);
        }
        for (var e = lane; e < rows.plain; e += LANES) {
            hessian_weight(w, e);
        }
        for (var c = lane; c < rows.cones; c += LANES) {
            hessian_cone(w, c);
        }
    }
    sync();
    if go {
        let spans = (rolled(NBLOCK) + SPAN - 1u) / SPAN;
        for (var t = lane; t < spans * (spans + 1u) / 2u; t += LANES) {
            let at = SPAN * place_in_triangle(t);
            hessian_tiles(w, n, at[0], at[1]);
        }
    }
    sync();
}

// GPU only: tiles are the GPU's.
// Row and column of place t of a lower triangle, counted row by row. Lanes count their own places, not all: those that skip
// a place would wait for the one that has it.
fn place_in_triangle(t: u32) -> vec2<u32> {
    // the root is rounded
    let near = u32(0.5 * sqrt(8.0 * f32(t) + 1.0));
    let row = near - select(0u, 1u, near * (near + 1u) / 2u > t);
    return vec2<u32>(row, t - row * (row + 1u) / 2u);
}

// GPU only: tiles are the GPU's.
// The tiles of a span from (i, j) on; past the last block it is the last again, and not stored.
fn hessian_tiles(w: u32, n: u32, i: u32, j: u32) {
    let i1 = min(i + 1u, NBLOCK - 1u);
    let j1 = min(j + 1u, NBLOCK - 1u);
    var sum: HessianSum;
    sum.t00 = ld_tile(w, i, j);
    sum.t01 = ld_tile(w, i, j1);
    sum.t10 = ld_tile(w, i1, j);
    sum.t11 = ld_tile(w, i1, j1);
    // two rows a turn: fewer turns of the loop
    for (var e = 0u; e < n; e += 2u) {
        hessian_add(w, e, n, vec4<u32>(i, i1, j, j1), &sum);
        hessian_add(w, e + 1u, n, vec4<u32>(i, i1, j, j1), &sum);
    }
    st_tile(w, i, j, sum.t00);
    if SPAN == 2u && i1 != i {
        st_tile(w, i1, j, sum.t10);
        st_tile(w, i1, j1, sum.t11);
    }
    if SPAN == 2u && j1 != j && j1 <= i {
        st_tile(w, i, j1, sum.t01);
    }
}

// GPU only: the CPU has no padding.
// Row i of M, 0 elsewhere.
fn hessian_start(w: u32, i: u32) {
    for (var k = 0u; k < rolled(NBLOCK); k += 1u) {
        st4_solver_H(w, i, k, vec4<f32>(0.0));
    }
    if i >= NV {
        st_solver_H(w, i, i, 1.0);
        return;
    }
    let adr = u32(ld_M_rowadr(w, i));
    for (var k = adr; k < adr + u32(ld_M_rownnz(w, i)); k += 1u) {
        st_solver_H(w, i, u32(ld_M_colind(w, k)), ld_M(w, k));
    }
}

// GPU only: the CPU takes rows as it goes.
// What row e weighs in the Hessian, see hessian_add.
fn hessian_weight(w: u32, e: u32) {
    let weight = select(0.0, ld_efc_D(w, e), ld_efc_state(w, e) == STATE_QUADRATIC);
    st_solver_weight(w, e, vec4<f32>(weight, 0.0, 0.0, 0.0));
}

// What the rows of elliptic contact c weigh. In the middle zone, with S = Σ unit_j J_j over the friction rows and a = J_0 - S,
// the Hessian is Dm (mu² aᵀ a + ring (Sᵀ S - Σ friction² J_jᵀ J_j)); ring is not above 0.
fn hessian_cone(w: u32, c: u32) {
    let first = ld_contact_efc_address(w, c);
    if first < 0 {
        return;
    }
    let e = u32(first);
    let cone = cone_new(w, c, e);
    let zone = ld_efc_state(w, e);
    let unit = cone_hessian(cone, rows_load_Jaref(w, e, cone.dim));
    let along = sqrt(cone.middle) * cone.mu;
    let across = sqrt(max(-cone.middle * unit[0], 0.0));
    for (var j = 0u; j < 6u; j += 1u) {
        if j < cone.dim {
            var weight = vec4<f32>(select(0.0, cone.stiffness[j], zone == STATE_QUADRATIC), 0.0, 0.0, 0.0);
            if zone == STATE_CONE {
                let side = across * cone.scale[j];
                weight = vec4<f32>(side * side, -along * unit[j], across * unit[j], select(0.0, 1.0, j + 1u == cone.dim));
                if j == 0u {
                    weight = vec4<f32>(0.0, along, 0.0, 0.0);
                }
            }
            st_solver_weight(w, e + j, weight);
        }
    }
}

// Four tiles, of which the first alone is used where SPAN is 1, and what of a contact in the middle zone is in them only once
// its last row is known: two combinations of its rows, in the columns of the tiles' rows and in those of their columns.
struct HessianSum {
    t00: mat4x4<f32>, t01: mat4x4<f32>, t10: mat4x4<f32>, t11: mat4x4<f32>,
    a: mat4x4<f32>, s: mat4x4<f32>
}

// Adds row e, if there is one. Its weight: x for itself, y and z in the combinations a and s of its contact, w 1 where it is
// the last row of one: aᵀ a - sᵀ s comes to the tiles. A lane that has a world is one of several in a register, where a branch
// costs both its sides and a copy of the tiles: it does without.
fn hessian_add(w: u32, e: u32, n: u32, blocks: vec4<u32>, sum: ptr<function, HessianSum>) {
    let r = min(e, n - 1u);
    let weight = ld_solver_weight(w, r) * select(0.0, 1.0, e < n);
    if LANES > 1u && all(weight == vec4<f32>(0.0)) {
        return;
    }
    let row = mat4x4<f32>(
        ld4_efc_J(w, r, blocks[0]), ld4_efc_J(w, r, blocks[1]), ld4_efc_J(w, r, blocks[2]), ld4_efc_J(w, r, blocks[3])
    );
    add_outers(sum, weight.x, row);
    if OPT_CONE == CONE_ELLIPTIC {
        (*sum).a += weight.y * row;
        (*sum).s += weight.z * row;
        if LANES == 1u || weight.w != 0.0 {
            add_outers(sum, weight.w, (*sum).a);
            add_outers(sum, -weight.w, (*sum).s);
            (*sum).a *= 1.0 - weight.w;
            (*sum).s *= 1.0 - weight.w;
        }
    }
}

// GPU only: tiles are the GPU's.
// Adds a weighted row to the tiles.
fn add_outers(sum: ptr<function, HessianSum>, weight: f32, row: mat4x4<f32>) {
    (*sum).t00 = add_outer((*sum).t00, weight * row[0], row[2]);
    if SPAN == 2u {
        (*sum).t01 = add_outer((*sum).t01, weight * row[0], row[3]);
        (*sum).t10 = add_outer((*sum).t10, weight * row[1], row[2]);
        (*sum).t11 = add_outer((*sum).t11, weight * row[1], row[3]);
    }
}

// GPU only: tiles are the GPU's.
// A tile of solver_H; column r of the WGSL matrix is row r of the tile.
fn ld_tile(w: u32, i: u32, j: u32) -> mat4x4<f32> {
    return mat4x4<f32>(
        ld4_solver_H(w, 4u * i, j),
        ld4_solver_H(w, 4u * i + 1u, j),
        ld4_solver_H(w, 4u * i + 2u, j),
        ld4_solver_H(w, 4u * i + 3u, j)
    );
}

// GPU only: tiles are the GPU's.
fn st_tile(w: u32, i: u32, j: u32, tile: mat4x4<f32>) {
    st4_solver_H(w, 4u * i, j, tile[0]);
    st4_solver_H(w, 4u * i + 1u, j, tile[1]);
    st4_solver_H(w, 4u * i + 2u, j, tile[2]);
    st4_solver_H(w, 4u * i + 3u, j, tile[3]);
}

// GPU only: tiles are the GPU's.
// tile + aᵀ b
fn add_outer(tile: mat4x4<f32>, a: vec4<f32>, b: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(tile[0] + a[0] * b, tile[1] + a[1] * b, tile[2] + a[2] * b, tile[3] + a[3] * b);
}

// solver_H = Lᵀ L in place, from the last block of dofs to the first: no block fills in on a kinematic tree. The diagonal
// becomes 1 / L_ii. Uniform control flow only.
fn factor(w: u32, lane: u32, go: bool) {
    for (var left = rolled(NBLOCK); left > 0u; left -= 1u) {
        let k = left - 1u;
        var diagonal: mat4x4<f32>;
        if go {
            // every lane does it for itself
            diagonal = factor_tile(ld_tile(w, k, k));
            for (var j = lane; j < k; j += LANES) {
                st_tile(w, k, j, solve_tile(diagonal, ld_tile(w, k, j)));
            }
        }
        sync();
        if go {
            if lane == 0u {
                st_tile(w, k, k, diagonal);
            }
            for (var t = lane; t < k * (k + 1u) / 2u; t += LANES) {
                let at = place_in_triangle(t);
                factor_update(w, k, at[0], at[1]);
            }
        }
        sync();
    }
}

// GPU only: tiles are the GPU's.
// Lᵀ L of a diagonal tile; the diagonal becomes 1 / L_ii.
fn factor_tile(tile: mat4x4<f32>) -> mat4x4<f32> {
    var l = tile;
    for (var left = 4u; left > 0u; left -= 1u) {
        let i = left - 1u;
        // a pivot of a positive matrix; rounding may leave it at 0 or below, and 1e-15 squared underflows in f32
        let inv = inverseSqrt(max(l[i][i], 1e-12));
        for (var j = 0u; j < i; j += 1u) {
            l[i][j] *= inv;
        }
        for (var j = 0u; j < i; j += 1u) {
            for (var k = 0u; k <= j; k += 1u) {
                l[j][k] -= l[i][j] * l[i][k];
            }
        }
        l[i][i] = inv;
    }
    return l;
}

// GPU only: tiles are the GPU's.
// X with Lᵀ X = tile, L from factor_tile.
fn solve_tile(l: mat4x4<f32>, tile: mat4x4<f32>) -> mat4x4<f32> {
    let x3 = tile[3] * l[3][3];
    let x2 = (tile[2] - l[3][2] * x3) * l[2][2];
    let x1 = (tile[1] - l[3][1] * x3 - l[2][1] * x2) * l[1][1];
    let x0 = (tile[0] - l[3][0] * x3 - l[2][0] * x2 - l[1][0] * x1) * l[0][0];
    return mat4x4<f32>(x0, x1, x2, x3);
}

// GPU only: tiles are the GPU's.
// Takes block row k out of tile (i, j).
fn factor_update(w: u32, k: u32, i: u32, j: u32) {
    let a = ld_tile(w, k, i);
    // blocks that share no constraint and no chain of the tree
    if all(abs(a[0]) + abs(a[1]) + abs(a[2]) + abs(a[3]) == vec4<f32>(0.0)) {
        return;
    }
    let b = ld_tile(w, k, j);
    var tile = ld_tile(w, i, j);
    tile = add_outer(tile, -a[0], b[0]);
    tile = add_outer(tile, -a[1], b[1]);
    tile = add_outer(tile, -a[2], b[2]);
    tile = add_outer(tile, -a[3], b[3]);
    st_tile(w, i, j, tile);
}

// solver_search = -H⁻¹ solver_grad, left in the shared vector too. Uniform control flow only.
fn solve(w: u32, lane: u32, go: bool) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    if go {
        for (var k = lane; k < NBLOCK; k += LANES) {
            var v = vec4<f32>(0.0);
            for (var j = 0u; j < 4u; j += 1u) {
                if 4u * k + j < NV {
                    v[j] = -ld_solver_grad(w, 4u * k + j);
                }
            }
            dof_vec[base + k] = v;
        }
    }
    sync();
    // Lᵀ y = b
    for (var left = rolled(NBLOCK); left > 0u; left -= 1u) {
        let k = left - 1u;
        var y = vec4<f32>(0.0);
        if go {
            let l = ld_tile(w, k, k);
            let b = dof_vec[base + k];
            y[3] = b[3] * l[3][3];
            y[2] = (b[2] - l[3][2] * y[3]) * l[2][2];
            y[1] = (b[1] - l[3][1] * y[3] - l[2][1] * y[2]) * l[1][1];
            y[0] = (b[0] - l[3][0] * y[3] - l[2][0] * y[2] - l[1][0] * y[1]) * l[0][0];
            for (var j = lane; j < k; j += LANES) {
                let t = ld_tile(w, k, j);
                dof_vec[base + j] -= t[0] * y[0] + t[1] * y[1] + t[2] * y[2] + t[3] * y[3];
            }
        }
        sync();
        if go && lane == 0u {
            dof_vec[base + k] = y;
        }
    }
    sync();
    // L x = y
    for (var k = 0u; k < rolled(NBLOCK); k += 1u) {
        var x = vec4<f32>(0.0);
        if go {
            let l = ld_tile(w, k, k);
            let y = dof_vec[base + k];
            x[0] = y[0] * l[0][0];
            x[1] = (y[1] - l[1][0] * x[0]) * l[1][1];
            x[2] = (y[2] - l[2][0] * x[0] - l[2][1] * x[1]) * l[2][2];
            x[3] = (y[3] - l[3][0] * x[0] - l[3][1] * x[1] - l[3][2] * x[2]) * l[3][3];
            for (var i = k + 1u + lane; i < NBLOCK; i += LANES) {
                let t = ld_tile(w, i, k);
                dof_vec[base + i] -= vec4<f32>(dot(t[0], x), dot(t[1], x), dot(t[2], x), dot(t[3], x));
            }
        }
        sync();
        if go && lane == 0u {
            dof_vec[base + k] = x;
        }
    }
    sync();
    if go {
        for (var i = lane; i < NV; i += LANES) {
            st_solver_search(w, i, dof_vec[base + i / 4u][i % 4u]);
        }
    }
    sync();
}
