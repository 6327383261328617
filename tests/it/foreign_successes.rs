//! Successes of other requests that echo no id: no write is reported as done because of one. And responses of other
//! servers, whose errors say what happened.

use std::sync::Arc;

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpResponse;
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Outcome, Proof, RetryPolicy, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, Step, is_write, response};

const ROW: &str = "http://h/Rows(PartitionKey='p',RowKey='s')";

/// The successes of other requests: of a delete, an update, an insert, and the creation of a table.
fn others() -> [(&'static str, HttpResponse); 4] {
    let id = ("x-ms-request-id", "1");
    let (etag, table) = (("etag", "W/\"9\""), ("location", "http://h/Tables('Others')"));
    [
        ("delete", response(204, &[id], "")),
        ("update", response(204, &[id, etag], "")),
        ("insert", response(204, &[id, etag, ("location", ROW), ("dataserviceid", ROW)], "")),
        ("create", response(204, &[id, table, ("dataserviceid", table.1)], "")),
    ]
}

/// A client whose writes do not arrive, and receive this response.
fn service(mock: &MockTableService, foreign: HttpResponse) -> TableServiceClient {
    let transport = Scripted::new(mock.transport(), move |request| {
        if !is_write(request) {
            return Step::pass();
        }
        let mut foreign = foreign.clone();
        // A canned response without an id of the service echoes nothing.
        let id = foreign.headers.remove("x-ms-request-id").unwrap();
        Step::respond(foreign).edit(move |response| {
            response.headers.insert("x-ms-request-id", id);
        })
    });
    let builder = mock.client_builder().transport(transport).proof(Proof::MatchingState);
    builder.retry(RetryPolicy::none()).build().unwrap()
}

async fn rows() -> MockTableService {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    table.insert(&DynamicEntity::new("p", "r").with("A", 1)).await.unwrap();
    mock
}

#[tokio::test(start_paused = true)]
async fn a_success_of_another_operation_is_none_of_this_one() {
    for (other, foreign) in others() {
        let mock = rows().await;
        let service = service(&mock, foreign);
        let table = service.table_named::<DynamicEntity>("Rows");
        let (new, changed) =
            (DynamicEntity::new("p", "new"), DynamicEntity::new("p", "r").with("A", 2));
        let mut calls: Vec<(&str, Option<Error>)> = vec![
            ("insert", table.insert(&new).await.err()),
            ("create", service.create_table("News").await.err()),
            ("update", table.merge(&changed, IfMatch::Any).await.err()),
            ("update", table.insert_or_replace(&changed).await.err()),
            ("delete", table.delete(("p", "r"), IfMatch::Any).await.err()),
            ("delete", table.set_access_policies(&[]).await.err()),
            ("delete", service.delete_table("Rows").await.err()),
        ];
        // The success of a delete names nothing, so that it may be of any delete; that of an update may be of any update.
        calls.retain(|(own, _)| *own != other || matches!(other, "insert" | "create"));
        for (own, error) in calls {
            let error = error.unwrap_or_else(|| panic!("{own} by the success of {other}"));
            let found = (error.kind(), error.outcome());
            assert_eq!(found, (ErrorKind::UnexpectedReply, Outcome::Unknown), "{own} {other}");
            assert!(error.to_string().contains("belongs to another request"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_table_is_not_the_one_that_was_asked_for() {
    let json = ("content-type", "application/json;odata=minimalmetadata");
    let sent_by = |server, body: &'static str| {
        let headers = [json, ("x-ms-request-id", "1"), ("server", server)];
        let transport = Scripted::always(response(200, &headers, body));
        let builder = MockTableService::new().client_builder().transport(transport);
        builder.retry(RetryPolicy::none()).build().unwrap()
    };
    let canned = |body| sent_by("Windows-Azure-Table/1.0", body);
    let error = canned(r#"{"TableName":"Others"}"#).table_exists("Rows").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
    assert!(canned(r#"{"TableName":"rows"}"#).table_exists("Rows").await.unwrap());
    // Azurite answers with an empty page. The documentation of Get Table has the table.
    let empty = r#"{"value":[]}"#;
    let error = canned(empty).table_exists("Rows").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
    assert!(sent_by("Azurite-Table/3.37.0", empty).table_exists("Rows").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn responses_of_other_servers_say_what_happened() {
    let json = ("content-type", "application/json;odata=minimalmetadata");
    let always = |response: HttpResponse| -> TableServiceClient {
        let builder = MockTableService::new().client_builder();
        let builder = builder.transport(Scripted::always(response) as Arc<_>);
        builder.retry(RetryPolicy::none()).build().unwrap()
    };
    for body in [r#"{"value":[{"status":"ok"}]}"#, r#"{"status":"ok"}"#, r#"[{"status":"ok"}]"#] {
        let table = always(response(200, &[json], body)).table_named::<DynamicEntity>("Rows");
        let error = table.query().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{body}: {error}");
        assert!(error.to_string().contains("not a result of the Table service"), "{error}");
        let error = table.get(("p", "r")).await.unwrap_err();
        assert!(error.to_string().contains("not a result of the Table service"), "{error}");
    }

    let html = "<html>Proxy Authentication Required</html>";
    let table = always(response(407, &[("content-type", "text/html")], html));
    let table = table.table_named::<DynamicEntity>("Rows");
    for error in [
        table.query().await.unwrap_err(),
        table.insert(&DynamicEntity::new("p", "r")).proof(Proof::Response).await.unwrap_err(),
    ] {
        assert_eq!(error.status(), Some(407));
        let hint = error.hint().unwrap();
        assert!(hint.starts_with("The proxy between this program and the service wants"), "{hint}");
    }

    let token = "x".repeat(70_000);
    let next = ("x-ms-continuation-nextpartitionkey", &*token);
    let service = always(response(200, &[json, next], r#"{"value":[]}"#));
    let error = service.table_named::<DynamicEntity>("Rows").query().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    assert!(error.to_string().contains("the continuation token has 70000 bytes"), "{error}");
    let next = ("x-ms-continuation-nexttablename", &*token);
    let service = always(response(200, &[json, next], r#"{"value":[]}"#));
    let error = service.list_tables().await.unwrap_err();
    assert!(error.to_string().contains("the continuation token has 70000 bytes"), "{error}");
}

/// The body of a batch with these results of one changeset.
fn batch_of(results: &[String]) -> String {
    let part = |result| {
        [
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n",
            result,
            "\r\n\r\n",
        ]
        .concat()
    };
    let parts: String = results.iter().map(|result| part(result)).collect();
    let head = "Content-Type: multipart/mixed; boundary=c";
    format!("--b\r\n{head}\r\n\r\n{parts}--c--\r\n--b--\r\n")
}

/// The results have what the service sends for other operations, and no id is echoed.
#[tokio::test(start_paused = true)]
async fn the_success_of_another_transaction_is_none_of_this_one() {
    let inserted = |table: &str, key: &str| {
        let url = format!("http://h/{table}(PartitionKey='p',RowKey='{key}')");
        format!("ETag: W/\"9\"\r\nLocation: {url}\r\nDataServiceId: {url}\r\n")
    };
    let (updated, deleted) = ("ETag: W/\"9\"\r\n".to_owned(), String::new());
    let inserts_of = |table, keys: [&str; 2]| keys.map(|key| inserted(table, key));
    let mock = rows().await;
    let row = |key| DynamicEntity::new("p", key);
    for (results, ends_inserts, ends_deletes) in [
        (inserts_of("Rows", ["x", "y"]), true, false),
        (inserts_of("Rows", ["r", "s"]), false, false),
        (inserts_of("Others", ["x", "y"]), false, false),
        ([updated.clone(), updated], true, false),
        ([deleted.clone(), deleted], false, true),
    ] {
        let headers = [("content-type", "multipart/mixed; boundary=b"), ("x-ms-request-id", "1")];
        let service = service(&mock, response(202, &headers, batch_of(&results)));
        let rows = service.table_named::<DynamicEntity>("Rows");
        let inserts = rows.transaction().insert(&row("x")).insert(&row("y")).await;
        let deletes = rows
            .transaction()
            .delete(("p", "r"), IfMatch::Any)
            .delete(("p", "r2"), IfMatch::Any)
            .await;
        for (result, is_done) in [(inserts, ends_inserts), (deletes, ends_deletes)] {
            assert_eq!(result.is_ok(), is_done, "{results:?}: {result:?}");
            assert!(result.err().is_none_or(|error| error.outcome() == Outcome::Unknown));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_sent_in_a_batch_is_not_done_by_a_plain_success() {
    let mock = rows().await;
    let headers = [("etag", "W/\"9\""), ("x-ms-request-id", "1")];
    let service = service(&mock, response(204, &headers, ""));
    let rows = service.table_named::<DynamicEntity>("Rows");
    let long = "\u{20ac}".repeat(1000);
    let error = rows.insert_or_replace(&DynamicEntity::new(&*long, &*long)).await.unwrap_err();
    assert_eq!((error.outcome(), mock.row_count("Rows")), (Outcome::Unknown, Some(1)), "{error}");
}
