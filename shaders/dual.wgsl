// What the solvers over forces (PGS, noslip) share: J M⁻¹, residuals, the friction problem of an elliptic contact.
//
// A = J M⁻¹ Jᵀ is not formed: qacc follows the forces in the shared vector, each lane keeps its blocks of it, and a row's
// residual J qacc - aref is a sum over the lanes.
import package::layout::{
    CNSTR_CONTACT_PYRAMIDAL, CNSTR_CONTACT_ELLIPTIC, LANES, MINVAL, NV, STATE_CONE, STATE_LINEARNEG, STATE_LINEARPOS, STATE_QUADRATIC,
    STATE_SATISFIED, Vec6, WORLDS_PER_GROUP, dispatch_arg, ld4_efc_J, ld4_efc_Y, ld_M_colind, ld_M_rowadr, ld_M_rownnz,
    ld_contact_dim, ld_contact_efc_address, ld_contact_friction, ld_efc_Y, ld_efc_aref, ld_efc_force, ld_efc_frictionloss,
    ld_efc_id, ld_efc_type, ld_qLD, ld_qLDiagInv, ld_qacc, ld_qacc_smooth, st4_efc_Y, st_efc_A, st_efc_Y, st_efc_state,
    st_qacc, lane_of, world_of
};
import package::lanes::{sum_lanes};
import package::loops::{loops_ran};
import package::math::{EPSILON, rolled};
import package::rows::{is_elliptic, row_counts, rows_mul_t};
import package::solver_vector::{NBLOCK, dof_vec};

// Dispatches of dual_init, each for a part of the rows: a lane of its own for all rows would loop too often.
const DUAL_PARTS: u32 = 8u;
// Newton steps for the multiplier; about 5 are taken.
const FRICTION_ITERATIONS: u32 = 20u;
// MuJoCo's bound for singular friction blocks, found with models of growing mass.
const SINGULAR: f32 = 1e-10;

// Fills efc_Y (in the kernel's part of the rows).
fn dual_init(w: u32, lane: u32, part: u32) {
    let n = row_counts(w).all;
    for (var e = part * LANES + lane; e < n; e += DUAL_PARTS * LANES) {
        dual_solve(w, e);
    }
    loops_ran(w);
}

// GPU only: the CPU solves in a slice.
// Row e of efc_Y = M⁻¹ times row e of J.
fn dual_solve(w: u32, e: u32) {
    for (var k = 0u; k < NBLOCK; k += 1u) {
        st4_efc_Y(w, e, k, ld4_efc_J(w, e, k));
    }
    for (var left = rolled(NV); left > 0u; left -= 1u) {
        let i = left - 1u;
        let x = ld_efc_Y(w, e, i);
        if x != 0.0 {
            let adr = u32(ld_M_rowadr(w, i));
            for (var k = adr; k < adr + u32(ld_M_rownnz(w, i)) - 1u; k += 1u) {
                let j = u32(ld_M_colind(w, k));
                st_efc_Y(w, e, j, ld_efc_Y(w, e, j) - ld_qLD(w, k) * x);
            }
        }
    }
    for (var i = 0u; i < rolled(NV); i += 1u) {
        let adr = u32(ld_M_rowadr(w, i));
        var sum = ld_efc_Y(w, e, i) * ld_qLDiagInv(w, i);
        for (var k = adr; k < adr + u32(ld_M_rownnz(w, i)) - 1u; k += 1u) {
            sum -= ld_qLD(w, k) * ld_efc_Y(w, e, u32(ld_M_colind(w, k)));
        }
        st_efc_Y(w, e, i, sum);
    }
}

// GPU only: part of dual_init on the CPU.
// Fills efc_A from efc_Y.
fn dual_blocks(w: u32, lane: u32) {
    let rows = row_counts(w).all;
    for (var e = lane; e < rows; e += LANES) {
        let first = block_first(w, e);
        let n = block_size(w, first);
        var a = array<f32, 6>();
        for (var c = 0u; c < 6u; c += 1u) {
            if c < n {
                var sum = vec4<f32>(0.0);
                for (var k = 0u; k < NBLOCK; k += 1u) {
                    sum += ld4_efc_J(w, e, k) * ld4_efc_Y(w, first + c, k);
                }
                a[c] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            }
        }
        st_efc_A(w, e, Vec6(vec3<f32>(a[0], a[1], a[2]), vec3<f32>(a[3], a[4], a[5])));
    }
}

// GPU only: the CPU walks blocks whole.
// First row of the block of row e.
fn block_first(w: u32, e: u32) -> u32 {
    let kind = ld_efc_type(w, e);
    if kind != CNSTR_CONTACT_ELLIPTIC && kind != CNSTR_CONTACT_PYRAMIDAL {
        return e;
    }
    let contact = u32(ld_contact_efc_address(w, u32(ld_efc_id(w, e))));
    return select(e - (e - contact) % 2u, contact, kind == CNSTR_CONTACT_ELLIPTIC);
}

// Rows that are treated together from row e on: an elliptic contact, two opposite edges of a pyramid, or one row.
fn block_size(w: u32, e: u32) -> u32 {
    let kind = ld_efc_type(w, e);
    if kind == CNSTR_CONTACT_ELLIPTIC {
        return u32(ld_contact_dim(w, u32(ld_efc_id(w, e))));
    }
    return select(1u, 2u, kind == CNSTR_CONTACT_PYRAMIDAL);
}

// J qacc - aref of rows e and e + 1 (0 for those from n on): their residuals without the regularizer. Uniform control flow
// only.
fn dual_residual(w: u32, lane: u32, e: u32, n: u32) -> vec2<f32> {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    var terms = vec2<f32>(0.0);
    for (var r = 0u; r < 2u; r += 1u) {
        if r < n {
            var sum = vec4<f32>(0.0);
            for (var k = lane; k < NBLOCK; k += LANES) {
                sum += ld4_efc_J(w, e + r, k) * dof_vec[base + k];
            }
            terms[r] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
    }
    let sums = sum_lanes(w, lane, terms);
    var res = vec2<f32>(0.0);
    for (var r = 0u; r < 2u; r += 1u) {
        if r < n {
            res[r] = sums[r] - ld_efc_aref(w, e + r);
        }
    }
    return res;
}

// Lets qacc follow the change of a row's force.
fn dual_set(w: u32, lane: u32, e: u32, change: f32) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    if change != 0.0 {
        for (var k = lane; k < NBLOCK; k += LANES) {
            dof_vec[base + k] += change * ld4_efc_Y(w, e, k);
        }
    }
}

// qacc = qacc_smooth + M⁻¹ Jᵀ efc_force, from efc_Y, a lane a block of 4 dofs.
fn dual_qacc(w: u32, lane: u32) {
    let n = row_counts(w).all;
    for (var k = lane; k < NBLOCK; k += LANES) {
        var sum = vec4<f32>(0.0);
        for (var e = 0u; e < n; e += 1u) {
            sum += ld_efc_force(w, e) * ld4_efc_Y(w, e, k);
        }
        for (var j = 0u; j < 4u; j += 1u) {
            if 4u * k + j < NV {
                st_qacc(w, 4u * k + j, ld_qacc_smooth(w, 4u * k + j) + sum[j]);
            }
        }
    }
}

// GPU only: the CPU works in qacc itself.
// Takes qacc into the shared vector, each lane its blocks.
fn dual_load(w: u32, lane: u32) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    for (var k = lane; k < NBLOCK; k += LANES) {
        var v = vec4<f32>(0.0);
        for (var j = 0u; j < 4u; j += 1u) {
            if 4u * k + j < NV {
                v[j] = ld_qacc(w, 4u * k + j);
            }
        }
        dof_vec[base + k] = v;
    }
}

// GPU only: the CPU works in qacc itself.
// Puts the shared vector back into qacc.
fn dual_store(w: u32, lane: u32) {
    let base = (w % WORLDS_PER_GROUP) * NBLOCK;
    for (var k = lane; k < NBLOCK; k += LANES) {
        for (var j = 0u; j < 4u; j += 1u) {
            if 4u * k + j < NV {
                st_qacc(w, 4u * k + j, dof_vec[base + k][j]);
            }
        }
    }
}

// What the change of a block's forces does to the dual cost: 1/2 Δᵀ A Δ + Δᵀ res, with a and res before the change.
fn dual_change(a: array<array<f32, 6>, 6>, res: array<f32, 6>, delta: array<f32, 6>) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < 6u; i += 1u) {
        var row = 0.0;
        for (var j = 0u; j < 6u; j += 1u) {
            row += a[i][j] * delta[j];
        }
        sum += delta[i] * (0.5 * row + res[i]);
    }
    return sum;
}

// The friction forces of an elliptic contact under a fixed normal force: minimizes 1/2 xᵀ A x + bᵀ x over
// Σ (x_j / friction_j)² <= radius²; entries from n on are 0 and stay 0.
fn friction_problem(
    n: u32, a: array<array<f32, 5>, 5>, b: array<f32, 5>, friction: array<f32, 5>, radius: f32
) -> array<f32, 5> {
    // y = x / friction turns the ellipsoid into a ball
    var ball = a;
    var rhs = array<f32, 5>();
    var trace = 0.0;
    for (var i = 0u; i < 5u; i += 1u) {
        for (var j = 0u; j < 5u; j += 1u) {
            ball[i][j] *= friction[i] * friction[j];
        }
        rhs[i] = -b[i] * friction[i];
        trace += ball[i][i];
    }
    // A may be singular (more friction rows than motions); this much of its size changes nothing that can be seen
    let tiny = trace * EPSILON;
    // the multiplier: y(λ) = (A + λ)⁻¹ rhs has length `radius`, or λ = 0 and y is inside. Newton on 1/|y| - 1/radius, which is
    // nearly linear in λ and concave, so it comes from the left without overshooting
    var lambda = 0.0;
    var y = array<f32, 5>();
    var length = 0.0;
    for (var turn = 0u; turn < FRICTION_ITERATIONS; turn += 1u) {
        var l = ball;
        for (var i = 0u; i < n; i += 1u) {
            l[i][i] += lambda + tiny;
        }
        small_factor(n, &l);
        y = small_solve(n, &l, rhs);
        var yy = 0.0;
        for (var i = 0u; i < n; i += 1u) {
            yy += y[i] * y[i];
        }
        length = sqrt(yy);
        // inside, or on the boundary to rounding
        if length <= radius * (1.0 + 4.0 * EPSILON) {
            break;
        }
        let z = small_solve(n, &l, y);
        var yz = 0.0;
        for (var i = 0u; i < n; i += 1u) {
            yz += y[i] * z[i];
        }
        lambda += yy / yz * (length - radius) / radius;
    }
    // never outside the cone
    let shrink = select(1.0, radius / length, length > radius);
    var x = array<f32, 5>();
    for (var i = 0u; i < n; i += 1u) {
        x[i] = y[i] * friction[i] * shrink;
    }
    return x;
}

// A = L D Lᵀ in place, the lower triangle; the diagonal becomes 1/D.
fn small_factor(n: u32, a: ptr<function, array<array<f32, 5>, 5>>) {
    for (var j = 0u; j < n; j += 1u) {
        let inv = 1.0 / max((*a)[j][j], MINVAL);
        for (var i = j + 1u; i < n; i += 1u) {
            let l = (*a)[i][j] * inv;
            for (var k = j + 1u; k <= i; k += 1u) {
                (*a)[i][k] -= l * (*a)[k][j];
            }
        }
        for (var i = j + 1u; i < n; i += 1u) {
            (*a)[i][j] *= inv;
        }
        (*a)[j][j] = inv;
    }
}

// A⁻¹ b from the factor.
fn small_solve(n: u32, a: ptr<function, array<array<f32, 5>, 5>>, b: array<f32, 5>) -> array<f32, 5> {
    var x = b;
    for (var i = 0u; i < n; i += 1u) {
        for (var j = 0u; j < i; j += 1u) {
            x[i] -= (*a)[i][j] * x[j];
        }
    }
    for (var left = n; left > 0u; left -= 1u) {
        let i = left - 1u;
        x[i] *= (*a)[i][i];
        for (var j = i + 1u; j < n; j += 1u) {
            x[i] -= (*a)[j][i] * x[j];
        }
    }
    return x;
}

// True where MuJoCo takes the friction block of a contact, scaled by its coefficients, for singular: its determinant (of five rows a
// pivot) is below 1e-10. A pivot that rounding alone may leave counts as none.
fn friction_singular(n: u32, a: array<array<f32, 5>, 5>, friction: array<f32, 5>) -> bool {
    var l = a;
    for (var i = 0u; i < n; i += 1u) {
        for (var j = 0u; j < n; j += 1u) {
            l[i][j] *= friction[i] * friction[j];
        }
    }
    var singular = false;
    var det = 1.0;
    for (var j = 0u; j < n; j += 1u) {
        let rounding = a[j][j] * friction[j] * friction[j] * (64.0 * EPSILON);
        let least = select(rounding, max(rounding, SINGULAR), n == 5u);
        // written so that a NaN counts too
        singular = singular || !(l[j][j] > least);
        det *= l[j][j];
        let inv = 1.0 / max(l[j][j], MINVAL);
        for (var i = j + 1u; i < n; i += 1u) {
            let f = l[i][j] * inv;
            for (var k = j + 1u; k <= i; k += 1u) {
                l[i][k] -= f * l[k][j];
            }
        }
    }
    return singular || (n < 5u && !(det > SINGULAR));
}

// efc_state from the forces.
fn dual_state(w: u32, lane: u32) {
    let rows = row_counts(w);
    for (var e = lane; e < rows.all; e += LANES) {
        let f = ld_efc_force(w, e);
        var zone = STATE_QUADRATIC;
        if e >= rows.friction {
            if is_elliptic(w, e) {
                zone = dual_cone_state(w, e);
            } else if f <= 0.0 {
                zone = STATE_SATISFIED;
            }
        } else if e >= rows.equality {
            let loss = ld_efc_frictionloss(w, e);
            if f >= loss {
                zone = STATE_LINEARNEG;
            } else if f <= -loss {
                zone = STATE_LINEARPOS;
            }
        }
        st_efc_state(w, e, zone);
    }
}

// GPU only: part of dual_state on the CPU.
// State of the elliptic contact that row e is of.
fn dual_cone_state(w: u32, e: u32) -> i32 {
    let c = u32(ld_efc_id(w, e));
    let first = u32(ld_contact_efc_address(w, c));
    let normal = ld_efc_force(w, first);
    if normal < MINVAL {
        return STATE_SATISFIED;
    }
    var tt = 0.0;
    for (var j = 1u; j < u32(ld_contact_dim(w, c)); j += 1u) {
        let t = ld_efc_force(w, first + j) / ld_contact_friction(w, c, j - 1u);
        tt += t * t;
    }
    return select(STATE_CONE, STATE_QUADRATIC, sqrt(tt) < normal * (1.0 - 8.0 * EPSILON));
}

// Everything that follows from the forces: qfrc_constraint, qacc, efc_state.
fn dual_finish(w: u32, lane: u32) {
    rows_mul_t(w, lane);
    dual_qacc(w, lane);
    dual_state(w, lane);
    loops_ran(w);
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_dual_init(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    dual_init(world_of(group, local), lane_of(local), dispatch_arg());
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_dual_finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    dual_finish(world_of(group, local), lane_of(local));
}
