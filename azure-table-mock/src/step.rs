//! The steps of long requests.
//!
//! The core has no threads. A request that computes for long is a future that yields after each step, so
//! that its host can serve other requests in between. Virtual time stands still meanwhile.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The cost of a step. One unit is about one comparison of two numbers, or a few nanoseconds.
const STEP_UNITS: usize = 32 * 1024;

/// The cost of a page. The real service ends a page after five seconds.
///
/// Source: [Query timeout and pagination][timeout].
///
/// [timeout]: https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination
const PAGE_UNITS: usize = 64 * 1024 * 1024;

/// The bytes that are read or written for one unit.
const BYTES_PER_UNIT: usize = 16;

/// Counts the cost of a request. It does not depend on the machine, so that a test always sees the same
/// pages.
#[derive(Debug, Default)]
pub(super) struct Work {
    in_step: usize,
    total: usize,
}

impl Work {
    /// The units for reading or writing this many bytes.
    pub(super) const fn of_bytes(bytes: usize) -> usize {
        bytes / BYTES_PER_UNIT
    }

    /// Adds a cost. The caller also awaits [`step`](Self::step) before it goes on.
    pub(super) fn add(&mut self, units: usize) {
        self.in_step = self.in_step.saturating_add(units);
        self.total = self.total.saturating_add(units);
    }

    /// Yields if the step is over.
    pub(super) async fn step(&mut self) {
        if self.in_step >= STEP_UNITS {
            self.in_step = 0;
            yield_now().await;
        }
    }

    /// Returns `true` if the page must end.
    pub(super) fn fills_page(&self) -> bool {
        self.total >= PAGE_UNITS
    }
}

/// Lets other tasks run once.
pub(super) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs a future to its end on the current thread. The future waits only in [`yield_now`].
pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_after_its_cost() {
        let mut work = Work::default();
        let yields = |work: &mut Work, units| {
            work.add(units);
            let step = pin!(work.step());
            step.poll(&mut Context::from_waker(Waker::noop())).is_pending()
        };
        for (units, expected) in [(STEP_UNITS - 1, false), (1, true), (1, false)] {
            assert_eq!(yields(&mut work, units), expected);
        }
        assert!(!work.fills_page());
        assert!(yields(&mut work, usize::MAX) && work.fills_page());
    }

    #[test]
    fn a_host_that_cannot_wait_runs_all_steps() {
        let steps = async {
            for _ in 0..3 {
                yield_now().await;
            }
            3
        };
        assert_eq!(run(steps), 3);
    }
}
