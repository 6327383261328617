//! The plan of a query, and the policy on table scans.

use std::fmt;

use tracing::warn;

use super::{Query, QuerySettings};
use crate::error::Error;
use crate::filter::{Plan, PlanKind, QueryFilter};
use crate::operation::query::ScanPolicy;
use crate::query::{ListedKeys, QueriedKeys, Sources, counted};

/// The part of a table that a query scans, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryPlan {
    /// The part of the table that is scanned.
    pub kind: PlanKind,
    /// The reason for the kind, for example `the filter does not bound the PartitionKey`.
    pub reason: &'static str,
    /// The number of requests, if each has one page: more than 1 if the filter lists keys, or has a list that is too
    /// long for one request; 0 if no key can meet the filter.
    pub queries: usize,
    keys: QueriedKeys,
}

/// Writes the plan and its reason, for example `table scan: there is no filter`, `3 point reads: the filter lists
/// both keys` or `2 partitions and 1 point read: the filter lists the PartitionKeys`.
impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, reason, queries, keys } = *self;
        let mut parts = 1;
        match keys {
            QueriedKeys::Listed(ListedKeys { points, partitions, .. }) if queries > 1 => {
                parts = points + partitions;
                let partitions = (partitions > 0).then(|| counted(partitions as u64, kind));
                let points = (points > 0).then(|| counted(points as u64, "point read"));
                let kinds: Vec<_> = partitions.into_iter().chain(points).collect();
                f.write_str(&kinds.join(" and "))?;
            }
            _ => kind.fmt(f)?,
        }
        write!(f, ": {reason}")?;
        if queries > parts {
            write!(f, ", in {queries} queries")?;
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
        self.settings.plan()
    }

    /// Returns the partition of the rows that the query finds; `None` if no key can meet the filter.
    ///
    /// # Errors
    /// The filter does not state one partition, or the query does not read whole entities.
    pub(in crate::client) fn updatable_partition(&self) -> Result<Option<String>, Error> {
        self.settings.updatable_partition()
    }

    /// Sends this query even if it scans the whole table and the client
    /// [refuses](crate::client::ScanPolicy::Refuse) table scans or warns of them.
    ///
    /// ```
    /// use azure_table_client::client::ScanPolicy;
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, ErrorKind};
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), azure_table_client::Error> {
    ///     let mock = MockTableService::new();
    ///     let service = mock.client_builder().scans(ScanPolicy::Refuse).build()?;
    ///     let orders = service.table_named::<DynamicEntity>("Orders");
    ///     orders.create().await?;
    ///
    ///     let query = || orders.query().filter_text("Paid eq true");
    ///     assert_eq!(query().await.unwrap_err().kind(), ErrorKind::InvalidInput);
    ///     query().allow_scan().await?;
    ///     assert_eq!(mock.requests().table_scans(), 1); // a test can assert 0
    ///     Ok(())
    /// }
    /// ```
    pub fn allow_scan(mut self) -> Self {
        self.settings.scan_allowed = true;
        self
    }
}

impl QuerySettings {
    /// Returns the part of the table that the service must scan, and the reason.
    fn plan(&self) -> Result<QueryPlan, Error> {
        let filter = self.filter()?;
        let sources = Sources::of(&self.core, filter.cloned())?;
        let (queries, keys) = (sources.requests(), sources.keys);
        let filter = filter.map(QueryFilter::tree);
        let plan = Plan::of(filter);
        let (kind, reason) = match keys {
            QueriedKeys::None => (PlanKind::Nothing, "no key can meet the filter"),
            QueriedKeys::Listed(ListedKeys { kind: kind @ PlanKind::Point, .. }) => {
                (kind, "the filter lists both keys")
            }
            QueriedKeys::Listed(ListedKeys { kind, has_groups: true, .. }) => {
                (kind, "the filter lists too many rows with other conditions to read each alone")
            }
            QueriedKeys::Listed(ListedKeys { kind, .. }) => {
                (kind, "the filter lists the PartitionKeys")
            }
            QueriedKeys::Unlisted => (plan.kind(), plan.reason(filter)),
        };
        Ok(QueryPlan { kind, reason, queries, keys })
    }

    fn updatable_partition(&self) -> Result<Option<String>, Error> {
        if !self.is_whole {
            return Err(Error::invalid_input(
                "rows are updated as whole entities: the query selects columns or one kind of them",
            ));
        }
        let filter = self.filter()?.map(QueryFilter::tree);
        let partition_key = Plan::of(filter).partition().map(str::to_owned);
        if partition_key.is_none()
            && PlanKind::in_order(filter, self.core.key_order()) != PlanKind::Nothing
        {
            return Err(Error::invalid_input(
                "a transaction is limited to one partition, which the query does not state: call `partition`",
            ));
        }
        Ok(partition_key)
    }

    /// Applies the client's policy to a query that scans the whole table.
    pub(super) fn check_scan(&self) -> Result<(), Error> {
        if self.scan_allowed || self.core.settings.scans == ScanPolicy::Allow {
            return Ok(());
        }
        // An invalid filter is reported later.
        let Ok(filter) = &self.filter else { return Ok(()) };
        let filter = filter.as_ref().map(QueryFilter::tree);
        if PlanKind::in_order(filter, self.core.key_order()) != PlanKind::TableScan {
            return Ok(());
        }
        let (table, reason) = (&*self.table, Plan::of(filter).reason(filter));
        if self.core.settings.scans == ScanPolicy::Refuse {
            return Err(Error::invalid_input(format!(
                "the query scans the whole table {table}: {reason}; to send it, call `allow_scan`"
            )));
        }
        warn!(table, reason, "a query scans the whole table");
        Ok(())
    }
}
