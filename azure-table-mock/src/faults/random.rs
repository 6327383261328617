//! Reproducible random numbers.

/// A pseudo-random number that depends only on its arguments (splitmix64).
pub(super) fn number(of: [u64; 3]) -> u64 {
    of.into_iter().fold(0, |hash, part| {
        let mut mixed = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// Maps a number to the range from 0 to below 1.
#[expect(clippy::cast_precision_loss, reason = "an f64 holds 53 bits")]
pub(super) fn fraction(number: u64) -> f64 {
    (number >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_evenly_distributed_and_reproducible() {
        for (seed, fault) in [(0, 0), (0, 1), (1, 0), (u64::MAX, 7)] {
            let fractions = || (0..10_000).map(|n| fraction(number([seed, fault, n])));
            assert!(fractions().eq(fractions()));
            assert!(fractions().all(|fraction| (0.0..1.0).contains(&fraction)));
            let low = fractions().filter(|fraction| *fraction < 0.2).count();
            assert!((1_850..2_150).contains(&low), "{low} of 10,000 for 20 percent");
        }
        assert_ne!(number([0, 0, 1]), number([0, 1, 0]));
    }
}
