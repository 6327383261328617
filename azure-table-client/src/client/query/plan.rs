//! The plan of a query, and the policy on table scans.

use std::fmt;

use tracing::warn;

use super::{Query, bad_filter};
use crate::client::fetch;
use crate::error::Error;
use crate::filter::{Plan, PlanKind, QueryFilter};
use crate::operation::query::ScanPolicy;

/// How much of a table a query looks at, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryPlan {
    /// How much.
    pub kind: PlanKind,
    /// What in the filter makes it so.
    pub reason: &'static str,
    /// In how many queries a list that is too long for one is asked for.
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
    /// How much of the table the service must look at for this query, and why.
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
    /// The text is no filter, or its lists would take too many queries.
    pub fn plan(&self) -> Result<QueryPlan, Error> {
        let filter = self.filter.as_ref().map_err(|error| bad_filter(error.clone()))?.as_ref();
        let queries = match filter {
            Some(filter) => fetch::split(&self.pipeline, filter)?.map_or(1, |s| s.filters.len()),
            None => 1,
        };
        let filter = filter.map(QueryFilter::tree);
        let plan = Plan::of(filter);
        Ok(QueryPlan { kind: plan.kind(), reason: plan.reason(filter), queries })
    }

    /// Sends this query although it looks at the whole table and the client
    /// [refuses](super::ScanPolicy::Refuse) or warns of such.
    pub fn allow_scan(mut self) -> Self {
        self.scan_allowed = true;
        self
    }

    /// Warns of a query that looks at the whole table, or refuses it.
    pub(super) fn check_scan(&self) -> Result<(), Error> {
        if self.scan_allowed || self.pipeline.scans == ScanPolicy::Allow {
            return Ok(());
        }
        // A filter that is none is reported by itself.
        let Ok(filter) = &self.filter else { return Ok(()) };
        let filter = filter.as_ref().map(QueryFilter::tree);
        let plan = Plan::of(filter);
        if plan.kind() != PlanKind::TableScan {
            return Ok(());
        }
        let (table, reason) = (&*self.table, plan.reason(filter));
        if self.pipeline.scans == ScanPolicy::Refuse {
            return Err(Error::invalid_input(format!(
                "the query looks at the whole table {table}, since {reason}; `allow_scan` sends it",
            )));
        }
        warn!(table, reason, "a query looks at the whole table");
        Ok(())
    }
}
