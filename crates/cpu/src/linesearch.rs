//! The step along the search direction: Newton in one dimension inside a bracket. Twin: `shaders/linesearch.wgsl`.

use crate::cone::{Cone, cone_line};
use crate::solver::{CURVATURE, LINEAR, SLOPE, SLOPE_END, STEP};
use crate::{Mask, Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::cnstr;

/// Allowed steps up to which each goes to the minimum of its line, as MuJoCo's do: where there are few each has to count, where there
/// are many the next one corrects what a looser and cheaper search leaves.
const FEW_STEPS: i32 = 10;
/// Turns of such a search at least: it seldom takes more than 6, and stopped short it may lose what a whole step gains.
const EXACT_TURNS: i32 = 50;

/// Sets `STEP` and `SLOPE_END` of `solver_scalar` in the worlds that are `live`: where the derivative of the (convex) cost
/// along the line is 0, to `opt_ls_tolerance` times the derivative at the start. In other worlds the step is 0.
#[inline(always)]
pub(crate) fn linesearch<T: Real>(m: &Model<T>, d: &mut World<T>, live: T::Mask) {
    let slope = d.solver_scalar[SLOPE];
    let few = m.opt.iterations <= FEW_STEPS;
    // as exact as rounding lets it
    let exact = T::r((64.0 * T::EPSILON).max(1e-9)).min(m.opt_ls_tolerance[0]);
    let enough = -slope * if few { exact } else { m.opt_ls_tolerance[0] };
    let turns = m.opt.ls_iterations.max(if few { EXACT_TURNS } else { 1 });
    // derivative below 0 at `low`, above 0 at `high`
    let (mut low, mut low_slope) = (T::zero(), slope);
    let (mut high, mut high_slope) = (T::zero(), T::zero());
    let mut have_high = T::Mask::splat(false);
    // the full Newton step is the minimum where no row changes its zone
    let mut step = T::one();
    let mut searching = live;
    for _ in 0..turns {
        let (p, h) = line_derivative(d, step);
        let width = high - low;
        let down = p.lt(T::zero());
        let (lower, raise) = (searching & !down, searching & down);
        low = T::select(raise, step, low);
        low_slope = T::select(raise, p, low_slope);
        high = T::select(lower, step, high);
        high_slope = T::select(lower, p, high_slope);
        have_high = have_high | lower;
        searching = searching & !(p.abs().le(enough) | p.same(T::zero()));
        if !searching.any() {
            break;
        }
        let newton = step - p / h;
        // a point outside the bracket, or a bracket that no longer halves: take the chord's root, kept off the ends
        let inside = low.lt(newton) & newton.lt(high);
        let chord = low - low_slope * (high - low) / (high_slope - low_slope);
        let point = T::select(inside, newton, chord);
        let halved = width.same(T::zero()) | (high - low).le(width * T::r(0.5));
        let kept = (halved | inside) & low.lt(point) & point.lt(high);
        let point = T::select(kept, point, (low + high) * T::r(0.5));
        // the bracket is down to neighbouring numbers
        searching = searching & !(have_high & !(low.lt(point) & point.lt(high)));
        step = T::select(searching, T::select(have_high, point, newton), step);
    }
    // the end with the smaller derivative; `low` has surely gone downhill
    let take_high = have_high & (high_slope.lt(-low_slope) | low.same(T::zero()));
    d.solver_scalar[STEP] = T::select(take_high, high, low);
    d.solver_scalar[SLOPE_END] = T::select(take_high, high_slope, low_slope);
}

/// First and second derivative of the cost at `qacc + step solver_search` with respect to `step`.
#[inline(always)]
fn line_derivative<T: Real>(d: &World<T>, step: T) -> (T, T) {
    let (ne, nf, nefc) = (d.slot_ne[0] as usize, d.slot_nf[0] as usize, d.slot_nefc[0] as usize);
    let (jar, jv, stiffness) = (&d.efc_Jaref[..nefc], &d.efc_Jv[..nefc], &d.efc_D[..nefc]);
    let (mut p, mut h) = (T::zero(), T::zero());
    for e in 0..ne {
        let dv = stiffness[e] * jv[e];
        p += dv * (jar[e] + step * jv[e]);
        h += dv * jv[e];
    }
    for e in ne..ne + nf {
        let (x, loss) = (jar[e] + step * jv[e], d.efc_frictionloss[e]);
        let knee = d.efc_R[e] * loss;
        let (negative, positive) = (x.le(-knee), x.ge(knee));
        let force = T::select(negative, -loss, T::select(positive, loss, stiffness[e] * x));
        p += force * jv[e];
        h += T::select(negative | positive, T::zero(), stiffness[e] * jv[e] * jv[e]);
    }
    // rows that no live world has do not change
    let mut e = ne + nf;
    while e < nefc {
        if d.solver_live[e] == 0 {
            e += 1;
        } else if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let cone = Cone::new(d, e);
            let v = cone.load(jv, e);
            let mut x = cone.load(jar, e);
            for j in 0..cone.dim {
                x[j] += step * v[j];
            }
            let (cp, ch) = cone_line(&cone, &x, &v);
            p += cp;
            h += ch;
            e += cone.dim;
        } else {
            let x = jar[e] + step * jv[e];
            let dv = T::select(x.lt(T::zero()), stiffness[e] * jv[e], T::zero());
            p += dv * x;
            h += dv * jv[e];
            e += 1;
        }
    }
    // ... plus the quadratic term
    let curvature = d.solver_scalar[CURVATURE];
    (p + d.solver_scalar[LINEAR] + step * curvature, h + curvature)
}
