//! What all requests of a query have in common.

use std::sync::Arc;

use crate::dialect::Dialect;
use crate::entity::{EntityKey, ReadRow};
use crate::error::{Error, ErrorCode};
use crate::filter::{Filter, MAX_QUERIES, Plan, Split};
use crate::operation::continuation::{Continuation, Position};
use crate::operation::query::{self, QuerySpec, Rows, Token};
use crate::pipeline::{CallOptions, CallTrace, Pipeline};
use crate::wire::Operation;

/// A query before its first page.
pub(super) struct Start<T> {
    pub(super) source: Source<T>,
    /// The filter, and its text as it is sent.
    pub(super) filter: Option<(Filter, String)>,
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
pub(super) fn split(
    pipeline: &Pipeline,
    (filter, text): &(Filter, String),
) -> Result<Option<Split>, Error> {
    let fits = |filter: &Filter, text: &str| {
        filter.comparisons() <= pipeline.max_comparisons && query::fits_in_url(text)
    };
    if fits(filter, text) {
        return Ok(None);
    }
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
    pub(super) fn of(dialect: Dialect, filter: &Filter, text: String, select: &[String]) -> Self {
        let point = Plan::point_of(filter)
            // A key that none can be is still a filter that nothing satisfies.
            .filter(|(p, r)| dialect.check_keys(p, r).is_ok())
            .map(|(partition_key, row_key)| EntityKey::new(partition_key, row_key))
            .filter(|key| query::is_read_by_path(key, &text));
        match point {
            Some(key) => Self::Row(key),
            None => Self::Rows(QuerySpec { filter: Some(text), select: select.to_vec() }),
        }
    }

    pub(super) fn all(select: &[String]) -> Self {
        Self::Rows(QuerySpec { filter: None, select: select.to_vec() })
    }
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
