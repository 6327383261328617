//! What all requests of a query have in common.

use std::sync::Arc;

use crate::dialect::Dialect;
use crate::entity::{EntityKey, ReadRow};
use crate::error::{Error, ErrorCode};
use crate::filter::{Filter, MAX_QUERIES, Plan, QueryFilter, Split};
use crate::limits::KEY_UTF16_UNITS;
use crate::operation::continuation::{Continuation, Position};
use crate::operation::query::{self, QuerySpec, Rows, Token};
use crate::pipeline::{CallOptions, CallTrace, Pipeline};
use crate::wire::{Operation, encoding};

/// The bytes of a filter in a URL that are sent with one request; a list that is longer is asked for
/// in several. RFC 9110 wants URLs of 8,000 bytes to be possible everywhere.
const FILTER_BYTES: usize = 6_000;

/// A query before its first page.
pub(super) struct Start<T> {
    pub(super) source: Source<T>,
    pub(super) filter: Option<QueryFilter>,
    pub(super) take: Option<u64>,
    pub(super) at: Option<Continuation>,
}

/// What all requests of a query have in common.
pub(super) struct Source<T> {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) table: Arc<str>,
    pub(super) select: Vec<String>,
    pub(super) reader: Arc<dyn ReadRow<T>>,
    pub(super) page_size: Option<u32>,
    pub(super) options: CallOptions,
}

impl<T> Source<T> {
    /// The same for values that are read otherwise.
    pub(super) fn reading<U>(&self, select: Vec<String>, reader: Arc<dyn ReadRow<U>>) -> Source<U> {
        Source {
            pipeline: Arc::clone(&self.pipeline),
            table: Arc::clone(&self.table),
            select,
            reader,
            page_size: self.page_size,
            options: self.options.clone(),
        }
    }

    /// The same once more.
    pub(super) fn again(&self) -> Self {
        self.reading(self.select.clone(), Arc::clone(&self.reader))
    }

    /// The trace of one page, or of all. A row that is asked for by its keys may be missing.
    pub(super) fn trace(&self, is_point: bool) -> CallTrace<'_> {
        let trace = self.pipeline.trace(Operation::Query, &*self.table);
        trace.expecting(is_point.then_some(ErrorCode::is_missing_entity))
    }

    /// One page of `what`, whose rows `reader` reads.
    pub(super) async fn fetch<R>(
        &self,
        what: &What,
        reader: &dyn ReadRow<R>,
        top: Option<u32>,
        at: Option<&Token>,
        trace: &CallTrace<'_>,
    ) -> Result<Rows<R>, Error> {
        let protocol = self.pipeline.protocol(&self.options)?;
        let mut request = match what {
            What::Row(key) => query::point(protocol, &self.table, key, &self.select)?,
            What::Rows(spec) => query::query(protocol, &self.table, spec, top, at)?,
        };
        request.needs_types = reader.keeps_others();
        let reply = self.pipeline.send(&request, &self.options, trace).await?;
        let rows = match what {
            What::Row(_) => query::point_rows(reply, &request, reader)?,
            What::Rows(_) => query::rows(reply, &request, reader)?,
        };
        trace.page(rows.values.len());
        Ok(rows)
    }
}

/// The filters of several requests, `None` if one will do.
pub(super) fn split(pipeline: &Pipeline, filter: &QueryFilter) -> Result<Option<Split>, Error> {
    let fits = |filter: &Filter, text: &str| {
        filter.comparisons() <= pipeline.max_comparisons
            && encoding::encoded_len(text) <= FILTER_BYTES
    };
    if fits(filter.tree(), filter.text()) {
        return Ok(None);
    }
    let filter = filter.tree();
    let split = Split::of(filter, &|filter| fits(filter, &filter.to_string()));
    let split = split.ok_or_else(|| {
        Error::invalid_input(format!(
            "the lists in the filter would take more than {MAX_QUERIES} queries: ask for fewer values \
             at once"
        ))
    })?;
    // One may be left of several that nothing satisfies.
    let is_same = split.filters.len() == 1 && split.filters[0] == *filter;
    Ok((!is_same).then_some(split))
}

/// What a request asks for.
pub(super) enum What {
    /// The one row with these keys.
    Row(EntityKey),
    Rows(QuerySpec),
}

impl What {
    pub(super) fn of(dialect: Dialect, filter: Option<QueryFilter>, select: &[String]) -> Self {
        let point = filter.as_ref().and_then(|filter| point(dialect, filter));
        match point {
            Some(key) => Self::Row(key),
            None => {
                let filter = filter.map(QueryFilter::into_text);
                Self::Rows(QuerySpec { filter, select: select.to_vec() })
            }
        }
    }
}

/// The key that `filter` states, if the row can be read by it.
fn point(dialect: Dialect, filter: &QueryFilter) -> Option<EntityKey> {
    Plan::point_of(filter.tree())
        // A filter on an invalid key matches no row, but the key cannot be in a path.
        .filter(|(p, r)| dialect.check_keys(p, r).is_ok())
        // The service accepts keys of up to the documented 512 UTF-16 units. A longer one is safe in
        // a filter, if a URL holds it.
        .filter(|(p, r)| {
            let units = |key: &str| key.encode_utf16().count();
            units(p).max(units(r)) <= KEY_UTF16_UNITS / 2
                || encoding::encoded_len(filter.text()) > FILTER_BYTES
        })
        .map(|(partition_key, row_key)| EntityKey::new(partition_key, row_key))
}

/// One of the requests that a query is split into, page by page.
pub(super) struct Part {
    pub(super) what: What,
    /// Where its next page begins.
    pub(super) next: Position,
}

impl Part {
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.next, Position::End)
    }

    pub(super) const fn token(&self) -> Option<&Token> {
        match &self.next {
            Position::At(token) => Some(token),
            Position::Start | Position::End => None,
        }
    }
}
