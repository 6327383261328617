//! The pages of a query.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream;

use super::fetch::{CheckedQuery, Fetched, PageFetcher, PageRead};
use super::limits::{CONCURRENCY, ReadMode, RowLimits};
use super::page::{Page, PageHead, QueryCost};
use super::position::QueryId;
use super::reader::{FetchWindow, Reader};
use super::results::Results;
use super::source::Source;
use super::split::Sources;
use crate::entity::ReadRow;
use crate::error::Error;
use crate::filter::QueryFilter;
use crate::limits::{PARTITION_KEY, ROW_KEY};
use crate::operation::query::{AnyVec, ReadValues};
use crate::pipeline::CallTrace;

/// The pages of a query, one request each.
///
/// A page may be empty although more follow: the service ends a page at the borders of its
/// partitions and when its time limit is reached.
///
/// A filter that lists keys is read in several parts: a list of rows by a point read each, or, if there are other
/// conditions, by a query each or for several of them; a list of partitions by a query each. Their rows follow each
/// other in key order. At most 8 requests are in flight, and never more than rows are left to
/// [`take`](crate::client::Query::take); [`parallel`](crate::client::Query::parallel) sets another number. A page has the rows of up to
/// 1,000 listed rows, or of one page of one query. While a page is read, the first pages of the next queries are
/// read too, and kept in memory.
///
/// A list that is too long for one request is split into several requests. Their pages follow each
/// other if their rows are in key order. Otherwise their rows are merged: reading a page then takes up to
/// one request for each part of the list, and one page of each part is held in memory. A query that resumes
/// from a continuation reads these pages again.
///
/// `Pages` is `Send` and not `Sync`: a task may take it over, and tasks share it only behind a lock.
pub struct Pages<T> {
    /// The error of the settings, for the first page; `None` after an error.
    run: Result<QueryRun, Option<Error>>,
    reader: Arc<dyn ReadValues>,
    rows: PhantomData<fn() -> T>,
}

/// A query that is read. It does not know the type of its rows, so that it is compiled once.
pub(crate) struct QueryRun {
    fetcher: Arc<PageFetcher>,
    reader: Reader,
    limits: RowLimits,
    /// The requests that stay in flight while the program uses a page.
    window: FetchWindow<Pin<Box<dyn Future<Output = Fetched> + Send>>>,
}

impl<T: Send + 'static> Pages<T> {
    pub(crate) fn new(run: Result<QueryRun, Error>, reader: Arc<dyn ReadRow<T>>) -> Self {
        Self { run: run.map_err(Some), reader: Arc::new(reader), rows: PhantomData }
    }

    /// Reads the first page only.
    pub(crate) async fn first(mut self) -> Result<Page<T>, Error> {
        if let Ok(run) = &mut self.run {
            run.reader.mode.parts = 1;
        }
        self.next().await.unwrap_or_else(|| Ok(PageHead::default().with(Vec::new())))
    }

    /// Reads the next page; returns `None` after the last page and after an error. Dropping the future
    /// loses no rows: the next call requests the same page. For a single page, see
    /// [`Query::page`](crate::client::Query::page).
    ///
    /// # Errors
    /// The errors of [`Query`](crate::client::Query); a [continuation](crate::client::Query::start_at) of another query.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        let mut entities = Vec::<T>::new();
        let head = QueryRun::next_of(&mut self.run, &self.reader, &mut entities).await?;
        Some(head.map(|head| head.with(entities)))
    }

    pub(crate) async fn collect(self) -> Result<Results<T>, Error> {
        let mut entities = Vec::<T>::new();
        let cost = QueryRun::collect(self.run, &self.reader, &mut entities).await?;
        Ok(Results { entities, cost })
    }

    /// The pages as a stream, which ends after the first error.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Page<T>, Error>> + Send {
        stream::unfold(self, |mut pages| async {
            let page = pages.next().await?;
            Some((page, pages))
        })
    }
}

impl QueryRun {
    /// Splits a query into its sources, and reads them.
    pub(crate) fn of(mut query: CheckedQuery) -> Result<Self, Error> {
        let sources = Sources::of(&query.fetcher.core, query.filter.take())?;
        let mode = if sources.are_listed() { ReadMode::ahead(CONCURRENCY) } else { ReadMode::ONE };
        Self::new(query, &sources.all, mode)
    }

    /// Reads the sources of a query.
    pub(crate) fn new(
        query: CheckedQuery,
        sources: &[Source],
        mode: ReadMode,
    ) -> Result<Self, Error> {
        let CheckedQuery { mut fetcher, filter: _, take, max_rows, start } = query;
        let is_merged = sources.iter().any(|source| matches!(source, Source::Merge(_)));
        if is_merged && !fetcher.select.is_empty() {
            // Merging compares keys.
            select_keys(&mut fetcher.select);
        }
        let dialect = fetcher.core.protocol.dialect();
        let texts = sources.iter().flat_map(Source::filters).map(QueryFilter::text);
        let id = QueryId::of(dialect, &fetcher.table, texts, &fetcher.select);
        let reader = Reader::new(id, dialect, sources, mode, start)?;
        let limits = RowLimits::new(take, max_rows);
        Ok(Self { fetcher: Arc::new(fetcher), reader, limits, window: FetchWindow::new() })
    }

    /// Adds the cost of preparing the query to that of its first page.
    pub(crate) fn with_cost(mut self, cost: QueryCost) -> Self {
        self.reader.cost += cost;
        self
    }

    fn is_over(&self) -> bool {
        self.reader.is_over() || self.limits.are_reached()
    }

    /// Moves the rows of the next page to the end of `to`; see [`Pages::next`].
    async fn next_of(
        this: &mut Result<Self, Option<Error>>,
        reader: &Arc<dyn ReadValues>,
        to: &mut AnyVec,
    ) -> Option<Result<PageHead, Error>> {
        let run = match this {
            Ok(run) if run.is_over() => return None,
            Ok(run) => run,
            Err(failure) => return failure.take().map(Err),
        };
        let page = if run.reader.mode.keeps_reading {
            run.next_alone(reader, to).await
        } else {
            let fetcher = Arc::clone(&run.fetcher);
            let trace = fetcher.trace(run.reader.has_points());
            let page = async { run.next(&trace, &**reader, to).await.transpose() };
            trace.run(page).await.transpose()
        };
        if matches!(page, Some(Err(_))) {
            *this = Err(None);
        }
        page
    }

    /// Moves all rows to `to`, and returns their cost.
    async fn collect(
        this: Result<Self, Option<Error>>,
        reader: &Arc<dyn ReadValues>,
        to: &mut AnyVec,
    ) -> Result<QueryCost, Error> {
        let mut cost = QueryCost::default();
        let mut run = match this {
            Ok(run) if run.is_over() => return Ok(cost),
            Ok(run) => run,
            Err(failure) => return failure.map_or(Ok(cost), Err),
        };
        if run.reader.mode.keeps_reading {
            while let Some(page) = run.next_alone(reader, to).await {
                cost += page?.cost;
            }
            return Ok(cost);
        }
        let fetcher = Arc::clone(&run.fetcher);
        let trace = fetcher.trace(run.reader.has_points());
        let work = async {
            while let Some(page) = run.next(&trace, &**reader, to).await {
                cost += page?.cost;
            }
            Ok(cost)
        };
        trace.run(work).await
    }

    /// Reads the next page as a part of the call that `trace` belongs to.
    async fn next(
        &mut self,
        trace: &CallTrace<'_>,
        reader: &dyn ReadValues,
        to: &mut AnyVec,
    ) -> Option<Result<PageHead, Error>> {
        let fetcher = Arc::clone(&self.fetcher);
        self.next_by(&mut FetchWindow::new(), to, |read| fetcher.fetch(read, reader, trace)).await
    }

    /// Reads the next page. Each request is a call of its own, and stays in flight while the program uses a page.
    async fn next_alone(
        &mut self,
        reader: &Arc<dyn ReadValues>,
        to: &mut AnyVec,
    ) -> Option<Result<PageHead, Error>> {
        let mut window = std::mem::replace(&mut self.window, FetchWindow::new());
        let fetcher = Arc::clone(&self.fetcher);
        let fetch = |read| {
            let request = Arc::clone(&fetcher).fetch_alone(read, Arc::clone(reader));
            Box::pin(request) as Pin<Box<dyn Future<Output = Fetched> + Send>>
        };
        let page = self.next_by(&mut window, to, fetch).await;
        self.window = window;
        page
    }

    /// Reads the next page by the requests in flight, and by those that `fetch` sends.
    async fn next_by<F: Future<Output = Fetched>>(
        &mut self,
        window: &mut FetchWindow<F>,
        to: &mut AnyVec,
        fetch: impl Fn(PageRead) -> F,
    ) -> Option<Result<PageHead, Error>> {
        if self.is_over() {
            return None;
        }
        let limits = self.limits.of_page(self.fetcher.page_size);
        let page = self.reader.next(window, limits, to, fetch).await?;
        let page = page.and_then(|page| self.limits.add(page.cost.rows).map(|()| page));
        Some(page.map_err(|error| self.fetcher.named(error)))
    }
}

opaque_debug!(<T> Pages<T>, |it| table: it.run.as_ref().ok().map(|run| &run.fetcher.table));

/// Adds the keys to the selected columns.
pub(crate) fn select_keys(select: &mut Vec<String>) {
    for key in [PARTITION_KEY, ROW_KEY] {
        if !select.iter().any(|name| name == key) {
            select.push(key.to_owned());
        }
    }
}
