//! The requests that a command used.

use azure_table_client::telemetry::{ClientStats, Counts};

use crate::progress::{counted, grouped};

/// Returns the number of billable requests with their operations: `14 billable requests: 2 Query, 12 Transaction`, or `None`
/// without any.
///
/// Azure Storage bills each request as one transaction, a batch of 100 rows too, and does not bill the requests that it
/// throttles. Requests without a response count, since the service may have processed them.
pub(crate) fn billable(stats: &ClientStats) -> Option<String> {
    let used = |counts: &Counts| counts.requests - counts.throttled;
    let operations = stats.by_operation();
    let total: u64 = operations.iter().map(|(_, counts)| used(counts)).sum();
    let kinds = operations.iter().filter(|(_, counts)| used(counts) > 0);
    let kinds: Vec<_> =
        kinds.map(|(operation, counts)| format!("{} {operation}", grouped(used(counts)))).collect();
    (total > 0).then(|| format!("{}: {}", counted(total, "billable request"), kinds.join(", ")))
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
        assert_eq!(billable(&stats), None);
        let mock = MockTableService::new();
        let builder = mock.client_builder().observer(stats.clone()).retry(RetryPolicy::none());
        let table = builder.build().unwrap().table_named::<DynamicEntity>("Blogs");
        mock.faults().add(Fault::busy().times(1));
        assert!(table.create().await.unwrap_err().is_throttled());
        assert_eq!(billable(&stats), None);
        table.create().await.unwrap();
        assert_eq!(billable(&stats).unwrap(), "1 billable request: 1 CreateTable");
        let mut batch = table.transaction();
        for row in 0..100 {
            batch = batch.insert(&DynamicEntity::new("Channel9", row.to_string()));
        }
        batch.await.unwrap();
        table.get(("Channel9", "7")).await.unwrap();
        table.get(("Channel9", "missing")).await.unwrap_err();
        assert_eq!(
            billable(&stats).unwrap(),
            "4 billable requests: 1 CreateTable, 2 Get, 1 Transaction"
        );
    }
}
