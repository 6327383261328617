//! Splits the keys of a query into ranges that are read concurrently.
//!
//! The service does not report the distribution of its keys, so a few queries for single keys search for
//! the starts of ranges. A range is split at the first character after the prefix that all its keys share: for each
//! different character, a new range starts at the first key that has it. Ranges are split again until there are
//! enough of them. Every range starts at a key that exists.

use std::sync::{Arc, Mutex};

use futures_util::future::try_join_all;

use super::fetch::{CheckedQuery, PageFetcher};
use super::page::QueryCost;
use super::pages::{Pages, QueryRun};
use crate::entity::{Columns, DecodeError, ReadRow, Row, after_prefix};
use crate::error::Error;
use crate::filter::{self, CompareOp, Filter, Plan, QueryFilter};
use crate::limits::{PARTITION_KEY, ROW_KEY};

/// The limit on the parts of a range. Keys with more different characters, such as Chinese text, share the
/// last part.
const MAX_PARTS: usize = 64;

/// Searches the keys of a query for starts of ranges.
struct KeySearch<'s> {
    fetcher: PageFetcher,
    /// The key that is split: the RowKey within one partition, otherwise the PartitionKey.
    property: &'static str,
    /// The bounds of the keys.
    filter: Option<&'s Filter>,
    /// The cost of the search so far.
    cost: Mutex<QueryCost>,
}

/// Returns the filters of up to `count` ranges in key order, and the cost of finding them. Together they match
/// the same rows as `filter`.
pub(crate) async fn filters(
    fetcher: &PageFetcher,
    filter: Option<&Filter>,
    count: usize,
) -> Result<(Vec<Option<Filter>>, QueryCost), Error> {
    let plan = Plan::of(filter);
    let (property, low) = match plan.partition() {
        Some(_) => (ROW_KEY, plan.start().1),
        None => (PARTITION_KEY, plan.start().0),
    };
    let select = vec![property.to_owned()];
    let one = PageFetcher { select, page_size: None, ..fetcher.clone() };
    // Conditions on other properties would make each search for a key scan rows.
    let keys = plan.keys_as_filter();
    let cost = Mutex::default();
    let search = KeySearch { fetcher: one, property, filter: keys.as_ref(), cost };
    let starts = search.starts(low, count).await?;

    let mut filters = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let from = (at > 0).then_some(start.as_str());
        let end = starts.get(at + 1).map(String::as_str);
        filters.push(bounded(filter, property, from, end));
    }
    // The bounds must not make the filter too long for the service.
    let is_too_long =
        |filter: &Filter| !fetcher.core.allows_comparisons(filter) && filter.alternatives() == 0;
    if filters.is_empty() || filters.iter().flatten().any(is_too_long) {
        filters = vec![filter.cloned()];
    }
    Ok((filters, search.cost.into_inner().unwrap_or_default()))
}

/// Restricts `whole` to the keys from `from` on that are before `end`.
fn bounded(
    whole: Option<&Filter>,
    property: &str,
    from: Option<&str>,
    end: Option<&str>,
) -> Option<Filter> {
    let from = from.map(filter::lower_bound);
    let from = from.map(|(op, key)| Filter::on_key(property, op, key.to_owned()));
    let end = end.map(|key| Filter::on_key(property, CompareOp::Lt, key.to_owned()));
    whole.cloned().into_iter().chain(from).chain(end).reduce(|a, b| a & b)
}

impl KeySearch<'_> {
    /// Returns the first keys of up to `count` ranges, beginning at `low`.
    async fn starts(&self, low: &str, count: usize) -> Result<Vec<String>, Error> {
        let Some(first) = self.first_from(low, None).await? else { return Ok(Vec::new()) };
        let mut starts = vec![first];
        while starts.len() < count {
            let ranges = starts.iter().enumerate().map(|(at, start)| {
                let end = starts.get(at + 1).map(String::as_str);
                self.parts(start, end)
            });
            let finer: Vec<_> = try_join_all(ranges).await?.into_iter().flatten().collect();
            if finer.len() == starts.len() {
                break;
            }
            starts = finer;
        }
        let all = starts.len();
        let count = count.min(all);
        // Choose starts at even distances.
        Ok((0..count).map(|at| std::mem::take(&mut starts[at * all / count])).collect())
    }

    /// Splits the range that starts at the key `first`. Returns the first keys of its parts.
    async fn parts(&self, first: &str, end: Option<&str>) -> Result<Vec<String>, Error> {
        let boundaries: Vec<usize> =
            first.char_indices().map(|(at, _)| at).chain([first.len()]).collect();
        // Bisect for the longest prefix that all keys of the range share.
        let (mut low, mut high) = (0, boundaries.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.first_after(&first[..boundaries[middle]], end).await?.is_none() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let prefix = &first[..boundaries[low]];
        let mut parts = vec![first.to_owned()];
        while parts.len() < MAX_PARTS
            && let Some(last) = parts.last()
        {
            let next = match last[prefix.len()..].chars().next() {
                Some(c) => self.first_after(&last[..prefix.len() + c.len_utf8()], end).await?,
                // The prefix itself is a key.
                None => self.first_from(&format!("{last}\0"), end).await?,
            };
            match next {
                Some(key) if key.starts_with(prefix) => parts.push(key),
                _ => break,
            }
        }
        Ok(parts)
    }

    /// Returns the first key after all keys that start with `prefix`.
    async fn first_after(&self, prefix: &str, end: Option<&str>) -> Result<Option<String>, Error> {
        match after_prefix(prefix, |_| false) {
            Some(key) => self.first_from(&key, end).await,
            None => Ok(None),
        }
    }

    /// Returns the first key from `key`, and before `end`.
    async fn first_from(&self, key: &str, end: Option<&str>) -> Result<Option<String>, Error> {
        let filter = bounded(self.filter, self.property, Some(key), end);
        let filter = filter.map(QueryFilter::from);
        let fetcher = self.fetcher.clone();
        let query = CheckedQuery { fetcher, filter, take: Some(1), max_rows: None, start: None };
        let pages = Pages::new(QueryRun::of(query), Arc::new(KeyOf(self.property)));
        let mut found = pages.collect().await?;
        if let Ok(mut cost) = self.cost.lock() {
            *cost += found.cost;
            cost.rows = 0;
        }
        Ok(found.pop())
    }
}

/// Reads one of the keys of a row.
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
