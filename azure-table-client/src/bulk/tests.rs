//! The parts that do no I/O.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use uuid::Uuid;

use super::BulkOperation;
use super::group::{Window, count};
use super::operation::{Job, Row};
use super::pace::{Pace, Width};
use super::slice::{Rest, Slice};
use crate::dialect::Dialect;
use crate::entity::DynamicEntity;
use crate::etag::IfMatch;
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
    Window::new(target(), 1_000_000, usize::MAX)
}

fn row(index: u64, partition: u8, key: u32, kib: usize) -> Row {
    let mut entity = DynamicEntity::new(format!("p{partition}"), format!("k{key}"));
    for n in 0..kib.div_ceil(30) {
        entity.set(format!("P{n}"), "x".repeat(30 * 1024));
    }
    Row::new(&job(), index, BulkOperation::InsertOrReplace(entity)).unwrap()
}

fn lengths(window: &mut Window, now: Instant, flush: bool) -> Vec<usize> {
    std::iter::from_fn(|| window.take(now, flush)).map(|slice| slice.rows.len()).collect()
}

#[test]
fn slices_are_full_unless_no_more_comes() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..250 {
        window.push(row(n.into(), 0, n, 0), now).unwrap();
    }
    assert_eq!(lengths(&mut window, now, false), [100, 100]);
    assert_eq!(lengths(&mut window, now, true), [50]);
    assert_eq!(window.wakes_at(), None);
}

#[test]
fn bytes_end_a_slice_where_one_more_row_would_be_too_much() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..30 {
        window.push(row(n.into(), 0, n, 300), now).unwrap();
    }
    let slices: Vec<_> = std::iter::from_fn(|| window.take(now, true)).collect();
    let of_one = slices[0].bytes() / slices[0].rows.len();
    assert_eq!(slices.iter().map(|slice| slice.rows.len()).collect::<Vec<_>>(), [13, 13, 4]);
    for slice in &slices[..2] {
        assert!(slice.bytes() <= TRANSACTION_BYTES && slice.bytes() + of_one > TRANSACTION_BYTES);
    }
}

#[test]
fn a_slice_for_cosmos_is_full_at_half_the_bytes() {
    let protocol = Protocol::default().to(Dialect::CosmosDb).unwrap();
    let (mut window, now) =
        (Window::new(Target { protocol, ..target() }, 100, usize::MAX), Instant::now());
    for n in 0..8 {
        window.push(row(n.into(), 0, n, 300), now).unwrap();
    }
    assert_eq!(lengths(&mut window, now, false), [6]);
}

#[test]
fn a_row_alone_is_sent_without_a_transaction() {
    let (mut window, now) = (window(), Instant::now());
    window.push(row(0, 0, 0, 0), now).unwrap();
    let slice = window.take(now, true).unwrap();
    assert!(slice.request().path.starts_with("/Blogs("), "{}", slice.request().path);
    // Its key would make a URL that is too long.
    let entity = DynamicEntity::new("p".repeat(1000), "\u{20ac}".repeat(1000));
    let row = Row::new(&job(), 1, BulkOperation::InsertOrReplace(entity)).unwrap();
    window.push(row, now).unwrap();
    let slice = window.take(now, true).unwrap();
    assert_eq!(slice.request().path, "/$batch");
}

#[test]
fn a_paced_partition_waits_and_the_others_do_not() {
    let (mut window, now) = (window(), Instant::now());
    for n in 0..400 {
        window.push(row(n.into(), (n % 2) as u8, n, 0), now).unwrap();
    }
    let first = window.take(now, false).unwrap();
    assert!(window.pace(&first.partition).unwrap().throttled(now, now, 100));
    let name = Arc::clone(&first.partition);
    window.put_back(&name, vec![first], now);
    assert_eq!(lengths(&mut window, now, true), [100, 100]);
    let at = window.wakes_at().unwrap();
    assert!(
        at > now && window.take(at.checked_sub(Duration::from_millis(1)).unwrap(), true).is_none()
    );
    let again = window.take(at, true).unwrap();
    assert_eq!(again.rows[0].index, 0, "what came back goes first");
}

#[test]
fn bad_input_is_an_error_of_its_row() {
    let bad = |operation| Row::new(&job(), 0, operation).unwrap_err();
    let (key, error) = *bad(BulkOperation::Insert(DynamicEntity::new("a/b", "r")));
    assert!(key.is_some() && error.to_string().contains("PartitionKey has '/'"), "{error}");
    let mut large = DynamicEntity::new("p", "r");
    for n in 0..17 {
        large.set(format!("P{n}"), "x".repeat(32_000));
    }
    let (key, error) = *bad(BulkOperation::Merge(large, IfMatch::Any));
    assert!(key.is_some() && error.to_string().contains("1048576 are allowed"), "{error}");
    let delete = BulkOperation::<DynamicEntity>::Delete;
    let (_, error) = *bad(delete(("p", "r?").into(), IfMatch::Any));
    assert!(error.to_string().contains("RowKey has '?'"), "{error}");
}

#[test]
fn what_comes_to_the_same_twice() {
    let repeatable = |operation: BulkOperation<DynamicEntity>| {
        Row::new(&job(), 0, operation).unwrap().is_repeatable
    };
    let entity = || DynamicEntity::new("p", "r");
    let tag = || IfMatch::Tag("W/\"1\"".into());
    let key = || entity().key().clone();
    assert!(repeatable(BulkOperation::InsertOrMerge(entity())));
    assert!(repeatable(BulkOperation::Replace(entity(), IfMatch::Any)));
    assert!(repeatable(BulkOperation::DeleteIfExists(key(), IfMatch::Any)));
    assert!(!repeatable(BulkOperation::Insert(entity())));
    assert!(!repeatable(BulkOperation::Merge(entity(), tag())));
    assert!(!repeatable(BulkOperation::Delete(key(), IfMatch::Any)));
    assert!(repeatable(BulkOperation::DeleteIfExists(key(), tag())));
}

#[test]
fn a_partition_goes_a_little_slower_than_it_was_throttled_at() {
    let (mut pace, start) = (Pace::default(), Instant::now());
    assert_eq!(pace.next_at(start), start, "as fast as it goes");
    for n in 0..20 {
        let now = start + Duration::from_millis(10 * n);
        pace.sent(now, 100);
        pace.done(now, 100);
    }
    let sent = start + Duration::from_millis(200);
    pace.sent(sent, 100);
    pace.sent(sent, 100);
    let now = start + Duration::from_millis(230);
    assert!(pace.throttled(now, sent, 100));
    assert!(!pace.throttled(now, sent, 100), "both were on their way");
    // 2,000 in the last second are more than 1,900: the first of them must be a second ago.
    let next = pace.next_at(now);
    assert!(next >= start + Duration::from_secs(1), "{:?}", next - start);
    let (mut at, mut slices) = (next, 0);
    while at < next + Duration::from_secs(1) {
        pace.sent(at, 100);
        pace.done(at, 100);
        slices += 1;
        at = pace.next_at(at);
    }
    assert!((18..=20).contains(&slices), "{slices}");
    // It tries more as time goes by.
    let late = next + Duration::from_secs(8);
    pace.sent(late, 100);
    let gap = pace.next_at(late) - late;
    assert!(gap < Duration::from_millis(30), "{gap:?}");
}

#[test]
fn pauses_grow_while_nothing_is_done() {
    let (mut pace, mut now) = (Pace::default(), Instant::now());
    let start = now;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        pace.sent(now, 1);
        assert!(pace.throttled(now, now, 1));
        let next = pace.next_at(now);
        pauses.push((next - now).as_secs_f64());
        now = next;
    }
    assert!(pauses[0] >= 0.05 && pauses[0] <= 0.1, "{pauses:?}");
    assert!(pauses[11] >= 15.0 && pauses[11] <= 30.0, "{pauses:?}");
    assert!(now - start > Duration::from_mins(1));
    pace.pause_until(now + Duration::from_secs(100));
    assert_eq!(pace.next_at(now), now + Duration::from_secs(100), "the service's own wish");
}

#[test]
fn fewer_requests_where_many_are_throttled() {
    let mut width = Width::new(8);
    (0..16).for_each(|n| width.answered(n % 4 == 0));
    assert_eq!(width.limit(), 5);
    (0..320).for_each(|_| width.answered(true));
    assert_eq!(width.limit(), 1);
    (0..160).for_each(|n| width.answered(n % 20 == 0));
    assert_eq!(width.limit(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes back in whatever order: no row is lost or doubled, no two of one key are on
    /// their way, those of one key are settled in order, and no slice is too large.
    #[test]
    fn every_row_is_settled_once_and_in_its_order(
        rows in proptest::collection::vec((0_u8..3, 0_u32..12, 0_usize..20), 1..150),
        steps in proptest::collection::vec((0_u8..6, any::<prop::sample::Index>()), 20..200),
    ) {
        let (mut window, mut now) = (window(), Instant::now());
        let mut input = rows.iter().enumerate();
        let mut on_way: Vec<Slice> = Vec::new();
        let mut settled: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
        let mut steps = steps.into_iter().map(Some).chain(std::iter::repeat(None));
        loop {
            let step = steps.next().flatten();
            let is_end = step.is_none();
            let (action, at) = match &step {
                Some((action, index)) => (*action, index.index(on_way.len().max(1))),
                None => (3, 0),
            };
            for _ in 0..if is_end { usize::MAX } else { 5 } {
                let Some((index, (partition, key, size))) = input.next() else { break };
                // Few are large.
                let kib = if *size == 0 { 450 } else { 0 };
                window.push(row(index as u64, *partition, *key, kib), now).unwrap();
            }
            if let Some(slice) = window.take(now, is_end || action % 2 == 0) {
                prop_assert!(slice.rows.len() <= TRANSACTION_OPERATIONS);
                prop_assert!(slice.bytes() <= TRANSACTION_BYTES);
                prop_assert!(slice.rows.iter().all(|row| *row.key.partition_key == *slice.partition));
                on_way.push(slice);
            } else if on_way.is_empty() {
                match window.wakes_at() {
                    Some(at) => now = at,
                    None if window.is_empty() && is_end => break,
                    None => {}
                }
            }
            let keys: Vec<_> = on_way.iter().flat_map(|slice| &slice.rows).map(|row| &row.key).collect();
            prop_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
            if on_way.is_empty() || action == 5 {
                continue;
            }
            let slice = on_way.swap_remove(at);
            let name = Arc::clone(&slice.partition);
            let rows = count(&slice);
            let (again, done) = match action {
                0 => {
                    window.pace(&name).unwrap().throttled(now, now, rows);
                    (vec![slice], Vec::new())
                }
                1 => {
                    let Slice { rows, refusals, since, .. } = slice;
                    let mut rest = rows;
                    let bad = rest.remove(rest.len() / 2);
                    let rest = Rest { rows: rest, refusals: refusals + 1, since, open: None, in_halves: refusals > 0 };
                    (Slice::cut(&window.target, &name, rest), vec![bad])
                }
                _ => {
                    window.pace(&name).unwrap().done(now, rows);
                    (Vec::new(), slice.rows)
                }
            };
            for row in done {
                assert!(window.end(&row, None, now).is_empty());
                let key = (row.key.partition_key, row.key.row_key);
                settled.entry(key).or_default().push(row.index);
            }
            window.put_back(&name, again, now);
        }
        let mut expected: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
        for (index, (partition, key, _)) in rows.iter().enumerate() {
            expected.entry((format!("p{partition}"), format!("k{key}"))).or_default().push(index as u64);
        }
        prop_assert_eq!(settled, expected);
    }
}
