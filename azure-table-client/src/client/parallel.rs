//! A query that is read in several key ranges concurrently.

use std::pin::pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _};

use super::query::Query;
use super::setters::awaited;
use crate::entity::ReadRow;
use crate::error::Error;
use crate::filter::{Filter, QueryFilter};
use crate::query::{
    CONCURRENCY, CheckedQuery, EntityStream, Page, Pages, QueriedKeys, QueryRun, ReadMode, Results,
    Sources, range_filters,
};

/// The number of pages that an ordered stream buffers for each later range.
const AHEAD: usize = 4;
/// The limit on the concurrency. Each range has a request in flight.
const MAX_CONCURRENCY: usize = 256;

/// A query that is read in several key ranges concurrently.
///
/// If the filter states one partition, its rows are split by RowKey; otherwise the partitions are split by
/// PartitionKey. Queries for single keys find the starts of the ranges first: about twenty queries for two
/// ranges and several hundred for 256, which is worthwhile only for large tables. If keys are spread
/// unevenly, so are the ranges. A list that is too long for one request is split in every range; each range
/// omits the keys outside it.
///
/// A filter that lists keys is not split into ranges: its point reads, or its queries of one partition each, are sent
/// with up to `concurrency` requests in flight, and their rows are in key order.
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
    concurrency: usize,
    is_ordered: bool,
}

impl<E, T> Query<E, T> {
    /// Splits the keys of the query into up to `concurrency` ranges, 1 to 256, which are read at the same time. Use it for
    /// large tables, since finding the ranges costs queries; see [`Parallel`].
    pub fn parallel(self, concurrency: usize) -> Parallel<E, T> {
        Parallel { query: self, concurrency, is_ordered: true }
    }
}

impl<E, T> Parallel<E, T> {
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
        EntityStream::new(pages(self.query.checked(), self.concurrency, ahead))
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
        let mut pages = pin!(pages(self.query.keys_only().checked(), self.concurrency, None));
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
        let (query, sources) = checked(self.query.checked().0, self.concurrency)?;
        let filter = query.filter.as_ref().map(QueryFilter::tree);
        match sources.keys {
            QueriedKeys::None => Ok(Vec::new()),
            QueriedKeys::Listed(_) => Ok(vec![filter.cloned()]),
            QueriedKeys::Unlisted => {
                Ok(range_filters(&query.fetcher, filter, self.concurrency).await?.0)
            }
        }
    }

    async fn collect(self) -> Result<Results<T>, Error>
    where
        T: Send + 'static,
    {
        // The results hold all pages anyway.
        let ahead = self.is_ordered.then_some(usize::MAX);
        let (query, reader) = self.query.checked();
        let run = begin(query, self.concurrency, ahead).await;
        Pages::new(run, reader).collect().await
    }
}

awaited!(
    'static [E: Send + 'static, T: Send + 'static] Parallel<E, T> => Result<Results<T>, Error>,
    |query| query.collect()
);

opaque_debug!(<E, T> Parallel<E, T>, |it| query: it.query, concurrency: it.concurrency);

/// Checks the settings of a query, and splits it by the keys that its filter lists.
fn checked(
    query: Result<CheckedQuery, Error>,
    concurrency: usize,
) -> Result<(CheckedQuery, Sources), Error> {
    let query = query?;
    if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
        return Err(Error::invalid_input(format!(
            "the concurrency of the query is {concurrency}; 1 to {MAX_CONCURRENCY} are allowed"
        )));
    }
    if query.start.is_some() {
        return Err(Error::invalid_input("a parallel query cannot start at a continuation"));
    }
    let sources = Sources::of(&query.fetcher.core, query.filter.clone())?;
    Ok((query, sources))
}

/// Returns the pages: in key order if `ahead` limits the buffer of each range, otherwise in order of arrival.
fn pages<T: Send + 'static>(
    (query, reader): (Result<CheckedQuery, Error>, Arc<dyn ReadRow<T>>),
    concurrency: usize,
    ahead: Option<usize>,
) -> impl Stream<Item = Result<Page<T>, Error>> + Send {
    let begin = begin(query, concurrency, ahead);
    stream::once(begin.map(|run| Pages::new(run, reader).into_stream())).flatten()
}

/// Finds the ranges of a query, and reads them.
async fn begin(
    query: Result<CheckedQuery, Error>,
    concurrency: usize,
    ahead: Option<usize>,
) -> Result<QueryRun, Error> {
    let (query, mut sources) = checked(query, concurrency)?;
    if sources.keys != QueriedKeys::Unlisted || query.take == Some(0) {
        return QueryRun::new(query, &sources.all, ReadMode::ahead(concurrency));
    }
    let filter = query.filter.as_ref().map(QueryFilter::tree);
    let (filters, cost) = range_filters(&query.fetcher, filter, concurrency).await?;
    sources.all.clear();
    for filter in filters {
        let range = Sources::of(&query.fetcher.core, filter.map(QueryFilter::from))?;
        sources.all.extend(range.all);
    }
    let mode = ReadMode {
        parts: concurrency,
        requests: concurrency * CONCURRENCY,
        pages: ahead.unwrap_or(1),
        in_order: ahead.is_some(),
        keeps_reading: true,
    };
    Ok(QueryRun::new(query, &sources.all, mode)?.with_cost(cost))
}
