//! The list of an account's tables.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream::{self, StreamExt as _};

use super::query::{bad_filter, check_page_size};
use super::setters::setters;
use crate::error::Error;
use crate::filter::Filter;
use crate::operation::table;
use crate::pipeline::{CallOptions, CallTrace, Pipeline};
use crate::wire::Operation;

/// The tables of an account. `.await` collects all names over all pages.
///
/// # Errors
/// Before anything is sent, of kind [`InvalidInput`](crate::ErrorKind::InvalidInput): a text that is no filter,
/// or a page size out of bounds.
///
/// REST: [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables), `GET`, one
/// request a page. Retries: [read](crate::guide::errors#which-calls-are-tried-again), each page by itself.
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
        self.filter = Filter::parse(text).map(|_| Some(text.to_owned())).map_err(bad_filter);
        self
    }

    /// At most this many tables a page (`$top`), 1 to 1,000.
    pub fn page_size(mut self, tables: u32) -> Self {
        self.page_size = Some(tables);
        self
    }

    setters! { options:
        deadline "each page (not of the whole list, which `tokio::time::timeout` can limit)", retry,
        client_request_id, format
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

/// What is left to ask for. It changes once a page is there, so that a future that is dropped on the
/// way loses nothing.
#[derive(Clone)]
enum Next {
    /// The page that begins there; `None` is the first one.
    Page(Option<String>),
    Nothing,
}

/// The pages of the list of tables, one request each.
pub struct TableNamePages {
    pipeline: Arc<Pipeline>,
    filter: Option<String>,
    page_size: Option<u32>,
    next: Next,
    options: CallOptions,
    failure: Option<Error>,
}

impl TableNamePages {
    pub(super) fn new(list: ListTables) -> Self {
        let checked = check_page_size(list.page_size).and(list.filter);
        let (filter, failure) = match checked {
            Ok(filter) => (filter, None),
            Err(error) => (None, Some(error)),
        };
        Self {
            pipeline: list.pipeline,
            filter,
            page_size: list.page_size,
            next: Next::Page(None),
            options: list.options,
            failure,
        }
    }

    /// Asks for the next page; `None` after the last one and after an error. A future that is dropped on
    /// its way loses nothing.
    ///
    /// # Errors
    /// As [`ListTables`].
    pub async fn next(&mut self) -> Option<Result<Vec<String>, Error>> {
        if let Some(error) = self.failure.take() {
            self.next = Next::Nothing;
            return Some(Err(error));
        }
        let Next::Page(_) = &self.next else { return None };
        let pipeline = Arc::clone(&self.pipeline);
        let trace = pipeline.trace(Operation::ListTables, "");
        let work = async { self.next_of(&trace).await.transpose() };
        trace.run(work).await.transpose()
    }

    /// The next page as a part of the call that `trace` is of.
    async fn next_of(&mut self, trace: &CallTrace<'_>) -> Option<Result<Vec<String>, Error>> {
        let Next::Page(at) = self.next.clone() else { return None };
        let page = self.fetch(at.as_deref(), trace).await;
        if page.is_err() {
            self.next = Next::Nothing;
        }
        Some(page)
    }

    async fn fetch(
        &mut self,
        at: Option<&str>,
        trace: &CallTrace<'_>,
    ) -> Result<Vec<String>, Error> {
        let request = table::list(self.filter.as_deref(), self.page_size, at);
        let reply = self.pipeline.send(&request, &self.options, trace).await?;
        let (names, next) = table::names(reply, &request)?;
        trace.page(names.len());
        self.next = match next {
            Some(next) => Next::Page(Some(next)),
            None => Next::Nothing,
        };
        Ok(names)
    }

    pub(super) async fn collect(mut self) -> Result<Vec<String>, Error> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let pipeline = Arc::clone(&self.pipeline);
        let trace = pipeline.trace(Operation::ListTables, "");
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
        .flat_map(|page| stream::iter(each(page)))
    }
}

impl fmt::Debug for TableNamePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableNamePages").field("filter", &self.filter).finish_non_exhaustive()
    }
}

/// The names of a page, or its error as the only item.
fn each(page: Result<Vec<String>, Error>) -> impl Iterator<Item = Result<String, Error>> {
    let (names, error) = match page {
        Ok(names) => (names, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    names.into_iter().map(Ok).chain(error.map(Err))
}
