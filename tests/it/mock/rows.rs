//! The rows of the service, read without a request.

use azure_table_client::DynamicEntity;
use azure_table_client::mock::MockTableService;

async fn service() -> MockTableService {
    let service = MockTableService::new();
    let rows = service.client().table_named::<DynamicEntity>("Rows");
    rows.create().await.unwrap();
    for (partition_key, row_key) in [("b", "1"), ("a", "2"), ("a", "1"), ("b", "2")] {
        let mut row = DynamicEntity::new(partition_key, row_key);
        rows.insert(row.set("Views", 3_i64)).await.unwrap();
    }
    service
}

#[tokio::test]
async fn rows_equal_those_of_a_query() {
    let service = service().await;
    let table = service.client().table_named::<DynamicEntity>("Rows");
    let read = table.query().await.unwrap();
    let sent = service.requests().total();
    assert_eq!(service.rows("rows").unwrap(), &read[..]);
    assert_eq!(service.row("Rows", "b", "1").as_ref(), Some(&read[2]));
    assert_eq!(service.requests().total(), sent, "direct access is not a request");
    assert_eq!((service.row("Rows", "b", "3"), service.row("Row", "b", "1")), (None, None));
    assert_eq!(service.rows("Row"), None);
}

#[tokio::test]
async fn a_page_starts_at_a_key_and_is_limited() {
    let service = service().await;
    let keys = |from, limit| {
        let rows = service.rows_from("Rows", from, limit).unwrap();
        rows.iter()
            .map(|row| (row.key().partition_key.clone(), row.key().row_key.clone()))
            .collect::<Vec<_>>()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(keys(("a", "2"), 2), [pair("a", "2"), pair("b", "1")]);
    assert_eq!(keys(("a", "3"), 9), [pair("b", "1"), pair("b", "2")]);
    assert_eq!(keys(("c", ""), 9), []);
    assert_eq!(keys(("", ""), 0), []);
}

#[tokio::test]
async fn a_restored_row_has_a_new_etag_after_an_update() {
    let mock = MockTableService::new();
    let row = r#"{"Blogs":[{"PartitionKey":"p","RowKey":"r","Timestamp":"2999-01-01T00:00:00Z"}]}"#;
    mock.seed_json(row).unwrap();
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    let stored = mock.row("Blogs", "p", "r").unwrap();
    blogs.replace(&stored, stored.etag().unwrap()).await.unwrap();
    let updated = mock.row("Blogs", "p", "r").unwrap();
    assert!(updated.timestamp() > stored.timestamp(), "{updated:?}");
}
