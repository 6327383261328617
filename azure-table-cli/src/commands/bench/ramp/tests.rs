//! The limits that follow from simulated services.

use super::*;
use crate::commands::bench::step::due_at;

const MILLION: i128 = 1_000_000;

/// A service that applies a number of rows per second, and a burst of one second.
struct Service {
    limit: u64,
    /// The rows that it applies at once, in millionths. Negative after a request with more.
    left: i128,
    now: Duration,
}

impl Service {
    fn new(limit: u64) -> Self {
        Self { limit, left: i128::from(limit) * MILLION, now: Duration::ZERO }
    }

    fn applies(&mut self, rows: u64, at: Duration) -> bool {
        let (limit, rows) = (i128::from(self.limit), i128::from(rows));
        let micros = at.saturating_sub(self.now).as_micros().cast_signed();
        self.left = (self.left + micros * limit).min(limit * MILLION);
        self.now = at;
        let is_applied = self.limit > 0 && self.left >= rows.min(limit) * MILLION;
        if is_applied {
            self.left -= rows * MILLION;
        }
        is_applied
    }

    fn run(&mut self, rate: u64, rows: u64, time: Duration) -> Step {
        let begin = self.now;
        let due = due(rate, rows, time);
        let mut step = Step { rate, rows, time, due, sent: due, ..Step::default() };
        for request in 0..due {
            if self.applies(rows, begin + due_at(rate, rows, request)) {
                step.latencies.push(Duration::from_millis(1));
            } else {
                step.throttled += 1;
            }
        }
        self.now = begin + time;
        step
    }
}

fn bounds(max_rate: u64, seconds: u64, rows: u64) -> Bounds {
    Bounds { max_rate, time: Duration::from_secs(seconds), rows }
}

/// Returns the end of a phase, and the requests that it sent.
fn end(bounds: Bounds, mut run: impl FnMut(u64, Duration) -> Step) -> (End, u64) {
    let mut ramp = Ramp::new(bounds);
    let (mut next, mut sent) = (ramp.first(), 0);
    loop {
        match next {
            Next::End(end) => return (end, sent),
            Next::Run(rate, time) => {
                let step = run(rate, time);
                sent += step.sent;
                next = ramp.next(&step);
            }
        }
    }
}

#[test]
fn the_limit_of_a_service_is_found_within_a_tenth() {
    for rows in [1, 100] {
        for limit in [50, 100, 150, 249, 250, 251, 500, 700, 999, 1_900, 2_000, 2_100, 4_400] {
            let (bounds, mut service) = (bounds(5_000, 60, rows), Service::new(limit));
            let (end, sent) = end(bounds, |rate, time| service.run(rate, rows, time));
            let End::Throttled(found) = end else { panic!("{limit} by {rows}: {end:?}") };
            assert!(found.abs_diff(limit) * 10 <= limit, "{found} of {limit} by {rows}");
            assert!(sent <= bounds.most_requests(), "{sent} requests at {limit}");
        }
    }
}

#[test]
fn a_service_without_a_limit_ends_at_the_highest_rate_or_the_time() {
    let mut service = Service::new(100_000);
    let (first, sent) = end(bounds(600, 60, 1), |rate, time| service.run(rate, 1, time));
    let rates = [250 * 5, 500 * 5, 600 * 10];
    assert_eq!((first, sent), (End::MaxRate, rates.iter().sum()));
    let (second, sent) = end(bounds(600, 7, 1), |rate, time| service.run(rate, 1, time));
    assert_eq!((second, sent), (End::Time, 250 * 5 + 500 * 2));
}

#[test]
fn a_service_that_applies_nothing_has_no_limit() {
    let mut service = Service::new(0);
    assert_eq!(end(bounds(600, 60, 1), |rate, time| service.run(rate, 1, time)).0, End::Time);
}

#[test]
fn throttling_that_passes_is_not_the_limit() {
    let (mut service, mut steps) = (Service::new(100_000), 0);
    let (end, _) = end(bounds(1_000, 60, 1), |rate, time| {
        steps += 1;
        let step = service.run(rate, 1, time);
        // A partition that moves to another server, for example.
        if steps == 1 { Step { throttled: 100, ..step } } else { step }
    });
    assert_eq!(end, End::MaxRate);
}

#[test]
fn slow_responses_find_no_limit() {
    let mut service = Service::new(100_000);
    let (end, _) = end(bounds(5_000, 60, 1), |rate, time| {
        let sent = Step { rate, ..service.run(rate.min(800), 1, time) };
        Step { due: due(rate, 1, time), ..sent }
    });
    assert_eq!(end, End::Saturated);
}

#[test]
fn the_most_requests_follow_from_the_bounds() {
    let most = |max_rate, seconds, rows| bounds(max_rate, seconds, rows).most_requests();
    assert_eq!(most(5_000, 60, 1), (250 + 500 + 1_000 + 2_000 + 4_000) * 5 + 5_000 * 35);
    assert_eq!(most(5_000, 60, 100), 20 * 20 + 40 * 5 + 50 * 35);
    assert_eq!(most(100, 60, 1), 100 * 60);
    assert_eq!(most(100, 3, 1), 100 * 3);
}
