//! The rates of a phase, and the limit that follows from the responses.

use std::time::Duration;

use super::step::{Step, due};
use crate::args::{Bench, Phase};

/// The first rate, in rows per second.
const FIRST_RATE: u64 = 250;
/// The time of a rate.
const STEP: Duration = Duration::from_secs(5);
/// The time of the last rate, and of the measurement of a limit.
const LONG_STEP: Duration = Duration::from_secs(10);
/// The successful requests that a measurement needs, so that one request more or less changes the limit by 5 %.
const MEASURED_REQUESTS: usize = 20;
/// The least requests per second of a measurement. With fewer, a service that allows a small burst waits for requests.
const MEASURED_RATE: u64 = 20;
/// The shortest time that a rate is worth.
const SHORTEST: Duration = Duration::from_millis(500);

/// The bounds of a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) max_rate: u64,
    pub(super) time: Duration,
    /// The rows of each request.
    pub(super) rows: u64,
}

/// The end of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The service throttles; it applies this many rows per second.
    Throttled(u64),
    /// No throttling up to the highest rate.
    MaxRate,
    /// The time ended before a limit was measured.
    Time,
    /// The requests in flight are too slow for the rate, because of the service, the network or this machine.
    Saturated,
}

/// The next part of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Sends requests at this rate for this time.
    Run(u64, Duration),
    End(End),
}

/// The rates of a phase. A rate that is throttled runs again, since the burst that the service allows is over then: the
/// applied rows are the limit. If the throttling was temporary, the next rate follows.
#[derive(Debug)]
pub(super) struct Ramp {
    bounds: Bounds,
    rate: u64,
    left: Duration,
    /// The responses while the service throttles.
    measured: Option<Step>,
}

impl Ramp {
    pub(super) fn new(bounds: Bounds) -> Self {
        let rate = FIRST_RATE.min(bounds.max_rate);
        Self { bounds, rate, left: bounds.time, measured: None }
    }

    /// Returns the first step.
    pub(super) fn first(&self) -> Next {
        self.step(self.rate, self.time_of_rate())
    }

    /// Returns the step after this one.
    pub(super) fn next(&mut self, step: &Step) -> Next {
        self.left = self.left.saturating_sub(step.time);
        match self.measured.take() {
            None if step.is_throttled() => {
                self.measured = Some(Step::default());
                self.measurement()
            }
            None => self.faster(step),
            Some(earlier) => self.measure(earlier.with(step)),
        }
    }

    fn measure(&mut self, measured: Step) -> Next {
        if !measured.is_throttled() {
            return self.faster(&measured);
        }
        if measured.applied() >= MEASURED_REQUESTS {
            return Next::End(End::Throttled(measured.rows_per_second()));
        }
        self.measured = Some(measured);
        self.measurement()
    }

    fn faster(&mut self, step: &Step) -> Next {
        if step.is_saturated() {
            return Next::End(End::Saturated);
        }
        if self.rate == self.bounds.max_rate {
            return Next::End(End::MaxRate);
        }
        self.rate = self.rate.saturating_mul(2).min(self.bounds.max_rate);
        self.step(self.rate, self.time_of_rate())
    }

    fn measurement(&self) -> Next {
        self.step(self.bounds.measured_rate(self.rate), LONG_STEP)
    }

    fn step(&self, rate: u64, time: Duration) -> Next {
        if self.left < SHORTEST {
            return Next::End(End::Time);
        }
        Next::Run(rate, time.min(self.left))
    }

    /// The last rate runs longer: a limit slightly below it shows only after the burst that the service allows.
    fn time_of_rate(&self) -> Duration {
        if self.rate == self.bounds.max_rate { LONG_STEP } else { STEP }
    }
}

impl Bounds {
    pub(super) const fn of(args: &Bench, phase: Phase) -> Self {
        let time = Duration::from_secs(args.seconds);
        Self { max_rate: args.max_rate, time, rows: phase.rows() }
    }

    /// Returns the most requests of a phase. No order of rates and measurements sends more than rates that are never
    /// throttled, with the requests of a measurement if it has more, and the last rate for the rest of the time.
    pub(super) fn most_requests(self) -> u64 {
        let mut ramp = Ramp::new(self);
        let mut next = ramp.first();
        let mut requests = 0;
        while let Next::Run(rate, time) = next {
            requests += due(self.measured_rate(rate), self.rows, time);
            next = ramp.next(&Step { time, ..Step::default() });
        }
        requests + due(self.max_rate, self.rows, ramp.left)
    }

    /// Returns the rate of a measurement after this rate was throttled.
    fn measured_rate(self, rate: u64) -> u64 {
        rate.max(MEASURED_RATE * self.rows).min(self.max_rate)
    }
}

#[cfg(test)]
mod tests;
