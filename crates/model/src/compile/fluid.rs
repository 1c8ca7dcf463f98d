//! Coefficients of the ellipsoid model of fluid forces: added mass and inertia of the ellipsoid in place of a geom.

use kiloworld_layout::consts::MINVAL;
use kiloworld_mjcf::spec::{Geom, GeomKind};
use std::f64::consts::PI;

/// Abscissas on the lower half of 0..1 and weights of the 15-point Gauss-Kronrod rule, to the eight digits that MuJoCo has: the
/// rule is so coarse that its results are MuJoCo's only with these.
const RULE: [(f64, f64); 8] = [
    (0.004_272_31, 0.011_467_66),
    (0.025_446_04, 0.031_546_05),
    (0.067_567_79, 0.052_395_01),
    (0.129_234_41, 0.070_326_63),
    (0.206_956_38, 0.084_502_36),
    (0.297_077_42, 0.095_175_29),
    (0.396_107_52, 0.102_216_47),
    (0.5, 0.104_741_07),
];

/// `geom_fluid`: whether the model is on, the five coefficients of the file, added mass and inertia along the axes at a density
/// of 1; zeros where it is off.
pub(crate) fn coefficients(g: &Geom, size: &[f64; 3]) -> [f64; 12] {
    let mut out = [0.0; 12];
    if !g.fluid_ellipsoid {
        return out;
    }
    let [x, y, z] = *size;
    let r = match g.kind {
        GeomKind::Sphere => [x; 3],
        GeomKind::Capsule => [x, x, x + y],
        GeomKind::Cylinder => [x, x, y],
        _ => [x, y, z],
    };
    out[0] = 1.0;
    out[1..6].copy_from_slice(&g.fluidcoef);
    let volume = 4.0 / 3.0 * PI * r[0] * r[1] * r[2];
    let kappa = [0, 1, 2].map(|i| kappa(r[i], r[(i + 1) % 3], r[(i + 2) % 3]));
    for i in 0..3 {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        out[6 + i] = volume * kappa[i] / (2.0 - kappa[i]).max(MINVAL);
        let (a, b) = (r[j] * r[j], r[k] * r[k]);
        let over = 2.0 * (a - b) + (a + b) * (kappa[j] - kappa[k]);
        if over.abs() > MINVAL {
            out[9 + i] = volume / 5.0 * (a - b) * (a - b) * (kappa[k] - kappa[j]) / over;
        }
    }
    out
}

/// The integral of `x y z / sqrt((x² + l)³ (y² + l) (z² + l))` over all positive `l`.
fn kappa(x: f64, y: f64, z: f64) -> f64 {
    // l = scale t³ / (1 - t)² for t from 0 to 1
    let scale = (x.powi(3) * y * z).powf(0.4);
    let at = |t: f64| {
        let l = scale * t.powi(3) / (1.0 - t).powi(2);
        let step = scale * t * t * (3.0 - t) / (1.0 - t).powi(3);
        step * x * y * z / ((x * x + l).powi(3) * (y * y + l) * (z * z + l)).sqrt()
    };
    let upper = RULE[..7].iter().map(|&(t, w)| w * at(1.0 - t)).sum::<f64>();
    RULE.iter().map(|&(t, w)| w * at(t)).sum::<f64>() + upper
}
