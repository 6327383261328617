//! The requests for the pages of a query.

use std::sync::Arc;

use super::query_limits::{RowLimit, TotalDeadline};
use crate::Dialect;
use crate::client_core::ClientCore;
use crate::entity::{EntityKey, ReadRow};
use crate::error::{Error, ErrorCode};
use crate::filter::{Plan, QueryFilter};
use crate::operation::continuation::Continuation;
use crate::operation::cursor::Cursor;
use crate::operation::page_token::PageToken;
use crate::operation::query::{self, QuerySpec, Rows};
use crate::pipeline::{CallOptions, CallTrace};
use crate::wire::Operation;

/// The number of requests of one query in flight at most, unless the query states another number.
pub(super) const CONCURRENT: usize = 8;

/// A query whose settings are valid, before its first page.
pub(super) struct CheckedQuery<T> {
    pub(super) fetcher: PageFetcher<T>,
    pub(super) filter: Option<QueryFilter>,
    pub(super) take: Option<u64>,
    pub(super) row_limit: RowLimit,
    pub(super) start: Option<Continuation>,
}

/// The settings that all requests of a query share.
pub(super) struct PageFetcher<T> {
    pub(super) core: Arc<ClientCore>,
    pub(super) table: Arc<str>,
    pub(super) select: Vec<String>,
    pub(super) reader: Arc<dyn ReadRow<T>>,
    pub(super) page_size: Option<u32>,
    pub(super) options: CallOptions,
    pub(super) total_deadline: TotalDeadline,
}

impl<T> Clone for PageFetcher<T> {
    fn clone(&self) -> Self {
        self.with_reader(self.select.clone(), Arc::clone(&self.reader))
    }
}

impl<T> PageFetcher<T> {
    /// Returns a fetcher of the same table that reads other columns.
    pub(super) fn with_reader<U>(
        &self,
        select: Vec<String>,
        reader: Arc<dyn ReadRow<U>>,
    ) -> PageFetcher<U> {
        PageFetcher {
            core: Arc::clone(&self.core),
            table: Arc::clone(&self.table),
            select,
            reader,
            page_size: self.page_size,
            options: self.options.clone(),
            total_deadline: self.total_deadline.clone(),
        }
    }

    /// The trace of one page, or of all pages. The row of a point may be missing.
    pub(super) fn trace(&self, has_points: bool) -> CallTrace<'_> {
        let trace = self.core.trace(Operation::Query, &*self.table);
        trace.expecting(has_points.then_some(ErrorCode::is_missing_entity))
    }

    /// Sends the request for one page, and reads its rows with `reader`.
    pub(super) async fn fetch<R>(
        &self,
        page: &PageRequest,
        reader: &dyn ReadRow<R>,
        top: Option<u32>,
        cursor: &Cursor<PageToken>,
        trace: &CallTrace<'_>,
    ) -> Result<Rows<R>, Error> {
        let protocol = self.core.protocol(&self.options)?;
        let mut request = match page {
            PageRequest::Point(key) => query::point(protocol, &self.table, key, &self.select)?,
            PageRequest::Query(filter) => {
                let spec = QuerySpec { filter: filter.as_deref(), select: &self.select };
                query::query(protocol, &self.table, spec, top, cursor.token())?
            }
        };
        request.needs_types = reader.keeps_others();
        let options = self.total_deadline.options(&self.options, &self.core);
        let options =
            options.map_err(|error| error.with_operation(Operation::Query, &self.table))?;
        let read = |reply| match page {
            PageRequest::Point(_) => query::point_rows(reply, &request, reader),
            PageRequest::Query(_) => {
                query::rows(reply, &request, reader, cursor, protocol.dialect())
            }
        };
        let rows = self.core.read(&request, &options, trace, read).await?;
        trace.page(rows.values.len());
        Ok(rows)
    }
}

/// The rows that a request returns.
pub(super) enum PageRequest {
    /// The row with this key.
    Point(EntityKey),
    /// The rows that match the filter.
    Query(Option<String>),
}

impl PageRequest {
    pub(super) fn new(dialect: Dialect, filter: QueryFilter) -> Self {
        match point(dialect, &filter) {
            Some(key) => Self::Point(key),
            None => Self::Query(Some(filter.into_text())),
        }
    }
}

/// The key that a filter states, if its row can be read by the key.
fn point(dialect: Dialect, filter: &QueryFilter) -> Option<EntityKey> {
    let (partition_key, row_key) = Plan::point_of(filter.tree())?;
    // The path of a request cannot hold an invalid key; as a filter, it matches no row.
    dialect.check_keys(partition_key, row_key).ok()?;
    let key = EntityKey::new(partition_key, row_key);
    query::is_read_by_path(&key, filter.text()).then_some(key)
}

/// One of the requests whose rows are merged, page by page.
pub(super) struct SubQuery {
    pub(super) request: PageRequest,
    /// The start of its next page.
    pub(super) next: Cursor<PageToken>,
}
