use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream;

use super::branch_reader::{BranchReader, PageLimits};
use super::branches::{Branch, Branches};
use super::fetch::CONCURRENT;
use super::fetch::{CheckedQuery, PageFetcher};
use super::page::Page;
use super::query_limits::RowLimit;
use super::results::Results;
use crate::error::Error;
use crate::filter::QueryFilter;
use crate::limits::{PAGE_ENTITIES, PARTITION_KEY, ROW_KEY};
use crate::operation::continuation::QueryId;
use crate::pipeline::CallTrace;
use crate::wire::Operation;

/// The pages of a query, one request each.
///
/// A page may be empty although more follow: the service ends a page at the borders of its
/// partitions and when its time limit is reached.
///
/// A filter that lists keys is read in *branches*: a list of rows by a point read each, or, if there are other
/// conditions, by a query each or for several of them; a list of partitions by a query each. Their rows follow each
/// other in key order. At most 8 requests are in flight, and never more than rows are left to
/// [`take`](super::Query::take); [`parallel`](super::Query::parallel) sets another number. A page has the rows of up to
/// 1,000 listed rows, or of one page of one query. While a first page is read, the first pages of the next queries are
/// read too, and kept in memory.
///
/// A list that is too long for one request is split into several requests. Their pages follow each
/// other if their rows are in key order. Otherwise their rows are merged: reading a page then takes up to
/// one request for each part of the list, and one page of each part is held in memory. A query that resumes
/// from a continuation reads these pages again.
pub struct Pages<T> {
    /// `None` after an error.
    fetcher: Option<Arc<PageFetcher<T>>>,
    /// `None` if the settings are invalid.
    reader: Option<BranchReader<T>>,
    /// The number of rows left to take.
    left: Option<u64>,
    row_limit: RowLimit,
    /// The error of the settings, for the first page.
    failure: Option<Error>,
}

impl<T> Pages<T> {
    pub(super) fn new(query: Result<CheckedQuery<T>, Error>) -> Self {
        let pages = query.and_then(|mut query| {
            let branches = Branches::of(&query.fetcher.core, query.filter.take())?;
            Self::of_branches(query, branches, CONCURRENT)
        });
        pages.unwrap_or_else(|failure| Self {
            fetcher: None,
            reader: None,
            left: None,
            row_limit: RowLimit::default(),
            failure: Some(failure),
        })
    }

    /// Reads the branches of a query, with up to `concurrency` requests in flight if they are listed keys.
    pub(super) fn of_branches(
        query: CheckedQuery<T>,
        branches: Branches,
        concurrency: usize,
    ) -> Result<Self, Error> {
        let CheckedQuery { mut fetcher, take, row_limit, start, .. } = query;
        let concurrency = branches.are_listed().then_some(concurrency);
        let all = branches.all;
        let is_merged = all.iter().any(|branch| matches!(branch, Branch::Merged(_)));
        if is_merged && !fetcher.select.is_empty() {
            // Merging compares keys.
            select_keys(&mut fetcher.select);
        }
        let dialect = fetcher.core.protocol.dialect();
        let texts = all.iter().flat_map(Branch::filters).map(QueryFilter::text);
        let id = QueryId::of(dialect, &fetcher.table, texts, &fetcher.select);
        let reader = BranchReader::new(id, dialect, all, concurrency, start)?;
        Ok(Self {
            fetcher: Some(Arc::new(fetcher)),
            reader: Some(reader),
            left: take,
            row_limit,
            failure: None,
        })
    }

    /// Reads the first page only.
    pub(super) async fn first(mut self) -> Result<Page<T>, Error> {
        if let Some(reader) = &mut self.reader {
            reader.reads_ahead = false;
        }
        self.next().await.unwrap_or_else(|| Ok(Page::empty()))
    }

    /// Reads the next page; returns `None` after the last page and after an error. Dropping the future
    /// loses no rows: the next call requests the same page. For a single page, see [`Query::page`](super::Query::page).
    ///
    /// # Errors
    /// The errors of [`Query`](super::Query); a [continuation](super::Query::start_at) of another query.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        if let Some(error) = self.failure.take() {
            return Some(Err(error));
        }
        let fetcher = self.fetcher.clone()?;
        let reader = self.reader.as_ref().filter(|reader| !reader.is_over())?;
        if self.left == Some(0) {
            return None;
        }
        let trace = fetcher.trace(reader.has_points());
        let work = async { self.next_of(&fetcher, &trace).await.transpose() };
        trace.run(work).await.transpose()
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
        let limits = PageLimits { top: self.top(fetcher), left: self.left };
        let page = self.reader.as_mut()?.next(fetcher, limits, trace).await?;
        let page = page.and_then(|mut page| {
            // A server may return more rows than requested.
            page.take_from(&mut self.left);
            let counted = self.row_limit.add(page.entities.len());
            let named = |error: Error| error.with_operation(Operation::Query, &fetcher.table);
            counted.map_err(named).map(|()| page)
        });
        if page.is_err() {
            self.fetcher = None;
        }
        Some(page)
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
        let Some(reader) = self.reader.as_ref().filter(|reader| !reader.is_over()) else {
            return Ok(results);
        };
        if self.left == Some(0) {
            return Ok(results);
        }
        let trace = fetcher.trace(reader.has_points());
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

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.fetcher.as_ref().map(|fetcher| &fetcher.table);
        f.debug_struct("Pages").field("table", &table).finish_non_exhaustive()
    }
}

/// Adds the keys to the selected columns.
pub(super) fn select_keys(select: &mut Vec<String>) {
    for key in [PARTITION_KEY, ROW_KEY] {
        if !select.iter().any(|name| name == key) {
            select.push(key.to_owned());
        }
    }
}
