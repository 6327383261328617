//! Tests of the control API.

mod access;
mod clock;
mod documented;
mod files;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, RetryPolicy};
use azure_table_mock::Seed;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::server::{Server, command};

const JSON: &str = "application/json";

impl Server {
    async fn control(&self, method: Method, path: &str, body: impl Into<String>) -> Response {
        let request = reqwest::Client::new().request(method, format!("{}{path}", self.origin));
        request.header("content-type", JSON).body(body.into()).send().await.unwrap()
    }

    /// Sends a POST that succeeds.
    async fn post(&self, path: &str, body: impl Into<String>) -> Value {
        let response = self.control(Method::POST, path, body).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Sends a request that fails. Returns its status and its body.
    async fn refusal(&self, method: Method, path: &str, body: &str) -> (u16, Value) {
        let response = self.control(method, path, body).await;
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(path).await).unwrap()
    }
}

#[tokio::test]
async fn an_export_is_stored_again_with_the_same_versions() {
    let server = Server::start(&[]).await;
    let blogs = server.table("Blogs").await;
    let mut row = DynamicEntity::new("it's", "é");
    row.set("Views", i64::MAX).set("Rate", 5.0).set("Text", "a\"\n");
    let written = blogs.insert(&row).await.unwrap();
    let many: Vec<_> =
        (0..1000).map(|n| json!({ "PartitionKey": "p", "RowKey": format!("{n:04}") })).collect();
    assert_eq!(
        server.post("/-/seed?table=Many", json!(many).to_string()).await,
        json!({ "rows": 1000 })
    );

    let response = server.get("/-/export").await;
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    let saved = response.text().await.unwrap();
    assert_eq!(saved.lines().count(), 2 + 1001);
    assert_eq!(server.text("/-/export?table=blogs").await.lines().count(), 2);

    assert_eq!(server.post("/-/reset?table=Blogs", "").await, json!({ "tables": 1 }));
    assert_eq!(server.post("/-/reset", "").await, json!({ "tables": 1 }));
    assert_eq!(server.text("/-/export").await, "");
    assert_eq!(server.post("/-/seed", &*saved).await, json!({ "rows": 1001 }));
    assert_eq!(server.text("/-/export").await, saved);
    let read = blogs.get(("it's", "é")).await.unwrap();
    assert_eq!(read.etag(), Some(&written.etag), "{read:?}");
    // The library reads the same text.
    MockTableService::new().restore(Seed::read(&saved, None).unwrap()).unwrap();
}

#[tokio::test]
async fn rows_go_to_the_account_that_they_name() {
    let arguments =
        ["--port", "0", "--account", "one", "--account-key", "b25l", "--account", "two"];
    let arguments: Vec<_> = arguments.into_iter().chain(["--account-key", "dHdv"]).collect();
    let server = Server::run(command(&arguments), 2).await;
    let lines = "{\"table\":\"First\"}\n{\"account\":\"two\",\"table\":\"Second\"}\n";
    server.post("/-/seed", lines).await;
    let tables = async |account: &str| {
        let text = server.text(&format!("/-/export?account={account}")).await;
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["table"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(tables("one").await, ["First"]);
    assert_eq!(tables("two").await, ["Second"]);
    server.post("/-/seed?account=two", lines).await;
    assert_eq!(tables("two").await, ["First", "Second"]);
    server.post("/-/reset?account=two", "").await;
    assert_eq!((tables("one").await.len(), tables("two").await.len()), (1, 0));

    let unknown = "{\"table\":\"Third\"}\n{\"account\":\"three\",\"table\":\"Third\"}\n";
    let (status, body) = server.refusal(Method::POST, "/-/seed", unknown).await;
    assert_eq!(status, 400);
    assert!(body["error"].as_str().unwrap().contains("the account three does not exist"), "{body}");
    assert_eq!(tables("one").await, ["First"], "nothing is stored");
    assert_eq!(server.refusal(Method::POST, "/-/reset?account=three", "").await.0, 404);
}

#[tokio::test]
async fn errors_name_the_line_and_change_nothing() {
    let server = Server::start(&[]).await;
    for (path, body, status, line, expected) in [
        ("/-/seed", "{\"Blogs\":[]}\n{", 400, 2, "EOF"),
        ("/-/seed?tabel=x", "{}", 400, 0, "unknown option \"tabel\": the options are account"),
        ("/-/seed", "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}", 400, 1, "names no table"),
        ("/-/reset?faults=maybe", "", 400, 0, "faults must be 1, true, 0 or false"),
        ("/-/faults", "{\"fault\":\"hang\",\"tabel\":\"x\"}", 400, 0, "unknown member \"tabel\""),
        ("/-/clock", "{\"shift\":1,\"freeze\":true}", 400, 0, "exclude each other"),
        ("/-/clock", "{\"sift\":1}", 400, 0, "unknown member \"sift\""),
        ("/-/clock", "{\"set\":\"today\"}", 400, 0, "set must be a time in UTC"),
        ("/-/clock", "{}", 400, 0, "shift, set or freeze is missing"),
        ("/-/export", "", 405, 0, "the method must be one of GET"),
    ] {
        let (found, error) = server.refusal(Method::POST, path, body).await;
        assert_eq!(found, status, "{path} {body}: {error}");
        assert_eq!(error["line"].as_u64().unwrap_or_default(), line, "{error}");
        assert!(error["error"].as_str().unwrap().contains(expected), "{path}: {error}");
    }
    assert_eq!(server.refusal(Method::GET, "/-/export?table=None", "").await.0, 404);
    assert_eq!(server.refusal(Method::GET, "/-/requests?operation=Inset", "").await.0, 400);
    assert_eq!(server.text("/-/export").await, "");
    assert_eq!(server.json("/-/faults").await["accounts"][0]["faults"], json!([]));
    let too_large = "POST /-/seed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                     Content-Length: 99999999\r\n\r\n";
    let response = server.exchange(too_large.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 413"), "{response}");
    server.assert_is_well().await;
}

#[tokio::test]
async fn faults_strike_and_are_removed() {
    let server = Server::start(&[]).await;
    let blogs = server.table("Blogs").await;
    let plan = r#"{"seed":1,"faults":[{"fault":"busy","on":"Insert","times":2},{"fault":"hang","table":"Other"}]}"#;
    server.post("/-/faults", plan).await;
    let insert = |row: &str| {
        let row = DynamicEntity::new("p", row);
        let blogs = &blogs;
        async move { blogs.insert(&row).retry(RetryPolicy::none()).await }
    };
    for row in ["1", "2"] {
        assert_eq!(insert(row).await.unwrap_err().status().unwrap(), 503);
    }
    insert("3").await.unwrap();
    let plan = &server.json("/-/faults?account=devstoreaccount1").await["accounts"][0];
    assert_eq!(plan["account"], "devstoreaccount1");
    assert_eq!((&plan["seed"], &plan["faults"][0]["struck"]), (&json!(1), &json!(2)));
    server.control(Method::DELETE, "/-/faults", "").await;
    assert_eq!(server.json("/-/faults").await["accounts"][0]["faults"], json!([]));
    server.post("/-/faults", r#"{"fault":"busy"}"#).await;
    server.post("/-/reset?faults=1&table=None", "").await;
    insert("4").await.unwrap();
}

#[tokio::test]
async fn requests_are_counted_and_selected() {
    let server = Server::start(&[]).await;
    let blogs = server.table("Blogs").await;
    for row in ["1", "2"] {
        blogs.insert(&DynamicEntity::new("p", row)).await.unwrap();
    }
    blogs.query().filter_text("Rating ge 3").await.unwrap();
    let all = server.json("/-/requests").await;
    assert_eq!(all["total"], 4);
    assert_eq!(all["counts"], json!({ "CreateTable": 1, "Insert": 2, "Query": 1 }));
    assert_eq!((&all["table_scans"], &all["scanned_rows"]), (&json!(1), &json!(2)));
    let query = &all["requests"][3];
    assert_eq!((&query["operation"], &query["filter"]), (&json!("Query"), &json!("Rating ge 3")));
    for (options, expected) in [
        ("operation=Insert", 2),
        ("operation=Insert&limit=1", 1),
        ("table=blogs&method=GET", 1),
        ("status=204", 3),
        ("status=404", 0),
        ("limit=0", 0),
    ] {
        let selected = server.json(&format!("/-/requests?{options}")).await;
        assert_eq!(selected["requests"].as_array().unwrap().len(), expected, "{options}");
        assert_eq!(selected["total"], 4);
    }
    server.control(Method::DELETE, "/-/requests", "").await;
    assert_eq!(server.json("/-/requests").await["total"], 0);
}
