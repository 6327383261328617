//! Where a range of keys is cut for several readers.
//!
//! The service does not say how its rows are spread over their keys. A few queries for one key each find
//! out: which keys there are that differ at the first place where any do, and behind these, if they
//! are too few, those that differ at the next one. All ranges begin at a key that is there.

use std::sync::{Arc, Mutex};

use futures_util::future::try_join_all;

use super::page::QueryCost;
use super::pages::Pages;
use super::source::{Source, Start};
use crate::entity::{Columns, DecodeError, ReadRow, Row, after_prefix};
use crate::error::Error;
use crate::filter::{self, CompareOp, Filter, Plan, QueryFilter};
use crate::limits::{PARTITION_KEY, ROW_KEY};

/// Keys that are told apart in one range. More, such as those of a Chinese text, are one range.
const MAX_CHILDREN: usize = 64;

/// Looks for the keys at which ranges begin, among those that a query leaves.
struct KeySearch<'s> {
    source: Source<String>,
    /// What is cut: partitions or, where there is one, its rows.
    property: &'static str,
    /// The filter that leaves the range.
    filter: Option<&'s Filter>,
    /// What was asked so far.
    cost: Mutex<QueryCost>,
}

/// The filters of up to `count` ranges in order, which together are `filter`; and what it took to find
/// them.
pub(super) async fn filters<T>(
    source: &Source<T>,
    filter: Option<&Filter>,
    count: usize,
) -> Result<(Vec<Option<Filter>>, QueryCost), Error> {
    let plan = Plan::of(filter);
    let (property, low) = match plan.partition() {
        Some(_) => (ROW_KEY, plan.start().1),
        None => (PARTITION_KEY, plan.start().0),
    };
    let mut one = source.reading(vec![property.to_owned()], Arc::new(KeyOf(property)));
    one.page_size = None;
    // What else must hold would make each look for a key a search for a row.
    let keys = plan.keys_as_filter();
    let cost = Mutex::default();
    let search = KeySearch { source: one, property, filter: keys.as_ref(), cost };
    let starts = search.starts(low, count).await?;

    let mut filters = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let from = (at > 0).then_some(start.as_str());
        let end = starts.get(at + 1).map(String::as_str);
        filters.push(bounded(filter, property, from, end));
    }
    // The bounds must not make a filter too long for the service that is not without them.
    let max_comparisons = source.pipeline.max_comparisons;
    let is_too_long =
        |filter: &Filter| filter.comparisons() > max_comparisons && filter.alternatives() == 0;
    if filters.is_empty() || filters.iter().flatten().any(is_too_long) {
        filters = vec![filter.cloned()];
    }
    Ok((filters, search.cost.into_inner().unwrap_or_default()))
}

/// The rows of `whole` whose key is `from` or behind it, and before `end`.
fn bounded(
    whole: Option<&Filter>,
    property: &str,
    from: Option<&str>,
    end: Option<&str>,
) -> Option<Filter> {
    let from = from.map(filter::from);
    let from = from.map(|(op, key)| Filter::on_key(property, op, key.to_owned()));
    let end = end.map(|key| Filter::on_key(property, CompareOp::Lt, key.to_owned()));
    whole.cloned().into_iter().chain(from).chain(end).reduce(|a, b| a & b)
}

impl KeySearch<'_> {
    /// The first keys of up to `count` ranges from `low` on.
    async fn starts(&self, low: &str, count: usize) -> Result<Vec<String>, Error> {
        let Some(first) = self.first_from(low, None).await? else { return Ok(Vec::new()) };
        let mut starts = vec![first];
        while starts.len() < count {
            let ranges = starts.iter().enumerate().map(|(at, start)| {
                let end = starts.get(at + 1).map(String::as_str);
                self.children(start, end)
            });
            let finer: Vec<_> = try_join_all(ranges).await?.into_iter().flatten().collect();
            if finer.len() == starts.len() {
                break;
            }
            starts = finer;
        }
        let all = starts.len();
        let count = count.min(all);
        // Evenly among those that were found.
        Ok((0..count).map(|at| std::mem::take(&mut starts[at * all / count])).collect())
    }

    /// The first keys in the range that begins at the key `first`, each of those that differ from the
    /// others at the first place where any do.
    async fn children(&self, first: &str, end: Option<&str>) -> Result<Vec<String>, Error> {
        let places: Vec<usize> =
            first.char_indices().map(|(at, _)| at).chain([first.len()]).collect();
        // The longest prefix that all keys of the range have: it begins all of them at `low`.
        let (mut low, mut high) = (0, places.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.first_behind(&first[..places[middle]], end).await?.is_none() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let prefix = &first[..places[low]];
        let mut children = vec![first.to_owned()];
        while children.len() < MAX_CHILDREN
            && let Some(last) = children.last()
        {
            let next = match last[prefix.len()..].chars().next() {
                Some(c) => self.first_behind(&last[..prefix.len() + c.len_utf8()], end).await?,
                // The prefix itself is a key.
                None => self.first_from(&format!("{last}\0"), end).await?,
            };
            match next {
                Some(key) if key.starts_with(prefix) => children.push(key),
                _ => break,
            }
        }
        Ok(children)
    }

    /// The first key behind all those that begin with `prefix`.
    async fn first_behind(&self, prefix: &str, end: Option<&str>) -> Result<Option<String>, Error> {
        match after_prefix(prefix, |_| false) {
            Some(key) => self.first_from(&key, end).await,
            None => Ok(None),
        }
    }

    /// The first key from `key` on, and before `end`.
    async fn first_from(&self, key: &str, end: Option<&str>) -> Result<Option<String>, Error> {
        let filter = bounded(self.filter, self.property, Some(key), end);
        let filter = filter.map(QueryFilter::from);
        let source = self.source.again();
        let pages = Pages::new(Ok(Start { source, filter, take: Some(1), at: None }));
        let mut found = pages.collect().await?;
        if let Ok(mut cost) = self.cost.lock() {
            *cost += found.cost;
            cost.rows = 0;
        }
        Ok(found.pop())
    }
}

/// One of the keys of a row.
struct KeyOf(&'static str);

impl ReadRow<String> for KeyOf {
    fn columns(&self) -> Columns {
        Columns::new(&[])
    }

    fn keeps_others(&self) -> bool {
        false
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<String, DecodeError> {
        match self.0 {
            PARTITION_KEY => row.partition_key(),
            _ => row.row_key(),
        }
    }
}
