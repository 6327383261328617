//! The pages of a query.

use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream;

use super::fetch::{CheckedQuery, FetchedPage, PageFetcher, PageRead, Slot};
use super::limits::{CONCURRENCY, ReadMode, RowLimits};
use super::page::{Page, QueryCost};
use super::position::QueryId;
use super::reader::{Reader, Window};
use super::results::Results;
use super::source::Source;
use super::split::Sources;
use crate::error::Error;
use crate::filter::QueryFilter;
use crate::limits::{PARTITION_KEY, ROW_KEY};
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
pub struct Pages<T> {
    /// The error of the settings, for the first page; `None` after an error.
    run: Result<Run<T>, Option<Error>>,
}

/// A query that is read.
pub(crate) struct Run<T> {
    fetcher: Arc<PageFetcher<T>>,
    reader: Reader<T>,
    limits: RowLimits,
}

impl<T> Pages<T> {
    pub(crate) fn new(query: Result<CheckedQuery<T>, Error>) -> Self {
        Self::of_run(query.and_then(|mut query| {
            let sources = Sources::of(&query.fetcher.core, query.filter.take())?;
            let mode =
                if sources.are_listed() { ReadMode::ahead(CONCURRENCY) } else { ReadMode::ONE };
            Run::new(query, &sources.all, mode)
        }))
    }

    pub(crate) fn of_run(run: Result<Run<T>, Error>) -> Self {
        Self { run: run.map_err(Some) }
    }

    /// Reads the first page only.
    pub(crate) async fn first(mut self) -> Result<Page<T>, Error> {
        if let Ok(run) = &mut self.run {
            run.reader.mode.parts = 1;
        }
        self.next().await.unwrap_or_else(|| Ok(Page::empty()))
    }

    /// Reads the next page; returns `None` after the last page and after an error. Dropping the future
    /// loses no rows: the next call requests the same page. For a single page, see
    /// [`Query::page`](crate::client::Query::page).
    ///
    /// # Errors
    /// The errors of [`Query`](crate::client::Query); a [continuation](crate::client::Query::start_at) of another query.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        let run = match &mut self.run {
            Ok(run) if run.is_over() => return None,
            Ok(run) => run,
            Err(failure) => return failure.take().map(Err),
        };
        let fetcher = Arc::clone(&run.fetcher);
        let trace = fetcher.trace(run.reader.has_points());
        let page = trace.run(async { run.next(&trace).await.transpose() }).await;
        if page.is_err() {
            self.run = Err(None);
        }
        page.transpose()
    }

    pub(crate) async fn collect(self) -> Result<Results<T>, Error> {
        let mut results = Results::new();
        let mut run = match self.run {
            Ok(run) if run.is_over() => return Ok(results),
            Ok(run) => run,
            Err(failure) => return failure.map_or(Ok(results), Err),
        };
        let fetcher = Arc::clone(&run.fetcher);
        let trace = fetcher.trace(run.reader.has_points());
        let work = async {
            while let Some(page) = run.next(&trace).await {
                results.add(page?);
            }
            Ok(results)
        };
        trace.run(work).await
    }

    /// The pages as a stream, which ends after the first error.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Page<T>, Error>> + Send
    where
        T: Send + 'static,
    {
        stream::unfold(self, |mut pages| async {
            let page = pages.next().await?;
            Some((page, pages))
        })
    }
}

impl<T> Run<T> {
    /// Reads the sources of a query.
    pub(crate) fn new(
        query: CheckedQuery<T>,
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
        Ok(Self { fetcher: Arc::new(fetcher), reader, limits })
    }

    /// Adds the cost of preparing the query to that of its first page.
    pub(crate) fn with_cost(mut self, cost: QueryCost) -> Self {
        self.reader.cost += cost;
        self
    }

    fn is_over(&self) -> bool {
        self.reader.is_over() || self.limits.are_reached()
    }

    /// Reads the next page as a part of the call that `trace` belongs to.
    async fn next(&mut self, trace: &CallTrace<'_>) -> Option<Result<Page<T>, Error>> {
        let fetcher = Arc::clone(&self.fetcher);
        self.next_by(&mut Window::new(), |read| fetcher.fetch(read, trace)).await
    }

    /// Reads the next page by the requests in flight, and by those that `fetch` sends.
    async fn next_by<F>(
        &mut self,
        window: &mut Window<F>,
        fetch: impl Fn(PageRead) -> F,
    ) -> Option<Result<Page<T>, Error>>
    where
        F: Future<Output = (Slot, Result<FetchedPage<T>, Error>)>,
    {
        if self.is_over() {
            return None;
        }
        let limits = self.limits.of_page(self.fetcher.page_size);
        let page = self.reader.next(window, limits, fetch).await?;
        let page = page.and_then(|mut page| {
            self.limits.add(&mut page)?;
            Ok(page)
        });
        Some(page.map_err(|error| self.fetcher.named(error)))
    }
}

impl<T: Send + 'static> Run<T> {
    /// The pages as a stream, which ends after the first error. Each request is a call of its own, and stays in flight
    /// while the program uses a page.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Page<T>, Error>> + Send {
        stream::unfold(Some((self, Window::new())), |state| async {
            let (mut run, mut window) = state?;
            let fetcher = Arc::clone(&run.fetcher);
            let fetch = |read| Arc::clone(&fetcher).fetch_alone(read);
            let page = run.next_by(&mut window, fetch).await?;
            let rest = page.is_ok().then_some((run, window));
            Some((page, rest))
        })
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
