//! The list of an account's tables.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream::{self, TryStreamExt as _};

use super::query::{bad_filter, check_page_size};
use super::query_limits::{RowLimit, TotalDeadline};
use super::setters::setters;
use crate::client_core::{ClientCore, QueryLimits};
use crate::error::Error;
use crate::filter::{FilterError, QueryFilter};
use crate::operation::cursor::Cursor;
use crate::operation::page_token::TableToken;
use crate::operation::table;
use crate::pipeline::{CallOptions, CallTrace};
use crate::wire::Operation;

/// The list of an account's tables. `.await` collects the names of all pages.
///
/// # Errors
/// Before anything is sent, of kind [`InvalidInput`](crate::ErrorKind::InvalidInput): an invalid filter,
/// or a page size out of bounds.
///
/// REST: [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables), `GET`, one
/// request a page. Retries: [read](crate::guide::errors#retry-classes), each page by itself.
#[must_use = "a query is sent when it is awaited or its pages are read"]
#[derive(Debug)]
pub struct ListTables {
    pub(super) core: Arc<ClientCore>,
    filter: Result<Option<QueryFilter>, FilterError>,
    pub(super) page_size: Option<u32>,
    limits: QueryLimits,
    pub(super) options: CallOptions,
}

impl ListTables {
    pub(super) fn new(core: Arc<ClientCore>) -> Self {
        let (limits, options) = (QueryLimits::default(), CallOptions::default());
        Self { core, filter: Ok(None), page_size: None, limits, options }
    }

    /// Returns only the tables that match this OData filter on `TableName`, for example
    /// `TableName ge 'Blogs' and TableName lt 'Blogt'`. All filters must match.
    pub fn filter_text(mut self, text: &str) -> Self {
        self.filter = QueryFilter::add(self.filter, QueryFilter::parse(text));
        self
    }

    /// Limits the tables of a page (`$top`) to 1 to 1,000.
    pub fn page_size(mut self, tables: u32) -> Self {
        self.page_size = Some(tables);
        self
    }

    setters! { options:
        deadline "each page (see `total_deadline` for the whole list)", retry,
        client_request_id, format
    }

    setters! { limits: total_deadline "list", max_rows "tables", }

    /// Returns the names page by page.
    pub fn pages(self) -> TableNamePages {
        TableNamePages::new(self)
    }

    /// Returns the names one by one. The stream ends after the first error.
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

/// The pages of the list of tables, one request each.
pub struct TableNamePages {
    core: Arc<ClientCore>,
    filter: Option<String>,
    page_size: Option<u32>,
    /// It changes once a page has arrived, so that dropping a future loses no names.
    cursor: Cursor<TableToken>,
    options: CallOptions,
    total_deadline: TotalDeadline,
    row_limit: RowLimit,
    failure: Option<Error>,
}

impl TableNamePages {
    pub(super) fn new(list: ListTables) -> Self {
        let filter = list.filter.map_err(bad_filter);
        let (filter, failure) = match check_page_size(list.page_size).and(filter) {
            Ok(filter) => (filter.map(QueryFilter::into_text), None),
            Err(error) => (None, Some(error)),
        };
        let limits = list.limits.or(list.core.settings.limits);
        Self {
            core: list.core,
            filter,
            page_size: list.page_size,
            cursor: Cursor::start(),
            options: list.options,
            total_deadline: TotalDeadline::new(limits),
            row_limit: RowLimit::new(limits, None),
            failure,
        }
    }

    /// Reads the next page; returns `None` after the last page and after an error. Dropping the future
    /// loses no names.
    ///
    /// # Errors
    /// The errors of [`ListTables`].
    pub async fn next(&mut self) -> Option<Result<Vec<String>, Error>> {
        if let Some(error) = self.failure.take() {
            self.cursor.advance(None);
            return Some(Err(error));
        }
        if self.cursor.is_over() {
            return None;
        }
        let core = Arc::clone(&self.core);
        let trace = core.trace(Operation::ListTables, "");
        let work = async { self.next_of(&trace).await.transpose() };
        trace.run(work).await.transpose()
    }

    /// Reads the next page as a part of the call that `trace` belongs to.
    async fn next_of(&mut self, trace: &CallTrace<'_>) -> Option<Result<Vec<String>, Error>> {
        if self.cursor.is_over() {
            return None;
        }
        let page = self.fetch(trace).await;
        let (next, names) = match page {
            Ok((names, next)) => (next, Ok(names)),
            Err(error) => (None, Err(error)),
        };
        self.cursor.advance(next);
        Some(names)
    }

    async fn fetch(
        &self,
        trace: &CallTrace<'_>,
    ) -> Result<(Vec<String>, Option<TableToken>), Error> {
        let request = table::list(self.filter.as_deref(), self.page_size, self.cursor.token());
        let named = |error: Error| error.with_operation(request.operation, &request.resource);
        let options = self.total_deadline.options(&self.options, &self.core).map_err(named)?;
        let dialect = self.core.protocol.dialect();
        let read = |reply| table::names(reply, &request, &self.cursor, dialect);
        let (names, next) = self.core.read(&request, &options, trace, read).await?;
        self.row_limit.add(names.len()).map_err(named)?;
        trace.page(names.len());
        Ok((names, next))
    }

    pub(super) async fn collect(mut self) -> Result<Vec<String>, Error> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let core = Arc::clone(&self.core);
        let trace = core.trace(Operation::ListTables, "");
        let work = async {
            let mut names = Vec::new();
            while let Some(page) = self.next_of(&trace).await {
                names.append(&mut page?);
            }
            Ok(names)
        };
        trace.run(work).await
    }

    pub(super) fn into_names(self) -> impl Stream<Item = Result<String, Error>> + Send {
        stream::unfold(self, |mut pages| async {
            let page = pages.next().await?;
            Some((page, pages))
        })
        .map_ok(|names| stream::iter(names.into_iter().map(Ok)))
        .try_flatten()
    }
}

impl fmt::Debug for TableNamePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableNamePages").field("filter", &self.filter).finish_non_exhaustive()
    }
}
