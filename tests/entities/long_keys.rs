//! Rows whose keys are too long for a URL: every operation on them is sent in a batch. Cosmos DB
//! allows shorter keys only, which all fit.

use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::ServiceVersion;
use azure_table_client::context::TableContext;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::HttpRequest;
use azure_table_client::{
    DynamicEntity, EntityKey, IfMatch, Operation, Outcome, PayloadFormat, Proof, RetryPolicy,
    TableClient, TableServiceClient, TableServiceClientBuilder,
};

/// Keys of 9,216 bytes each in a URL, which together are more than the 16 KiB that it has.
fn key(last: &str) -> EntityKey {
    EntityKey::new("字".repeat(1024), "語".repeat(1023) + last)
}

fn row(rating: i32) -> DynamicEntity {
    let key = key("1");
    let mut row = DynamicEntity::new(key.partition_key, key.row_key);
    row.set("Rating", rating).set("Text", format!("text {rating}"));
    row
}

async fn blogs(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    let blogs = service.table_named("Blogs");
    blogs.create().await.unwrap();
    blogs
}

/// The mock refuses longer URLs, so no request used the row's own URL.
async fn every_operation(mock: &MockTableService, service: &TableServiceClient) {
    let blogs = blogs(service).await;
    let inserted = blogs.insert(&row(1)).await.unwrap();
    assert!(blogs.insert(&row(1)).await.unwrap_err().is_conflict());
    mock.requests().clear();

    assert_eq!(blogs.get(key("1")).await.unwrap().etag, inserted.etag);
    let mut rating = DynamicEntity::new(key("1").partition_key, key("1").row_key);
    rating.set("Rating", 2);
    let merged = blogs.merge(&rating, &inserted.etag).await.unwrap();
    assert_eq!(merged.status, 204);
    let read = blogs.get(key("1")).await.unwrap();
    assert_eq!(
        (read.get("Rating"), read.get("Text")),
        (Some(Ok(2)), Some(Ok("text 1".to_owned())))
    );
    assert_eq!(read.etag, merged.etag);

    let replaced = blogs.replace(&rating, &merged.etag).await.unwrap();
    let read = blogs.get(key("1")).await.unwrap();
    assert_eq!((&read.etag, read.get::<String>("Text")), (&replaced.etag, None));

    // The service's error for an operation in a batch is reported like that of a single operation.
    for error in [
        blogs.merge(&rating, &inserted.etag).await.unwrap_err(),
        blogs.replace(&rating, &inserted.etag).await.unwrap_err(),
        blogs.delete(key("1"), &inserted.etag).await.unwrap_err(),
    ] {
        assert!(error.is_precondition_failed(), "{error}");
        assert_eq!((error.outcome(), error.batch_index()), (Outcome::NotApplied, None));
    }
    assert_eq!(blogs.delete(key("1"), &replaced.etag).await.unwrap().status, 204);
    assert!(!blogs.delete_if_exists(key("1"), IfMatch::Any).await.unwrap());
    assert!(blogs.merge(&rating, IfMatch::Any).await.unwrap_err().is_not_found());
    let requests = mock.requests().all();
    assert!(requests.iter().all(|request| request.method == "POST"));
    assert_eq!(requests.len(), 11);
}

#[tokio::test]
async fn every_operation_reaches_them() {
    let mock = MockTableService::new();
    let service = mock.client();
    every_operation(&mock, &service).await;
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    blogs.insert_or_merge(&row(3)).await.unwrap();
    blogs.insert_or_replace(&row(4)).await.unwrap();
    assert_eq!(blogs.get(key("1")).await.unwrap().get("Rating"), Some(Ok(4)));
}

#[tokio::test]
async fn every_operation_reaches_them_in_each_dialect() {
    type Spoken = fn(TableServiceClientBuilder) -> TableServiceClientBuilder;
    let spoken: [Spoken; 2] = [
        |client| client.service_version(ServiceVersion::V2009_04_14).format(PayloadFormat::Atom),
        |client| client.post_tunneling(true),
    ];
    for speaking in spoken {
        let mock = MockTableService::new();
        let client = mock.client_builder();
        every_operation(&mock, &speaking(client).build().unwrap()).await;
    }
}

#[tokio::test]
async fn the_unit_of_work_and_a_bulk_run_reach_them() {
    let mock = MockTableService::new();
    let service = mock.client();
    let blogs = blogs(&service).await;
    let mut ctx = TableContext::new(&service);
    ctx.table_named::<DynamicEntity>("Blogs").add(&row(1)).unwrap();
    ctx.save_changes().await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(2)).unwrap();
    assert_eq!(ctx.save_changes().await.unwrap().applied(), 1);
    assert_eq!(blogs.get(key("1")).await.unwrap().get("Rating"), Some(Ok(2)));
    ctx.table_named::<DynamicEntity>("Blogs").delete(&row(2)).unwrap();
    ctx.save_changes().await.unwrap();
    assert!(blogs.get_if_exists(key("1")).await.unwrap().is_none());

    let operations = [
        BulkOperation::InsertOrReplace(row(3)),
        BulkOperation::Merge(row(4), IfMatch::Any),
        BulkOperation::Delete(key("1"), IfMatch::Any),
    ];
    let report = blogs.bulk().run(operations).await.unwrap();
    assert_eq!((report.progress.applied, report.progress.requests), (3, 3));
    assert!(blogs.get_if_exists(key("1")).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_lost_write_is_read_back() {
    let mock = MockTableService::new();
    let service = mock.client();
    let blogs = blogs(&service).await;
    let inserted = blogs.insert(&row(1)).await.unwrap();
    let lose = || mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    lose();
    let merged = blogs.merge(&row(2), &inserted.etag).proof(Proof::MatchingUpdate).await.unwrap();
    assert!(merged.confirmation != azure_table_client::Confirmation::Response);
    assert_eq!(blogs.get(key("1")).await.unwrap().etag, merged.etag);
    lose();
    let deleted = blogs.delete(key("1"), &merged.etag).await.unwrap();
    assert!(deleted.confirmation != azure_table_client::Confirmation::Response);

    // A write that may be applied has an unknown outcome.
    blogs.insert(&row(1)).await.unwrap();
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(9));
    let call = blogs.merge(&row(3), IfMatch::Any).retry(RetryPolicy::none());
    let error = call.deadline(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
}

/// Another program wrote the same long ago, and the request was lost: the row does not count as a
/// match, with keys of any length.
#[tokio::test(start_paused = true)]
async fn an_old_row_is_not_mistaken_for_the_write() {
    for keys in [EntityKey::new("p", "r"), key("1")] {
        let start = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let clock = azure_table_client::clock::TokioClock::starting_at(start);
        let mock = MockTableService::builder().clock(std::sync::Arc::new(clock)).build();
        let blogs = blogs(&mock.client()).await;
        let mut same = DynamicEntity::new(keys.partition_key, keys.row_key);
        same.set("Rating", 1);
        let first = blogs.insert(&same).await.unwrap();
        blogs.insert_or_replace(&same).await.unwrap();
        tokio::time::advance(Duration::from_secs(10 * 60)).await;
        mock.faults().add(Fault::lose_request().on_writes().times(1));
        let error = blogs.merge(&same, &first.etag).await.unwrap_err();
        assert_eq!((error.status(), error.outcome()), (Some(412), Outcome::Unknown));
        // A time does not prove that a write was not applied.
        assert!(!error.state_matches());
    }
}

#[tokio::test]
async fn the_mock_refuses_long_urls() {
    let mock = MockTableService::builder().loose(true).build();
    mock.client().create_table("Blogs").await.unwrap();
    let get = |bytes: usize| {
        let start = "/devstoreaccount1/Blogs(PartitionKey='p',RowKey='";
        let row_key = "r".repeat(bytes - start.len() - 2);
        let request = HttpRequest::new(
            http::Method::GET,
            format!("http://127.0.0.1:10002{start}{row_key}')").parse().unwrap(),
        );
        mock.respond(&request)
    };
    assert_ne!(get(16 * 1024).status, 414);
    let refused = get(16 * 1024 + 1);
    assert_eq!(refused.status, 414);
    assert!(refused.headers["content-type"].to_str().unwrap().starts_with("text/html"));
}
