//! Clients of other endpoints of the service: of the secondary location, and with the account in the host.

use azure_table_client::client::Replication;
use azure_table_client::client::{Location, LocationMode};
use azure_table_client::clock::Clock;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};

use super::{Standing, with_blogs};

const FIRST: &str = "Zmlyc3Q=";
const SECONDARY: &str = "http://127.0.0.1:10002/devstoreaccount1-secondary";

#[tokio::test]
async fn the_host_may_name_the_account() {
    let service = MockTableService::builder().account("mine", FIRST).unwrap().build();
    for (at, host) in
        ["mine.localhost:10002", "mine.127.0.0.1.nip.io", "MINE.table.core.windows.net"]
            .into_iter()
            .enumerate()
    {
        let text = format!("AccountName=mine;AccountKey={FIRST};TableEndpoint=https://{host}");
        let client = TableServiceClient::builder_from_connection_string(&text).unwrap();
        let client = client.transport(service.transport()).build().unwrap();
        let table = client.table_named::<DynamicEntity>(format!("Table{at}"));
        table.create().await.unwrap();
        table.insert(DynamicEntity::new("p", "r").set("A", 1)).await.unwrap();
        let [s, t] = ["s", "t"].map(|row_key| DynamicEntity::new("p", row_key));
        table.transaction().insert(&s).insert(&t).await.unwrap();
        assert_eq!(service.row_count(&format!("Table{at}")), Some(3), "{host}");
    }
}

#[tokio::test]
async fn the_client_reads_the_secondary_and_its_statistics() {
    let service = with_blogs().await;
    let client = TableServiceClient::builder_from_connection_string(&service.connection_string())
        .unwrap()
        .secondary_endpoint(SECONDARY)
        .locations(LocationMode::SecondaryOnly)
        .transport(service.transport())
        .clock(service.clock())
        .build()
        .unwrap();
    let stats = client.stats().await.unwrap();
    assert_eq!(stats.replication, Replication::Live);
    assert_eq!(stats.last_sync, Some(Standing.now()));
    assert_eq!(client.table_named::<DynamicEntity>("Blogs").query().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_call_can_read_the_primary_only() {
    let service = with_blogs().await;
    let client = service
        .client_builder()
        .secondary_endpoint(SECONDARY)
        .locations(LocationMode::SecondaryThenPrimary)
        .build()
        .unwrap();
    let blogs = client.table_named::<DynamicEntity>("Blogs");
    blogs.insert(&DynamicEntity::new("Channel9", "1")).await.unwrap();
    let key = ("Channel9", "1");
    assert_eq!(blogs.get(key).await.unwrap().location(), Location::Secondary);
    assert_eq!(blogs.get(key).primary_only().await.unwrap().location(), Location::Primary);
    assert_eq!(blogs.query().await.unwrap().cost.secondary_pages, 1);
    assert_eq!(blogs.query().primary_only().await.unwrap().cost.secondary_pages, 0);
}
