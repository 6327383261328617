//! Histograms of durations.

use std::ops::AddAssign;
use std::time::Duration;

const BOUNDS: usize = 17;

/// The durations of calls, counted in fixed exponential buckets.
///
/// Histograms of several clients or operations can be added.
///
/// ```
/// use std::time::Duration;
///
/// use azure_table_client::telemetry::Counts;
///
/// /// Whether one call in a hundred takes longer than about a second.
/// fn is_slow(counts: &Counts) -> bool {
///     let limit = Duration::from_millis(1024);
///     counts.durations.quantile(0.99).is_some_and(|bound| bound > limit)
/// }
/// assert!(!is_slow(&Counts::default()));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Histogram([u64; BOUNDS + 1]);

impl Histogram {
    /// The upper bounds of the buckets, each inclusive: 1 ms, and each twice the one before, up to
    /// 65.536 s. One more bucket counts longer durations.
    pub const BOUNDS: [Duration; BOUNDS] = [
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(4),
        Duration::from_millis(8),
        Duration::from_millis(16),
        Duration::from_millis(32),
        Duration::from_millis(64),
        Duration::from_millis(128),
        Duration::from_millis(256),
        Duration::from_millis(512),
        Duration::from_millis(1024),
        Duration::from_millis(2048),
        Duration::from_millis(4096),
        Duration::from_millis(8192),
        Duration::from_millis(16_384),
        Duration::from_millis(32_768),
        Duration::from_millis(65_536),
    ];

    /// The upper bound and the count of each bucket, shortest durations first. Counts are not
    /// cumulative. The bound of the last bucket is [`Duration::MAX`].
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> {
        Self::BOUNDS.into_iter().chain([Duration::MAX]).zip(self.0)
    }

    pub(super) fn record(&mut self, duration: Duration) {
        let bucket = Self::BOUNDS.partition_point(|bound| *bound < duration);
        if let Some(count) = self.0.get_mut(bucket) {
            *count += 1;
        }
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The upper bound of the bucket that holds the quantile `q`, such as 0.99: at least this share of
    /// the durations is not longer. [`Duration::MAX`] if they exceed the last of the
    /// [bounds](Self::BOUNDS); `None` without durations, or if `q` is not in 0 to 1.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        if !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = q * float(self.count());
        let mut below = 0;
        self.buckets().find_map(|(bound, count)| {
            below += count;
            (below > 0 && float(below) >= rank).then_some(bound)
        })
    }
}

impl AddAssign for Histogram {
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 calls")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(millis: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for millis in millis {
            histogram.record(Duration::from_millis(*millis));
        }
        histogram
    }

    #[test]
    fn bounds_are_inclusive_and_double() {
        for pair in Histogram::BOUNDS.windows(2) {
            assert_eq!(pair[1], pair[0] * 2);
        }
        let counted = histogram(&[0, 1, 2, 3, 65_536, 65_537]);
        let filled: Vec<_> = counted.buckets().filter(|(_, count)| *count > 0).collect();
        let ms = Duration::from_millis;
        let expected = [(ms(1), 2), (ms(2), 1), (ms(4), 1), (ms(65_536), 1), (Duration::MAX, 1)];
        assert_eq!(filled, expected);
        assert_eq!(counted.count(), 6);
    }

    #[test]
    fn a_quantile_is_the_bound_of_its_bucket() {
        let mut counted = histogram(&[1; 98]);
        counted += histogram(&[100, 90_000]);
        let of = |q| counted.quantile(q);
        for (q, millis) in [(0.0, 1), (0.5, 1), (0.98, 1), (0.981, 128), (0.99, 128)] {
            assert_eq!(of(q), Some(Duration::from_millis(millis)), "{q}");
        }
        assert_eq!(of(1.0), Some(Duration::MAX));
        assert_eq!((of(-0.1), of(1.1), of(f64::NAN)), (None, None, None));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
