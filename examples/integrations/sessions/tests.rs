//! The application without a port, and its store: examples, limits, the requests of each call, crashes and chaos.

#[path = "tests/chaos.rs"]
mod chaos;
#[path = "tests/crashes.rs"]
mod crashes;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::http::header::{COOKIE, SET_COOKIE};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, Operation, TableServiceClient};
use azure_table_tests::chaos::{MachineClock, mock};
use serde_json::json;
use tower::ServiceExt as _;
use tower_sessions::cookie::time::OffsetDateTime;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, ExpiredDeletion as _, SessionStore as _};

use crate::store::{MAX_BYTES, MISSING, TableStore};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn store(client: &TableServiceClient) -> TableStore {
    TableStore::new(&client.table_named::<DynamicEntity>("Sessions")).unwrap()
}

async fn prepare(mock: &MockTableService) {
    mock.client().create_table("Sessions").await.unwrap();
}

/// A session that expires after `ttl` by the clock of the service.
fn record(mock: &MockTableService, id: i128, value: i64, ttl: Duration) -> Record {
    let expiry_date = OffsetDateTime::from(mock.clock().now() + ttl);
    Record { id: Id(id), data: [("value".to_owned(), json!(value))].into(), expiry_date }
}

async fn value(store: &TableStore, id: i128) -> Option<i64> {
    let record = store.load(&Id(id)).await.unwrap()?;
    assert_eq!(record.id, Id(id));
    record.data["value"].as_i64()
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Backend(text) if text == MISSING)
}

/// The number of requests since the last call.
fn requests(mock: &MockTableService) -> usize {
    let count = mock.requests().total();
    mock.requests().clear();
    count
}

struct Browser {
    app: Router,
    cookie: Option<String>,
}

impl Browser {
    fn new(mock: &MockTableService) -> Self {
        Self { app: crate::app(store(&mock.client())), cookie: None }
    }

    async fn send(&mut self, method: &str, path: &str) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        let response =
            self.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("HttpOnly") || cookie.contains("Max-Age=0"), "{cookie}");
            let cookie = cookie.split(';').next().unwrap();
            self.cookie = (!cookie.ends_with('=')).then(|| cookie.to_owned());
        }
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.into()).unwrap())
    }

    /// The status of a request.
    async fn post(&mut self, path: &str) -> u16 {
        self.send("POST", path).await.0
    }

    async fn basket(&mut self) -> (u16, String) {
        self.send("GET", "/basket").await
    }
}

#[tokio::test]
async fn each_page_view_sends_the_documented_requests() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let mut browser = Browser::new(&mock);
    requests(&mock);
    assert_eq!((browser.basket().await.0, requests(&mock)), (401, 0));
    assert_eq!((browser.post("/sign-in/Joe").await, requests(&mock)), (204, 1 + 2));
    assert_eq!((browser.basket().await, requests(&mock)), ((200, "[]".to_owned()), 1));
    assert_eq!((browser.post("/basket/apples").await, requests(&mock)), (200, 1 + 3));
    assert_eq!(browser.basket().await.1, r#"["apples"]"#);
    requests(&mock);
    assert_eq!((browser.post("/sign-out").await, requests(&mock)), (204, 3));
    assert_eq!((browser.basket().await.0, requests(&mock)), (401, 0));
}

#[tokio::test(start_paused = true)]
async fn each_call_sends_the_documented_requests() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let store = store(&mock.client()).margin(Duration::ZERO);
    let mut session = record(&mock, 1, 1, HOUR);
    requests(&mock);
    store.create(&mut session).await.unwrap();
    assert_eq!(requests(&mock), 2);
    assert_eq!(value(&store, 1).await, Some(1));
    assert_eq!(requests(&mock), 1);
    store.save(&session).await.unwrap();
    assert_eq!(requests(&mock), 3);
    store.delete(&session.id).await.unwrap();
    assert_eq!(requests(&mock), 3);
    assert!(is_missing(&store.save(&session).await.unwrap_err()));
    store.delete(&session.id).await.unwrap();
    assert_eq!(value(&store, 1).await, None);
    assert_eq!(requests(&mock), 3);
    // The row of the deletion, and two queries of a partition before the wait, one after it.
    assert_eq!(store.sweep(HOUR).await.unwrap(), 0);
    assert_eq!((requests(&mock), mock.row_count("Sessions")), (2 * 16 + 2, Some(0)));
    store.create(&mut record(&mock, 2, 2, Duration::ZERO)).await.unwrap();
    requests(&mock);
    assert_eq!(store.sweep(HOUR).await.unwrap(), 1);
    assert_eq!((requests(&mock), mock.row_count("Sessions")), (2 * 16 + 2 + 2, Some(0)));
}

#[tokio::test]
async fn a_new_id_after_the_sign_in_and_none_after_the_sign_out() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let (mut browser, mut thief) = (Browser::new(&mock), Browser::new(&mock));
    let planted = Some(format!("id={}", Id(7)));
    browser.cookie.clone_from(&planted);
    assert_eq!(browser.post("/sign-in/Joe").await, 204);
    assert_ne!(browser.cookie, planted);
    thief.cookie = planted;
    assert_eq!(thief.basket().await.0, 401);
    assert_eq!(browser.post("/basket/apples").await, 200);

    let first = browser.cookie.clone();
    assert_eq!(browser.post("/sign-in/Joe").await, 204);
    assert_ne!(browser.cookie, first);
    thief.cookie = first;
    assert_eq!(thief.basket().await.0, 401);
    assert_eq!(browser.basket().await, (200, r#"["apples"]"#.to_owned()));

    let last = browser.cookie.clone();
    assert_eq!(browser.post("/sign-out").await, 204);
    assert_eq!(browser.cookie, None);
    browser.cookie = last;
    assert_eq!(browser.basket().await.0, 401);
}

#[tokio::test]
async fn a_failure_of_the_table_is_not_a_sign_out() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let mut browser = Browser::new(&mock);
    assert_eq!(browser.post("/sign-in/Joe").await, 204);
    mock.faults().add(Fault::error(403, "AccountIsDisabled"));
    assert_eq!(browser.basket().await.0, 503);
    assert_eq!(browser.post("/basket/apples").await, 503);
    assert_eq!(browser.post("/sign-out").await, 503);
    mock.faults().clear();
    assert_eq!(browser.basket().await, (200, "[]".to_owned()));
}

#[tokio::test]
async fn rows_and_errors_do_not_reveal_ids() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let store = store(&mock.client());
    let mut session = record(&mock, 0x0123_4567_89ab_cdef, 1, HOUR);
    store.create(&mut session).await.unwrap();
    mock.faults().add(Fault::error(403, "AccountIsDisabled").times(1).on(Operation::Transaction));
    let error = store.save(&session).await.unwrap_err();
    let shown = format!("{error:?} {error} {:?}", mock.rows("Sessions").unwrap());
    let id = session.id;
    for secret in [id.to_string(), id.0.to_string(), format!("{:x}", id.0)] {
        assert!(!shown.contains(&secret), "{secret} is in {shown}");
    }
}

#[tokio::test]
async fn an_id_in_use_is_not_overwritten() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let store = store(&mock.client());
    store.create(&mut record(&mock, 1, 1, HOUR)).await.unwrap();
    let mut other = record(&mock, 1, 2, HOUR);
    store.create(&mut other).await.unwrap();
    assert_ne!(other.id, Id(1));
    assert_eq!(value(&store, 1).await, Some(1));
    assert_eq!(value(&store, other.id.0).await, Some(2));
}

#[tokio::test]
async fn the_last_of_concurrent_saves_wins() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let store = store(&mock.client());
    store.create(&mut record(&mock, 1, 0, HOUR)).await.unwrap();
    let saves = (1..8).map(|n| record(&mock, 1, n, HOUR)).collect::<Vec<_>>();
    let saved = futures_util::future::join_all(saves.iter().map(|it| store.save(it))).await;
    assert!(saved.iter().all(Result::is_ok), "{saved:?}");
    assert!(value(&store, 1).await.unwrap() > 0);
}

#[tokio::test(start_paused = true)]
async fn a_save_does_not_bring_back_a_deleted_session() {
    let mock = mock();
    prepare(&mock).await;
    let store = store(&mock.client()).margin(Duration::ZERO);
    store.create(&mut record(&mock, 1, 1, HOUR)).await.unwrap();
    mock.faults().add(Fault::delay_request(10 * SECOND).times(1).on(Operation::Transaction));
    let late = record(&mock, 1, 2, HOUR);
    let sign_out = async {
        tokio::time::sleep(SECOND).await;
        store.delete(&Id(1)).await.unwrap();
        assert_eq!(value(&store, 1).await, None);
    };
    let (saved, ()) = tokio::join!(store.save(&late), sign_out);
    assert!(is_missing(&saved.unwrap_err()));
    assert_eq!(value(&store, 1).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_extended_during_a_sweep_stays() {
    let mock = mock();
    prepare(&mock).await;
    // The clock of the sweeper is ahead.
    let clock = MachineClock::new(mock.clock(), 1.0);
    clock.skew(2 * 3600);
    let client = mock.client_builder().clock(Arc::new(clock)).build().unwrap();
    let sweeper = store(&client).margin(Duration::ZERO);
    let store = store(&mock.client());
    store.create(&mut record(&mock, 1, 1, HOUR)).await.unwrap();
    // The sweeper has found the expired version, and its next request is late.
    mock.faults().add(Fault::delay_request(10 * SECOND).times(1).on(Operation::Get));
    let extended = record(&mock, 1, 2, 9 * HOUR);
    let extend = async {
        tokio::time::sleep(SECOND).await;
        store.save(&extended).await.unwrap();
    };
    let (swept, ()) = tokio::join!(sweeper.sweep(HOUR), extend);
    assert_eq!(swept.unwrap(), 0);
    assert_eq!(value(&store, 1).await, Some(2));
    assert_eq!(sweeper.margin(2 * HOUR).sweep(HOUR).await.unwrap(), 0);
    assert_eq!(value(&store, 1).await, Some(2));
}

#[tokio::test(start_paused = true)]
async fn an_expired_session_is_neither_loaded_nor_saved() {
    let mock = mock();
    prepare(&mock).await;
    let store = store(&mock.client());
    store.create(&mut record(&mock, 1, 1, HOUR)).await.unwrap();
    tokio::time::sleep(59 * MINUTE).await;
    assert_eq!(value(&store, 1).await, Some(1));
    tokio::time::sleep(MINUTE).await;
    assert_eq!(value(&store, 1).await, None);
    assert!(is_missing(&store.save(&record(&mock, 1, 2, HOUR)).await.unwrap_err()));
    // The margin of a day has not passed.
    store.delete_expired().await.unwrap();
    assert_eq!(mock.row_count("Sessions"), Some(2));
    tokio::time::sleep(24 * HOUR).await;
    store.delete_expired().await.unwrap();
    assert_eq!(mock.row_count("Sessions"), Some(0));
}

#[tokio::test]
async fn a_large_session_spans_rows() {
    let mock = MockTableService::new();
    prepare(&mock).await;
    let store = store(&mock.client());
    let mut session = record(&mock, 1, 1, HOUR);
    // The JSON text has 11 more bytes.
    session.data = [("text".to_owned(), json!("x".repeat(MAX_BYTES - 11)))].into();
    assert_eq!(serde_json::to_vec(&session.data).unwrap().len(), MAX_BYTES);
    store.create(&mut session).await.unwrap();
    assert_eq!(mock.row_count("Sessions"), Some(1 + 4));
    assert_eq!(store.load(&session.id).await.unwrap().unwrap().data, session.data);
    requests(&mock);
    store.save(&session).await.unwrap();
    assert_eq!(requests(&mock), 3);

    session.data.insert("more".to_owned(), json!(1));
    let error = store.save(&session).await.unwrap_err();
    assert!(matches!(error, Error::Encode(_)), "{error}");
    session.data.clear();
    session.expiry_date = OffsetDateTime::UNIX_EPOCH.replace_year(-1).unwrap();
    let error = store.create(&mut session).await.unwrap_err();
    assert!(matches!(error, Error::Encode(_)), "{error}");
    assert_eq!(requests(&mock), 0);
}
