//! Responses of Cosmos DB: throttling, and keys that it refuses.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use azure_table_client::auth::{Credential, SharedKey};
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpResponse;
use azure_table_client::{Dialect, DynamicEntity, ErrorKind, RetryPolicy, TableServiceClient};
use azure_table_tests::scripted::{Scripted, Step, in_turn, json_error, response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::builder;

fn answer(status: u16, content_type: &str, body: String) -> HttpResponse {
    response(status, &[("x-ms-request-id", "id"), ("content-type", content_type)], body)
}

/// The first part of the changeset is the only one, and states the wait.
fn throttled_batch(wait: &str) -> HttpResponse {
    let error = json_error("TooManyRequests", "0:The request rate is too large.");
    let body = format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\
         Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
         HTTP/1.1 429 TooManyRequests\r\n{wait}\r\nContent-Type: application/json\r\n\r\n\
         {error}\r\n--c--\r\n--b--\r\n"
    );
    answer(202, "multipart/mixed; boundary=b", body)
}

#[tokio::test(start_paused = true)]
async fn a_throttled_part_of_a_batch_states_the_wait() {
    for (header, wait) in
        [("x-ms-retry-after-ms: 7400", 7_400), ("Retry-After: 9", 9_000), ("X-Other: 1", 0)]
    {
        let mock = MockTableService::new();
        let transport = Scripted::recorder(mock.transport());
        let service = mock
            .client_builder()
            .transport(transport.clone())
            .retry(RetryPolicy::fixed(1, Duration::ZERO))
            .dialect(Dialect::CosmosDb)
            .build()
            .unwrap();
        let blogs = service.table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        transport.play(in_turn([throttled_batch(header)]));
        let start = tokio::time::Instant::now();
        blogs.transaction().insert(&DynamicEntity::new("p", "r")).await.unwrap();
        let waited = start.elapsed();
        let wait = Duration::from_millis(wait);
        assert!((wait..wait + Duration::from_millis(300)).contains(&waited), "{header} {waited:?}");
    }
}

#[tokio::test]
async fn a_replaced_credential_signs_again() {
    let mock = MockTableService::new();
    let refused = answer(401, "application/json", json_error("Unauthorized", "the key is wrong"));
    let client = Arc::new(OnceLock::<TableServiceClient>::new());
    let replacing = Arc::clone(&client);
    // The key is replaced while the first request is in flight.
    let refusal = Step::respond(refused).after(async move {
        replacing.get().unwrap().set_credential(SharedKey::development()).unwrap();
    });
    let transport = Scripted::new(mock.transport(), in_turn([refusal]));
    let builder = mock.client_builder().transport(transport).dialect(Dialect::CosmosDb);
    let service = client.get_or_init(|| builder.build().unwrap());
    service.create_table("Blogs").await.unwrap();
}

#[tokio::test]
async fn a_filter_on_an_impossible_key_matches_nothing() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb).build().unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    // 400 UTF-16 units and 1,200 bytes.
    let text = format!("PartitionKey eq 'p' and RowKey eq '{}'", "日".repeat(400));
    assert!(blogs.query().filter_text(&text).await.unwrap().is_empty());
}

#[tokio::test]
async fn names_of_service_resources_are_not_tables() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb).build().unwrap();
    for name in ["Tables", "tables", "$batch", ".", ".."] {
        let table = service.table_named::<DynamicEntity>(name);
        for error in [
            table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err(),
            table.query().await.unwrap_err(),
            service.create_table(name).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        }
    }
    assert!(recorder.take_requests().is_empty());
}

#[test]
fn a_write_id_refuses_reserved_names() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let builder = || builder(&mock, &recorder).write_id_column("Etag");
    assert!(builder().build().is_ok());
    let error = builder().dialect(Dialect::CosmosDb).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}

#[tokio::test]
async fn a_post_without_a_body_states_its_length() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let received = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut text = Vec::new();
        while !text.windows(4).any(|end| end == b"\r\n\r\n") {
            socket.read_buf(&mut text).await.unwrap();
        }
        socket.write_all(b"HTTP/1.1 204 No Content\r\nx-ms-request-id: id\r\n\r\n").await.unwrap();
        String::from_utf8(text).unwrap().to_ascii_lowercase()
    });
    let service = TableServiceClient::builder(endpoint, Credential::Anonymous)
        .post_tunneling(true)
        .build()
        .unwrap();
    service.delete_table("Blogs").await.unwrap();
    let text = received.await.unwrap();
    assert!(text.starts_with("post /tables('blogs') http/1.1\r\n"), "{text}");
    assert!(text.contains("\r\nx-http-method: delete\r\n"), "{text}");
    assert!(text.contains("\r\ncontent-length: 0\r\n"), "{text}");
}
