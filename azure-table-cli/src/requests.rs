//! The requests that a command used.

use std::fmt;

use azure_table_client::Operation;
use azure_table_client::telemetry::{ClientStats, Counts};

use crate::progress::{counted, grouped};

/// The number of billable requests of each operation.
///
/// Azure Storage bills each request as one transaction, a batch of 100 rows too, and does not bill the requests that it
/// throttles. Requests without a response count, since the service may have processed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Requests(Vec<(Operation, u64)>);

impl Requests {
    /// The requests that a client has sent.
    pub(crate) fn sent(stats: &ClientStats) -> Self {
        let operations = stats.by_operation().into_iter();
        let billable =
            |(operation, counts): (_, Counts)| (operation, counts.requests - counts.throttled);
        Self(operations.map(billable).collect())
    }

    /// The number of requests of an operation.
    fn of(&self, operation: Operation) -> u64 {
        let found = self.0.iter().find(|(known, _)| *known == operation);
        found.map_or(0, |(_, number)| *number)
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|(_, number)| number).sum()
    }
}

/// Writes `14 billable requests: 2 Query, 12 Transaction`.
impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.total(), "billable request"))?;
        let used = Operation::ALL.iter().filter(|operation| self.of(**operation) > 0);
        for (at, operation) in used.enumerate() {
            let separator = if at == 0 { ": " } else { ", " };
            write!(f, "{separator}{} {operation}", grouped(self.of(*operation)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use azure_table_client::mock::{Fault, MockTableService};
    use azure_table_client::{DynamicEntity, RetryPolicy};
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_batch_is_one_request_and_throttled_requests_are_free() {
        let stats = Arc::new(ClientStats::default());
        let sent = || Requests::sent(&stats).to_string();
        assert_eq!(sent(), "0 billable requests");
        let mock = MockTableService::new();
        let builder = mock.client_builder().observer(stats.clone()).retry(RetryPolicy::none());
        let table = builder.build().unwrap().table_named::<DynamicEntity>("Blogs");
        mock.faults().add(Fault::busy().times(1));
        assert!(table.create().await.unwrap_err().is_throttled());
        assert_eq!(sent(), "0 billable requests");
        table.create().await.unwrap();
        assert_eq!(sent(), "1 billable request: 1 CreateTable");
        let mut batch = table.transaction();
        for row in 0..100 {
            batch = batch.insert(&DynamicEntity::new("Channel9", row.to_string()));
        }
        batch.await.unwrap();
        table.get(("Channel9", "7")).await.unwrap();
        table.get(("Channel9", "missing")).await.unwrap_err();
        assert_eq!(sent(), "4 billable requests: 1 CreateTable, 2 Get, 1 Transaction");
    }
}
