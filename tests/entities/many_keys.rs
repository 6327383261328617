//! Reads of many entities by their keys.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    DynamicEntity, EntityKey, ErrorKind, RetryPolicy, TableClient, TableEntity,
};
use tokio::time::Instant;

fn filled(mock: &MockTableService, rows: usize) -> TableClient<DynamicEntity> {
    let rows = (0..rows).map(|n| DynamicEntity::new("p", n.to_string()));
    mock.seed("Rows", &rows.collect::<Vec<_>>()).unwrap();
    mock.client().table_named("Rows")
}

#[tokio::test]
async fn entities_are_in_the_order_of_the_keys() {
    let mock = MockTableService::new();
    let table = filled(&mock, 50);
    let keys: Vec<_> = [49, 7, 50, 7, 0].map(|n| EntityKey::new("p", n.to_string())).into();
    let found = table.get_many(&keys).await.unwrap();
    let found: Vec<_> = found.iter().map(|row| row.as_ref().map(|row| row.key())).collect();
    assert_eq!(found, [Some(&keys[0]), Some(&keys[1]), None, Some(&keys[3]), Some(&keys[4])]);
    // The version is that of a single read.
    let (one, many) = (table.get(("p", "7")).await.unwrap(), table.get_many([("p", "7")]).await);
    assert_eq!(many.unwrap()[0].as_ref().unwrap().etag, one.etag);
    let none: [EntityKey; 0] = [];
    assert_eq!(table.get_many(none).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn up_to_eight_reads_are_in_flight() {
    let mock = MockTableService::new();
    let table = filled(&mock, 20);
    mock.faults().add(Fault::delay_reply(Duration::from_secs(1)));
    let start = Instant::now();
    let found = table.get_many((0..20).map(|n| ("p", n.to_string()))).await.unwrap();
    assert!(found.iter().all(Option::is_some));
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_concurrency_and_a_total_deadline() {
    let mock = MockTableService::new();
    let table = filled(&mock, 20);
    mock.faults().add(Fault::delay_reply(Duration::from_secs(1)));
    let all = || table.get_many((0..20).map(|n| ("p", n.to_string())));
    for (concurrency, seconds) in [(0, 20), (1, 20), (5, 4), (100, 1)] {
        let start = Instant::now();
        assert_eq!(all().concurrency(concurrency).await.unwrap().len(), 20);
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
    let limit = Duration::from_millis(2500);
    let client = mock.client_builder().total_deadline(limit).build().unwrap();
    let limited = client.table_named::<DynamicEntity>("Rows");
    let of_client = limited.get_many((0..20).map(|n| ("p", n.to_string()))).concurrency(5);
    for call in [all().concurrency(5).total_deadline(limit), of_client] {
        let start = Instant::now();
        let error = call.await.unwrap_err();
        assert_eq!((error.kind(), start.elapsed()), (ErrorKind::Timeout, limit), "{error}");
    }
    // No time is left for the second request.
    let error = all().concurrency(1).total_deadline(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().starts_with("Get on Rows: "), "{error}");
}

#[derive(Debug, TableEntity)]
struct Item {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    id: u32,
}

#[tokio::test]
async fn an_invalid_key_is_an_error_before_anything_is_sent() {
    let mock = MockTableService::new();
    let table = filled(&mock, 2);
    for bad in [("p", "a/b"), ("#", "1")] {
        let error = table.get_many([("p", "0"), bad, ("p", "1")]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(table.contains(bad).await.is_err());
    }
    // No `Item` has this RowKey.
    let items = table.with_entity::<Item>();
    assert!(items.get_many([("p", "7")]).await.unwrap_err().to_string().contains("Item::key"));
    assert!(items.contains(("p", "7")).await.is_err());
    assert_eq!(items.get_many([Item::key("p", 7)]).await.unwrap().len(), 1);
    assert_eq!(mock.requests().total(), 1);
}

#[tokio::test]
async fn a_read_may_have_its_own_settings_and_fails_as_a_whole() {
    let mock = MockTableService::new();
    let table = filled(&mock, 3);
    mock.faults().add(Fault::busy().key("p", "1").times(1));
    let keys = || (0..3).map(|n| ("p", n.to_string()));
    let error = table.get_many(keys()).retry(RetryPolicy::none()).await.unwrap_err();
    assert_eq!((error.status(), error.entity_key()), (Some(503), Some(&EntityKey::new("p", "1"))));
    assert_eq!(table.get_many(keys()).client_request_id("mine").await.unwrap().len(), 3);
    table.delete_table().await.unwrap();
    assert_eq!(table.get_many(keys()).await.unwrap_err().status(), Some(404));
}

#[tokio::test]
async fn contains_transfers_the_keys_only() {
    let mock = MockTableService::new();
    let table = filled(&mock, 1);
    assert!(table.contains(("p", "0")).await.unwrap());
    let sent = mock.requests().last().unwrap();
    assert!(sent.url.ends_with("(PartitionKey='p',RowKey='0')?$select=PartitionKey%2CRowKey"));
    assert!(!table.contains(("p", "1")).await.unwrap());
    mock.faults().add(Fault::captive_portal(200));
    let error = table.contains(("p", "1")).retry(RetryPolicy::none()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    mock.faults().clear();
    table.delete_table().await.unwrap();
    assert_eq!(table.contains(("p", "0")).await.unwrap_err().status(), Some(404));
    assert!(!table.table_exists().await.unwrap());
}
