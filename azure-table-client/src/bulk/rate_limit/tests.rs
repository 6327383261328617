//! Runs against a service with limits, under simulated time.

use std::ops::Range;

use super::*;

const CHUNK: u32 = 100;
const IN_FLIGHT: usize = 8;
/// The number of chunks of each partition that the run has read.
const READ: usize = 4;
const TIME: Duration = Duration::from_secs(15);
const UNLIMITED: f64 = 1e9;

/// A token bucket that holds the entities of a second.
struct Bucket {
    rate: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    const fn new(rate: f64, at: Instant) -> Self {
        Self { rate, left: rate, at }
    }

    fn has(&mut self, now: Instant, rows: f64) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * self.rate).min(self.rate);
        self.at = now;
        self.left >= rows
    }
}

struct Partition {
    limit: RateLimit,
    bucket: Bucket,
    applied: u32,
}

struct Response {
    at: Instant,
    sent_at: Instant,
    partition: usize,
    is_throttled: bool,
}

/// A run with rows for each partition at any time.
struct Run {
    account: RateLimit,
    bucket: Bucket,
    partitions: Vec<Partition>,
    /// The partitions of the chunks that can be sent, in their order.
    queue: Vec<usize>,
    in_flight: Vec<Response>,
    requests: u32,
    throttled: u32,
}

impl Run {
    /// Runs against a service with these limits of the account and of each partition.
    fn new(account: f64, partitions: &[f64], latency: Duration) -> Self {
        let start = Instant::now();
        let of = |rate: &f64| Partition {
            limit: RateLimit::default(),
            bucket: Bucket::new(*rate, start),
            applied: 0,
        };
        let mut run = Self {
            account: RateLimit::of_account(),
            bucket: Bucket::new(account, start),
            partitions: partitions.iter().map(of).collect(),
            queue: (0..READ).flat_map(|_| 0..partitions.len()).collect(),
            in_flight: Vec::new(),
            requests: 0,
            throttled: 0,
        };
        let mut now = start;
        while now < start + TIME {
            let mut wakes_at = None;
            while wakes_at.is_none() && run.in_flight.len() < IN_FLIGHT {
                match run.next(now) {
                    Ok(place) => run.send(place, now, latency),
                    Err(at) => wakes_at = Some(at),
                }
            }
            let responds_at = run.in_flight.first().map(|response| response.at);
            now = responds_at.into_iter().chain(wakes_at).min().unwrap();
            while run.in_flight.first().is_some_and(|response| response.at <= now) {
                let response = run.in_flight.remove(0);
                run.receive(&response);
            }
        }
        run
    }

    /// Returns the place in the queue of the next chunk, or the time at which there is one.
    fn next(&mut self, now: Instant) -> Result<usize, Instant> {
        let mut wakes_at = now + TIME;
        let at = self.account.next_at(now);
        if at > now {
            return Err(at);
        }
        for (place, n) in self.queue.iter().enumerate() {
            let at = self.partitions[*n].limit.next_at(now);
            if at <= now {
                return Ok(place);
            }
            wakes_at = wakes_at.min(at);
        }
        Err(wakes_at)
    }

    fn send(&mut self, place: usize, now: Instant, latency: Duration) {
        let n = self.queue.remove(place);
        let partition = &mut self.partitions[n];
        partition.limit.sent(now, CHUNK);
        self.account.sent(now, CHUNK);
        let rows = f64::from(CHUNK);
        let is_throttled = !(partition.bucket.has(now, rows) && self.bucket.has(now, rows));
        if !is_throttled {
            partition.bucket.left -= rows;
            self.bucket.left -= rows;
        }
        self.requests += 1;
        self.throttled += u32::from(is_throttled);
        let at = now + latency.mul_f64(0.5 + fastrand::f64());
        self.in_flight.push(Response { at, sent_at: now, partition: n, is_throttled });
        self.in_flight.sort_by_key(|response| response.at);
    }

    fn receive(&mut self, response: &Response) {
        let Response { at, sent_at, partition: n, is_throttled } = *response;
        let partition = &mut self.partitions[n];
        if is_throttled {
            partition.limit.throttled_in(&mut self.account, at, sent_at, CHUNK, fastrand::f64());
            self.queue.insert(0, n);
        } else {
            partition.limit.done(at, CHUNK);
            self.account.done(at, CHUNK);
            partition.applied += CHUNK;
            self.queue.push(n);
        }
    }

    /// The entities per second that these partitions accepted, without a burst of `burst` entities.
    fn rate(&self, partitions: Range<usize>, burst: f64) -> f64 {
        let applied: u32 = self.partitions[partitions].iter().map(|it| it.applied).sum();
        (f64::from(applied) - burst) / TIME.as_secs_f64()
    }

    /// The share of requests that were throttled.
    fn share(&self) -> f64 {
        f64::from(self.throttled) / f64::from(self.requests)
    }
}

/// Latencies with which 8 requests in flight reach 200,000, 50,000 and 25,000 entities per second.
const LATENCIES: [u64; 3] = [4, 16, 32];

/// All partitions are throttled at once. Limits of each partition alone would have more than 5 % of requests throttled.
#[test]
fn partitions_share_the_limit_of_their_account() {
    for (latency, seed) in LATENCIES.into_iter().flat_map(|it| [(it, 1), (it, 2), (it, 3)]) {
        fastrand::seed(seed);
        let run = Run::new(ACCOUNT, &[PARTITION; 50], Duration::from_millis(latency));
        let (rate, share) = (run.rate(0..50, ACCOUNT), run.share());
        assert!(rate >= 0.9 * ACCOUNT, "{latency} ms, seed {seed}: {rate}");
        assert!(share <= 0.02, "{latency} ms, seed {seed}: {share}");
    }
}

#[test]
fn one_partition_reaches_its_limit() {
    for latency in LATENCIES {
        fastrand::seed(1);
        let run = Run::new(ACCOUNT, &[PARTITION], Duration::from_millis(latency));
        let (rate, share) = (run.rate(0..1, PARTITION), run.share());
        assert!(rate >= 0.9 * PARTITION, "{latency} ms: {rate}");
        assert!(share < 0.05, "{latency} ms: {share}");
    }
}

/// The first of these partitions have this limit, and the others none.
fn partly_limited(limited: usize, all: usize, limit: f64, latency: u64) -> Run {
    fastrand::seed(1);
    let mut limits = vec![UNLIMITED; all];
    limits[..limited].fill(limit);
    Run::new(UNLIMITED, &limits, Duration::from_millis(latency))
}

/// The other partitions stay as fast as without a limit, or as fast as an account may be.
#[test]
fn throttled_partitions_do_not_slow_the_others() {
    for (latency, limited) in [48, 32, 16, 4].into_iter().flat_map(|it| [(it, 1), (it, 5)]) {
        let others = |limit| partly_limited(limited, 10, limit, latency).rate(limited..10, 0.0);
        let least = others(UNLIMITED).min(REDUCTION * ACCOUNT);
        for limit in [0.0, 300.0, PARTITION] {
            let rate = others(limit);
            assert!(rate >= least, "{limited} of {limit}, {latency} ms: {rate}, {least}");
        }
    }
}

/// If half of the partitions are throttled alone, the run stays about as fast as an account may be.
#[test]
fn many_throttled_partitions_do_not_slow_the_run() {
    for latency in LATENCIES {
        for limit in [0.0, 300.0] {
            let run = partly_limited(25, 50, limit, latency);
            let (rate, share) = (run.rate(0..50, 0.0), run.share());
            assert!(rate >= 0.9 * ACCOUNT, "{limit}, {latency} ms: {rate}");
            assert!(share < 0.06, "{limit}, {latency} ms: {share}");
        }
    }
}

#[test]
fn a_partition_that_is_throttled_twice_exceeded_its_own_limit() {
    let (mut account, mut partition) = (RateLimit::of_account(), RateLimit::default());
    let now = Instant::now();
    account.done(now, 19_000);
    partition.done(now, 100);
    assert!(partition.throttled_in(&mut account, now, now, 100, 0.5));
    assert!(account.rate.is_some() && partition.rate.is_none());
    assert!(partition.throttled_in(&mut account, now, now, 100, 0.5));
    assert!(partition.rate.is_some() && partition.next_at(now) > now, "it waits");
    let of_account = account.rate.as_ref().map(|rate| rate.entities);
    assert_eq!(of_account, Some(REDUCTION * ACCOUNT), "not reduced again");
}
