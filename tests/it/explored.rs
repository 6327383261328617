//! `explore` finds a mistake, and repeats the run that shows it.

use std::env;
use std::panic::catch_unwind;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::clock::TokioClock;
use azure_table_client::mock::{Fault, MockTableService, explore};
use azure_table_client::transport::HttpRequest;
use azure_table_client::{DynamicEntity, IfMatch, Operation};
use http::Method;

const KEY: (&str, &str) = ("blog", "home");

/// Two programs count a visit without a condition: the program of the guide. The other test repeats it in processes of its own.
#[test]
#[should_panic = ""]
fn lost_updates() {
    explore(0..1_000, async |mock| {
        mock.seed("Pages", &[DynamicEntity::new(KEY.0, KEY.1).with("Visits", 0)]).unwrap();
        let pages = mock.client().table_named::<DynamicEntity>("Pages");
        let count = async || {
            let mut page = pages.get(KEY).await?.into_inner();
            let visits: i32 = page.get("Visits").unwrap().unwrap();
            page.set("Visits", visits + 1);
            pages.replace(&page, IfMatch::Any).await
        };
        let (one, other) = tokio::join!(count(), count());
        let counted = i32::from(one.is_ok()) + i32::from(other.is_ok());
        let page = mock.row("Pages", KEY.0, KEY.1).unwrap();
        assert!(page.get::<i32>("Visits").unwrap().unwrap() >= counted);
    });
}

fn process(seed: Option<&str>) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "explored::lost_updates", "--nocapture"]);
    command.env_remove("AZURE_TABLE_RANDOM_SEED");
    if let Some(seed) = seed {
        command.env("AZURE_TABLE_RANDOM_SEED", seed);
    }
    command.output().unwrap()
}

/// The seed, the faults and the requests.
fn report(output: &Output) -> String {
    assert!(output.status.success(), "the test does not fail: {output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let from = text.find("the test fails with ").expect("a report");
    // The backtrace, the summary of the test program and its time are before and after it.
    text[from..].to_owned()
}

#[test]
fn a_failure_is_repeated_by_its_seed() {
    let first = report(&process(None));
    let line = first.lines().next().unwrap();
    let seed = line.strip_prefix("the test fails with AZURE_TABLE_RANDOM_SEED=").unwrap();
    println!("the first seed that fails: {seed}");
    assert!(
        first.contains("times {\"fault\":") && first.contains("\n#1 2026-01-01T00:00:00"),
        "{first}"
    );
    assert!(!first.contains("SharedKey"), "{first}");
    assert_eq!(report(&process(Some(seed))), first);
    let wrong = process(Some("x"));
    let text = String::from_utf8_lossy(&wrong.stderr);
    assert!(text.contains("AZURE_TABLE_RANDOM_SEED is \"x\": invalid digit"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn seeds_differ_and_the_log_has_no_secret() {
    let log = async |seed| {
        let mock = MockTableService::with_random_seed(seed);
        let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        blogs.insert(&DynamicEntity::new("a", "1")).await.unwrap();
        mock.log()
    };
    let (one, other) = (log(1).await, log(2).await);
    assert_ne!(one, other);
    assert!(
        one.contains("POST /devstoreaccount1/Blogs") && one.contains("204 No Content"),
        "{one}"
    );
    assert!(one.contains("authorization: ...") && !one.contains("SharedKey"), "{one}");
    assert_eq!(MockTableService::new().log(), "");
}

/// Returns the log of a call of Get User Delegation Key and of a batch by hand.
async fn log_of_secrets() -> String {
    let accepts = |token: &str| token == "a-token";
    let mock = MockTableService::builder().random_seed(1).tokens(accepts).build();
    let send = async |path: &str, headers: &[(&'static str, &str)], body: &str| {
        let uri = format!("http://127.0.0.1:10002/devstoreaccount1/{path}");
        let mut request = HttpRequest::new(Method::POST, uri.parse().unwrap());
        for (name, value) in headers {
            request.headers.insert(*name, value.parse().unwrap());
        }
        request.body = body.to_owned().into();
        mock.receive(request).await.unwrap()
    };
    let token = [("authorization", "Bearer a-token"), ("x-ms-version", "2025-07-05")];
    let xml = "<KeyInfo><Start>2026-01-01T00:00:00Z</Start><Expiry>2026-01-01T01:00:00Z</Expiry></KeyInfo>";
    let key = send("?restype=service&comp=userdelegationkey", &token, xml).await;
    assert_eq!(key.status, 200);
    let key = String::from_utf8(key.body.to_vec()).unwrap();
    let key = key.split_once("<Value>").unwrap().1.split_once('<').unwrap().0;
    let batch = "--b\r\nContent-Type: application/http\r\n\r\nGET /Blogs?sv=1&sig=signed%3D&se=2 HTTP/1.1\r\n\
                 AUTHORIZATION: SharedKey a:secret\r\n\r\n--b--\r\n";
    send(
        "$batch?sv=2019-02-02&sig=signed%3D",
        &[("content-type", "multipart/mixed; boundary=b")],
        batch,
    )
    .await;
    let log = mock.log();
    for secret in ["a-token", key, "signed", "secret"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    log
}

#[tokio::test(start_paused = true)]
async fn the_log_shows_no_token_no_delegation_key_and_no_signature() {
    let log = log_of_secrets().await;
    assert!(
        log.contains("sig=...&se=2 HTTP/1.1") && log.contains("comp=userdelegationkey"),
        "{log}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_shows_what_a_late_request_does_after_its_caller_has_left() {
    let mock = MockTableService::with_random_seed(1);
    mock.seed("Blogs", &[DynamicEntity::new("a", "1")]).unwrap();
    mock.faults().add(Fault::delay_request(Duration::from_secs(45)).on(Operation::Delete));
    let client = mock.client_builder().deadline(Duration::from_secs(5)).build().unwrap();
    let blogs = client.table_named::<DynamicEntity>("Blogs");
    blogs.delete(("a", "1"), IfMatch::Any).await.unwrap_err();
    mock.faults().clear();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        mock.direct_client().table_named::<DynamicEntity>("Blogs").query().await.unwrap().len(),
        0
    );
    let log = mock.log();
    assert!(log.contains(" handled: 204 No Content"), "{log}");
    assert!(log.contains(r#"times {"fault":"delay_request","milliseconds":45000}"#), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_seeded_service_with_a_clock_of_its_own_repeats_its_ids() {
    let ids = async || {
        let clock = Arc::new(TokioClock::starting_at(
            SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30),
        ));
        let mock = MockTableService::builder().random_seed(7).clock(clock).build();
        mock.client().create_table("Blogs").await.unwrap();
        let log = mock.log();
        let ids = log.lines().filter(|line| line.contains("x-ms-request-id"));
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = ids().await;
    assert!(!first.is_empty());
    assert_eq!(first, ids().await);
}

#[test]
fn a_service_made_outside_its_runtime_repeats_too() {
    let log = || {
        let mock = MockTableService::with_random_seed(7);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(mock.client().create_table("Blogs").into_future()).unwrap();
        mock.log()
    };
    assert_eq!(log(), log());
}

#[test]
fn wrong_uses_of_explore_are_named() {
    let message = |result: std::thread::Result<()>| {
        let panic = result.unwrap_err();
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap()
    };
    let nothing = || explore(0..0, async |_| ());
    assert!(message(catch_unwind(nothing)).contains("explore needs a seed"));
    let inside = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { explore(0..1, async |_| ()) });
    };
    assert!(message(catch_unwind(inside)).contains("call it in a #[test]"));
    let fails = || explore([u64::MAX], async |_| Err::<(), _>("no"));
    assert!(message(catch_unwind(fails)).contains("the test returned an error"));
    let hangs = || explore(0..1, async |_| std::future::pending::<()>().await);
    assert!(message(catch_unwind(hangs)).contains("within a day of virtual time"));
}
