// The step along the search direction: Newton in one dimension inside a bracket.
import package::layout::{
    LANES, OPT_ITERATIONS, OPT_LS_ITERATIONS, ld_contact_efc_address, ld_efc_D, ld_efc_Jaref, ld_efc_Jv, ld_efc_R, ld_efc_frictionloss, ld_opt_ls_tolerance
};
import package::cone::{cone_line, cone_new};
import package::lanes::{group_max, sum_lanes};
import package::math::{EPSILON};
import package::rows::{RowCounts, row_counts, rows_load_Jaref, rows_load_Jv};

// Allowed steps up to which each goes to the minimum of its line, as MuJoCo's do: where there are few each has to count, where there
// are many the next one corrects what a looser and cheaper search leaves.
const FEW_STEPS: i32 = 10;
// Turns of such a search at least: it seldom takes more than 6, and stopped short it may lose what a whole step gains.
const EXACT_TURNS: i32 = 50;

// What the line search finds: the step, and the derivative of the cost there.
struct Step { length: f32, slope: f32 }

// Where the derivative of the (convex) cost along the line is 0, to opt_ls_tolerance times the derivative at the start.
// `slope` is that derivative, `quadratic` the first and second derivative at the start of the part that is quadratic
// everywhere. Uniform control flow only.
fn linesearch(w: u32, lane: u32, go: bool, slope: f32, quadratic: vec2<f32>) -> Step {
    let rows = row_counts(w);
    let few = OPT_ITERATIONS <= FEW_STEPS;
    // as exact as rounding lets it
    let exact = min(max(64.0 * EPSILON, 1e-9), ld_opt_ls_tolerance(w));
    let enough = -slope * select(ld_opt_ls_tolerance(w), exact, few);
    let turns = max(OPT_LS_ITERATIONS, select(1, EXACT_TURNS, few));
    // derivative below 0 at low, above 0 at high
    var low = 0.0;
    var low_slope = slope;
    var high = 0.0;
    var high_slope = 0.0;
    var have_high = false;
    var searching = go;
    // the full Newton step is the minimum where no row changes its zone
    var step = 1.0;
    for (var turn = 0; turn < turns; turn += 1) {
        var terms = vec2<f32>(0.0);
        if searching {
            for (var e = lane; e < rows.plain; e += LANES) {
                terms += line_derivative(w, e, rows, step);
            }
            for (var c = lane; c < rows.cones; c += LANES) {
                terms += line_contact(w, c, step);
            }
        }
        let sums = sum_lanes(w, lane, terms);
        let p = sums[0] + (quadratic[0] + step * quadratic[1]);
        let h = sums[1] + quadratic[1];
        if searching {
            let width = high - low;
            if p < 0.0 {
                low = step;
                low_slope = p;
            } else {
                high = step;
                high_slope = p;
                have_high = true;
            }
            var next = step - p / h;
            if have_high {
                // a point outside the bracket, or a bracket that no longer halves: take the chord's root, kept off the ends
                let inside = low < next && next < high;
                if !inside {
                    next = low - low_slope * (high - low) / (high_slope - low_slope);
                }
                let halved = width == 0.0 || high - low <= 0.5 * width;
                if (!halved && !inside) || !(low < next && next < high) {
                    next = 0.5 * (low + high);
                }
                // the bracket is down to neighbouring numbers
                searching = low < next && next < high;
            }
            if abs(p) <= enough || p == 0.0 {
                searching = false;
            }
            step = next;
        }
        let going = group_max(w, lane, select(0u, 1u, searching));
        if going == 0u { // uniform: the same for the whole group
            break;
        }
    }
    // the end with the smaller derivative; low has surely gone downhill
    let take_high = have_high && (high_slope < -low_slope || low == 0.0);
    if take_high {
        return Step(high, high_slope);
    }
    return Step(low, low_slope);
}

// What row e adds to the first and second derivative of the cost at
// qacc + step solver_search with respect to step.
fn line_derivative(w: u32, e: u32, rows: RowCounts, step: f32) -> vec2<f32> {
    let v = ld_efc_Jv(w, e);
    let x = ld_efc_Jaref(w, e) + step * v;
    let quadratic = ld_efc_D(w, e) * v * vec2<f32>(x, v);
    if e < rows.equality {
        return quadratic;
    }
    if e < rows.friction {
        let loss = ld_efc_frictionloss(w, e);
        let knee = ld_efc_R(w, e) * loss;
        if x <= -knee {
            return vec2<f32>(-loss * v, 0.0);
        }
        if x >= knee {
            return vec2<f32>(loss * v, 0.0);
        }
        return quadratic;
    }
    return select(vec2<f32>(0.0), quadratic, x < 0.0);
}

// GPU only: the CPU has it in line_derivative.
// What elliptic contact c adds to them.
fn line_contact(w: u32, c: u32, step: f32) -> vec2<f32> {
    let first = ld_contact_efc_address(w, c);
    if first < 0 {
        return vec2<f32>(0.0);
    }
    let e = u32(first);
    let cone = cone_new(w, c, e);
    let v = rows_load_Jv(w, e, cone.dim);
    var x = rows_load_Jaref(w, e, cone.dim);
    for (var j = 0u; j < 6u; j += 1u) {
        x[j] += step * v[j];
    }
    return cone_line(cone, x, v);
}
