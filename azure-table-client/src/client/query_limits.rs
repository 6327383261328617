//! The limits of a whole query, over all its pages. They are off by default.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::client_core::{ClientCore, QueryLimits};
use crate::error::Error;
use crate::pipeline::CallOptions;

/// The deadline of a query, which its requests share. Its time begins with the first request.
#[derive(Debug, Clone, Default)]
pub(super) struct TotalDeadline {
    limit: Option<Duration>,
    started: Arc<OnceLock<Instant>>,
}

impl TotalDeadline {
    pub(super) fn new(limits: QueryLimits) -> Self {
        Self { limit: limits.deadline, started: Arc::default() }
    }

    /// Returns the settings of the next request, which may have less time than the others.
    pub(super) fn options<'o>(
        &self,
        options: &'o CallOptions,
        core: &ClientCore,
    ) -> Result<Cow<'o, CallOptions>, Error> {
        let Some(limit) = self.limit else { return Ok(Cow::Borrowed(options)) };
        let started = self.started.get_or_init(|| core.clock.instant());
        let left = started.checked_add(limit).map_or(Duration::MAX, |end| core.clock.until(end));
        if left.is_zero() {
            return Err(Error::total_deadline(limit));
        }
        if left > options.deadline.unwrap_or(core.deadline) {
            return Ok(Cow::Borrowed(options));
        }
        let (deadline, whole_deadline) = (Some(left), Some(limit));
        Ok(Cow::Owned(CallOptions { deadline, whole_deadline, ..options.clone() }))
    }
}

/// The limit on the rows of a query, which its ranges share.
#[derive(Debug, Clone, Default)]
pub(super) struct RowLimit {
    most: Option<u64>,
    count: Arc<AtomicU64>,
}

impl RowLimit {
    /// `take` is the number of rows that the query returns at most.
    pub(super) fn new(limits: QueryLimits, take: Option<u64>) -> Self {
        // The ranges of a parallel query may read more rows than are taken.
        let is_needed = |most: &u64| take.is_none_or(|take| take > *most);
        Self { most: limits.max_rows.filter(is_needed), count: Arc::default() }
    }

    /// Counts rows that were read. It is an error if there are too many.
    pub(super) fn add(&self, rows: usize) -> Result<(), Error> {
        let Some(most) = self.most else { return Ok(()) };
        let rows = rows as u64;
        let before = self.count.fetch_add(rows, Ordering::Relaxed);
        if before.saturating_add(rows) > most { Err(Error::too_many_rows(most)) } else { Ok(()) }
    }
}
