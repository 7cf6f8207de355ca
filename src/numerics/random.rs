//! Seeded random numbers: the same everywhere, for tests, sampling and randomised searches. Not for secrets.

/// SplitMix64 (G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number generators, 2014). Every seed gives
/// a full period of 2^64; streams of different seeds serve as independent.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The stream of a text.
    pub fn seeded(text: &str) -> Random {
        // FNV-1a, 64 bits.
        let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        Random(text.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in `0..n`; `n` is not 0. The bias is below `n / 2^64`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A multiple of 2^-53 in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `[lo, hi]`, both finite.
    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        // The difference of two large numbers may overflow.
        let t = self.unit();
        (lo * (1.0 - t) + hi * t).clamp(lo, hi)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_published_stream() {
        // The first outputs for seed 1234567 of the reference implementation by S. Vigna.
        let mut r = Random::new(1_234_567);
        let first = [r.bits(), r.bits(), r.bits()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn bounds_hold() {
        let mut r = Random::seeded("bounds");
        let seen: std::collections::BTreeSet<usize> = (0..200).map(|_| r.below(7)).collect();
        assert!(seen.into_iter().eq(0..7));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&r.unit())));
        assert!((0..1000).all(|_| (-f64::MAX..=f64::MAX).contains(&r.uniform(-f64::MAX, f64::MAX))));
    }
}
