//! Sine and cosine by the same operations in every lane, so that a world's bits do not depend on where it is computed.
// CPU only: WGSL has its own.

use crate::{Mask, Real, Scalar};

/// Arguments up to here are reduced below without losing bits; beyond, world by world by the library's functions.
const LARGE: f64 = 1e4;

/// Sine and cosine of `x`, good to an ulp: reduction by multiples of π/2 in three parts (Cody and Waite 1980), then
/// polynomials on [-π/4, π/4].
#[inline(always)]
pub(crate) fn sin_cos<T: Real>(x: T) -> (T, T) {
    // adding and subtracting it rounds to an integer
    let round = T::r(if T::TWO_FLOAT { 12_582_912.0 } else { 6_755_399_441_055_744.0 });
    let n = (x * T::r(core::f64::consts::FRAC_2_PI) + round) - round;
    // the parts have so few bits that their products with n are exact
    let (p1, p2, p3) = if T::TWO_FLOAT {
        (1.570_312_5, 4.837_512_969_970_703e-4, 7.549_789_954_891_882e-8)
    } else {
        (1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21)
    };
    let r = ((x - n * T::r(p1)) - n * T::r(p2)) - n * T::r(p3);
    let z = r * r;
    let (mut s, mut c);
    if T::TWO_FLOAT {
        s = poly(z, &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]);
        c = poly(z, &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]);
    } else {
        s = poly(
            z,
            &[
                1.589_690_995_211_55e-10,
                -2.505_076_025_340_686_3e-8,
                2.755_731_370_707_006_8e-6,
                -1.984_126_982_985_795e-4,
                8.333_333_333_322_49e-3,
                -1.666_666_666_666_663_2e-1,
            ],
        );
        c = poly(
            z,
            &[
                -1.135_964_755_778_819_5e-11,
                2.087_572_321_298_175e-9,
                -2.755_731_435_139_066_3e-7,
                2.480_158_728_947_673e-5,
                -1.388_888_888_887_411e-3,
                4.166_666_666_666_66e-2,
            ],
        );
    }
    s = r + r * z * s;
    c = (T::one() - z * T::r(0.5)) + z * z * c;
    // the quadrant: n modulo 4, as 0, ±1, ±2
    let q = n - T::r(4.0) * ((n * T::r(0.25) + round) - round);
    let odd = q.abs().same(T::one());
    let (a, b) = (T::select(odd, c, s), T::select(odd, s, c));
    let sin_negative = q.abs().same(T::r(2.0)) | q.same(-T::one());
    let cos_negative = q.abs().same(T::r(2.0)) | q.same(T::one());
    let mut sin = T::select(sin_negative, -a, a);
    let mut cos = T::select(cos_negative, -b, b);
    let large = !x.abs().lt(T::r(LARGE));
    if large.any() {
        for l in 0..T::LANES {
            if large.get(l) {
                let (s, c) = x.lane(l).sin_cos_one();
                sin.set_lane(l, s);
                cos.set_lane(l, c);
            }
        }
    }
    (sin, cos)
}

/// Horner's rule, highest power first.
#[inline(always)]
fn poly<T: Real, const N: usize>(z: T, c: &[f64; N]) -> T {
    let mut sum = T::r(c[0]);
    for k in 1..N {
        sum = sum * z + T::r(c[k]);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{Scalar, sin_cos};

    fn worst<T: Scalar>(span: f64) -> f64 {
        (0..200_001).fold(0.0, |worst: f64, i| {
            let x = T::r((f64::from(i) / 100_000.0 - 1.0) * span);
            let (s, c) = sin_cos(x);
            let (ws, wc) = x.to_f64().sin_cos();
            worst.max((s.to_f64() - ws).abs()).max((c.to_f64() - wc).abs())
        })
    }

    #[test]
    fn within_an_ulp_of_one() {
        assert!(worst::<f64>(8.0) < 2.3e-16, "{:e}", worst::<f64>(8.0));
        assert!(worst::<f64>(9e3) < 2.3e-16, "{:e}", worst::<f64>(9e3));
        assert!(worst::<f64>(1e9) < 2.3e-16);
        assert!(worst::<f32>(8.0) < 1.2e-7, "{:e}", worst::<f32>(8.0));
        assert!(worst::<f32>(9e3) < 1.2e-7, "{:e}", worst::<f32>(9e3));
    }

    #[test]
    fn what_is_no_number_stays_so() {
        assert!(sin_cos(f64::NAN).0.is_nan() && sin_cos(f32::INFINITY).1.is_nan());
    }
}
