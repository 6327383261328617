//! The limits of a query: its requests in flight, its time and its rows.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::client_core::{ClientCore, QueryLimits};
use crate::error::Error;
use crate::limits::PAGE_ENTITIES;
use crate::pipeline::CallOptions;

/// The default concurrency: the requests in flight of a query, of `get_many` and of a save.
pub(crate) const CONCURRENCY: usize = 8;

/// How the parts of a query are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMode {
    /// The number of parts that are read at a time.
    pub(crate) parts: usize,
    /// The limit on the requests in flight.
    pub(crate) requests: usize,
    /// The number of pages that are buffered of each request.
    pub(crate) pages: usize,
    /// Whether pages are returned in key order, and not in the order of arrival.
    pub(crate) in_order: bool,
    /// Whether requests stay in flight while the program uses a page.
    pub(crate) keeps_reading: bool,
}

impl ReadMode {
    /// One part after the other.
    pub(crate) const ONE: Self =
        Self { parts: 1, requests: CONCURRENCY, pages: 1, in_order: true, keeps_reading: false };

    /// The first pages of so many parts with the page of the first one.
    pub(crate) const fn ahead(parts: usize) -> Self {
        Self { parts, requests: parts, ..Self::ONE }
    }
}

/// The deadline of a query, which its requests share. Its time begins with the first request.
#[derive(Debug, Clone, Default)]
pub(crate) struct TotalDeadline {
    limit: Option<Duration>,
    started: Arc<OnceLock<Instant>>,
}

impl TotalDeadline {
    pub(crate) fn new(limits: QueryLimits) -> Self {
        Self { limit: limits.deadline, started: Arc::default() }
    }

    /// Returns the settings of the next request, which may have less time than the others.
    pub(crate) fn options<'o>(
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

/// The limits on the rows of a query.
#[derive(Debug)]
pub(super) struct RowLimits {
    /// The number of rows left to take.
    take: Option<u64>,
    /// The number of rows above which the result is an error.
    max_rows: Option<u64>,
    /// The number of rows that were returned.
    count: u64,
}

/// The limits of the next page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLimits {
    /// `$top`.
    pub(super) top: Option<u32>,
    /// The number of rows that can be used. No more are read ahead.
    pub(super) usable: usize,
}

impl PageLimits {
    /// The number of rows that a page of several requests has at most. More than what can be used would never be read.
    pub(super) fn page_rows(self) -> usize {
        self.usable.min(self.top.unwrap_or(PAGE_ENTITIES) as usize)
    }
}

impl RowLimits {
    pub(super) const fn new(take: Option<u64>, max_rows: Option<u64>) -> Self {
        Self { take, max_rows, count: 0 }
    }

    pub(super) fn are_reached(&self) -> bool {
        self.take == Some(0)
    }

    /// Returns the limits of the next page. `$top` is the page size, or the number of rows left to take if that is less.
    pub(super) fn of_page(&self, page_size: Option<u32>) -> PageLimits {
        let left = self.take.filter(|&left| left < u64::from(PAGE_ENTITIES));
        let left = left.and_then(|left| u32::try_from(left).ok());
        let top = [page_size, left].into_iter().flatten().min();
        // One row more than `max_rows` is an error.
        let max_rows = self.max_rows.map(|most| most.saturating_sub(self.count).saturating_add(1));
        let usable = [self.take, max_rows].into_iter().flatten().min();
        let usable = usable.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX);
        PageLimits { top, usable }
    }

    /// Counts the rows of a page. It is an error if there are too many.
    pub(super) fn add(&mut self, rows: u64) -> Result<(), Error> {
        self.take = self.take.map(|left| left.saturating_sub(rows));
        self.count = self.count.saturating_add(rows);
        match self.max_rows {
            Some(most) if self.count > most => Err(Error::too_many_rows(most)),
            _ => Ok(()),
        }
    }
}
