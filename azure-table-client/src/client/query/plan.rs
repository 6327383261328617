//! The plan of a query, and the policy on table scans.

use std::fmt;

use tracing::warn;

use super::{Query, bad_filter};
use crate::client::fetch;
use crate::error::Error;
use crate::filter::{Plan, PlanKind, QueryFilter};
use crate::operation::query::ScanPolicy;

/// The part of a table that a query scans, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryPlan {
    /// The part of the table that is scanned.
    pub kind: PlanKind,
    /// The reason for the kind, for example `the filter does not bound the PartitionKey`.
    pub reason: &'static str,
    /// The number of queries; more than 1 if the filter has a list that is too long for one query.
    pub queries: usize,
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.reason)?;
        if self.queries > 1 {
            write!(f, ", in {} queries", self.queries)?;
        }
        Ok(())
    }
}

impl<E, T> Query<E, T> {
    /// Returns the part of the table that the service must scan for this query, and the reason.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, filter::PlanKind, mock::MockTableService};
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// let query = blogs.query().filter_text("RowKey eq '1'");
    /// let plan = query.plan().unwrap();
    /// assert_eq!(plan.kind, PlanKind::TableScan);
    /// println!("{plan}"); // table scan: the filter bounds the RowKey and not the PartitionKey …
    /// ```
    ///
    /// # Errors
    /// The text is not a valid filter, or its lists need too many queries.
    pub fn plan(&self) -> Result<QueryPlan, Error> {
        let filter = self.filter.as_ref().map_err(|error| bad_filter(error.clone()))?.as_ref();
        let queries = match filter {
            Some(filter) => fetch::split(&self.core, filter)?.map_or(1, |s| s.filters.len()),
            None => 1,
        };
        let filter = filter.map(QueryFilter::tree);
        let plan = Plan::of(filter);
        Ok(QueryPlan { kind: plan.kind(), reason: plan.reason(filter), queries })
    }

    /// Sends this query even if it scans the whole table and the client
    /// [refuses](crate::client::ScanPolicy::Refuse) table scans or warns of them.
    pub fn allow_scan(mut self) -> Self {
        self.scan_allowed = true;
        self
    }

    /// Applies the client's policy to a query that scans the whole table.
    pub(super) fn check_scan(&self) -> Result<(), Error> {
        if self.scan_allowed || self.core.settings.scans == ScanPolicy::Allow {
            return Ok(());
        }
        // An invalid filter is reported later.
        let Ok(filter) = &self.filter else { return Ok(()) };
        let filter = filter.as_ref().map(QueryFilter::tree);
        let plan = Plan::of(filter);
        if plan.kind() != PlanKind::TableScan {
            return Ok(());
        }
        let (table, reason) = (&*self.table, plan.reason(filter));
        if self.core.settings.scans == ScanPolicy::Refuse {
            return Err(Error::invalid_input(format!(
                "the query scans the whole table {table}: {reason}; to send it, call `allow_scan`"
            )));
        }
        warn!(table, reason, "a query scans the whole table");
        Ok(())
    }
}
