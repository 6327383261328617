//! Splits a query into sources: by the keys that its filter lists, and by lists that are too long for one request.

use super::limits::CONCURRENCY;
use super::source::Source;
use crate::client_core::ClientCore;
use crate::error::Error;
use crate::filter::{Filter, ListedPartition, MAX_QUERIES, Plan, PlanKind, QueryFilter, Split};
use crate::operation::query;

/// The limit on the requests that one query is split into.
const MAX_REQUESTS: usize = 10_000;
/// Listed rows with other conditions are read alone if at most this many are read instead of each query for several of
/// them. So many requests are sent at once, and take about as long as one query.
const ROWS_PER_QUERY: usize = CONCURRENCY;

/// The sources of a query, in key order.
pub(crate) struct Sources {
    pub(crate) all: Vec<Source>,
    pub(crate) keys: QueriedKeys,
}

/// The keys that a filter can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueriedKeys {
    /// No key can meet the filter. It has no sources, so that nothing is sent.
    None,
    Listed(ListedKeys),
    /// The filter lists no keys.
    Unlisted,
}

/// The keys that a filter lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedKeys {
    /// The largest part of the table that a source scans.
    pub(crate) kind: PlanKind,
    /// The number of rows that are read by their keys.
    pub(crate) points: usize,
    /// The number of other sources, before they are split by their length.
    pub(crate) partitions: usize,
    /// Whether listed rows of a partition are read by queries for several of them.
    pub(crate) has_groups: bool,
}

impl ListedKeys {
    const NONE: Self =
        Self { kind: PlanKind::Nothing, points: 0, partitions: 0, has_groups: false };

    /// Adds a source that scans a part of this kind. A point is read by its keys.
    fn add(&mut self, kind: PlanKind, is_point: bool) {
        self.kind = self.kind.max(kind);
        if is_point {
            self.points += 1;
        } else if kind != PlanKind::Nothing {
            self.partitions += 1;
        }
    }
}

impl Sources {
    /// Splits a query by the keys that its filter lists, and by lists that are too long for one request.
    pub(crate) fn of(core: &ClientCore, filter: Option<QueryFilter>) -> Result<Self, Error> {
        let Some(filter) = filter else {
            return Ok(Self { all: vec![Source::Scan(None)], keys: QueriedKeys::Unlisted });
        };
        let tree = filter.tree();
        let listed = FilterSources::listed(core, tree, ListedReads::Alone).or_else(|error| {
            FilterSources::listed(core, tree, ListedReads::Grouped).map_err(|_| error)
        });
        let (all, keys) = match listed? {
            Some((all, listed)) => (all, QueriedKeys::Listed(listed)),
            None => (FilterSources::unlisted(core, filter)?, QueriedKeys::Unlisted),
        };
        let keys = if all.is_empty() { QueriedKeys::None } else { keys };
        Ok(Self { all, keys })
    }

    /// Whether the filter lists keys.
    pub(crate) const fn are_listed(&self) -> bool {
        matches!(self.keys, QueriedKeys::Listed(_))
    }

    /// The number of requests, if each has one page.
    pub(crate) fn requests(&self) -> usize {
        self.all.iter().map(|source| source.filters().len().max(1)).sum()
    }
}

/// How listed rows with other conditions are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListedReads {
    /// By a query each, if they are few; see [`ROWS_PER_QUERY`].
    Alone,
    /// By queries for as many rows as one request can list.
    Grouped,
}

/// The sources so far.
struct FilterSources<'c> {
    core: &'c ClientCore,
    sources: Vec<Source>,
    requests: usize,
}

impl<'c> FilterSources<'c> {
    const fn new(core: &'c ClientCore) -> Self {
        Self { core, sources: Vec::new(), requests: 0 }
    }

    /// Returns the sources of the listed keys; `None` if the filter lists no keys, if its sources would scan as much
    /// as the filter, or if a request would be too long.
    fn listed(
        core: &'c ClientCore,
        filter: &Filter,
        reads: ListedReads,
    ) -> Result<Option<(Vec<Source>, ListedKeys)>, Error> {
        let Some(partitions) = filter.listed_partitions(core.key_order()) else { return Ok(None) };
        let (mut parts, mut listed) = (Self::new(core), ListedKeys::NONE);
        let (whole, mut scans_less) = (Plan::of(Some(filter)), false);
        for partition in partitions {
            let lists_rows = partition.rows().is_some();
            let rows = partition.rows().filter(|_| Self::reads_alone(core, &partition, reads));
            let group = rows.is_none().then(|| partition.filter());
            listed.has_groups |= lists_rows && group.is_some();
            for source in rows.into_iter().flatten().chain(group) {
                let is_point = Plan::point_of(&source).is_some();
                scans_less |= is_point || Plan::of(Some(&source)) != whole;
                listed.add(PlanKind::in_order(Some(&source), core.key_order()), is_point);
                if !parts.push(QueryFilter::from(source))? {
                    return Ok(None);
                }
            }
        }
        let is_whole = !parts.sources.is_empty() && !scans_less && !listed.has_groups;
        Ok((!is_whole).then_some((parts.sources, listed)))
    }

    /// Whether each listed row of a partition is read alone: if no row has another condition, if the rows are few, or if
    /// no queries for several of them can be sent.
    fn reads_alone(core: &'c ClientCore, partition: &ListedPartition, reads: ListedReads) -> bool {
        let is_point = |row: Filter| Plan::point_of(&row).is_some();
        if partition.rows().is_some_and(|mut rows| rows.all(is_point)) {
            return true;
        }
        if reads == ListedReads::Grouped {
            return false;
        }
        let mut groups = Self::new(core);
        if !matches!(groups.push(QueryFilter::from(partition.filter())), Ok(true)) {
            return true;
        }
        let most = groups.requests * ROWS_PER_QUERY;
        partition.rows().is_some_and(|mut rows| rows.nth(most).is_none())
    }

    /// Returns the sources of a filter that lists no keys.
    fn unlisted(core: &'c ClientCore, filter: QueryFilter) -> Result<Vec<Source>, Error> {
        let mut parts = Self::new(core);
        parts.push(filter)?;
        Ok(parts.sources)
    }

    /// Adds a filter that a key can meet, split by its lists if it is too long for one request. Returns `false` if it
    /// stays too long for a URL.
    fn push(&mut self, filter: QueryFilter) -> Result<bool, Error> {
        let core = self.core;
        let fits = |filter: &Filter, text: &str| {
            core.allows_comparisons(filter) && query::fits_in_url(text)
        };
        let source = match PlanKind::in_order(Some(filter.tree()), core.key_order()) {
            PlanKind::Nothing => return Ok(true),
            PlanKind::Point => Source::Row,
            _ => |filter| Source::Scan(Some(filter)),
        };
        let is_point = Plan::point_of(filter.tree()).is_some();
        if is_point || fits(filter.tree(), filter.text()) {
            return self.add(source(filter)).map(|()| true);
        }
        let split =
            Split::of(filter.tree(), core.key_order(), &|filter| fits(filter, &filter.to_string()));
        let split = split.ok_or_else(|| too_many(MAX_QUERIES))?;
        // A split drops alternatives that no row satisfies, so that one filter may be left.
        if split.filters.len() == 1 && split.filters[0] == *filter.tree() {
            let is_sendable = query::can_be_sent(filter.text());
            return self.add(source(filter)).map(|()| is_sendable);
        }
        let has_key_order = core.protocol.dialect().has_key_order();
        if !split.in_order && !has_key_order && !split.is_disjoint() {
            if core.allows_comparisons(filter.tree()) && query::can_be_sent(filter.text()) {
                return self.add(Source::Scan(Some(filter))).map(|()| true);
            }
            return Err(not_mergeable());
        }
        let filters = split.filters.into_iter().map(QueryFilter::from);
        if split.in_order || !has_key_order {
            for filter in filters {
                self.add(Source::Scan(Some(filter)))?;
            }
        } else {
            self.add(Source::Merge(filters.collect()))?;
        }
        Ok(true)
    }

    fn add(&mut self, source: Source) -> Result<(), Error> {
        self.requests += source.filters().len();
        if self.requests > MAX_REQUESTS {
            return Err(too_many(MAX_REQUESTS));
        }
        self.sources.push(source);
        Ok(())
    }
}

fn too_many(most: usize) -> Error {
    Error::invalid_input(format!(
        "the lists in the filter need more than {most} queries: request fewer values at once"
    ))
}

/// Rows that match several alternatives would be returned more than once.
fn not_mergeable() -> Error {
    Error::invalid_input(
        "the alternatives in the filter need several queries, whose rows cannot be merged because Cosmos DB \
         returns them in no order: request values of one property, or fewer values at once",
    )
}
