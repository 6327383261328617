//! A query that is read in several key ranges concurrently.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};

use futures_core::Stream;
use futures_util::stream::{self, FuturesUnordered, StreamExt as _, TryStreamExt as _};

use super::branches::{Branches, Keys};
use super::fetch::CheckedQuery;
use super::page::{Page, QueryCost};
use super::pages::Pages;
use super::query::Query;
use super::ranges;
use super::results::Results;
use super::stream::EntityStream;
use crate::error::Error;
use crate::filter::{Filter, QueryFilter};

/// The number of pages that an ordered stream buffers for each later range.
const AHEAD: usize = 4;
/// The limit on ranges. Each range has a request in flight.
const MAX_RANGES: usize = 256;

/// A query that is read in several key ranges concurrently.
///
/// If the filter states one partition, its rows are split by RowKey; otherwise the partitions are split by
/// PartitionKey. Queries for single keys find the starts of the ranges first: about twenty queries for two
/// ranges and several hundred for 256, which is worthwhile only for large tables. If keys are spread
/// unevenly, so are the ranges. A list that is too long for one request is split in every range; each range
/// omits the keys outside it.
///
/// A filter that lists keys is not split into ranges: its point reads, or its queries of one partition each, are sent
/// with up to `ranges` requests in flight, and their rows are in key order.
///
/// A query that [starts at a continuation](Query::start_at) is refused, also if its filter lists keys.
///
/// `.await` collects the results in key order. A [`stream`](Self::stream) in key order reads up to
/// four pages ahead in each range, which bounds its memory and its speed;
/// [`unordered`](Self::unordered) yields the pages in the order of arrival.
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
#[must_use = "a query is sent when it is awaited or its stream is polled"]
pub struct Parallel<E, T = E> {
    query: Query<E, T>,
    ranges: usize,
    is_ordered: bool,
}

impl<E, T> Parallel<E, T> {
    pub(super) const fn new(query: Query<E, T>, ranges: usize) -> Self {
        Self { query, ranges, is_ordered: true }
    }

    /// Returns the results in any order, which needs the least memory and time.
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    /// Returns the results one by one. The stream ends after the first error.
    pub fn stream(self) -> EntityStream<T>
    where
        T: Send + 'static,
    {
        let ahead = self.is_ordered.then_some(AHEAD);
        EntityStream::new(pages(self.query.checked(), self.ranges, ahead))
    }

    /// Counts the results; see [`Query::count`].
    ///
    /// # Errors
    /// The errors of the query itself.
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

    /// Finds the ranges without reading their rows, and returns a filter for each, in key order.
    ///
    /// Every row of the query matches exactly one of the filters, which include the query's own. The text of a
    /// filter can be sent to another process, which reads the range with [`Query::filter_text`]. `None` is the range of
    /// a query without a filter that is not split. A query that lists keys is one range; a query whose filter no key can
    /// meet has no range.
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
    /// let ranges = logs.query().filter_text("Level eq 'error'").parallel(2).range_filters().await?;
    /// let texts: Vec<_> = ranges.iter().flatten().map(|filter| filter.to_string()).collect();
    /// assert_eq!(texts[0], "Level eq 'error' and PartitionKey lt '2009-04-20'");
    /// assert_eq!(texts[1], "Level eq 'error' and PartitionKey ge '2009-04-20'");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of the query itself.
    pub async fn range_filters(self) -> Result<Vec<Option<Filter>>, Error> {
        let (query, branches) = checked(self.query.checked(), self.ranges)?;
        let filter = query.filter.as_ref().map(QueryFilter::tree);
        match branches.keys {
            Keys::None => Ok(Vec::new()),
            Keys::Listed(_) => Ok(vec![filter.cloned()]),
            Keys::Unlisted => Ok(ranges::filters(&query.fetcher, filter, self.ranges).await?.0),
        }
    }

    async fn collect(self) -> Result<Results<T>, Error>
    where
        T: Send + 'static,
    {
        // The results hold all pages anyway.
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

/// Checks the settings of a query of `count` ranges, and splits it by the keys that its filter lists.
fn checked<T>(
    query: Result<CheckedQuery<T>, Error>,
    count: usize,
) -> Result<(CheckedQuery<T>, Branches), Error> {
    let query = query?;
    if !(1..=MAX_RANGES).contains(&count) {
        return Err(Error::invalid_input(format!(
            "the number of ranges is {count}; 1 to {MAX_RANGES} are allowed"
        )));
    }
    if query.start.is_some() {
        return Err(Error::invalid_input("a parallel query cannot start at a continuation"));
    }
    let branches = Branches::of(&query.fetcher.core, query.filter.clone())?;
    Ok((query, branches))
}

/// Returns the pages: in key order if `ahead` limits the buffer of each range, otherwise in order of arrival.
fn pages<T: Send + 'static>(
    query: Result<CheckedQuery<T>, Error>,
    ranges: usize,
    ahead: Option<usize>,
) -> impl Stream<Item = Result<Page<T>, Error>> + Send {
    let begin = stream::once(Ranges::begin(query, ranges, ahead));
    begin.map_ok(Ranges::into_stream).try_flatten()
}

/// The number of a range, its other pages, and the page that was read; `None` after the last page.
type RangePage<T> = (usize, Pages<T>, Option<Result<Page<T>, Error>>);

/// The ranges of a query. Each has a request in flight unless its buffer is full.
struct Ranges<T> {
    in_flight: FuturesUnordered<Pin<Box<dyn Future<Output = RangePage<T>> + Send>>>,
    /// The buffers of the ranges in key order, from the one that is read.
    buffers: VecDeque<RangeBuffer<T>>,
    /// The number of the first range in `buffers`.
    first: usize,
    /// The number of pages that are buffered for each later range; `None` for the order of arrival.
    ahead: Option<usize>,
    /// The number of rows left to take.
    left: Option<u64>,
    /// The cost of finding the ranges, for the first page.
    cost: QueryCost,
}

/// The pages that were read of a range and not returned yet.
struct RangeBuffer<T> {
    /// Only the last page may be an error, which is returned after the pages before it.
    pages: VecDeque<Result<Page<T>, Error>>,
    /// The other pages, if the buffer is full.
    rest: Option<Pages<T>>,
    is_over: bool,
}

impl<T: Send + 'static> Ranges<T> {
    async fn begin(
        query: Result<CheckedQuery<T>, Error>,
        count: usize,
        ahead: Option<usize>,
    ) -> Result<Self, Error> {
        let (query, branches) = checked(query, count)?;
        let CheckedQuery { fetcher, filter, take, row_limit, start: _ } = query;
        let of = |filter| {
            let (fetcher, row_limit) = (fetcher.clone(), row_limit.clone());
            CheckedQuery { fetcher, filter, take, row_limit, start: None }
        };
        let (ranges, cost) = match branches.keys {
            Keys::Listed(_) => {
                (vec![Pages::of_branches(of(None), branches, count)?], QueryCost::default())
            }
            Keys::Unlisted if take != Some(0) => {
                let filter = filter.as_ref().map(QueryFilter::tree);
                let (filters, cost) = ranges::filters(&fetcher, filter, count).await?;
                let of_range =
                    |filter: Option<Filter>| Pages::new(Ok(of(filter.map(QueryFilter::from))));
                (filters.into_iter().map(of_range).collect(), cost)
            }
            Keys::Unlisted | Keys::None => Default::default(),
        };
        let in_flight = FuturesUnordered::new();
        let mut buffers = VecDeque::new();
        for (at, pages) in ranges.into_iter().enumerate() {
            in_flight.push(fetch(at, pages));
            buffers.push_back(RangeBuffer { pages: VecDeque::new(), rest: None, is_over: false });
        }
        Ok(Self { in_flight, buffers, first: 0, ahead, left: take, cost })
    }

    /// The pages, which end after the first error.
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
            None => self.next_unordered().await?,
        };
        if let Ok(page) = &mut page {
            page.take_from(&mut self.left);
            page.cost += std::mem::take(&mut self.cost);
        }
        Some(page)
    }

    async fn next_unordered(&mut self) -> Option<Result<Page<T>, Error>> {
        while let Some((at, pages, page)) = self.in_flight.next().await {
            if let Some(page) = page {
                self.in_flight.push(fetch(at, pages));
                return Some(page);
            }
        }
        None
    }

    async fn next_in_order(&mut self, ahead: usize) -> Option<Result<Page<T>, Error>> {
        loop {
            let first = self.buffers.front_mut()?;
            if let Some(rest) = first.rest.take() {
                self.in_flight.push(fetch(self.first, rest));
            }
            if let Some(page) = first.pages.pop_front() {
                return Some(page);
            }
            if first.is_over {
                self.buffers.pop_front();
                self.first += 1;
                continue;
            }
            let (at, pages, page) = self.in_flight.next().await?;
            let Some(range) = self.buffers.get_mut(at - self.first) else { continue };
            match page {
                None => range.is_over = true,
                Some(Err(error)) => {
                    range.pages.push_back(Err(error));
                    range.is_over = true;
                }
                Some(Ok(page)) => {
                    range.pages.push_back(Ok(page));
                    if range.pages.len() < ahead {
                        self.in_flight.push(fetch(at, pages));
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
) -> Pin<Box<dyn Future<Output = RangePage<T>> + Send>> {
    Box::pin(async move {
        let page = pages.next().await;
        (at, pages, page)
    })
}
