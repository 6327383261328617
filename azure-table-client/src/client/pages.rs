use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream;

use super::merge::Merge;
use super::page::{Page, QueryCost};
use super::results::Results;
use super::source::{self, Part, Source, Start, What};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::filter::QueryFilter;
use crate::limits::{PAGE_ENTITIES, PARTITION_KEY, ROW_KEY};
use crate::operation::continuation::{Continuation, Position, QueryId};
use crate::pipeline::CallTrace;

/// The pages of a query, one request each.
///
/// A page may be empty although more follow: the service ends a page at the borders of its
/// partitions and when its time is up.
///
/// Where a list was too long for one request, the pages of several are given one after the other. If
/// their rows are not in order, they are merged: a page then takes up to as many requests, and one page
/// of each is held. To go on from a continuation, these pages are read again.
pub struct Pages<T> {
    source: Option<Arc<Source<T>>>,
    rows: RowsOf<T>,
    id: QueryId,
    left: Option<u64>,
    failure: Option<Error>,
}

/// The requests of a query.
enum RowsOf<T> {
    /// One after the other.
    InOrder(Vec<Part>),
    /// At the same time, since the rows of one may stand between those of another.
    Merged(Merge<T>),
}

impl<T> Pages<T> {
    pub(super) fn new(start: Result<Start<T>, Error>) -> Self {
        start.and_then(Self::begin).unwrap_or_else(|failure| Self {
            source: None,
            rows: RowsOf::InOrder(Vec::new()),
            id: QueryId::of(Dialect::default(), "", std::iter::empty(), &[]),
            left: None,
            failure: Some(failure),
        })
    }

    fn begin(start: Start<T>) -> Result<Self, Error> {
        let Start { mut source, filter, take, at } = start;
        let split = match &filter {
            Some(filter) => source::split(&source.pipeline, filter)?,
            None => None,
        };
        let dialect = source.pipeline.protocol.dialect();
        let unordered = split.as_ref().filter(|split| !split.in_order);
        let is_merged = match unordered {
            // In no order, they can only come one after the other.
            Some(split) if !dialect.has_key_order() => {
                if !split.is_disjoint() {
                    return Err(not_merged());
                }
                false
            }
            split => split.is_some(),
        };
        if is_merged && !source.select.is_empty() {
            // Rows are merged by their keys.
            for key in [PARTITION_KEY, ROW_KEY] {
                if !source.select.iter().any(|name| name == key) {
                    source.select.push(key.to_owned());
                }
            }
        }
        let select = &source.select;
        let filters: Vec<Option<QueryFilter>> = match split {
            Some(split) => split.filters.into_iter().map(|filter| Some(filter.into())).collect(),
            None => vec![filter],
        };
        let texts = filters.iter().map(|filter| filter.as_ref().map(QueryFilter::text));
        let id = QueryId::of(dialect, &source.table, texts, select);
        let (after, positions) = match at {
            Some(continuation) => continuation.of_query(id, filters.len())?,
            None => (None, vec![Position::Start; filters.len()]),
        };
        let parts = filters
            .into_iter()
            .zip(positions)
            .map(|(filter, next)| Part { what: What::of(dialect, filter, select), next });
        let rows = if is_merged {
            RowsOf::Merged(Merge::new(parts, after))
        } else {
            RowsOf::InOrder(parts.collect())
        };
        Ok(Self { source: Some(Arc::new(source)), rows, id, left: take, failure: None })
    }

    /// Asks for the next page; `None` after the last one and after an error. A future that is dropped
    /// on its way loses nothing: the next one asks for the same page.
    ///
    /// # Errors
    /// As [`Query`](super::Query); a [continuation](super::Query::start_at) of another query.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        if let Some(error) = self.failure.take() {
            return Some(Err(error));
        }
        let source = self.source.clone()?;
        if self.left == Some(0) || self.is_over() {
            return None;
        }
        let trace = source.trace(self.is_point());
        let work = async { self.next_of(&source, &trace).await.transpose() };
        trace.run(work).await.transpose()
    }

    fn is_point(&self) -> bool {
        let is_row = |part: &Part| matches!(part.what, What::Row(_));
        matches!(&self.rows, RowsOf::InOrder(parts) if parts.iter().all(is_row))
    }

    fn is_over(&self) -> bool {
        match &self.rows {
            RowsOf::InOrder(parts) => parts.iter().all(Part::is_over),
            RowsOf::Merged(merge) => merge.is_over(),
        }
    }

    /// The next page as a part of the call that `trace` is of.
    async fn next_of(
        &mut self,
        source: &Source<T>,
        trace: &CallTrace<'_>,
    ) -> Option<Result<Page<T>, Error>> {
        if self.left == Some(0) {
            return None;
        }
        let top = self.top(source);
        let page = match &mut self.rows {
            RowsOf::InOrder(parts) => next_in_order(source, parts, top, self.id, trace).await?,
            RowsOf::Merged(merge) => merge.next(source, top, self.id, trace).await?,
        };
        let mut page = match page {
            Ok(page) => page,
            Err(error) => {
                self.source = None;
                return Some(Err(error));
            }
        };
        // A server may give more than it was asked for.
        page.take_from(&mut self.left);
        Some(Ok(page))
    }

    /// `$top`: the page size, or what is left to take if that is less.
    fn top(&self, source: &Source<T>) -> Option<u32> {
        let left = self.left.filter(|&left| left < u64::from(PAGE_ENTITIES));
        match (source.page_size, left.and_then(|left| u32::try_from(left).ok())) {
            (Some(size), Some(left)) => Some(size.min(left)),
            (size, left) => size.or(left),
        }
    }

    pub(super) async fn collect(mut self) -> Result<Results<T>, Error> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let mut results = Results::new();
        let Some(source) = self.source.clone() else { return Ok(results) };
        if self.left == Some(0) {
            return Ok(results);
        }
        let trace = source.trace(self.is_point());
        let work = async {
            while let Some(page) = self.next_of(&source, &trace).await {
                results.add(page?);
            }
            Ok(results)
        };
        trace.run(work).await
    }

    /// The pages as a stream; it ends after the first error.
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

/// The next page of the first request that is not over; `None` if all are.
async fn next_in_order<T>(
    source: &Source<T>,
    parts: &mut [Part],
    top: Option<u32>,
    id: QueryId,
    trace: &CallTrace<'_>,
) -> Option<Result<Page<T>, Error>> {
    let at = parts.iter().position(|part| !part.is_over())?;
    let part = &mut parts[at];
    let rows = match source.fetch(&part.what, &*source.reader, top, part.token(), trace).await {
        Ok(rows) => rows,
        Err(error) => return Some(Err(error)),
    };
    part.next = Position::from(rows.next);
    let is_over = parts.iter().all(Part::is_over);
    let positions = parts.iter().map(|part| part.next.clone());
    Some(Ok(Page {
        cost: QueryCost::of_page(rows.values.len(), rows.attempts, rows.location),
        entities: rows.values,
        continuation: (!is_over).then(|| Continuation::new(id, None, positions)),
        request_id: rows.request_id,
    }))
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.source.as_ref().map(|source| &source.table);
        f.debug_struct("Pages").field("table", &table).finish_non_exhaustive()
    }
}

/// The rows of alternatives that overlap would be there more than once.
fn not_merged() -> Error {
    Error::invalid_input(
        "the alternatives in the filter take several queries, whose rows cannot be merged as Cosmos DB gives \
         them in no order: ask for values of one property, for fewer at once, or raise max_comparisons",
    )
}
