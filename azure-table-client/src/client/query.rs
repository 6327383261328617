use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::pages::{Pages, TableNamePages};
use crate::entity::TableEntity;
use crate::error::Error;
use crate::filter::{Condition, Filter, HasColumns, Plan, PlanKind};
use crate::limits::{SYSTEM_PROPERTIES, check_property_name};
use crate::operation::continuation::Continuation;
use crate::pipeline::{CallOptions, Pipeline, RetryPolicy};

/// How much of a table a query looks at, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryPlan {
    /// How much.
    pub kind: PlanKind,
    /// What in the filter makes it so.
    pub reason: &'static str,
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.reason)
    }
}

/// A query over the entities of one table. `.await` collects all results over all pages;
/// [`stream`](Self::stream) and [`pages`](Self::pages) take them as they come.
///
/// ```
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// # blogs.insert(DynamicEntity::new("Channel9", "1").set("Rating", 3)).await?;
/// let good = blogs
///     .query()
///     .filter_text("PartitionKey eq 'Channel9' and Rating ge 3")
///     .select(["Rating"])
///     .take(10)
///     .await?;
/// assert_eq!(good.len(), 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "a query is sent when it is awaited or its pages are taken"]
pub struct Query<T> {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) table: Arc<str>,
    /// The filter, and its text as it is sent.
    pub(super) filter: Result<Option<(Filter, String)>, Error>,
    pub(super) select: Result<Vec<String>, Error>,
    pub(super) scan_allowed: bool,
    /// What is wrong with the columns of `T`.
    pub(super) fault: Option<Error>,
    pub(super) page_size: Option<u32>,
    pub(super) take: Option<u64>,
    pub(super) start: Option<Continuation>,
    pub(super) options: CallOptions,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> Query<T> {
    pub(super) fn new(pipeline: Arc<Pipeline>, table: Arc<str>, fault: Option<Error>) -> Self {
        Self {
            pipeline,
            table,
            filter: Ok(None),
            select: Ok(Vec::new()),
            scan_allowed: false,
            fault,
            page_size: None,
            take: None,
            start: None,
            options: CallOptions::default(),
            entity: PhantomData,
        }
    }

    /// Only the entities for which this OData filter holds, for example
    /// `PartitionKey eq 'Channel9' and Rating ge 3`. It replaces an earlier one.
    ///
    /// The text is checked when the query is sent; a text that is no filter is an error of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent. Never build the text
    /// from outside input by formatting: a quote in it would end the literal.
    pub fn filter_text(mut self, text: &str) -> Self {
        self.filter = checked_filter(text);
        self
    }

    /// Only these properties travel; PartitionKey, RowKey and Timestamp always do. Fields of `T`
    /// that are left out must be Options or have a default. It replaces an earlier choice.
    ///
    /// The names are checked when the query is sent; one that no property can have is an error of
    /// kind [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent.
    ///
    /// Writing such an entity back by [`replace`](super::TableClient::replace) deletes what was
    /// left out. A property is selected by the name that the row has it under: an alias is one more
    /// name to select. Of an enum of entities, the property that tells the kinds apart travels too.
    pub fn select<S: Into<String>>(mut self, properties: impl IntoIterator<Item = S>) -> Self {
        let system = SYSTEM_PROPERTIES.map(str::to_owned);
        let own = properties.into_iter().map(Into::into);
        let own = own.filter(|name: &String| Some(name.as_str()) != T::DISCRIMINATOR);
        let own = own.chain(T::DISCRIMINATOR.map(str::to_owned));
        let own = own.filter(|name| !system.contains(name)).map(|name| {
            check_property_name(&name)?;
            Ok(name)
        });
        self.select = own.chain(system.clone().map(Ok)).collect();
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

    /// Only the entities for which the condition holds; it replaces an earlier filter.
    ///
    /// A column that is not there, a value of another type or a comparison that the service lacks does
    /// not compile.
    ///
    /// ```
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
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
    /// let good = blogs
    ///     .query()
    ///     .filter(|b| b.channel.eq("Channel9") & (b.rating.ge(3) | b.text.starts_with("Re: ")))
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, condition: impl FnOnce(T::Columns<T>) -> Condition<T>) -> Self
    where
        T: HasColumns,
    {
        self.filter = match condition(T::typed_columns("")).into_filter() {
            Ok(filter) => checked_filter(&filter.to_string()),
            Err(error) => Err(Error::invalid_input("the filter is not valid").with_source(error)),
        };
        self
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
    /// The filter is none.
    pub fn plan(&self) -> Result<QueryPlan, &Error> {
        let filter = self.filter.as_ref()?.as_ref().map(|(filter, _)| filter);
        let plan = Plan::of(filter);
        Ok(QueryPlan { kind: plan.kind(), reason: plan.reason(filter) })
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
        self.filter = checked_filter(&filter.to_string());
        self
    }

    /// The same query with entities of another type.
    pub(super) fn with_entity<U>(self) -> Query<U> {
        Query {
            pipeline: self.pipeline,
            table: self.table,
            filter: self.filter,
            select: self.select,
            scan_allowed: self.scan_allowed,
            fault: self.fault,
            page_size: self.page_size,
            take: self.take,
            start: self.start,
            options: self.options,
            entity: PhantomData,
        }
    }

    /// The time for one page, all its attempts and waits included. There is no bound on the whole
    /// query but the one that its reader sets, for example by `tokio::time::timeout`.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// When and how often the request of a page is tried again, instead of the client's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = Some(policy);
        self
    }

    /// The id that the service logs with each page (`x-ms-client-request-id`), at most 1,024
    /// visible ASCII characters. Without it, each page has a random UUID.
    pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
        self.options.client_request_id = Some(id.into());
        self
    }

    /// The results page by page.
    pub fn pages(self) -> Pages<T> {
        Pages::new(self)
    }

    /// The results one by one; the next page is asked for when the last one is used up. The
    /// stream ends after the first error.
    pub fn stream(self) -> impl Stream<Item = Result<T, Error>> + Send
    where
        T: Send + 'static,
    {
        self.pages().into_entities()
    }
}

impl<T: TableEntity + Send + 'static> IntoFuture for Query<T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.pages().collect())
    }
}

impl<T> fmt::Debug for Query<T> {
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

fn checked_filter(text: &str) -> Result<Option<(Filter, String)>, Error> {
    match Filter::parse(text) {
        Ok(filter) => Ok(Some((filter, text.to_owned()))),
        Err(error) => Err(Error::invalid_input("the filter is not valid").with_source(error)),
    }
}

/// The tables of an account. `.await` collects all names over all pages.
#[must_use = "a query is sent when it is awaited or its pages are taken"]
#[derive(Debug)]
pub struct ListTables {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) filter: Result<Option<String>, Error>,
    pub(super) page_size: Option<u32>,
    pub(super) options: CallOptions,
}

impl ListTables {
    pub(super) fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, filter: Ok(None), page_size: None, options: CallOptions::default() }
    }

    /// Only the tables for which this OData filter over `TableName` holds, for example
    /// `TableName ge 'Blogs' and TableName lt 'Blogt'`. It replaces an earlier one.
    pub fn filter_text(mut self, text: &str) -> Self {
        self.filter = checked_filter(text).map(|filter| filter.map(|(_, text)| text));
        self
    }

    /// At most this many tables a page (`$top`), 1 to 1,000.
    pub fn page_size(mut self, tables: u32) -> Self {
        self.page_size = Some(tables);
        self
    }

    /// The time for one page, all its attempts and waits included. There is no bound on the whole
    /// list but the one that its reader sets, for example by `tokio::time::timeout`.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// When and how often the request of a page is tried again, instead of the client's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = Some(policy);
        self
    }

    /// The id that the service logs with each page (`x-ms-client-request-id`), at most 1,024
    /// visible ASCII characters. Without it, each page has a random UUID.
    pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
        self.options.client_request_id = Some(id.into());
        self
    }

    /// The names page by page.
    pub fn pages(self) -> TableNamePages {
        TableNamePages::new(self)
    }

    /// The names one by one. The stream ends after the first error.
    pub fn stream(self) -> impl Stream<Item = Result<String, Error>> + Send {
        self.pages().into_names()
    }
}

impl IntoFuture for ListTables {
    type Output = Result<Vec<String>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.pages().collect())
    }
}
