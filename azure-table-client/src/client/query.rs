use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use tracing::warn;

use super::pages::Pages;
use super::parallel::Parallel;
use super::results::Results;
use super::setters::setters;
use super::source::{self, Source, Start};
use super::stream::EntityStream;
use crate::entity::{Entities, Lenient, ReadRow, Readable, TableEntity};
use crate::error::Error;
use crate::filter::{
    Condition, Filter, FilterError, HasColumns, Plan, PlanKind, Projected, Projection, ProjectionOf,
};
use crate::limits::{PAGE_ENTITIES, SYSTEM_PROPERTIES, check_property_name};
use crate::operation::continuation::Continuation;
use crate::operation::query::ScanPolicy;
use crate::pipeline::{CallOptions, Pipeline};

/// How much of a table a query looks at, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryPlan {
    /// How much.
    pub kind: PlanKind,
    /// What in the filter makes it so.
    pub reason: &'static str,
    /// In how many queries a list that is too long for one is asked for.
    pub queries: usize,
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.reason)?;
        if self.queries > 1 {
            write!(f, ", in {} queries", self.queries)?;
        }
        Ok(())
    }
}

/// A query over the entities `E` of one table, that reads a `T` of each: the entity, or what
/// [`select`](Self::select) takes of it.
///
/// `.await` collects all results over all pages; [`stream`](Self::stream) and
/// [`pages`](Self::pages) take them as they come, in the order of their keys (in no order from
/// [Cosmos DB](crate::Dialect)). What states both keys and nothing else is asked for as a single entity.
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
/// // Only what is asked for travels.
/// let texts = blogs.query().select(|b| (b.id, b.text)).await?;
/// assert_eq!(texts[0], (1, "Hello".to_owned()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// 404 `TableNotFound`; an error of kind [`Decode`](crate::ErrorKind::Decode) if a row does not fit. Before
/// anything is sent, of kind [`InvalidInput`](crate::ErrorKind::InvalidInput): a text that is no filter, a
/// page size out of bounds, a scan that the client [refuses](super::ScanPolicy::Refuse).
///
/// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`, one
/// request a page. Retries: [read](crate::guide::errors#which-calls-are-tried-again), each page by itself.
#[must_use = "a query is sent when it is awaited or its pages are taken"]
pub struct Query<E, T = E> {
    pipeline: Arc<Pipeline>,
    table: Arc<str>,
    /// The filter, and its text as it is sent.
    filter: Result<Option<(Filter, String)>, FilterError>,
    select: Result<Vec<String>, Error>,
    reader: Arc<dyn ReadRow<T>>,
    scan_allowed: bool,
    /// What is wrong with the columns of `E`.
    fault: Option<Error>,
    page_size: Option<u32>,
    take: Option<u64>,
    start: Option<Continuation>,
    options: CallOptions,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Query<E> {
    pub(crate) fn new(pipeline: Arc<Pipeline>, table: Arc<str>, fault: Option<Error>) -> Self {
        Self {
            pipeline,
            table,
            filter: Ok(None),
            select: Ok(Vec::new()),
            reader: Arc::new(Entities),
            scan_allowed: false,
            fault,
            page_size: None,
            take: None,
            start: None,
            options: CallOptions::default(),
            entity: PhantomData,
        }
    }

    /// Only the properties of these names travel; PartitionKey, RowKey and Timestamp always do. Fields
    /// of `E` that are left out must be Options or have a default. It replaces an earlier choice.
    ///
    /// The names are checked when the query is sent; one that no property can have is an error of
    /// kind [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent.
    ///
    /// Writing such an entity back by [`replace`](super::TableClient::replace) deletes what was
    /// left out. A property is selected by the name that the row has it under: an alias is one more
    /// name to select. Of an enum of entities, the property that tells the kinds apart travels too.
    pub fn select_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let system = SYSTEM_PROPERTIES.map(str::to_owned);
        let own = names.into_iter().map(Into::into);
        let own = own.filter(|name: &String| Some(name.as_str()) != E::DISCRIMINATOR);
        let own = own.chain(E::DISCRIMINATOR.map(str::to_owned));
        let own = own.filter(|name| !system.contains(name)).map(|name| {
            check_property_name(&name)?;
            Ok(name)
        });
        self.select = own.chain(system.clone().map(Ok)).collect();
        self
    }
}

impl<E, T> Query<E, T> {
    /// Only these columns travel, and each result is their values: `|b| b.text` reads texts, and
    /// `|b| (b.text, b.rating)` pairs. It replaces an earlier choice.
    ///
    /// A key is read as its part, or as the tuple of its parts. A property is read as the entity
    /// reads it, policies and defaults included; what it would collect is an error. A tuple has up
    /// to ten columns, and can have tuples in it. Errors about a row name it only if its keys are
    /// selected. Of an enum of entities, a column is read of all kinds that have such a property.
    ///
    /// # Errors
    /// Selecting a property twice is one of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), when
    /// the query is sent.
    pub fn select<P: Projection<E>>(
        self,
        columns: impl FnOnce(E::Columns<E>) -> P,
    ) -> Query<E, P::Output>
    where
        E: HasColumns + 'static,
    {
        self.project(columns(E::typed_columns("")))
    }

    /// Only the columns of `S` travel, and each result is an `S`; `#[derive(Projection)]` makes one.
    ///
    /// ```
    /// use azure_table_client::filter::Projection;
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Blogs")]
    /// # struct Blog {
    /// #     #[table(partition_key)]
    /// #     channel: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     text: String,
    /// #     rating: Option<i32>,
    /// # }
    ///
    /// #[derive(Projection)]
    /// #[table(of = "Blog")]
    /// struct Summary {
    ///     id: u32,
    ///     rating: Option<i32>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let blogs = MockTableService::new().client().table::<Blog>();
    /// # blogs.create().await?;
    /// # let blog = Blog { channel: "Channel9".into(), id: 1, text: "Hello".into(), rating: Some(3) };
    /// # blogs.insert(&blog).await?;
    /// let summaries = blogs.query().filter(|b| b.rating.ge(3)).select_as::<Summary>().await?;
    /// assert_eq!((summaries[0].id, summaries[0].rating), (1, Some(3)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn select_as<S: ProjectionOf<E, Columns = E::Columns<E>>>(self) -> Query<E, S>
    where
        E: HasColumns + 'static,
    {
        self.project(S::projection(E::typed_columns("")))
    }

    /// The same query, of which `projection` reads the rows.
    pub(crate) fn project<P: Projection<E>>(self, projection: P) -> Query<E, P::Output>
    where
        E: 'static,
    {
        let projected = Projected::new(projection);
        let selection = projected.selection();
        let select = selection.check().map(|()| selection.names().map(str::to_owned).collect());
        self.reading(Arc::new(projected), select.map_err(Error::from))
    }

    /// The same query, of which rows are read without a struct, as far as they can be.
    pub(crate) fn into_dynamic(mut self) -> Query<E, Readable> {
        let select = std::mem::replace(&mut self.select, Ok(Vec::new()));
        self.reading(Arc::new(Lenient), select)
    }

    fn reading<U>(
        self,
        reader: Arc<dyn ReadRow<U>>,
        select: Result<Vec<String>, Error>,
    ) -> Query<E, U> {
        Query {
            pipeline: self.pipeline,
            table: self.table,
            filter: self.filter,
            select,
            reader,
            scan_allowed: self.scan_allowed,
            fault: self.fault,
            page_size: self.page_size,
            take: self.take,
            start: self.start,
            options: self.options,
            entity: PhantomData,
        }
    }

    /// Only the entities for which the condition holds; it replaces an earlier filter.
    ///
    /// A column that is not there, a value of another type or a comparison that the service lacks does
    /// not compile.
    pub fn filter(mut self, condition: impl FnOnce(E::Columns<E>) -> Condition<E>) -> Self
    where
        E: HasColumns,
    {
        let filter = condition(E::typed_columns("")).into_filter();
        self.filter = filter.and_then(|filter| checked(&filter.to_string()));
        self
    }

    /// Only the entities for which this OData filter holds, for example
    /// `PartitionKey eq 'Channel9' and Rating ge 3`. It replaces an earlier one.
    ///
    /// The text is checked when the query is sent; a text that is no filter is an error of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent. Never build the text
    /// from outside input by formatting: a quote in it would end the literal.
    pub fn filter_text(mut self, text: &str) -> Self {
        self.filter = checked(text);
        self
    }

    /// Only the entities for which this filter holds; it replaces an earlier one.
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
    pub fn matching(mut self, filter: &Filter) -> Self {
        self.filter = checked(&filter.to_string());
        self
    }

    /// At most this many entities a page (`$top`), 1 to 1,000; the service's own limit is 1,000.
    pub fn page_size(mut self, entities: u32) -> Self {
        self.page_size = Some(entities);
        self
    }

    /// At most this many entities in all, over as many pages as it takes.
    pub fn take(mut self, entities: u64) -> Self {
        self.take = Some(entities);
        self
    }

    pub(crate) fn take_at_most(self, entities: u64) -> Self {
        let limit = self.take.map_or(entities, |take| take.min(entities));
        self.take(limit)
    }

    /// All settings of the call at once.
    pub(crate) fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    pub(crate) fn table(&self) -> Arc<str> {
        Arc::clone(&self.table)
    }

    /// How much of the table the service must look at for this query, and why.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, filter::PlanKind, mock::MockTableService};
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// let query = blogs.query().filter_text("RowKey eq '1'");
    /// let plan = query.plan().unwrap();
    /// assert_eq!(plan.kind, PlanKind::TableScan);
    /// println!("{plan}"); // table scan: the filter bounds the RowKey and not the PartitionKey …
    /// ```
    ///
    /// # Errors
    /// The text is no filter, or its lists would take too many queries.
    pub fn plan(&self) -> Result<QueryPlan, Error> {
        let filter = self.filter.as_ref().map_err(|error| bad_filter(error.clone()))?.as_ref();
        let queries = match filter {
            Some(filter) => source::split(&self.pipeline, filter)?.map_or(1, |s| s.filters.len()),
            None => 1,
        };
        let filter = filter.map(|(filter, _)| filter);
        let plan = Plan::of(filter);
        Ok(QueryPlan { kind: plan.kind(), reason: plan.reason(filter), queries })
    }

    /// Sends this query although it looks at the whole table and the client
    /// [refuses](super::ScanPolicy::Refuse) or warns of such.
    pub fn allow_scan(mut self) -> Self {
        self.scan_allowed = true;
        self
    }

    /// Begins where an earlier page of the same query ended.
    pub fn start_at(mut self, continuation: Continuation) -> Self {
        self.start = Some(continuation);
        self
    }

    setters! { options:
        deadline "each page (not of the whole query, which `tokio::time::timeout` can limit)", retry,
        client_request_id, format
    }

    /// Splits the keys that the filter leaves into up to `ranges` ranges, which are read at the same
    /// time; see [`Parallel`].
    pub fn parallel(self, ranges: usize) -> Parallel<E, T> {
        Parallel::new(self, ranges)
    }

    /// The results page by page.
    pub fn pages(self) -> Pages<T> {
        Pages::new(self.checked())
    }

    /// The results one by one, in order. The next page is asked for when half of the last one is used
    /// up, so that it is there when it is needed; two pages are in memory at most, or one of each request
    /// where those of several are merged (see [`Pages`]). The stream ends after the first error.
    pub fn stream(self) -> EntityStream<T>
    where
        T: Send + 'static,
    {
        EntityStream::of(self.pages().into_stream())
    }

    /// What is sent, once all that can be wrong with it is found to be right.
    pub(super) fn checked(mut self) -> Result<Start<T>, Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        check_page_size(self.page_size)?;
        self.check_scan()?;
        let source = Source {
            pipeline: self.pipeline,
            table: self.table,
            select: self.select?,
            reader: self.reader,
            page_size: self.page_size,
            options: self.options,
        };
        Ok(Start {
            source,
            filter: self.filter.map_err(bad_filter)?,
            take: self.take,
            at: self.start,
        })
    }

    /// Warns of a query that looks at the whole table, or refuses it.
    fn check_scan(&self) -> Result<(), Error> {
        if self.scan_allowed || self.pipeline.scans == ScanPolicy::Allow {
            return Ok(());
        }
        // A filter that is none is reported by itself.
        let Ok(filter) = &self.filter else { return Ok(()) };
        let filter = filter.as_ref().map(|(filter, _)| filter);
        let plan = Plan::of(filter);
        if plan.kind() != PlanKind::TableScan {
            return Ok(());
        }
        let (table, reason) = (&*self.table, plan.reason(filter));
        if self.pipeline.scans == ScanPolicy::Refuse {
            return Err(Error::invalid_input(format!(
                "the query looks at the whole table {table}, since {reason}; `allow_scan` sends it",
            )));
        }
        warn!(table, reason, "a query looks at the whole table");
        Ok(())
    }
}

impl<E, T: Send + 'static> IntoFuture for Query<E, T> {
    type Output = Result<Results<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.pages().collect())
    }
}

impl<E, T> fmt::Debug for Query<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("table", &self.table)
            .field("filter", &self.filter)
            .field("select", &self.select)
            .field("page_size", &self.page_size)
            .field("take", &self.take)
            .finish_non_exhaustive()
    }
}

pub(super) fn check_page_size(page_size: Option<u32>) -> Result<(), Error> {
    match page_size {
        Some(size) if size == 0 || size > PAGE_ENTITIES => Err(Error::invalid_input(format!(
            "the page size is {size}; 1 to {PAGE_ENTITIES} are allowed"
        ))),
        _ => Ok(()),
    }
}

fn checked(text: &str) -> Result<Option<(Filter, String)>, FilterError> {
    Filter::parse(text).map(|filter| Some((filter, text.to_owned())))
}

pub(super) fn bad_filter(error: FilterError) -> Error {
    Error::invalid_input(format!("the filter is not valid: {error}")).with_source(error)
}
