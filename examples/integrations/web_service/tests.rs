//! The service without a port, on a table without a socket.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, Request};
use azure_table_client::Operation;
use azure_table_client::mock::{Fault, MockTableService};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const NEW: &[(HeaderName, &str)] = &[(IF_NONE_MATCH, "*")];
const MONDAY: &str = "/notes/diary/monday";

struct Web {
    mock: MockTableService,
    app: Router,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Reply {
    fn etag(&self) -> &str {
        self.headers[ETAG].to_str().unwrap()
    }
}

impl Web {
    async fn new() -> Self {
        let mock = MockTableService::new();
        let notes = super::notes(mock.client_builder()).unwrap();
        notes.create().await.unwrap();
        Self { mock, app: super::app(notes) }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(HeaderName, &str)],
        text: &str,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let body = json!({ "text": text }).to_string();
        let request = request.header(CONTENT_TYPE, "application/json").body(Body::from(body));
        let response = self.app.clone().oneshot(request.unwrap()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Reply { status, headers, body: serde_json::from_slice(&body).unwrap_or_default() }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "").await
    }
}

#[tokio::test]
async fn a_note_is_written_in_the_version_that_was_read() {
    let web = Web::new().await;
    let created = web.send("PUT", MONDAY, NEW, "Rain").await;
    assert_eq!(created.status, 201);
    assert_eq!(web.send("PUT", MONDAY, NEW, "Snow").await.status, 412);

    let read = web.get(MONDAY).await;
    assert_eq!((read.status, read.etag()), (200, created.etag()));
    assert_eq!(read.body, json!({ "book": "diary", "name": "monday", "text": "Rain" }));

    let first = [(IF_MATCH, read.etag())];
    assert_eq!(web.send("PUT", MONDAY, &first, "Sun").await.status, 204);
    let late = web.send("PUT", MONDAY, &first, "Snow").await;
    assert_eq!((late.status, &late.body["is_done"]), (412, &json!(false)));
    assert_eq!(web.send("DELETE", MONDAY, &first, "").await.status, 412);
    assert_eq!(web.get(MONDAY).await.body["text"], "Sun");

    assert_eq!(web.send("DELETE", MONDAY, &[(IF_MATCH, "*")], "").await.status, 204);
    assert_eq!(web.get(MONDAY).await.status, 404);
}

#[tokio::test]
async fn a_note_that_is_known_does_not_travel() {
    let web = Web::new().await;
    let created = web.send("PUT", MONDAY, NEW, "Rain").await;
    let known = web.send("GET", MONDAY, &[(IF_NONE_MATCH, created.etag())], "").await;
    assert_eq!((known.status, known.etag(), &known.body), (304, created.etag(), &Value::Null));
    web.send("PUT", MONDAY, &[(IF_MATCH, "*")], "Sun").await;
    let changed = web.send("GET", MONDAY, &[(IF_NONE_MATCH, created.etag())], "").await;
    assert_eq!((changed.status, &changed.body["text"]), (200, &json!("Sun")));
}

#[tokio::test]
async fn a_write_says_what_it_means() {
    let web = Web::new().await;
    assert_eq!(web.send("PUT", MONDAY, &[], "Rain").await.status, 428);
    assert_eq!(web.send("DELETE", MONDAY, &[], "").await.status, 428);
    let both = [(IF_NONE_MATCH, "*"), (IF_MATCH, "*")];
    assert_eq!(web.send("PUT", MONDAY, &both, "Rain").await.status, 428);
    assert_eq!(web.get("/notes/diary").await.body, json!({ "notes": [] }));
}

/// The service accepts one ETag, and no list of them.
#[tokio::test]
async fn a_condition_that_is_not_one_etag_is_a_bad_request() {
    let web = Web::new().await;
    web.send("PUT", MONDAY, NEW, "Rain").await;
    for value in ["x, y", "x", "\"a\", W/\"b\"", "*, *"] {
        let list = [(IF_MATCH, value)];
        for method in ["PUT", "DELETE"] {
            let refused = web.send(method, MONDAY, &list, "Snow").await;
            assert_eq!(refused.status, 400, "{method} {value}: {}", refused.body);
            assert!(
                refused.body["error"].as_str().unwrap().contains("If-Match"),
                "{}",
                refused.body
            );
            assert_eq!(refused.body["is_done"], json!(false));
        }
    }
    assert_eq!(web.get(MONDAY).await.body["text"], "Rain");
}

#[tokio::test]
async fn pages_link_to_each_other() {
    let web = Web::new().await;
    for n in 0..25 {
        for book in ["diary", "other"] {
            let path = format!("/notes/{book}/{n:02}");
            assert_eq!(web.send("PUT", &path, NEW, "Hello").await.status, 201);
        }
    }
    let (mut pages, mut next) = (Vec::new(), Some(String::new()));
    while let Some(query) = next {
        let page = web.get(&format!("/notes/diary{query}")).await.body;
        let notes = page["notes"].as_array().unwrap();
        assert!(notes.iter().all(|note| note["book"] == "diary"));
        pages.push(notes.len());
        next = page["next"].as_str().map(str::to_owned);
        if let Some(query) = &next {
            // The token is valid for its own book only.
            assert_eq!(web.get(&format!("/notes/other{query}")).await.status, 400);
        }
    }
    assert_eq!(pages, [10, 10, 5]);
    assert_eq!(web.get("/notes/diary?after=nonsense").await.status, 400);
    assert_eq!(web.mock.requests().table_scans(), 0);
}

#[tokio::test]
async fn a_path_that_is_not_a_key_is_not_found() {
    let web = Web::new().await;
    let path = "/notes/diary/a%2Fb";
    let any = &[(IF_MATCH, "*")];
    for (method, headers) in [("PUT", NEW), ("GET", &[]), ("DELETE", any)] {
        let refused = web.send(method, path, headers, "Hello").await;
        assert_eq!(refused.status, 404);
        assert!(refused.body["error"].as_str().unwrap().contains("'/'"), "{}", refused.body);
    }
    // Other input remains the visitor's mistake.
    let long = "x".repeat(40_000);
    assert_eq!(web.send("PUT", MONDAY, NEW, &long).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn an_update_whose_response_was_lost_is_not_a_conflict() {
    let web = Web::new().await;
    let created = web.send("PUT", MONDAY, NEW, "Rain").await;
    let lose = || Fault::lose_reply().on(Operation::Replace).times(1);
    web.mock.faults().add(lose());
    let updated = web.send("PUT", MONDAY, &[(IF_MATCH, created.etag())], "Sun").await;
    assert_eq!((updated.status, web.mock.requests().count(Operation::Replace)), (204, 2));
    assert_eq!(web.get(MONDAY).await.etag(), updated.etag());

    // The refusal of a stale update is lost. It could as well be an applied update that another one replaced.
    web.mock.faults().add(lose());
    let stale = web.send("PUT", MONDAY, &[(IF_MATCH, created.etag())], "Snow").await;
    assert_eq!((stale.status, &stale.body["is_done"]), (504, &json!("unknown")));
    assert_eq!(web.get(MONDAY).await.body["text"], "Sun");
}

// Under paused time, the waits between the attempts take no time.
#[tokio::test(start_paused = true)]
async fn troubles_of_the_table_are_told_apart() {
    let web = Web::new().await;
    let faults = web.mock.faults();
    // The note is written and the response of the table is lost: the service reports success.
    faults.add(Fault::lose_reply().on(Operation::Insert).times(1));
    assert_eq!(web.send("PUT", MONDAY, NEW, "Rain").await.status, 201);
    assert_eq!(web.mock.requests().count(Operation::Insert), 2);

    faults.clear();
    faults.add(Fault::busy());
    let busy = web.get(MONDAY).await;
    assert_eq!((busy.status, &busy.headers[RETRY_AFTER]), (503, &"10".parse().unwrap()));

    faults.clear();
    faults.add(Fault::hang());
    let late = web.send("PUT", MONDAY, &[(IF_MATCH, "*")], "Sun").await;
    assert_eq!((late.status, &late.body["is_done"]), (504, &json!("unknown")));

    faults.clear();
    faults.add(Fault::proxy_page(403));
    assert_eq!(web.get(MONDAY).await.status, 502);
}
