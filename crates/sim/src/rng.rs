//! Random numbers by position: the same (seed, world, step, index) gives the same number on any backend, in any order.

/// A number in [0, 1) from a key of four.
pub fn uniform(seed: u64, world: usize, step: usize, index: usize) -> f64 {
    let mut x = seed;
    for k in [world as u64, step as u64, index as u64] {
        x = mix(x ^ k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::uniform;

    #[test]
    fn numbers_are_uniform_and_differ_by_key() {
        let n = 10_000;
        let mean = (0..n).map(|i| uniform(1, i % 100, i / 100, 3)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert_ne!(uniform(1, 0, 1, 0), uniform(1, 1, 0, 0));
        assert_ne!(uniform(1, 0, 0, 1), uniform(2, 0, 0, 1));
    }
}
