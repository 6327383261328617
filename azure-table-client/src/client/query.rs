mod order;
mod plan;
mod select;
mod settings;
mod terminal;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::setters::{awaited, setters};
use crate::client_core::{ClientCore, QueryLimits};
use crate::entity::{Entities, ReadRow, TableEntity};
use crate::error::Error;
use crate::filter::{Condition, Filter, FilterError, HasColumns, IntoCondition, QueryFilter};
use crate::pipeline::CallOptions;
use crate::query::{CheckedQuery, Continuation, EntityStream, Page, Pages, QueryRun, Results};

pub use plan::QueryPlan;
use settings::QuerySettings;
pub(super) use settings::{bad_filter, check_page_size};

/// A query over the entities `E` of one table. It returns a `T` for each: the entity, or the columns of
/// [`select`](Self::select).
///
/// `.await` collects the results of all pages: use it for results that fit in memory. [`stream`](Self::stream),
/// [`pages`](Self::pages) and [`page`](Self::page) read them step by step. The results are in key order (in no order from
/// [Cosmos DB](crate::Dialect)). The guide compares the [ways to read](crate::guide::queries#pages). A filter that states both keys and has no other condition is sent as the
/// request for a single entity. A filter that lists keys is sent as several such requests, or as one query per
/// partition; see [`Pages`]. A filter that no key can meet, such as `is_in` of an empty list, has no results, and no
/// request is sent.
///
/// All filters of a query must match: each call of [`filter`](Self::filter), [`filter_opt`](Self::filter_opt),
/// [`filter_text`](Self::filter_text), [`matching`](Self::matching) and [`partition`](Self::partition) adds one with
/// `and`, and none replaces another.
///
/// ```
/// use azure_table_client::TableEntity;
/// # use azure_table_client::mock::MockTableService;
///
/// #[derive(TableEntity)]
/// #[table(name = "Blogs", rename_all = "PascalCase")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
///     text: String,
///     rating: Option<i32>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table::<Blog>();
/// # blogs.create().await?;
/// # let blog = Blog { channel: "Channel9".into(), id: 1, text: "Hello".into(), rating: Some(3) };
/// # blogs.insert(&blog).await?;
/// let good = blogs
///     .query()
///     .filter(|b| b.channel.eq("Channel9") & (b.rating.ge(3) | b.text.starts_with("Re: ")))
///     .take(100)
///     .await?;
/// assert_eq!((good.len(), good.cost.requests), (1, 1));
///
/// // Only the selected columns are transferred.
/// let texts = blogs.query().select(|b| (b.id, b.text)).await?;
/// assert_eq!(texts[0], (1, "Hello".to_owned()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// 404 `TableNotFound`; an error of kind [`Decode`](crate::ErrorKind::Decode) if a row does not match `E`.
/// Before anything is sent, of kind [`InvalidInput`](crate::ErrorKind::InvalidInput): an invalid filter, a
/// page size out of bounds, a table scan that the client [refuses](super::ScanPolicy::Refuse).
///
/// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`, one
/// request a page. Retries: [read](crate::guide::errors#retry-classes), each page by itself.
#[doc(alias("TableQuery", "IQueryable", "LINQ"))]
#[must_use = "a query is sent when it is awaited or its pages are read"]
pub struct Query<E, T = E> {
    settings: QuerySettings,
    reader: Arc<dyn ReadRow<T>>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Query<E> {
    pub(crate) fn new(core: Arc<ClientCore>, table: Arc<str>, fault: Option<Error>) -> Self {
        let settings = QuerySettings {
            core,
            table,
            filter: Ok(None),
            select: Ok(Vec::new()),
            is_whole: true,
            scan_allowed: false,
            fault,
            page_size: None,
            take: None,
            limits: QueryLimits::default(),
            max_rate: None,
            start: None,
            options: CallOptions::default(),
        };
        Self { settings, reader: Arc::new(Entities), entity: PhantomData }
    }
}

impl<E, T> Query<E, T> {
    /// Returns only the entities that meet the condition, and all other filters of the query.
    ///
    /// A column that does not exist, a value of another type or a comparison that the service does not
    /// support fails to compile.
    #[doc(alias("where", "Where", "WHERE"))]
    pub fn filter<C>(self, condition: impl FnOnce(E::Columns<E>) -> C) -> Self
    where
        E: HasColumns,
        C: IntoCondition<E>,
    {
        self.filter_opt(Some(condition(E::typed_columns("")).into_condition()))
    }

    /// Returns only the entities that meet the condition, if there is one, and all other filters of the query.
    ///
    /// The columns for such a condition come from `E::columns()`:
    ///
    /// ```
    /// use azure_table_client::client::Query;
    /// use azure_table_client::filter::{Condition, PlanKind};
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{TableClient, TableEntity};
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "Orders", row_key(day, number))]
    /// struct Order {
    ///     #[table(partition_key)]
    ///     customer: String,
    ///     day: u32,
    ///     number: u32,
    ///     total: f64,
    ///     paid: bool,
    ///     city: String,
    /// }
    ///
    /// /// The fields of a search form.
    /// #[derive(Default)]
    /// struct Form {
    ///     min_total: Option<f64>,
    ///     cities: Vec<String>,
    ///     days: Option<(u32, u32)>,
    /// }
    ///
    /// fn search(orders: &TableClient<Order>, customer: &str, form: &Form) -> Query<Order> {
    ///     let order = Order::columns();
    ///     let cities = form.cities.iter().map(|city| order.city.eq(city));
    ///     let cities = (!form.cities.is_empty()).then(|| Condition::any(cities));
    ///     orders
    ///         .query()
    ///         .filter(|o| o.customer.eq(customer) & o.paid)
    ///         .filter_opt(form.min_total.map(|total| order.total.ge(total)))
    ///         .filter_opt(form.days.map(|(first, last)| order.row_key.between((first,), (last,))))
    ///         .filter_opt(cities)
    /// }
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), azure_table_client::Error> {
    ///     let orders = MockTableService::new().client().table::<Order>();
    ///     orders.create().await?;
    ///     let all = search(&orders, "joe", &Form::default());
    ///     assert_eq!(all.plan()?.kind, PlanKind::Partition);
    ///     let form = Form { days: Some((3, 5)), cities: vec!["Milan".into()], ..Form::default() };
    ///     assert_eq!(search(&orders, "joe", &form).plan()?.kind, PlanKind::RowRange);
    ///     Ok(())
    /// }
    /// ```
    pub fn filter_opt(self, condition: Option<Condition<E>>) -> Self {
        match condition {
            Some(condition) => {
                self.add_filter(condition.into_filter().and_then(QueryFilter::checked))
            }
            None => self,
        }
    }

    /// Returns only the entities of one partition that match all other filters of the query.
    ///
    /// The PartitionKey is the stored text, so that this method needs no columns; `T::partition(…)?` formats it.
    pub fn partition(self, partition_key: impl Into<String>) -> Self {
        self.add_filter(Ok(Filter::partition(partition_key).into()))
    }

    /// Returns only the entities that match this OData filter, for example
    /// `PartitionKey eq 'Channel9' and Rating ge 3`, and all other filters of the query. A text cannot change the
    /// meaning of the others, because filters are parsed before they are combined.
    ///
    /// The text is checked when the query is sent; an invalid filter is an error of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent. Never format untrusted input
    /// into the text: a quote in the input would end the literal.
    #[doc(alias("OData", "$filter"))]
    pub fn filter_text(self, text: &str) -> Self {
        self.add_filter(QueryFilter::parse(text))
    }

    /// Returns only the entities that match this filter, and all other filters of the query.
    ///
    /// ```
    /// # use azure_table_client::filter::Filter;
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Channels")]
    /// # struct Channel {
    /// #     #[table(partition_key)]
    /// #     name: String,
    /// #     #[table(row_key)]
    /// #     kind: String,
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let channels = MockTableService::new().client().table::<Channel>();
    /// # channels.create().await?;
    /// let pdc = Channel::partition_prefix("PDC")?;
    /// let channels = channels.query().matching(&Filter::partitions_in(&pdc)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn matching(self, filter: &Filter) -> Self {
        self.add_filter(QueryFilter::checked(filter.clone()))
    }

    fn add_filter(mut self, filter: Result<QueryFilter, FilterError>) -> Self {
        self.settings.filter = QueryFilter::add(self.settings.filter, filter);
        self
    }

    /// Limits the entities of a page (`$top`) to 1 to 1,000; the default is the service's limit of 1,000.
    #[doc(alias("$top", "maxPerPage", "results_per_page"))]
    pub fn page_size(mut self, entities: u32) -> Self {
        self.settings.page_size = Some(entities);
        self
    }

    /// Limits the total number of entities in all pages. Replaces an earlier limit. [`max_rows`](Self::max_rows) makes
    /// more of them an error.
    #[doc(alias("limit", "top"))]
    pub fn take(mut self, entities: u64) -> Self {
        self.settings.take = Some(entities);
        self
    }

    pub(crate) fn take_at_most(self, entities: u64) -> Self {
        let limit = self.settings.take.map_or(entities, |take| take.min(entities));
        self.take(limit)
    }

    /// Replaces all settings of the call.
    pub(crate) fn with_options(mut self, options: CallOptions) -> Self {
        self.settings.options = options;
        self
    }

    pub(super) fn options(&self) -> &CallOptions {
        &self.settings.options
    }

    pub(super) fn core(&self) -> &Arc<ClientCore> {
        &self.settings.core
    }

    pub(crate) fn table(&self) -> Arc<str> {
        Arc::clone(&self.settings.table)
    }

    /// Checks that this query was created by the client `core`, and reads this table.
    pub(crate) fn check_reads(&self, core: &Arc<ClientCore>, table: &str) -> Result<(), Error> {
        self.settings.check_reads(core, table)
    }

    /// Starts after an earlier page of the same query.
    #[doc(alias("continuation", "NextPartitionKey", "TableContinuationToken", "skip"))]
    pub fn start_at(mut self, continuation: Continuation) -> Self {
        self.settings.start = Some(continuation);
        self
    }

    setters! { settings.options:
        deadline "each page or point read (see `total_deadline` for the whole query)", retry,
        client_request_id, format, primary_only
    }

    setters! { settings.limits: total_deadline "query", max_rows "rows", }

    /// Sets the maximum number of rows that the query reads per second, and the time within which it reaches this rate,
    /// like [`Bulk::max_rate`](crate::bulk::Bulk::max_rate).
    ///
    /// A maximum of 0 counts as 1, and the rate grows evenly from a tenth of the maximum. The key ranges of a
    /// [parallel](Self::parallel) query share it. Pages stay whole: each is returned once its rows may have been read, a
    /// page of 1,000 rows after 2 seconds at 500 rows per second; [`page_size`](Self::page_size) makes smaller ones.
    /// These waits are not part of a [deadline](Self::deadline), but of the [total](Self::total_deadline) one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use azure_table_client::{DynamicEntity, bulk::BulkOperation, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// # blogs.create().await?;
    /// # let rows = (0..5_000).map(|n| DynamicEntity::new("Channel9", format!("{n:04}")));
    /// # blogs.bulk().run(rows.map(BulkOperation::Insert)).await?;
    /// let begin = tokio::time::Instant::now();
    /// let rows = blogs.query().partition("Channel9").max_rate(500, Duration::ZERO).await?;
    /// let seconds = begin.elapsed().as_secs();
    /// assert!(rows.len() == 5_000 && (9..=10).contains(&seconds), "{seconds}");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("throttle", "ramp", "rate_limit"))]
    pub fn max_rate(mut self, rows_per_second: u32, ramp: Duration) -> Self {
        self.settings.max_rate = Some((rows_per_second, ramp));
        self
    }

    /// Reads a single page and requests nothing ahead, for example for a list that a user pages through. Its continuation
    /// is the [start](Self::start_at) of the next page. For a loop over the pages, see [`pages`](Self::pages).
    ///
    /// The page has up to [`page_size`](Self::page_size) entities, and may be empty although more pages
    /// follow. Without rows to [`take`](Self::take), it is empty and no request is sent.
    ///
    /// ```
    /// use azure_table_client::client::Continuation;
    /// use azure_table_client::{DynamicEntity, mock::MockTableService};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// for id in ["1", "2", "3"] {
    ///     blogs.insert(&DynamicEntity::new("Channel9", id)).await?;
    /// }
    ///
    /// let page = blogs.query().page_size(2).page().await?;
    /// let link = page.continuation.as_ref().unwrap().to_string();
    /// let ids: Vec<_> = page.into_iter().map(|blog| blog.key().row_key.clone()).collect();
    /// assert_eq!(ids, ["1", "2"]);
    ///
    /// // Later, for example in the request of a web page that follows the link:
    /// let start: Continuation = link.parse()?;
    /// let last = blogs.query().page_size(2).start_at(start).page().await?;
    /// assert_eq!((last.entities.len(), last.continuation), (1, None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of the query itself.
    #[doc(alias("paginate", "ExecuteQuerySegmented"))]
    pub async fn page(self) -> Result<Page<T>, Error>
    where
        T: Send + 'static,
    {
        self.pages().first().await
    }

    /// Returns the results page by page: `while let Some(page) = pages.next().await`. Use it for jobs that store their
    /// position, the continuation of each page, or that act on a page at a time. The first pages of
    /// later queries may be requested ahead (see [`Pages`]); [`page`](Self::page) reads a single page.
    #[doc(alias("paginate", "AsPages", "by_page", "pagination"))]
    pub fn pages(self) -> Pages<T>
    where
        T: Send + 'static,
    {
        Pages::new(self.settings.checked().and_then(QueryRun::of), self.reader)
    }

    /// Returns the results one by one, in order. Use it for results of any size. The next page is requested once half of the last one has
    /// been read. At most two pages are in memory, or one page of each request if several are merged or read
    /// ahead (see [`Pages`]). The stream ends after the first error.
    pub fn stream(self) -> EntityStream<T>
    where
        T: Send + 'static,
    {
        EntityStream::new(self.pages().into_stream())
    }

    /// Checks all settings. Returns the reader of the rows too.
    pub(super) fn checked(self) -> (Result<CheckedQuery, Error>, Arc<dyn ReadRow<T>>) {
        (self.settings.checked(), self.reader)
    }
}

awaited!(
    'static [E, T: Send + 'static] Query<E, T> => Result<Results<T>, Error>,
    |query| query.pages().collect()
);

impl<E, T> Clone for Query<E, T> {
    fn clone(&self) -> Self {
        let Self { settings, reader, entity } = self;
        Self { settings: settings.clone(), reader: Arc::clone(reader), entity: *entity }
    }
}

impl<E, T> fmt::Debug for Query<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("table", &self.settings.table)
            .field("filter", &self.settings.filter)
            .field("select", &self.settings.select)
            .field("page_size", &self.settings.page_size)
            .field("take", &self.settings.take)
            .finish_non_exhaustive()
    }
}
