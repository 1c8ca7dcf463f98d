// A vector over dofs shared by the lanes of a world, and M times it.
// No twin: the CPU reads vectors where they are; mul_m is in crates/cpu/src/solver_matrix.rs.
import package::layout::{
    LANES, NV, NVPAD, WORLDS_PER_GROUP, ld_M, ld_M_colind, ld_M_rowadr, ld_M_rownnz, ld_dof_descnum, ld_solver_search,
    st_solver_Mv
};
import package::math::{sync};

// Blocks of 4 columns in a row.
const NBLOCK: u32 = NVPAD / 4u;

// The vector, 0 past the last dof.
var<workgroup> dof_vec: array<vec4<f32>, max(NBLOCK, 1u) * WORLDS_PER_GROUP>;

// Puts solver_search into the shared vector; uniform control flow only.
fn gather(w: u32, lane: u32) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    sync();
    for (var k = lane; k < NBLOCK; k += LANES) {
        var v = vec4<f32>(0.0);
        for (var j = 0u; j < 4u; j += 1u) {
            if 4u * k + j < NV {
                v[j] = ld_solver_search(w, 4u * k + j);
            }
        }
        dof_vec[base + k] = v;
    }
    sync();
}

// solver_Mv = M times the shared vector, a lane a row: its own entries, then the column under its diagonal.
fn mul_m(w: u32, lane: u32) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    for (var i = lane; i < NV; i += LANES) {
        let adr = u32(ld_M_rowadr(w, i));
        let n = u32(ld_M_rownnz(w, i));
        var sum = 0.0;
        for (var k = adr; k < adr + n; k += 1u) {
            let j = u32(ld_M_colind(w, k));
            sum += ld_M(w, k) * dof_vec[base + j / 4u][j % 4u];
        }
        // the dofs below have i at the same place in their rows
        let below = u32(ld_dof_descnum(w, i));
        for (var j = i + 1u; j <= i + below; j += 1u) {
            sum += ld_M(w, u32(ld_M_rowadr(w, j)) + n - 1u) * dof_vec[base + j / 4u][j % 4u];
        }
        st_solver_Mv(w, i, sum);
    }
}
