//! Compares two sorted sides, one row of each at a time, for `diff` and `sync`.

mod difference;
mod side;

use std::cmp::Ordering;
use std::ops::AddAssign;

use azure_table_client::EntityKey;
use futures_util::future;
use futures_util::stream::{StreamExt as _, TryStreamExt as _};

use super::scan::Rows;
use crate::args::{Globals, Rate};
use crate::failure::{Exit, Failure, Result};
use crate::format::Format;
use crate::key_order::{self, compare};
use crate::progress::Progress;

pub(crate) use difference::Difference;
pub(crate) use side::{Side, sorted};

/// How the sides are read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// Selects rows of tables.
    pub(crate) filter: Option<String>,
    /// The format of a file, if its name does not show it.
    pub(crate) format: Option<Format>,
    pub(crate) ranges: usize,
    pub(crate) rate: Rate,
    /// The rows of both sides, if the user knows their number.
    pub(crate) expect: Option<u64>,
}

/// Calls `report` with the differences between two sides.
pub(crate) async fn differences(
    (a, b): (&Side<'_>, &Side<'_>),
    label: String,
    reading: &Reading,
    report: impl FnMut(&Difference) -> Result<()>,
    globals: &Globals,
) -> Result<Counts> {
    let progress = Progress::new(globals.quiet, label, reading.expect)
        .with_requests(&globals.connection.requests);
    let sides = future::try_join(a.rows(reading, &progress), b.rows(reading, &progress));
    let (a, b) = sides.await?;
    let counts = merge(a, b, report).await;
    progress.finish();
    counts
}

/// The numbers of rows and differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) only_in_a: u64,
    pub(crate) only_in_b: u64,
    pub(crate) changed: u64,
}

impl Counts {
    pub(crate) const fn differences(self) -> u64 {
        self.only_in_a + self.only_in_b + self.changed
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.a += other.a;
        self.b += other.b;
        self.only_in_a += other.only_in_a;
        self.only_in_b += other.only_in_b;
        self.changed += other.changed;
    }
}

/// Calls `report` with each difference, in key order.
async fn merge(
    mut a: Rows,
    mut b: Rows,
    mut report: impl FnMut(&Difference) -> Result<()>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let (mut left, mut right) = future::try_join(a.try_next(), b.try_next()).await?;
    loop {
        let order = match (&left, &right) {
            (None, None) => return Ok(counts),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => compare(left.key(), right.key()),
        };
        let one = if order.is_le() { left.take() } else { None };
        let other = if order.is_ge() { right.take() } else { None };
        counts.a += u64::from(one.is_some());
        counts.b += u64::from(other.is_some());
        match (one, other) {
            (Some(one), Some(other)) => {
                if let Some(difference) = Difference::between(one, other) {
                    counts.changed += 1;
                    report(&difference)?;
                }
            }
            (Some(one), None) => {
                counts.only_in_a += 1;
                report(&Difference::OnlyInA(one.key().clone()))?;
            }
            (None, Some(other)) => {
                counts.only_in_b += 1;
                report(&Difference::OnlyInB(other.key().clone()))?;
            }
            (None, None) => {}
        }
        if order.is_le() {
            left = a.try_next().await?;
        }
        if order.is_ge() {
            right = b.try_next().await?;
        }
    }
}

/// Passes rows on as long as each key is larger than the one before. `name` is the side in errors; `advice` is for a side
/// that turns out to be in another order.
pub(crate) fn in_order(rows: Rows, name: String, advice: String) -> Rows {
    let mut last: Option<EntityKey> = None;
    rows.map(move |row| {
        let row = row?;
        if let Err(problem) = key_order::check(last.as_ref(), row.key()) {
            let mut message = format!("{name} cannot be compared: {problem}");
            if !problem.is_twice() {
                message = format!("{message}; reported differences may be wrong; {advice}");
            }
            return Err(Failure::new(Exit::Failed, message));
        }
        last = Some(row.key().clone());
        Ok(row)
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use azure_table_client::DynamicEntity;
    use futures_util::stream;
    use proptest::prelude::*;

    use super::*;
    use crate::key_order::Ordered;

    fn rows(keys: &[(&str, &str)]) -> Rows {
        let rows: Vec<_> = keys.iter().map(|(p, r)| Ok(DynamicEntity::new(*p, *r))).collect();
        stream::iter(rows).boxed()
    }

    #[tokio::test]
    async fn rows_that_are_not_sorted_are_an_error() {
        for (keys, problem) in [
            ([("a", "2"), ("a", "1")], "after a larger key"),
            ([("b", ""), ("a", "1")], "after a larger key"),
            ([("a", "1"), ("a", "1")], "twice"),
            ([("\u{ffff}", ""), ("\u{1f600}", "")], "after a larger key"),
        ] {
            let rows = in_order(rows(&keys), "x.jsonl".into(), String::new());
            let error = rows.try_collect::<Vec<_>>().await.unwrap_err().message().to_owned();
            assert!(
                error.starts_with("x.jsonl cannot be compared: ") && error.contains(problem),
                "{error}"
            );
        }
    }

    fn side() -> impl Strategy<Value = BTreeMap<(String, String), i32>> {
        proptest::collection::btree_map(("[a\u{e000}\u{1f600}]{0,2}", "[ab]{0,2}"), 0..2, 0..20)
    }

    fn stream_of(side: &BTreeMap<(String, String), i32>) -> Rows {
        let mut rows: Vec<_> =
            side.iter().map(|((p, r), n)| DynamicEntity::new(p, r).with("N", *n)).collect();
        rows.sort_by_key(|row| Ordered(row.key().clone()));
        in_order(stream::iter(rows).map(Ok).boxed(), "side".into(), String::new())
    }

    proptest! {
        #[test]
        fn it_finds_the_differences_of_sets(a in side(), b in side()) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut lines = Vec::new();
            let merged = merge(stream_of(&a), stream_of(&b), |difference| {
                lines.push(difference.clone());
                Ok(())
            });
            let counts = runtime.block_on(merged).unwrap();
            let only = |one: &BTreeMap<_, _>, other: &BTreeMap<_, _>| {
                one.keys().filter(|key| !other.contains_key(*key)).count() as u64
            };
            let changed = a.iter().filter(|(key, n)| b.get(*key).is_some_and(|other| other != *n)).count();
            let expected = Counts {
                a: a.len() as u64,
                b: b.len() as u64,
                only_in_a: only(&a, &b),
                only_in_b: only(&b, &a),
                changed: changed as u64,
            };
            prop_assert_eq!(counts, expected);
            prop_assert_eq!(lines.len() as u64, counts.differences());
        }
    }
}
