//! A query read in several ranges of keys at the same time.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};

use futures_core::Stream;
use futures_util::stream::{self, FuturesUnordered, StreamExt as _, TryStreamExt as _};

use super::page::{Page, QueryCost};
use super::pages::Pages;
use super::query::Query;
use super::ranges;
use super::results::Results;
use super::source::Start;
use super::stream::EntityStream;
use crate::error::Error;
use crate::filter::QueryFilter;

/// Pages that a stream in order keeps of each range that is not its turn yet.
const AHEAD: usize = 4;
/// Ranges are requests at the same time.
const MAX_RANGES: usize = 256;

/// A query that is read in several ranges of keys at the same time.
///
/// Where the filter states one partition, its rows are split by RowKey, else the partitions by
/// PartitionKey. Queries for single keys come first, to find where the ranges are to begin: some twenty
/// for two ranges and some hundreds for 256, which pays for large tables only. If keys are spread
/// unevenly, so are the ranges. A list that is too long for one request is asked for in every range,
/// but for the keys that are not in it.
///
/// `.await` collects the results in key order. A [`stream`](Self::stream) in key order reads up to
/// four pages ahead in each range, so that its speed is bounded by the memory that it may use;
/// [`unordered`](Self::unordered) takes the pages as they come.
///
/// ```
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let logs = MockTableService::new().client().table_named::<DynamicEntity>("Logs");
/// # logs.create().await?;
/// # for day in 10..30 {
/// #     logs.insert(&DynamicEntity::new(format!("2009-04-{day}"), "1")).await?;
/// # }
/// let april = logs.query().filter_text("PartitionKey ge '2009-04' and PartitionKey lt '2009-05'");
/// let all = april.parallel(8).await?;
/// assert_eq!(all.len(), 20);
/// # Ok(())
/// # }
/// ```
#[must_use = "a query is sent when it is awaited or its stream is taken"]
pub struct Parallel<E, T = E> {
    query: Query<E, T>,
    ranges: usize,
    is_ordered: bool,
}

impl<E, T> Parallel<E, T> {
    pub(super) const fn new(query: Query<E, T>, ranges: usize) -> Self {
        Self { query, ranges, is_ordered: true }
    }

    /// The results in any order, which needs the least memory and time.
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    /// The results one by one; the stream ends after the first error.
    pub fn stream(self) -> EntityStream<T>
    where
        T: Send + 'static,
    {
        let ahead = self.is_ordered.then_some(AHEAD);
        EntityStream::of(pages(self.query.checked(), self.ranges, ahead))
    }

    /// The number of results; see [`Query::count`].
    ///
    /// # Errors
    /// As the query itself.
    pub async fn count(self) -> Result<u64, Error>
    where
        E: 'static,
        T: Send + 'static,
    {
        let mut count = 0;
        let mut pages = pin!(pages(self.query.keys_only().checked(), self.ranges, None));
        while let Some(page) = pages.next().await {
            count += page?.cost.rows;
        }
        Ok(count)
    }

    async fn collect(self) -> Result<Results<T>, Error>
    where
        T: Send + 'static,
    {
        // All is kept in any case.
        let ahead = self.is_ordered.then_some(usize::MAX);
        let mut results = Results::new();
        let mut pages = pin!(pages(self.query.checked(), self.ranges, ahead));
        while let Some(page) = pages.next().await {
            results.add(page?);
        }
        Ok(results)
    }
}

impl<E: Send + 'static, T: Send + 'static> IntoFuture for Parallel<E, T> {
    type Output = Result<Results<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.collect())
    }
}

impl<E, T> fmt::Debug for Parallel<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parallel")
            .field("query", &self.query)
            .field("ranges", &self.ranges)
            .finish_non_exhaustive()
    }
}

/// The pages; in order if so many are kept of each range.
fn pages<T: Send + 'static>(
    start: Result<Start<T>, Error>,
    ranges: usize,
    ahead: Option<usize>,
) -> impl Stream<Item = Result<Page<T>, Error>> + Send {
    let begin = stream::once(Ranges::begin(start, ranges, ahead));
    begin.map_ok(Ranges::into_stream).try_flatten()
}

/// A page of a range, with what asks for the next one.
type Fetched<T> = (usize, Pages<T>, Option<Result<Page<T>, Error>>);

/// The ranges, each with a request on its way unless it has enough pages.
struct Ranges<T> {
    sent: FuturesUnordered<Pin<Box<dyn Future<Output = Fetched<T>> + Send>>>,
    /// In order; empty where there is none.
    waiting: VecDeque<Waiting<T>>,
    /// The number of the first range that is waiting.
    first: usize,
    /// How many pages are kept of each range that is not the first; `None` without an order.
    ahead: Option<usize>,
    left: Option<u64>,
    /// What it took to find the ranges, for the first page.
    cost: QueryCost,
}

/// What was read of a range.
struct Waiting<T> {
    /// The last one may be an error, which comes when its turn does.
    pages: VecDeque<Result<Page<T>, Error>>,
    /// What asks for the next page, where that waits for its turn.
    rest: Option<Pages<T>>,
    is_over: bool,
}

impl<T: Send + 'static> Ranges<T> {
    async fn begin(
        start: Result<Start<T>, Error>,
        count: usize,
        ahead: Option<usize>,
    ) -> Result<Self, Error> {
        let Start { source, filter, take, at } = start?;
        if !(1..=MAX_RANGES).contains(&count) {
            return Err(Error::invalid_input(format!(
                "{count} ranges; 1 to {MAX_RANGES} can be read at the same time"
            )));
        }
        if at.is_some() {
            return Err(Error::invalid_input(
                "a query that is read in several ranges does not begin at a continuation",
            ));
        }
        let filter = filter.as_ref().map(QueryFilter::tree);
        let (filters, cost) = match take {
            Some(0) => Default::default(),
            _ => ranges::filters(&source, filter, count).await?,
        };
        let sent = FuturesUnordered::new();
        let mut waiting = VecDeque::new();
        for (at, filter) in filters.into_iter().enumerate() {
            let filter = filter.map(QueryFilter::from);
            let start = Start { source: source.again(), filter, take, at: None };
            let pages = Pages::new(Ok(start));
            sent.push(fetch(at, pages));
            waiting.push_back(Waiting { pages: VecDeque::new(), rest: None, is_over: false });
        }
        Ok(Self { sent, waiting, first: 0, ahead, left: take, cost })
    }

    /// The pages; they end after the first error.
    fn into_stream(self) -> impl Stream<Item = Result<Page<T>, Error>> + Send {
        stream::unfold(Some(self), |ranges| async {
            let mut ranges = ranges?;
            let page = ranges.next().await?;
            let rest = page.is_ok().then_some(ranges);
            Some((page, rest))
        })
    }

    async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        if self.left == Some(0) {
            return None;
        }
        let mut page = match self.ahead {
            Some(ahead) => self.next_in_order(ahead).await?,
            None => self.next_of_any().await?,
        };
        if let Ok(page) = &mut page {
            page.take_from(&mut self.left);
            page.cost += std::mem::take(&mut self.cost);
        }
        Some(page)
    }

    async fn next_of_any(&mut self) -> Option<Result<Page<T>, Error>> {
        while let Some((at, pages, page)) = self.sent.next().await {
            if let Some(page) = page {
                self.sent.push(fetch(at, pages));
                return Some(page);
            }
        }
        None
    }

    async fn next_in_order(&mut self, ahead: usize) -> Option<Result<Page<T>, Error>> {
        loop {
            let first = self.waiting.front_mut()?;
            if let Some(rest) = first.rest.take() {
                self.sent.push(fetch(self.first, rest));
            }
            if let Some(page) = first.pages.pop_front() {
                return Some(page);
            }
            if first.is_over {
                self.waiting.pop_front();
                self.first += 1;
                continue;
            }
            let (at, pages, page) = self.sent.next().await?;
            let Some(range) = self.waiting.get_mut(at - self.first) else { continue };
            match page {
                None => range.is_over = true,
                Some(Err(error)) => {
                    range.pages.push_back(Err(error));
                    range.is_over = true;
                }
                Some(Ok(page)) => {
                    range.pages.push_back(Ok(page));
                    if range.pages.len() < ahead {
                        self.sent.push(fetch(at, pages));
                    } else {
                        range.rest = Some(pages);
                    }
                }
            }
        }
    }
}

fn fetch<T: Send + 'static>(
    at: usize,
    mut pages: Pages<T>,
) -> Pin<Box<dyn Future<Output = Fetched<T>> + Send>> {
    Box::pin(async move {
        let page = pages.next().await;
        (at, pages, page)
    })
}
