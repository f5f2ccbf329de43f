//! The random number generator. It is deterministic: the same seed gives the same model on every machine.

/// Steele, Lea and Flood's SplitMix64 ("Fast Splittable Pseudorandom Number Generators", 2014). Good enough for
/// shuffling and resampling, not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

/// The fractional part of the golden ratio: the generator's step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles a number. Different numbers stay different.
pub(crate) fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl SplitMix64 {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scramble(self.0)
    }

    /// A uniform number below `n` (0 if `n` is 0), with a bias of at most `n` / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        // the upper half of the product with n is below n
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// A uniform number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles items (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        // the first outputs of the reference implementation for the seed 1234567
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_covers_its_range() {
        let mut random = SplitMix64::new(1);
        let mut seen = [0; 7];
        (0..7_000).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|n| (850..1_150).contains(n)), "{seen:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
    }

    #[test]
    fn shuffling_keeps_the_items() {
        let mut items: Vec<_> = (0..100).collect();
        SplitMix64::new(7).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..100));
    }
}
