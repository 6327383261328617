use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream;

use super::fetch::{self, CheckedQuery, PageFetcher, PageRequest, SubQuery};
use super::merge::Merge;
use super::page::{Page, QueryCost};
use super::results::Results;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::filter::QueryFilter;
use crate::limits::{PAGE_ENTITIES, PARTITION_KEY, ROW_KEY};
use crate::operation::continuation::{Position, QueryId};
use crate::pipeline::CallTrace;

/// The pages of a query, one request each.
///
/// A page may be empty although more follow: the service ends a page at the borders of its
/// partitions and when its time limit is reached.
///
/// A list that is too long for one request is split into several requests. Their pages follow each
/// other if their rows are in key order. Otherwise their rows are merged: reading a page then takes up to
/// one request for each part of the list, and one page of each part is held in memory. A query that resumes
/// from a continuation reads these pages again.
pub struct Pages<T> {
    /// `None` after an error.
    fetcher: Option<Arc<PageFetcher<T>>>,
    requests: Requests<T>,
    id: QueryId,
    /// The number of rows left to take.
    left: Option<u64>,
    /// The error of the settings, for the first page.
    failure: Option<Error>,
}

/// The requests of a query.
enum Requests<T> {
    Sequential(Vec<SubQuery>),
    /// Sent concurrently, since the keys of their rows interleave.
    Merged(Merge<T>),
}

impl<T> Pages<T> {
    pub(super) fn new(query: Result<CheckedQuery<T>, Error>) -> Self {
        query.and_then(Self::begin).unwrap_or_else(|failure| Self {
            fetcher: None,
            requests: Requests::Sequential(Vec::new()),
            id: QueryId::of(Dialect::default(), "", std::iter::empty(), &[]),
            left: None,
            failure: Some(failure),
        })
    }

    fn begin(query: CheckedQuery<T>) -> Result<Self, Error> {
        let CheckedQuery { mut fetcher, filter, take, start } = query;
        let split = match &filter {
            Some(filter) => fetch::split(&fetcher.core, filter)?,
            None => None,
        };
        let dialect = fetcher.core.protocol.dialect();
        let unordered = split.as_ref().filter(|split| !split.in_order);
        let is_merged = unordered.is_some() && dialect.has_key_order();
        if !is_merged && unordered.is_some_and(|split| !split.is_disjoint()) {
            return Err(not_mergeable());
        }
        if is_merged && !fetcher.select.is_empty() {
            // Merging compares keys.
            for key in [PARTITION_KEY, ROW_KEY] {
                if !fetcher.select.iter().any(|name| name == key) {
                    fetcher.select.push(key.to_owned());
                }
            }
        }
        let select = &fetcher.select;
        let filters: Vec<Option<QueryFilter>> = match split {
            Some(split) => split.filters.into_iter().map(|filter| Some(filter.into())).collect(),
            None => vec![filter],
        };
        let texts = filters.iter().map(|filter| filter.as_ref().map(QueryFilter::text));
        let id = QueryId::of(dialect, &fetcher.table, texts, select);
        let (after, positions) = match start {
            Some(continuation) => continuation.of_query(id, filters.len())?,
            None => (None, vec![Position::Start; filters.len()]),
        };
        let requests = filters.into_iter().zip(positions).map(|(filter, next)| SubQuery {
            request: PageRequest::new(dialect, filter, select),
            next,
        });
        let requests = if is_merged {
            Requests::Merged(Merge::new(requests, after))
        } else {
            Requests::Sequential(requests.collect())
        };
        Ok(Self { fetcher: Some(Arc::new(fetcher)), requests, id, left: take, failure: None })
    }

    /// Reads the next page; returns `None` after the last page and after an error. Dropping the future
    /// loses no rows: the next call requests the same page.
    ///
    /// # Errors
    /// The errors of [`Query`](super::Query); a [continuation](super::Query::start_at) of another query.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        if let Some(error) = self.failure.take() {
            return Some(Err(error));
        }
        let fetcher = self.fetcher.clone()?;
        if self.left == Some(0) || self.is_over() {
            return None;
        }
        let trace = fetcher.trace(self.is_point());
        let work = async { self.next_of(&fetcher, &trace).await.transpose() };
        trace.run(work).await.transpose()
    }

    fn is_point(&self) -> bool {
        let is_point = |query: &SubQuery| matches!(query.request, PageRequest::Point(_));
        matches!(&self.requests, Requests::Sequential(queries) if queries.iter().all(is_point))
    }

    fn is_over(&self) -> bool {
        match &self.requests {
            Requests::Sequential(queries) => queries.iter().all(SubQuery::is_over),
            Requests::Merged(merge) => merge.is_over(),
        }
    }

    /// Reads the next page as a part of the call that `trace` belongs to.
    async fn next_of(
        &mut self,
        fetcher: &PageFetcher<T>,
        trace: &CallTrace<'_>,
    ) -> Option<Result<Page<T>, Error>> {
        if self.left == Some(0) {
            return None;
        }
        let top = self.top(fetcher);
        let page = match &mut self.requests {
            Requests::Sequential(queries) => {
                next_in_order(fetcher, queries, top, self.id, trace).await?
            }
            Requests::Merged(merge) => merge.next(fetcher, top, self.id, trace).await?,
        };
        let mut page = match page {
            Ok(page) => page,
            Err(error) => {
                self.fetcher = None;
                return Some(Err(error));
            }
        };
        // A server may return more rows than requested.
        page.take_from(&mut self.left);
        Some(Ok(page))
    }

    /// `$top`: the page size, or the number of rows left to take if that is less.
    fn top(&self, fetcher: &PageFetcher<T>) -> Option<u32> {
        let left = self.left.filter(|&left| left < u64::from(PAGE_ENTITIES));
        match (fetcher.page_size, left.and_then(|left| u32::try_from(left).ok())) {
            (Some(size), Some(left)) => Some(size.min(left)),
            (size, left) => size.or(left),
        }
    }

    pub(super) async fn collect(mut self) -> Result<Results<T>, Error> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let mut results = Results::new();
        let Some(fetcher) = self.fetcher.clone() else { return Ok(results) };
        if self.left == Some(0) {
            return Ok(results);
        }
        let trace = fetcher.trace(self.is_point());
        let work = async {
            while let Some(page) = self.next_of(&fetcher, &trace).await {
                results.add(page?);
            }
            Ok(results)
        };
        trace.run(work).await
    }

    /// The pages as a stream, which ends after the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Page<T>, Error>> + Send
    where
        T: Send + 'static,
    {
        stream::unfold(self, |mut pages| async {
            let page = pages.next().await?;
            Some((page, pages))
        })
    }
}

/// Reads the next page of the first query that is not over; `None` if all are over.
async fn next_in_order<T>(
    fetcher: &PageFetcher<T>,
    queries: &mut [SubQuery],
    top: Option<u32>,
    id: QueryId,
    trace: &CallTrace<'_>,
) -> Option<Result<Page<T>, Error>> {
    let query = queries.iter_mut().find(|query| !query.is_over())?;
    let fetch = fetcher.fetch(&query.request, &*fetcher.reader, top, query.token(), trace);
    let rows = match fetch.await {
        Ok(rows) => rows,
        Err(error) => return Some(Err(error)),
    };
    query.next = Position::from(rows.next);
    let cost = QueryCost::of_page(rows.values.len(), rows.attempts, rows.location);
    let continuation = id.continuation(None, queries.iter().map(|query| query.next.clone()));
    Some(Ok(Page { entities: rows.values, continuation, request_id: rows.request_id, cost }))
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.fetcher.as_ref().map(|fetcher| &fetcher.table);
        f.debug_struct("Pages").field("table", &table).finish_non_exhaustive()
    }
}

/// Rows that match several alternatives would be returned more than once.
fn not_mergeable() -> Error {
    Error::invalid_input(
        "the alternatives in the filter need several queries, whose rows cannot be merged because Cosmos DB \
         returns them in no order: request values of one property, request fewer at once, or raise \
         max_comparisons",
    )
}
