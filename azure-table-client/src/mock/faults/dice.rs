//! Chance that comes out the same each time.

/// A number that looks random and depends on these only (splitmix64).
pub(super) fn roll(of: [u64; 3]) -> u64 {
    of.into_iter().fold(0, |hash, part| {
        let mut mixed = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// A roll as a number from 0 to below 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
pub(super) fn fraction(roll: u64) -> f64 {
    (roll >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolls_are_even_and_come_again() {
        for (seed, fault) in [(0, 0), (0, 1), (1, 0), (u64::MAX, 7)] {
            let rolls = || (0..10_000).map(|n| fraction(roll([seed, fault, n])));
            assert!(rolls().eq(rolls()));
            assert!(rolls().all(|roll| (0.0..1.0).contains(&roll)));
            let low = rolls().filter(|roll| *roll < 0.2).count();
            assert!((1_850..2_150).contains(&low), "{low} of 10,000 for 20 percent");
        }
        assert_ne!(roll([0, 0, 1]), roll([0, 1, 0]));
    }
}
