//! The rates at which a run sends the rows of a partition and all rows. No I/O: time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The documented throughputs of a partition and of an account, in entities per second.
///
/// Source: [Scalability and performance targets](https://learn.microsoft.com/azure/storage/tables/scalability-targets).
const PARTITION: f64 = 2000.0;
const ACCOUNT: f64 = 20_000.0;
/// The lowest rate of a partition, in entities per second; only pauses make it slower.
const SLOWEST: f64 = 100.0;
/// Throttling below this share of a rate limit has another cause.
const NEAR: f64 = 0.9;
/// The factor by which a rate is reduced that was too high.
const REDUCTION: f64 = 0.95;
/// A rate grows like in TCP CUBIC, by this share times the cube of the seconds since it was reduced: slowly near the
/// rate that was too high, and fast long after. It grows by 5 % in 3 s, and doubles in 8 s.
const GROWTH: f64 = 0.002;
/// The seconds after which a rate stops growing, which keeps the numbers small.
const GROWS_FOR: f64 = 60.0;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The delay of a late timer that does not reduce the rate.
const SLACK: Duration = Duration::from_millis(20);

/// The resource that a rate limit protects.
#[derive(Debug, Clone, Copy, Default)]
enum LimitScope {
    #[default]
    Partition,
    Account,
}

impl LimitScope {
    /// The documented throughput, in entities per second.
    const fn documented(self) -> f64 {
        match self {
            Self::Partition => PARTITION,
            Self::Account => ACCOUNT,
        }
    }

    /// The lowest rate. Throttled partitions never slow a run to less than an account handles.
    const fn slowest(self) -> f64 {
        match self {
            Self::Partition => SLOWEST,
            Self::Account => REDUCTION * ACCOUNT,
        }
    }
}

/// The rate limit of one partition or of the account: unlimited until the service throttles, then below the rate at
/// which it did.
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    scope: LimitScope,
    sent: Recent,
    done: Recent,
    rate: Option<Rate>,
    free_at: Option<Instant>,
    pause: Option<Instant>,
    /// The number of times that it was throttled since the last success.
    setbacks: u32,
}

#[derive(Debug)]
struct Rate {
    entities: f64,
    since: Instant,
}

impl Rate {
    fn at(&self, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.since).as_secs_f64().min(GROWS_FOR);
        self.entities * (1.0 + GROWTH * seconds.powi(3))
    }
}

impl RateLimit {
    /// Creates the limit of the account, for all partitions of a run.
    pub(super) fn of_account() -> Self {
        Self { scope: LimitScope::Account, ..Self::default() }
    }

    /// Returns the time at which the next rows may be sent.
    pub(super) fn next_at(&mut self, now: Instant) -> Instant {
        let mut at = self.pause.map_or(now, |pause| pause.max(now));
        if let Some(rate) = &self.rate {
            at = self.free_at.map_or(at, |free| free.max(at));
            at = at.max(self.sent.falls_to(now, rate.at(now)));
        }
        at
    }

    pub(super) fn sent(&mut self, now: Instant, rows: u32) {
        self.sent.add(now, rows);
        if let Some(rate) = &self.rate {
            let gap = Duration::from_secs_f64(f64::from(rows) / rate.at(now));
            let start = now.checked_sub(SLACK).unwrap_or(now);
            self.free_at = Some(self.free_at.map_or(now, |free| free.max(start)) + gap);
        }
    }

    pub(super) fn done(&mut self, now: Instant, rows: u32) {
        self.done.add(now, rows);
        self.setbacks = 0;
    }

    /// Records that rows of this partition which were sent at `sent_at` were throttled, and reduces the limit that they
    /// exceeded: the partition's own, or that of the `account` if only the run is near its limit. Returns `false` for
    /// rows that were in flight when that limit was reduced.
    pub(super) fn throttled_in(
        &mut self,
        account: &mut Self,
        now: Instant,
        sent_at: Instant,
        rows: u32,
        random: f64,
    ) -> bool {
        // A partition that is throttled again before its next success exceeded its own limit.
        if self.setbacks == 0 && !self.is_near(now) && account.is_near(now) {
            self.sent.remove(sent_at, rows);
            self.setbacks = 1;
            account.throttled(now, sent_at, rows, random)
        } else {
            account.sent.remove(sent_at, rows);
            self.throttled(now, sent_at, rows, random)
        }
    }

    /// Whether the rows applied in the last second are near the limit, or near the documented throughput if that is
    /// lower.
    fn is_near(&mut self, now: Instant) -> bool {
        let documented = self.scope.documented();
        let expected = self.rate.as_ref().map_or(documented, |rate| rate.entities.min(documented));
        f64::from(self.done.total(now)) >= NEAR * expected
    }

    /// Records that rows which were sent at `sent_at` were throttled. Returns `false` for rows that were in flight when
    /// the rate was reduced. A pause lasts from half of its longest time to all of it, by a `random` number up to 1.
    pub(super) fn throttled(
        &mut self,
        now: Instant,
        sent_at: Instant,
        rows: u32,
        random: f64,
    ) -> bool {
        self.sent.remove(sent_at, rows);
        if self.rate.as_ref().is_some_and(|rate| sent_at < rate.since) {
            return false;
        }
        let present = self.rate.as_ref().map(|rate| rate.at(now));
        let done = f64::from(self.done.total(now));
        let documented = self.scope.documented();
        let entities = if done > 0.0 {
            // The first second may have applied few rows only because it was not over.
            REDUCTION * present.map_or_else(|| done.max(documented), |rate| rate.min(done))
        } else {
            // The service applied nothing yet.
            present.map_or(REDUCTION * documented, |rate| rate / 2.0)
        };
        self.rate = Some(Rate { entities: entities.max(self.scope.slowest()), since: now });
        self.free_at = None;
        if self.setbacks > 0 || done <= 0.0 {
            let longest = FIRST_PAUSE.saturating_mul(1 << self.setbacks.min(10)).min(LONGEST_PAUSE);
            self.pause_until(now + longest.mul_f64(0.5 + 0.5 * random));
        }
        self.setbacks = self.setbacks.saturating_add(1);
        true
    }

    /// Sends nothing before `at`.
    pub(super) fn pause_until(&mut self, at: Instant) {
        self.pause = Some(self.pause.map_or(at, |pause| pause.max(at)));
    }

    /// Whether a partition without rows has the limit of a new one.
    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        self.pause.is_none_or(|pause| pause <= now)
            && self.rate.as_ref().is_none_or(|rate| {
                now.saturating_duration_since(rate.since).as_secs_f64() >= GROWS_FOR
            })
    }
}

/// The rows of the last second.
#[derive(Debug, Default)]
struct Recent {
    /// The number of rows by time; 10 ms are one entry.
    entries: VecDeque<(Instant, u32)>,
    total: u32,
}

const SECOND: Duration = Duration::from_secs(1);
const ENTRY: Duration = Duration::from_millis(10);

impl Recent {
    fn add(&mut self, now: Instant, rows: u32) {
        self.forget(now);
        match self.entries.back_mut() {
            Some((start, count)) if now.saturating_duration_since(*start) < ENTRY => *count += rows,
            _ => self.entries.push_back((now, rows)),
        }
        self.total += rows;
    }

    fn remove(&mut self, at: Instant, rows: u32) {
        let entry = self.entries.iter_mut().rev().find(|(start, _)| *start <= at);
        if let Some((_, count)) = entry {
            let removed = rows.min(*count);
            *count -= removed;
            self.total -= removed;
        }
    }

    fn forget(&mut self, now: Instant) {
        while let Some(&(start, rows)) = self.entries.front()
            && start + SECOND <= now
        {
            self.total -= rows;
            self.entries.pop_front();
        }
    }

    fn total(&mut self, now: Instant) -> u32 {
        self.forget(now);
        self.total
    }

    /// Returns the time at which the last second will contain at most `most` rows, if no row is added.
    fn falls_to(&mut self, now: Instant, most: f64) -> Instant {
        let mut left = self.total(now);
        let mut at = now;
        for (start, rows) in &self.entries {
            if f64::from(left) <= most {
                break;
            }
            left -= rows;
            at = *start + SECOND;
        }
        at
    }
}

#[cfg(test)]
mod tests;
