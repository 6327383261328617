//! Tests of the parts without I/O.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use uuid::Uuid;

use super::BulkOperation;
use super::chunk::Chunk;
use super::concurrency::Concurrency;
use super::operation::{InvalidRow, Job, Row};
use super::rate_limit::RateLimit;
use super::window::{Window, count};
use crate::Dialect;
use crate::IfMatch;
use crate::entity::DynamicEntity;
use crate::limits::{TRANSACTION_BYTES, TRANSACTION_OPERATIONS};
use crate::operation::Target;
use crate::wire::Protocol;

fn target() -> Target {
    Target::of_test(Protocol::default())
}

fn job() -> Job {
    Job { target: target(), run_id: Uuid::nil() }
}

fn window() -> Window {
    Window::new(target(), None, 1_000_000, usize::MAX)
}

fn row(index: u64, partition: u8, key: u32, kib: usize) -> Row {
    let mut entity = DynamicEntity::new(format!("p{partition}"), format!("k{key}"));
    for n in 0..kib.div_ceil(30) {
        entity.set(format!("P{n}"), "x".repeat(30 * 1024));
    }
    Row::new(&job(), index, BulkOperation::InsertOrReplace(entity)).unwrap()
}

fn lengths(window: &mut Window, now: Instant, flush: bool) -> Vec<usize> {
    std::iter::from_fn(|| window.take(now, flush)).map(|chunk| chunk.rows.len()).collect()
}

#[test]
fn chunks_are_full_until_the_input_ends() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..250 {
        window.push(row(n.into(), 0, n, 0), now).unwrap();
    }
    assert_eq!(lengths(&mut window, now, false), [100, 100]);
    assert_eq!(lengths(&mut window, now, true), [50]);
    assert_eq!(window.wakes_at(), None);
}

#[test]
fn a_chunk_ends_before_the_row_that_exceeds_its_bytes() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..30 {
        window.push(row(n.into(), 0, n, 300), now).unwrap();
    }
    let chunks: Vec<_> = std::iter::from_fn(|| window.take(now, true)).collect();
    let of_one = chunks[0].bytes() / chunks[0].rows.len();
    assert_eq!(chunks.iter().map(|chunk| chunk.rows.len()).collect::<Vec<_>>(), [13, 13, 4]);
    for chunk in &chunks[..2] {
        assert!(chunk.bytes() <= TRANSACTION_BYTES && chunk.bytes() + of_one > TRANSACTION_BYTES);
    }
}

#[test]
fn a_chunk_for_cosmos_is_full_at_half_the_bytes() {
    let protocol = Protocol::default().to(Dialect::CosmosDb).unwrap();
    let (mut window, now) =
        (Window::new(Target { protocol, ..target() }, None, 100, usize::MAX), Instant::now());
    for n in 0..8 {
        window.push(row(n.into(), 0, n, 300), now).unwrap();
    }
    assert_eq!(lengths(&mut window, now, false), [6]);
}

#[test]
fn a_row_alone_is_sent_without_a_transaction() {
    let (mut window, now) = (window(), Instant::now());
    window.push(row(0, 0, 0, 0), now).unwrap();
    let chunk = window.take(now, true).unwrap();
    assert!(chunk.request().path.starts_with("/Blogs("), "{}", chunk.request().path);
    // Its key would make a URL that is too long.
    let entity = DynamicEntity::new("p".repeat(1000), "\u{20ac}".repeat(1000));
    let row = Row::new(&job(), 1, BulkOperation::InsertOrReplace(entity)).unwrap();
    window.push(row, now).unwrap();
    let chunk = window.take(now, true).unwrap();
    assert_eq!(chunk.request().path, "/$batch");
}

/// An import with many partitions must not need more memory than one with few.
#[test]
fn partitions_without_rows_hold_no_memory_of_rows() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..2_000 {
        window.push(row(n.into(), (n % 4) as u8, n, 0), now).unwrap();
    }
    assert!(window.row_capacity() >= 2_000);
    while let Some(chunk) = window.take(now, true) {
        for row in &chunk.rows {
            window.end(row, None, now);
        }
    }
    assert!(window.is_empty());
    assert_eq!(window.row_capacity(), 0);
}

#[test]
fn a_throttled_partition_waits_and_the_others_do_not() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..400 {
        window.push(row(n.into(), (n % 2) as u8, n, 0), now).unwrap();
    }
    let first = window.take(now, false).unwrap();
    assert!(window.throttled(&first.partition, now, now, 100, 0.5));
    let name = Arc::clone(&first.partition);
    window.put_back(&name, vec![first], now);
    assert_eq!(lengths(&mut window, now, true), [100, 100]);
    let at = window.wakes_at().unwrap();
    assert!(
        at > now && window.take(at.checked_sub(Duration::from_millis(1)).unwrap(), true).is_none()
    );
    let again = window.take(at, true).unwrap();
    assert_eq!(again.rows[0].index, 0, "the chunk that came back is first");
}

#[test]
fn all_partitions_wait_for_the_account() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..400 {
        window.push(row(n.into(), (n % 2) as u8, n, 0), now).unwrap();
    }
    window.done("earlier rows", now, 20_000);
    let first = window.take(now, false).unwrap();
    assert!(window.throttled(&first.partition, now, now, 100, 0.5));
    assert_eq!(lengths(&mut window, now, true), [100], "at the rate of the account");
    assert!(!window.has_part());
    let at = window.wakes_at().unwrap();
    assert!(at > now && window.take(at, true).is_some());
}

#[test]
fn bad_input_is_an_error_of_its_row() {
    let bad = |operation| Row::new(&job(), 0, operation).unwrap_err();
    let InvalidRow { key, error, .. } = *bad(BulkOperation::Insert(DynamicEntity::new("a/b", "r")));
    assert!(key.is_some() && error.to_string().contains("PartitionKey has '/'"), "{error}");
    let mut large = DynamicEntity::new("p", "r");
    for n in 0..17 {
        large.set(format!("P{n}"), "x".repeat(32_000));
    }
    let InvalidRow { key, error, .. } = *bad(BulkOperation::Merge(large, IfMatch::Any));
    assert!(key.is_some() && error.to_string().contains("1048576 are allowed"), "{error}");
    let delete = BulkOperation::<DynamicEntity>::Delete;
    let InvalidRow { error, .. } = *bad(delete(("p", "r?").into(), IfMatch::Any));
    assert!(error.to_string().contains("RowKey has '?'"), "{error}");
}

#[test]
fn a_rate_stays_just_below_the_throttled_rate() {
    let (mut rate_limit, start) = (RateLimit::default(), Instant::now());
    assert_eq!(rate_limit.next_at(start), start, "unlimited");
    for n in 0..20 {
        let now = start + Duration::from_millis(10 * n);
        rate_limit.sent(now, 100);
        rate_limit.done(now, 100);
    }
    let sent = start + Duration::from_millis(200);
    rate_limit.sent(sent, 100);
    rate_limit.sent(sent, 100);
    let now = start + Duration::from_millis(230);
    assert!(rate_limit.throttled(now, sent, 100, 0.5));
    assert!(!rate_limit.throttled(now, sent, 100, 0.5), "both were in flight");
    // 2,000 in the last second are more than 1,900: the first of them must be a second ago.
    let next = rate_limit.next_at(now);
    assert!(next >= start + Duration::from_secs(1), "{:?}", next - start);
    let (mut at, mut chunks) = (next, 0);
    while at < next + Duration::from_secs(1) {
        rate_limit.sent(at, 100);
        rate_limit.done(at, 100);
        chunks += 1;
        at = rate_limit.next_at(at);
    }
    assert!((18..=20).contains(&chunks), "{chunks}");
    // The rate grows with time.
    let late = next + Duration::from_secs(8);
    rate_limit.sent(late, 100);
    let gap = rate_limit.next_at(late) - late;
    assert!(gap < Duration::from_millis(30), "{gap:?}");
}

#[test]
fn pauses_grow_until_a_success() {
    let (mut rate_limit, mut now) = (RateLimit::default(), Instant::now());
    let start = now;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        rate_limit.sent(now, 1);
        assert!(rate_limit.throttled(now, now, 1, 0.5));
        let next = rate_limit.next_at(now);
        pauses.push((next - now).as_secs_f64());
        now = next;
    }
    assert!(pauses[0] >= 0.05 && pauses[0] <= 0.1, "{pauses:?}");
    assert!(pauses[11] >= 15.0 && pauses[11] <= 30.0, "{pauses:?}");
    assert!(now - start > Duration::from_secs(60));
    rate_limit.pause_until(now + Duration::from_secs(100));
    assert_eq!(
        rate_limit.next_at(now),
        now + Duration::from_secs(100),
        "the wait that the service requests"
    );
}

#[test]
fn fewer_requests_where_many_are_throttled() {
    let mut concurrency = Concurrency::new(8);
    (0..16).for_each(|n| concurrency.responded(n % 4 == 0));
    assert_eq!(concurrency.limit(), 5);
    (0..320).for_each(|_| concurrency.responded(true));
    assert_eq!(concurrency.limit(), 1);
    (0..160).for_each(|n| concurrency.responded(n % 20 == 0));
    assert_eq!(concurrency.limit(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any order of responses: no row is lost or sent twice, two rows with the same key are never in flight,
    /// the rows with the same key end in order, and no chunk is too large.
    #[test]
    fn every_row_ends_once_and_in_its_order(
        rows in proptest::collection::vec((0_u8..3, 0_u32..12, 0_usize..20), 1..150),
        steps in proptest::collection::vec((0_u8..6, any::<prop::sample::Index>()), 20..200),
    ) {
        let (mut window, mut now) = (window(), Instant::now());
        let mut input = rows.iter().enumerate();
        let mut in_flight: Vec<Chunk> = Vec::new();
        let mut ended: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
        let mut steps = steps.into_iter().map(Some).chain(std::iter::repeat(None));
        loop {
            let step = steps.next().flatten();
            let is_end = step.is_none();
            let (action, at) = match &step {
                Some((action, index)) => (*action, index.index(in_flight.len().max(1))),
                None => (3, 0),
            };
            for _ in 0..if is_end { usize::MAX } else { 5 } {
                let Some((index, (partition, key, size))) = input.next() else { break };
                // Few are large.
                let kib = if *size == 0 { 450 } else { 0 };
                window.push(row(index as u64, *partition, *key, kib), now).unwrap();
            }
            if let Some(chunk) = window.take(now, is_end || action % 2 == 0) {
                prop_assert!(chunk.rows.len() <= TRANSACTION_OPERATIONS);
                prop_assert!(chunk.bytes() <= TRANSACTION_BYTES);
                prop_assert!(chunk.rows.iter().all(|row| *row.key.partition_key == *chunk.partition));
                in_flight.push(chunk);
            } else if in_flight.is_empty() {
                match window.wakes_at() {
                    Some(at) => now = at,
                    None if window.is_empty() && is_end => break,
                    None => {}
                }
            }
            let keys: Vec<_> = in_flight.iter().flat_map(|chunk| &chunk.rows).map(|row| &row.key).collect();
            prop_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
            if in_flight.is_empty() || action == 5 {
                continue;
            }
            let chunk = in_flight.swap_remove(at);
            let name = Arc::clone(&chunk.partition);
            let rows = count(&chunk);
            let (again, done) = match action {
                0 => {
                    window.throttled(&name, now, now, rows, 0.5);
                    (vec![chunk], Vec::new())
                }
                1 => {
                    let mut chunk = chunk;
                    let bad = chunk.rows.remove(chunk.rows.len() / 2);
                    let rest = std::mem::take(&mut chunk.rows);
                    let most = if chunk.refusals > 0 { rest.len().div_ceil(2) } else { rest.len() };
                    chunk.refusals += 1;
                    (chunk.regroup(&window.target, rest, most), vec![bad])
                }
                _ => {
                    window.done(&name, now, rows);
                    (Vec::new(), chunk.rows)
                }
            };
            for row in done {
                assert!(window.end(&row, None, now).is_empty());
                let key = (row.key.partition_key, row.key.row_key);
                ended.entry(key).or_default().push(row.index);
            }
            window.put_back(&name, again, now);
        }
        let mut expected: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
        for (index, (partition, key, _)) in rows.iter().enumerate() {
            expected.entry((format!("p{partition}"), format!("k{key}"))).or_default().push(index as u64);
        }
        prop_assert_eq!(ended, expected);
    }
}
