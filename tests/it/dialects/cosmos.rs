//! The client in the dialect of Cosmos DB against the mock in the same dialect.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Dialect, DynamicEntity, ErrorCode, IfMatch, Operation, Outcome, RetryPolicy, TableClient,
    TableServiceClient,
};

fn mock() -> MockTableService {
    MockTableService::builder().dialect(Dialect::CosmosDb).build()
}

/// A client that is built like one of an account.
fn service(mock: &MockTableService) -> TableServiceClient {
    mock.client_builder()
        .dialect(Dialect::CosmosDb)
        .retry(RetryPolicy::fixed(3, Duration::from_millis(1)))
        .build()
        .unwrap()
}

async fn blogs(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let blogs = service(mock).table_named::<DynamicEntity>("my-blogs");
    blogs.create().await.unwrap();
    blogs
}

fn row(row_key: &str, number: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", row_key);
    row.set("A", number);
    row
}

#[tokio::test]
async fn an_entity_is_written_in_every_way_and_read() {
    let mock = mock();
    let blogs = blogs(&mock).await;
    let inserted = blogs.insert(&row("r", 1)).await.unwrap();
    let read = blogs.get(("p", "r")).await.unwrap();
    assert_eq!(read.etag(), Some(&inserted.etag));
    let mut change = DynamicEntity::new("p", "r");
    change.set("B", 2);
    blogs.merge(&change, &inserted.etag).await.unwrap();
    let read = blogs.get(("p", "r")).await.unwrap();
    assert_eq!((read.get::<i32>("A"), read.get::<i32>("B")), (Some(Ok(1)), Some(Ok(2))));
    blogs.replace(&change, IfMatch::Any).await.unwrap();
    assert_eq!(blogs.get(("p", "r")).await.unwrap().get::<i32>("A"), None);
    blogs.insert_or_merge(&row("s", 1)).await.unwrap();
    blogs.insert_or_replace(&row("s", 2)).await.unwrap();
    blogs.delete(("p", "s"), IfMatch::Any).await.unwrap();
    assert!(blogs.get_if_exists(("p", "s")).await.unwrap().is_none());
    blogs
        .update_with(("p", "r"), |row| {
            row.set("C", 3);
        })
        .await
        .unwrap();
    assert_eq!(mock.row("my-blogs", "p", "r").unwrap().get::<i32>("C"), Some(Ok(3)));
}

#[tokio::test]
async fn conditions_and_missing_rows_are_refused() {
    let mock = mock();
    let blogs = blogs(&mock).await;
    let stale = blogs.insert(&row("r", 1)).await.unwrap().etag;
    blogs.insert_or_replace(&row("r", 2)).await.unwrap();
    let none = row("none", 1);
    let missing = service(&mock).table_named::<DynamicEntity>("other");
    for (error, status, code) in [
        (blogs.merge(&row("r", 3), &stale).await.unwrap_err(), 412, "UpdateConditionNotSatisfied"),
        (
            blogs.replace(&row("r", 3), &stale).await.unwrap_err(),
            412,
            "UpdateConditionNotSatisfied",
        ),
        (blogs.delete(("p", "r"), &stale).await.unwrap_err(), 412, "UpdateConditionNotSatisfied"),
        (blogs.insert(&row("r", 3)).await.unwrap_err(), 409, "EntityAlreadyExists"),
        (blogs.replace(&none, IfMatch::Any).await.unwrap_err(), 404, "ResourceNotFound"),
        (blogs.get(("p", "none")).await.unwrap_err(), 404, "ResourceNotFound"),
        (missing.insert(&none).await.unwrap_err(), 404, "ResourceNotFound"),
        (missing.query().await.unwrap_err(), 404, "ResourceNotFound"),
    ] {
        assert_eq!(error.status(), Some(status), "{error}");
        assert_eq!(error.code().map(ErrorCode::as_str), Some(code), "{error}");
    }
}

#[tokio::test]
async fn transactions_apply_all_or_name_the_failed_operation() {
    let mock = mock();
    let blogs = blogs(&mock).await;
    for key in ["a", "b", "c"] {
        blogs.insert(&row(key, 1)).await.unwrap();
    }
    blogs
        .transaction()
        .insert(&row("d", 2))
        .merge(&row("a", 2), IfMatch::Any)
        .replace(&row("b", 2), IfMatch::Any)
        .insert_or_merge(&row("e", 2))
        .delete(("p", "c"), IfMatch::Any)
        .await
        .unwrap();
    let rows = blogs.query().await.unwrap();
    let keys: Vec<_> = rows.iter().map(|row| &*row.key().row_key).collect();
    assert_eq!(keys, ["a", "b", "d", "e"]);
    for failing in ["a", "b"] {
        let error =
            blogs.transaction().insert(&row("f", 1)).insert(&row(failing, 1)).await.unwrap_err();
        assert!(error.is_conflict(), "{error}");
        assert_eq!(error.batch_index(), Some(1), "{error}");
    }
    assert_eq!(mock.row_count("my-blogs"), Some(4));
}

#[tokio::test]
async fn pages_of_rows_and_tables_are_complete() {
    let mock = mock();
    let service = service(&mock);
    let blogs = blogs(&mock).await;
    for n in (0..25).rev() {
        blogs.insert(&row(&format!("{n:02}"), n)).await.unwrap();
    }
    for top in [1, 7, 25, 1000] {
        let rows = blogs.query().page_size(top).await.unwrap();
        let found: Vec<_> = rows.iter().map(|row| row.get::<i32>("A").unwrap().unwrap()).collect();
        assert_eq!(found, (0..25).collect::<Vec<_>>(), "{top} rows a page");
    }
    let few = blogs.query().filter_text("A lt 5").page_size(2).await.unwrap();
    assert_eq!(few.len(), 5);
    mock.faults().add(Fault::split_page());
    assert_eq!(blogs.query().page_size(7).await.unwrap().len(), 25);

    for name in ["Zoo", "zoo", "a b"] {
        service.create_table(name).await.unwrap();
    }
    let tables = service.list_tables().await.unwrap();
    assert_eq!(tables, ["my-blogs", "Zoo", "zoo", "a b"]);
    assert!(service.create_table("Zoo").await.is_err());
    assert!(service.table_exists("zoo").await.unwrap());
    assert!(!service.table_exists("ZOO").await.unwrap());
    service.delete_table("zoo").await.unwrap();
    assert_eq!(mock.table_names(), ["Zoo", "a b", "my-blogs"]);
}

#[tokio::test]
async fn throttled_requests_are_repeated() {
    let mock = mock();
    let service = service(&mock);
    let blogs = blogs(&mock).await;
    blogs.insert(&row("r", 1)).await.unwrap();
    for fault in
        [Fault::too_many_requests(), Fault::error(429, "429"), Fault::error(429, "TooManyRequests")]
    {
        mock.faults().clear();
        let struck = mock.faults().add(fault.times(2));
        blogs.query().await.unwrap();
        assert_eq!(struck.struck(), 2);
    }
    mock.faults().clear();
    // Both recorded codes: this request receives `429`, and those on entities `TooManyRequests`.
    mock.faults().add(Fault::too_many_requests().on(Operation::CreateTable).times(1));
    service.create_table("other").await.unwrap();
    mock.faults().clear();
    mock.faults().add(Fault::too_many_requests());
    let error = blogs.get(("p", "r")).await.unwrap_err();
    assert!(error.is_throttled() && error.status() == Some(429), "{error}");
    assert!(error.to_string().contains("Request rate is large"), "{error}");
}

#[tokio::test]
async fn entities_beyond_the_limits_of_azure_storage_are_stored() {
    let mock = mock();
    let blogs = blogs(&mock).await;
    let mut large = DynamicEntity::new("p", "r");
    for n in 0..40 {
        large.set(format!("P{n}"), "x".repeat(32_000));
    }
    blogs.insert(&large).await.unwrap();
    let read = blogs.get(("p", "r")).await.unwrap();
    assert_eq!(read.get::<String>("P39"), Some(Ok("x".repeat(32_000))));
}

#[tokio::test]
async fn names_that_the_service_may_not_store_are_refused_before_anything_is_sent() {
    let mock = mock();
    let blogs = blogs(&mock).await;
    for name in ["etag", "Etag"] {
        let mut reserved = DynamicEntity::new("p", name);
        reserved.set(name, "bar");
        let error = blogs.insert(&reserved).await.unwrap_err();
        assert!(error.to_string().contains("is reserved"), "{error}");
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
    assert_eq!(mock.row_count("my-blogs"), Some(0));
}
