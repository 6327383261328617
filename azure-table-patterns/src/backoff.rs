//! The wait between two rounds of a write that other programs win.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::clock::Clock;

/// The longest wait after the first lost round. It doubles with each further one, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// Waits for a random time after this many lost rounds, so that the programs do not all write again at once. Returns at
/// once if no round was lost.
pub(crate) async fn pause(clock: &Arc<dyn Clock>, lost: u32) {
    let limit = limit(lost);
    if !limit.is_zero() {
        clock.sleep(limit.mul_f64(clock.random_fraction())).await;
    }
}

/// The longest wait after this many lost rounds.
fn limit(lost: u32) -> Duration {
    let Some(doublings) = lost.checked_sub(1) else { return Duration::ZERO };
    FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use azure_table_client::clock::SystemClock;

    use super::*;

    #[test]
    fn the_limit_doubles_up_to_a_second() {
        let limits = [0, 1, 2, 3, 6, 7, 8, 33, u32::MAX].map(|lost| limit(lost).as_millis());
        assert_eq!(limits, [0, 20, 40, 80, 640, 1000, 1000, 1000, 1000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_random_below_the_limit() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut pauses = Vec::new();
        for lost in [0, 7, 7, 7] {
            let start = clock.instant();
            pause(&clock, lost).await;
            pauses.push(clock.instant() - start);
        }
        assert_eq!(pauses[0], Duration::ZERO);
        // A timer has a resolution of a millisecond.
        assert!(pauses.iter().all(|pause| *pause <= LONGEST + Duration::from_millis(1)));
        assert!(pauses[1..].iter().any(|pause| *pause != pauses[1]), "{pauses:?}");
    }
}
