//! The branches of a query: requests whose rows follow each other in key order.

use crate::client_core::ClientCore;
use crate::error::Error;
use crate::filter::{Filter, MAX_QUERIES, Plan, PlanKind, QueryFilter, Split};
use crate::operation::query;

/// The limit on the requests that one query is split into.
const MAX_REQUESTS: usize = 10_000;

/// The branches of a query, in key order.
pub(super) struct Branches {
    pub(super) all: Vec<Branch>,
    /// `None` if the filter lists no keys.
    pub(super) listed: Option<ListedKeys>,
}

/// A part of a query. All its rows come before the rows of the next branch.
pub(super) enum Branch {
    /// All rows of the table.
    Table,
    Query(QueryFilter),
    /// Several queries whose rows interleave, and which may return the same row.
    Merged(Vec<QueryFilter>),
}

/// The keys that a filter lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedKeys {
    /// The largest part of the table that a branch scans.
    pub(super) kind: PlanKind,
    /// The number of rows that are read by their keys.
    pub(super) points: usize,
    /// The number of other branches, before they are split by their length.
    pub(super) partitions: usize,
}

impl Branch {
    pub(super) fn filters(&self) -> &[QueryFilter] {
        match self {
            Self::Table => &[],
            Self::Query(filter) => std::slice::from_ref(filter),
            Self::Merged(filters) => filters,
        }
    }
}

impl Branches {
    /// Splits a query by the keys that its filter lists, and by lists that are too long for one request.
    pub(super) fn of(core: &ClientCore, filter: Option<QueryFilter>) -> Result<Self, Error> {
        let Some(filter) = filter else {
            return Ok(Self { all: vec![Branch::Table], listed: None });
        };
        let mut parts = Parts { core, branches: Vec::new(), requests: 0 };
        if let Some(listed) = parts.push_listed(filter.tree())? {
            return Ok(Self { all: parts.branches, listed: Some(listed) });
        }
        let mut parts = Parts { core, branches: Vec::new(), requests: 0 };
        parts.push(filter)?;
        Ok(Self { all: parts.branches, listed: None })
    }

    /// The number of requests, if each has one page.
    pub(super) fn requests(&self) -> usize {
        self.all.iter().map(|branch| branch.filters().len().max(1)).sum()
    }
}

/// The branches so far.
struct Parts<'c> {
    core: &'c ClientCore,
    branches: Vec<Branch>,
    requests: usize,
}

impl Parts<'_> {
    /// Adds a branch for each listed key; returns `None` if the filter lists no keys, or if a request would be
    /// too long.
    fn push_listed(&mut self, filter: &Filter) -> Result<Option<ListedKeys>, Error> {
        let mut listed = ListedKeys { kind: PlanKind::Point, points: 0, partitions: 0 };
        for branch in filter.branches().into_iter().flatten() {
            listed.kind = listed.kind.max(Plan::of(Some(&branch)).kind());
            if Plan::point_of(&branch).is_some() {
                listed.points += 1;
            } else {
                listed.partitions += 1;
            }
            if !self.push(QueryFilter::from(branch))? {
                return Ok(None);
            }
        }
        Ok((!self.branches.is_empty()).then_some(listed))
    }

    /// Adds a filter, split by its lists if it is too long for one request. Returns `false` if it stays too long
    /// for a URL.
    fn push(&mut self, filter: QueryFilter) -> Result<bool, Error> {
        let core = self.core;
        let fits = |filter: &Filter, text: &str| {
            core.allows_comparisons(filter) && query::fits_in_url(text)
        };
        let is_point = Plan::point_of(filter.tree()).is_some();
        if is_point || fits(filter.tree(), filter.text()) {
            return self.add(Branch::Query(filter)).map(|()| true);
        }
        let split = Split::of(filter.tree(), &|filter| fits(filter, &filter.to_string()));
        let split = split.ok_or_else(|| too_many(MAX_QUERIES))?;
        // A split drops alternatives that no row satisfies, so that one filter may be left.
        if split.filters.len() == 1 && split.filters[0] == *filter.tree() {
            let is_sendable = query::can_be_sent(filter.text());
            return self.add(Branch::Query(filter)).map(|()| is_sendable);
        }
        let has_key_order = core.protocol.dialect().has_key_order();
        if !split.in_order && !has_key_order && !split.is_disjoint() {
            if core.allows_comparisons(filter.tree()) && query::can_be_sent(filter.text()) {
                return self.add(Branch::Query(filter)).map(|()| true);
            }
            return Err(not_mergeable());
        }
        let filters = split.filters.into_iter().map(QueryFilter::from);
        if split.in_order || !has_key_order {
            for filter in filters {
                self.add(Branch::Query(filter))?;
            }
        } else {
            self.add(Branch::Merged(filters.collect()))?;
        }
        Ok(true)
    }

    fn add(&mut self, branch: Branch) -> Result<(), Error> {
        self.requests += branch.filters().len();
        if self.requests > MAX_REQUESTS {
            return Err(too_many(MAX_REQUESTS));
        }
        self.branches.push(branch);
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
