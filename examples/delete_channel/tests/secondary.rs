//! A client that reads a secondary first, to which the rows of the test are not yet replicated.

use std::time::Duration;

use azure_table_client::client::LocationMode;
use azure_table_client::client::TableSet as _;
use azure_table_client::mock::MockTableService;

use super::{DONE, Database, contents, fill, poll, request_deletion, worker};

const LAG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_secondary_that_lags_does_not_hide_rows() {
    let mock = MockTableService::builder().replication_lag(LAG).build();
    Database::open(&mock.client()).create_if_not_exists().await.unwrap();
    // The secondary has the tables.
    mock.faults().clock_ahead(LAG * 2);
    let database = fill(&mock, 3).await;
    let secondary = format!("{}-secondary", mock.client().endpoint());
    let builder = mock.client_builder().secondary_endpoint(secondary);
    let service = builder.locations(LocationMode::SecondaryThenPrimary).build().unwrap();

    let stale = Database::open(&service);
    assert_eq!(stale.blogs.query().partition("Doomed").await.unwrap().len(), 0);
    request_deletion(&stale, "Doomed").await.unwrap();
    assert_eq!(contents(&database, "Doomed").await, (true, 3, true));
    assert_eq!(poll(&mut worker(&service, "first"), &service).await.done, 1);
    assert_eq!(contents(&database, "Doomed").await, DONE);
}
