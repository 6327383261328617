//! The requests for the pages of a query.

use std::sync::{Arc, Mutex, PoisonError};

use super::limits::TotalDeadline;
use super::position::Continuation;
use super::source::PageRequest;
use crate::client_core::ClientCore;
use crate::error::{Error, ErrorCode};
use crate::filter::QueryFilter;
use crate::max_rate::MaxRate;
use crate::operation::cursor::PageCursor;
use crate::operation::query::ReadValues;
use crate::operation::query::{self, QuerySpec, RowReads, Rows};
use crate::operation::table;
use crate::pipeline::{CallOptions, CallTrace};
use crate::wire::Operation;

/// A query whose settings are valid, before its first page.
pub(crate) struct CheckedQuery {
    pub(crate) fetcher: PageFetcher,
    pub(crate) filter: Option<QueryFilter>,
    pub(crate) take: Option<u64>,
    pub(crate) max_rows: Option<u64>,
    pub(crate) start: Option<Continuation>,
}

/// The settings that all requests of a query share.
#[derive(Clone)]
pub(crate) struct PageFetcher {
    pub(crate) core: Arc<ClientCore>,
    /// The query of entities, or the list of tables.
    pub(crate) operation: Operation,
    pub(crate) table: Arc<str>,
    pub(crate) select: Vec<String>,
    pub(crate) page_size: Option<u32>,
    pub(crate) options: CallOptions,
    pub(crate) total_deadline: TotalDeadline,
    /// The rate at which all requests of the query return rows.
    pub(crate) max_rate: Option<Arc<Mutex<MaxRate>>>,
}

/// The request for one page.
pub(super) struct PageRead {
    pub(super) slot: Slot,
    pub(super) request: PageRequest,
    pub(super) cursor: PageCursor,
    /// `$top`.
    pub(super) top: Option<u32>,
    /// Whether the keys of the rows are read too.
    pub(super) has_keys: bool,
}

/// The request whose page is read: the index of its part, and its index in the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) part: usize,
    pub(super) input: usize,
}

/// The page of a request.
pub(super) struct FetchedPage {
    pub(super) rows: Rows,
    pub(super) top: Option<u32>,
}

/// The page of a request, or its error.
pub(super) type Fetched = (Slot, Result<FetchedPage, Error>);

impl PageFetcher {
    /// The trace of one page, or of all pages. The row of a point may be missing.
    pub(super) fn trace(&self, has_points: bool) -> CallTrace<'_> {
        let trace = self.core.trace(self.operation, &*self.table);
        trace.expecting(has_points.then_some(ErrorCode::is_missing_entity))
    }

    /// Adds the name of the query to an error that no request caused.
    pub(super) fn named(&self, error: Error) -> Error {
        error.about(self.operation, &self.table, || None)
    }

    /// Sends the request for one page as a part of the call that `trace` belongs to.
    pub(super) async fn fetch(
        &self,
        page: PageRead,
        reader: &dyn ReadValues,
        trace: &CallTrace<'_>,
    ) -> Fetched {
        let rows = self.read(&page, reader, trace).await;
        (page.slot, rows.map(|rows| FetchedPage { rows, top: page.top }))
    }

    /// Sends the request for one page as a call of its own.
    pub(super) async fn fetch_alone(
        self: Arc<Self>,
        page: PageRead,
        reader: Arc<dyn ReadValues>,
    ) -> Fetched {
        let slot = page.slot;
        let trace = self.trace(matches!(page.request, PageRequest::Point(_)));
        let fetched = trace.run(async { self.fetch(page, &*reader, &trace).await.1 }).await;
        (slot, fetched)
    }

    async fn read(
        &self,
        page: &PageRead,
        reader: &dyn ReadValues,
        trace: &CallTrace<'_>,
    ) -> Result<Rows, Error> {
        let (protocol, cursor) = (self.core.protocol(&self.options)?, &page.cursor);
        let mut request = match &page.request {
            PageRequest::Point(key) => query::point(protocol, &self.table, key, &self.select)?,
            PageRequest::Scan(filter) if self.operation == Operation::ListTables => {
                table::list(filter.as_deref().map(QueryFilter::text), page.top, cursor.token())?
            }
            PageRequest::Scan(filter) => {
                let spec = QuerySpec { filter: filter.as_ref(), select: &self.select };
                query::query(protocol, &self.table, spec, page.top, cursor.token())?
            }
        };
        request.needs_types = reader.keeps_others();
        let options = self.total_deadline.options(&self.options, &self.core);
        let options = options.map_err(|error| self.named(error))?;
        let rows = RowReads { reader, has_keys: page.has_keys };
        let read = |reply| match page.request {
            PageRequest::Point(_) => query::point_rows(reply, &request, &rows),
            PageRequest::Scan(_) => query::rows(reply, &request, &rows, cursor, protocol.dialect()),
        };
        let rows = self.core.read(&request, &options, trace, read).await?;
        trace.page(rows.values.len());
        self.pace(rows.values.len()).await;
        Ok(rows)
    }

    /// Waits as long as this number of rows takes at the rate of the query.
    async fn pace(&self, rows: usize) {
        let Some(max_rate) = &self.max_rate else { return };
        let now = self.core.clock.instant();
        let at = {
            let mut max_rate = max_rate.lock().unwrap_or_else(PoisonError::into_inner);
            max_rate.sent(now, u32::try_from(rows).unwrap_or(u32::MAX));
            max_rate.next_at(now)
        };
        self.core.clock.sleep(at.saturating_duration_since(now)).await;
    }
}
