//! Servers whose pages never end: each query ends with an error, in bounded memory.

use std::future::Future;
use std::time::Duration;

use azure_table_client::context::TableContext;
use azure_table_client::mock::MockTableService;
use azure_table_client::{Dialect, DynamicEntity, Error, ErrorKind, TableServiceClient};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt as _;

use crate::hostile_server::{HostileServer, response};

const JSON: &str = "Content-Type: application/json;odata=minimalmetadata\r\n";
const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r","TableName":"Blogs","A":1}"#;

/// Writes a key as the tokens of Azure Storage do.
fn encoded(key: &str) -> String {
    let text = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{text}", text.len())
}

fn page(rows: &str, token: &str) -> Vec<u8> {
    let headers = format!(
        "{JSON}x-ms-continuation-NextPartitionKey: {token}\r\nx-ms-continuation-NextRowKey: {}\r\n\
         x-ms-continuation-NextTableName: {token}\r\n",
        encoded("r")
    );
    response("200 OK", &headers, &format!(r#"{{"value":[{rows}]}}"#))
}

/// A server whose pages have these rows, and lead in a circle of `length` tokens.
async fn circle(rows: &'static str, length: usize, token: fn(usize) -> String) -> HostileServer {
    HostileServer::start(move |number, _| page(rows, &token(number % length))).await
}

async fn soon<T>(call: impl Future<Output = Result<T, Error>>) -> Error {
    let result = tokio::time::timeout(Duration::from_secs(30), call).await;
    result.expect("the call ends").err().expect("the pages never end")
}

#[track_caller]
fn assert_endless(error: &Error, reason: &str) {
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
    assert!(error.to_string().contains("the continuation token of the page"), "{error}");
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(error.status(), Some(200));
}

#[tokio::test]
async fn a_repeated_token_is_an_unexpected_reply() {
    for token in [|_| encoded("p"), |_| "opaque".to_owned()] as [fn(usize) -> String; 2] {
        let server = circle(ROW, 1, token).await;
        let service = server.client();
        let table = service.table_named::<DynamicEntity>("Blogs");
        assert_endless(&soon(table.query().into_future()).await, "repeats");
        assert_eq!(server.requests(), 2);
        assert_endless(&soon(service.list_tables().into_future()).await, "repeats");
        assert_eq!(server.requests(), 4);
    }
}

#[tokio::test]
async fn keys_that_go_back_are_found_with_the_next_page() {
    let server = circle(ROW, 2, |number| encoded(["a", "b"][number])).await;
    let service = server.client();
    let table = service.table_named::<DynamicEntity>("Blogs");
    assert_endless(&soon(table.query().into_future()).await, "does not advance");
    assert_eq!(server.requests(), 3);
    assert_endless(&soon(service.list_tables().into_future()).await, "");
    assert!(server.requests() <= 6);
}

/// All calls that read pages.
async fn assert_each_call_ends(service: &TableServiceClient, rows: &str) {
    let table = service.table_named::<DynamicEntity>("Blogs");
    let query = || table.query();
    let list = "A eq 1 or A eq 2 or A eq 3";
    for error in [
        soon(query().into_future()).await,
        soon(query().stream().try_collect::<Vec<_>>()).await,
        soon(query().count()).await,
    ] {
        assert_endless(&error, "");
    }
    if rows.is_empty() {
        assert_endless(&soon(query().filter_text(list).into_future()).await, "");
        assert_endless(&soon(query().single()).await, "");
    }
    soon(query().parallel(3).into_future()).await;
    soon(query().parallel(3).unordered().stream().try_collect::<Vec<_>>()).await;
    let mut context = TableContext::new(service);
    assert_endless(
        &soon(
            context
                .load(context.service().table_named::<DynamicEntity>("Blogs").query())
                .into_future(),
        )
        .await,
        "",
    );
}

#[tokio::test]
async fn circles_end_every_call_that_reads_pages() {
    // The rows of merged queries must be in order, so their pages are empty.
    for (dialect, rows) in
        [(Dialect::AzureStorage, ""), (Dialect::CosmosDb, ""), (Dialect::CosmosDb, ROW)]
    {
        let server = circle(rows, 5, |number| format!("opaque {number}")).await;
        let service = server.builder().dialect(dialect).max_comparisons(1).build().unwrap();
        assert_each_call_ends(&service, rows).await;
        soon(service.list_tables().into_future()).await;
        assert!(server.requests() < 1000, "{}", server.requests());
    }
}

#[tokio::test]
async fn a_page_that_continues_at_its_own_start_is_refused() {
    let server = circle(ROW, 1, |_| encoded("p")).await;
    let table = server.client().table_named::<DynamicEntity>("Blogs");
    let page = table.query().page().await.unwrap();
    let resumed = table.query().start_at(page.continuation.unwrap());
    assert_endless(&soon(resumed.page()).await, "repeats");
}

/// Tokens that advance forever are legitimate, so only limits end them.
#[tokio::test]
async fn limits_end_pages_that_advance_forever() {
    for rows in [ROW, ""] {
        let server =
            HostileServer::start(move |number, _| page(rows, &encoded(&format!("{number:09}"))))
                .await;
        let limit = Duration::from_millis(300);
        let service = server.client();
        let table = service.table_named::<DynamicEntity>("Blogs");
        let limited = server.builder().total_deadline(limit).max_rows(50).build().unwrap();
        let of_client = limited.table_named::<DynamicEntity>("Blogs");
        // All at the same time, since each lasts for the limit.
        let errors = tokio::join!(
            soon(table.query().total_deadline(limit).into_future()),
            soon(table.query().total_deadline(limit).count()),
            soon(service.list_tables().total_deadline(limit).into_future()),
            soon(of_client.query().max_rows(u64::MAX).into_future()),
            soon(limited.list_tables().max_rows(u64::MAX).into_future()),
        );
        for error in <[Error; 5]>::from(errors) {
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
            assert!(error.to_string().contains("deadline of 300 ms reached"), "{error}");
        }
        if rows.is_empty() {
            // A search for ranges refuses a row that is outside of them.
            let parallel = table.query().total_deadline(limit).parallel(2);
            let error = soon(parallel.into_future()).await;
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
            continue;
        }
        for error in [
            soon(table.query().max_rows(10).into_future()).await,
            soon(table.query().max_rows(10).count()).await,
            soon(table.query().max_rows(10).take(11).into_future()).await,
            soon(table.query().max_rows(10).stream().try_collect::<Vec<_>>()).await,
            soon(service.list_tables().max_rows(10).into_future()).await,
            soon(of_client.query().total_deadline(Duration::MAX).into_future()).await,
        ] {
            assert_eq!(error.kind(), ErrorKind::TooManyRows, "{error}");
            assert!(error.to_string().contains(" on "), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_within_its_limits_is_complete() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    for id in 10..60 {
        table.insert(&DynamicEntity::new(format!("p{}", id / 10), id.to_string())).await.unwrap();
    }
    let hour = Duration::from_secs(3600);
    let limited = || table.query().page_size(7).total_deadline(hour).max_rows(50);
    assert_eq!(limited().await.unwrap().len(), 50);
    assert_eq!(limited().count().await.unwrap(), 50);
    assert_eq!(limited().parallel(4).await.unwrap().len(), 50);
    // A query of no more rows than its limit cannot exceed it.
    assert_eq!(limited().max_rows(5).take(5).await.unwrap().len(), 5);
    assert_eq!(limited().max_rows(5).take(5).parallel(4).await.unwrap().len(), 5);
    assert_eq!(limited().max_rows(49).await.unwrap_err().kind(), ErrorKind::TooManyRows);

    // The time between two pages counts.
    let mut pages = limited().pages();
    pages.next().await.unwrap().unwrap();
    tokio::time::sleep(hour).await;
    let error = pages.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(
        error.to_string(),
        "Query on Blogs: total deadline of 60 min reached between two requests"
    );
    assert!(pages.next().await.is_none());
}
