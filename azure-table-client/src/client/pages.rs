use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream::{self, StreamExt as _};
use tracing::warn;

use super::query::{ListTables, Query};
use crate::entity::TableEntity;
use crate::error::Error;
use crate::filter::PlanKind;
use crate::limits::PAGE_ENTITIES;
use crate::operation::continuation::Continuation;
use crate::operation::query::{self, Page, QuerySpec, ScanPolicy};
use crate::operation::{check_readable, table};
use crate::pipeline::{CallOptions, Pipeline};

/// What is left to ask for. It changes once a page is there, so that a future that is dropped on the
/// way loses nothing.
#[derive(Clone)]
enum Next<C> {
    /// The page that begins there; `None` is the first one.
    Page(Option<C>),
    Nothing,
}

fn check_page_size(page_size: Option<u32>) -> Result<(), Error> {
    match page_size {
        Some(size) if size == 0 || size > PAGE_ENTITIES => Err(Error::invalid_input(format!(
            "the page size is {size}; 1 to {PAGE_ENTITIES} are allowed"
        ))),
        _ => Ok(()),
    }
}

/// Warns of a query that looks at the whole table, or refuses it.
fn check_scan<T: TableEntity>(query: &Query<T>) -> Result<(), Error> {
    if query.scan_allowed || query.pipeline.scans == ScanPolicy::Allow {
        return Ok(());
    }
    match query.plan() {
        Ok(plan) if plan.kind == PlanKind::TableScan => {
            if query.pipeline.scans == ScanPolicy::Refuse {
                return Err(Error::invalid_input(format!(
                    "the query looks at the whole table {}, since {}; `allow_scan` sends it",
                    query.table, plan.reason
                )));
            }
            warn!(table = &*query.table, reason = plan.reason, "a query looks at the whole table");
            Ok(())
        }
        // A filter that is none is reported by itself.
        _ => Ok(()),
    }
}

/// The pages of a query, one request each.
///
/// A page may be empty although more follow: the service ends a page at the borders of its
/// partitions and when its time is up.
pub struct Pages<T> {
    pipeline: Arc<Pipeline>,
    table: Arc<str>,
    spec: QuerySpec,
    page_size: Option<u32>,
    left: Option<u64>,
    next: Next<Continuation>,
    options: CallOptions,
    failure: Option<Error>,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> Pages<T> {
    pub(super) fn new(mut query: Query<T>) -> Self {
        let checked = query
            .fault
            .take()
            .map_or(Ok(()), Err)
            .and_then(|()| check_page_size(query.page_size))
            .and_then(|()| check_readable::<T>(query.pipeline.metadata))
            .and_then(|()| check_scan(&query))
            .and(query.filter)
            .and_then(|filter| {
                let filter = filter.map(|(_, text)| text);
                Ok(QuerySpec { filter, select: query.select? })
            })
            .and_then(|spec| {
                query.start.as_ref().map_or(Ok(()), |start| start.check(&query.table, &spec))?;
                Ok(spec)
            });
        let (spec, failure) = match checked {
            Ok(spec) => (spec, None),
            Err(error) => (QuerySpec::default(), Some(error)),
        };
        Self {
            pipeline: query.pipeline,
            table: query.table,
            spec,
            page_size: query.page_size,
            left: query.take,
            options: query.options,
            next: if query.take == Some(0) { Next::Nothing } else { Next::Page(query.start) },
            failure,
            entity: PhantomData,
        }
    }

    /// Asks for the next page; `None` after the last one and after an error.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        if let Some(error) = self.failure.take() {
            self.next = Next::Nothing;
            return Some(Err(error));
        }
        let Next::Page(at) = self.next.clone() else { return None };
        let page = self.fetch(at.as_ref()).await;
        if page.is_err() {
            self.next = Next::Nothing;
        }
        Some(page)
    }

    async fn fetch(&mut self, at: Option<&Continuation>) -> Result<Page<T>, Error> {
        let request = query::query(&self.table, &self.spec, self.top(), at)?;
        let reply = self.pipeline.send(&request, &self.options).await?;
        let mut page: Page<T> = query::page(reply, &request, &self.spec)?;
        if let Some(left) = &mut self.left {
            // A server may give more than it was asked for.
            page.entities.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left = left.saturating_sub(page.entities.len() as u64);
        }
        self.next = match page.continuation.clone() {
            Some(continuation) if self.left != Some(0) => Next::Page(Some(continuation)),
            _ => Next::Nothing,
        };
        Ok(page)
    }

    /// `$top`: the page size, or what is left to take if that is less.
    fn top(&self) -> Option<u32> {
        let left = self.left.filter(|&left| left < u64::from(PAGE_ENTITIES));
        match (self.page_size, left.and_then(|left| u32::try_from(left).ok())) {
            (Some(size), Some(left)) => Some(size.min(left)),
            (size, left) => size.or(left),
        }
    }

    pub(super) async fn collect(mut self) -> Result<Vec<T>, Error> {
        let mut entities = Vec::new();
        while let Some(page) = self.next().await {
            let mut page = page?.entities;
            if entities.is_empty() {
                entities = page;
            } else {
                entities.append(&mut page);
            }
        }
        Ok(entities)
    }

    /// The pages as a stream; it ends after the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Page<T>, Error>> + Send
    where
        T: Send + 'static,
    {
        stream::unfold(self, |mut pages| async {
            let page = pages.next().await?;
            Some((page, pages))
        })
    }

    pub(super) fn into_entities(self) -> impl Stream<Item = Result<T, Error>> + Send
    where
        T: Send + 'static,
    {
        self.into_stream().flat_map(|page| stream::iter(each(page.map(|page| page.entities))))
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("table", &self.table).finish_non_exhaustive()
    }
}

/// The items of a page, or its error as the only item.
fn each<T>(page: Result<Vec<T>, Error>) -> impl Iterator<Item = Result<T, Error>> {
    let (items, error) = match page {
        Ok(items) => (items, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    items.into_iter().map(Ok).chain(error.map(Err))
}

/// The pages of the list of tables, one request each.
pub struct TableNamePages {
    pipeline: Arc<Pipeline>,
    filter: Option<String>,
    page_size: Option<u32>,
    next: Next<String>,
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

    /// Asks for the next page; `None` after the last one and after an error.
    pub async fn next(&mut self) -> Option<Result<Vec<String>, Error>> {
        if let Some(error) = self.failure.take() {
            self.next = Next::Nothing;
            return Some(Err(error));
        }
        let Next::Page(at) = self.next.clone() else { return None };
        let page = self.fetch(at.as_deref()).await;
        if page.is_err() {
            self.next = Next::Nothing;
        }
        Some(page)
    }

    async fn fetch(&mut self, at: Option<&str>) -> Result<Vec<String>, Error> {
        let request = table::list(self.filter.as_deref(), self.page_size, at);
        let reply = self.pipeline.send(&request, &self.options).await?;
        let (names, next) = table::names(reply, &request)?;
        self.next = match next {
            Some(next) => Next::Page(Some(next)),
            None => Next::Nothing,
        };
        Ok(names)
    }

    pub(super) async fn collect(mut self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        while let Some(page) = self.next().await {
            names.append(&mut page?);
        }
        Ok(names)
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
