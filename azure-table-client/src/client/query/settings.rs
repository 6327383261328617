//! The settings of a query that do not depend on its types, so that their checks are compiled once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client_core::{ClientCore, QueryLimits};
use crate::error::Error;
use crate::filter::{FilterError, QueryFilter};
use crate::limits::PAGE_ENTITIES;
use crate::max_rate::MaxRate;
use crate::pipeline::CallOptions;
use crate::query::{CheckedQuery, Continuation, PageFetcher, TotalDeadline};
use crate::wire::Operation;

#[derive(Clone)]
pub(super) struct QuerySettings {
    pub(super) core: Arc<ClientCore>,
    pub(super) table: Arc<str>,
    pub(super) filter: Result<Option<QueryFilter>, FilterError>,
    pub(super) select: Result<Vec<String>, Error>,
    /// Whether the query reads whole entities.
    pub(super) is_whole: bool,
    pub(super) scan_allowed: bool,
    /// The error in the columns of the entities.
    pub(super) fault: Option<Error>,
    pub(super) page_size: Option<u32>,
    pub(super) take: Option<u64>,
    pub(super) limits: QueryLimits,
    /// Rows per second, and the time within which the query reaches this rate.
    pub(super) max_rate: Option<(u32, Duration)>,
    pub(super) start: Option<Continuation>,
    pub(super) options: CallOptions,
}

impl QuerySettings {
    /// Checks that this query was created by the client `core`.
    pub(super) fn check_client(&self, core: &Arc<ClientCore>) -> Result<(), Error> {
        if Arc::ptr_eq(&self.core, core) {
            return Ok(());
        }
        Err(Error::invalid_input(
            "the query was created by another client, which may read another account",
        ))
    }

    /// Checks that this query was created by the client `core`, and reads this table.
    pub(super) fn check_reads(&self, core: &Arc<ClientCore>, table: &str) -> Result<(), Error> {
        self.check_client(core)?;
        let dialect = self.core.protocol.dialect();
        if dialect.table_identity(&self.table) != dialect.table_identity(table) {
            return Err(Error::invalid_input("the query reads another table"));
        }
        Ok(())
    }

    /// Returns the filter as it was set.
    pub(super) fn filter(&self) -> Result<Option<&QueryFilter>, Error> {
        self.filter.as_ref().map(Option::as_ref).map_err(|error| bad_filter(error.clone()))
    }

    /// Checks all settings.
    pub(super) fn checked(self) -> Result<CheckedQuery, Error> {
        self.check()?;
        let limits = self.limits.or(self.core.settings.limits);
        let fetcher = PageFetcher {
            core: self.core,
            operation: Operation::Query,
            table: self.table,
            select: self.select?,
            page_size: self.page_size,
            options: self.options,
            total_deadline: TotalDeadline::new(limits),
            max_rate: self
                .max_rate
                .map(|(rows, ramp)| Arc::new(Mutex::new(MaxRate::new(rows, ramp)))),
        };
        Ok(CheckedQuery {
            fetcher,
            filter: self.filter.map_err(bad_filter)?,
            take: self.take,
            max_rows: limits.max_rows,
            start: self.start,
        })
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        check_page_size(self.page_size)?;
        self.check_scan()
    }
}

pub(in crate::client) fn check_page_size(page_size: Option<u32>) -> Result<(), Error> {
    match page_size {
        Some(size) if size == 0 || size > PAGE_ENTITIES => Err(Error::invalid_input(format!(
            "the page size is {size}; 1 to {PAGE_ENTITIES} are allowed"
        ))),
        _ => Ok(()),
    }
}

pub(in crate::client) fn bad_filter(error: FilterError) -> Error {
    Error::invalid_input(format!("the filter is not valid: {error}")).with_source(error)
}
