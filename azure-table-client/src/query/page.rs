//! One page of a query, and the cost of reading it.

use std::fmt;
use std::ops::AddAssign;
use std::vec;

use super::position::Continuation;
use crate::operation::Location;
use crate::operation::query::Rows;

/// One page of a query. It may be empty although more pages follow.
///
/// Iterating over a page yields its entities.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Page<T> {
    /// The entities in order of PartitionKey and RowKey.
    pub entities: Vec<T>,
    /// The start of the next page; `None` on the last page. It ignores the limit of
    /// [`take`](crate::client::Query::take): rows beyond the limit count as a next page.
    pub continuation: Option<Continuation>,
    /// The service's id of the request; of several requests, the id of the last one.
    pub request_id: Option<String>,
    /// The cost of the page.
    pub cost: QueryCost,
}

/// A page without its entities.
#[derive(Default)]
pub(super) struct PageHead {
    pub(super) continuation: Option<Continuation>,
    pub(super) request_id: Option<String>,
    pub(super) cost: QueryCost,
}

impl PageHead {
    pub(super) fn with<T>(self, entities: Vec<T>) -> Page<T> {
        let Self { continuation, request_id, cost } = self;
        Page { entities, continuation, request_id, cost }
    }
}

impl<T> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entities.into_iter()
    }
}

/// The cost of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryCost {
    /// The number of pages that the service returned.
    pub pages: u64,
    /// The number of entities found.
    pub rows: u64,
    /// The number of requests, including retries.
    pub requests: u64,
    /// The number of pages from the [secondary](crate::client::Location::Secondary), which lags behind.
    pub secondary_pages: u64,
}

impl QueryCost {
    /// Adds the request for a page.
    pub(super) fn add_page(&mut self, page: &Rows) {
        self.pages += 1;
        self.requests += u64::from(page.attempts);
        self.secondary_pages += u64::from(page.location == Location::Secondary);
    }
}

impl AddAssign for QueryCost {
    fn add_assign(&mut self, other: Self) {
        self.pages += other.pages;
        self.rows += other.rows;
        self.requests += other.requests;
        self.secondary_pages += other.secondary_pages;
    }
}

impl fmt::Display for QueryCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, rows, requests, .. } = self;
        let (rows, pages) = (counted(*rows, "row"), counted(*pages, "page"));
        write!(f, "{rows} in {pages} by {}", counted(*requests, "request"))
    }
}

pub(crate) fn counted(count: u64, noun: impl fmt::Display) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
