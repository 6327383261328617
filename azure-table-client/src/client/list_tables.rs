//! The list of an account's tables.

use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream::{self, TryStreamExt as _};

use super::query::{bad_filter, check_page_size};
use super::setters::{awaited, setters};
use crate::client_core::{ClientCore, QueryLimits};
use crate::error::Error;
use crate::filter::{FilterError, QueryFilter};
use crate::operation::TableNames;
use crate::pipeline::CallOptions;
use crate::query::{CheckedQuery, PageFetcher, Pages, QueryRun, ReadMode, Source, TotalDeadline};
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
    core: Arc<ClientCore>,
    filter: Result<Option<QueryFilter>, FilterError>,
    page_size: Option<u32>,
    limits: QueryLimits,
    options: CallOptions,
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

    /// Returns the names one by one. The stream ends after the first error.
    pub fn stream(self) -> impl Stream<Item = Result<String, Error>> + Send {
        let pages = self.pages().into_stream();
        pages.map_ok(|page| stream::iter(page.into_iter().map(Ok))).try_flatten()
    }

    fn pages(self) -> Pages<String> {
        Pages::new(self.run(), Arc::new(TableNames))
    }

    /// Checks all settings.
    fn run(self) -> Result<QueryRun, Error> {
        check_page_size(self.page_size)?;
        let source = Source::Scan(self.filter.map_err(bad_filter)?);
        let limits = self.limits.or(self.core.settings.limits);
        let fetcher = PageFetcher {
            core: self.core,
            operation: Operation::ListTables,
            table: "Tables".into(),
            select: Vec::new(),
            page_size: self.page_size,
            options: self.options,
            total_deadline: TotalDeadline::new(limits),
            max_rate: None,
        };
        let (max_rows, filter) = (limits.max_rows, None);
        let query = CheckedQuery { fetcher, filter, take: None, max_rows, start: None };
        QueryRun::new(query, &[source], ReadMode::ONE)
    }
}

awaited!(
    'static [] ListTables => Result<Vec<String>, Error>,
    |tables| async { Ok(tables.pages().collect().await?.into_vec()) }
);
