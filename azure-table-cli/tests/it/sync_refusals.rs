//! `sync` with refused rows, rows that cannot be read, and services that refuse everything.

use std::fs;

use azure_table_client::IfMatch;
use serde_json::json;

use crate::pair::{Pair, insert, row};
use crate::proxy::{Edit, Proxy};
use crate::support::Run;
use crate::sync::Messages;

const END: [&str; 3] = ["--until-equal", "--every", "10ms"];

/// Runs the program with a source behind a proxy.
fn run_behind(pair: &Pair, edit: Edit, arguments: &[&str]) -> Run {
    let proxy = Proxy::start(&pair.source, edit);
    let mut command = pair.command(arguments);
    command.env("AZURE_STORAGE_CONNECTION_STRING", proxy.connection_string());
    Run::of(&command.output().unwrap())
}

const MAKE_UNREADABLE: Edit = |_, rows| {
    for row in rows.iter_mut().filter(|row| row["RowKey"] == "0" && row.get("Views").is_some()) {
        row["Views"] = json!("many");
    }
};

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_is_listed_once() {
    let pair = Pair::new();
    let blogs = pair.source.table("Blogs").await;
    insert(&blogs, &[row("a", "0"), row("a", "1")]).await;
    pair.target.table("Copy").await;
    let sync = [&["sync", "Blogs", "Copy"], &END[..]].concat();
    let error = run_behind(&pair, MAKE_UNREADABLE, &sync).failed(4);
    assert!(error.contains("pass 1: 1 row copied, 0 deleted, 1 refused in"), "{error}");
    assert!(error.contains("pass 3: 0 rows copied, 0 deleted, 0 refused in"), "{error}");
    let end = "1 row refused (Blogs-Copy.failed.jsonl); no other differences: 1 row";
    assert!(error.contains(end), "{error}");
    let refused = pair.refused();
    assert!(refused.len() == 1 && refused[0]["RowKey"] == "0", "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_without_a_time_has_no_end() {
    let pair = Pair::new();
    pair.copied(&[row("a", "1")]).await;
    let remove_date: Edit =
        |head, _| head.retain(|line| !line.to_ascii_lowercase().starts_with("date:"));
    fs::remove_file(pair.path("Blogs-Copy.sync")).unwrap();
    let sync = [&["sync", "Blogs", "Copy"], &END[..]].concat();
    let error = run_behind(&pair, remove_date, &sync).failed(2);
    assert!(error.contains("sends no Date header: each pass copies all rows"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_only_the_scan_misses_is_not_deleted() {
    let pair = Pair::new();
    let rows: Vec<_> = (0..10).map(|n| row("a", &n.to_string())).collect();
    let blogs = pair.source.table("Blogs").await;
    insert(&blogs, &rows).await;
    // A page of keys lacks a row. A page with one row is that of a point read.
    let incomplete: Edit = |_, rows| {
        if rows.len() > 1 && rows[0].get("Text").is_none() {
            rows.retain(|row| row["RowKey"] != "3");
        }
    };
    let proxy = Proxy::start(&pair.source, incomplete);
    let run = |arguments: &[&str]| {
        let mut command = pair.command(arguments);
        command.env("AZURE_STORAGE_CONNECTION_STRING", proxy.connection_string());
        Run::of(&command.output().unwrap())
    };
    run(&["copy", "Blogs", "Copy", "--create", "--for-sync"]).done();
    let end = run(&[&["sync", "Blogs", "Copy", "--delete", "--yes"], &END[..]].concat());
    assert!(end.err.contains("pass 1: 10 rows copied, 0 deleted"), "{end:?}");
    assert!(end.err.contains("no differences: 10 rows"), "{end:?}");
    end.done();
}

#[tokio::test]
async fn a_deletion_without_an_outcome_does_not_hit_a_later_row() {
    let pair = Pair::new();
    let rows: Vec<_> = (0..10).map(|n| row("a", &n.to_string())).collect();
    let [blogs, copy] = pair.copied(&rows).await;
    blogs.delete(("a", "1"), IfMatch::Any).await.unwrap();
    pair.target.add_faults(
        r#"[{"fault":"lose_reply","on":"Delete"},{"fault":"internal_error","on":"Get"}]"#,
    );
    let sync = ["sync", "Blogs", "Copy", "--delete", "--yes", "--every", "2s"];
    let mut child =
        pair.command(&[&sync[..], &["--give-up-after", "1s"]].concat()).spawn().unwrap();
    let mut messages = Messages::of(&mut child);
    messages.wait_for("0 deleted, 0 refused, 1 without an outcome, which the next pass repeats in");
    pair.target.end_faults();
    insert(&copy, &[row("a", "1").with("Text", "of another program")]).await;
    // The row of the other program is not in the source, so that a later pass deletes it, in its own version.
    messages.wait_for("1 deleted, 0 refused in");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(copy.get_if_exists(("a", "1")).await.unwrap().is_none());
    pair.diff().done();
}

#[tokio::test]
async fn a_denied_row_ends_the_pass_with_the_message_of_the_service() {
    let pair = Pair::new();
    let [blogs, _] = pair.copied(&[row("a", "1")]).await;
    insert(&blogs, &[row("b", "1")]).await;
    let position = || fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap();
    let before = position();
    // The response to a row outside the keys of a signature.
    pair.target.add_faults(
        r#"{"fault":"error","status":403,"code":"AuthorizationFailure","on":"writes","partition":"b"}"#,
    );
    let error = pair.sync(&END).failed(8);
    pair.target.end_faults();
    assert!(error.contains("AuthorizationFailure"), "{error}");
    assert!(error.contains("the same command continues"), "{error}");
    assert!(position() == before && !fs::exists(pair.path("Blogs-Copy.failed.jsonl")).unwrap());
    pair.sync(&END).done();
}

#[tokio::test]
async fn a_refusal_that_is_not_about_the_row_is_repeated() {
    let pair = Pair::new();
    let [blogs, _] = pair.copied(&[row("a", "1")]).await;
    insert(&blogs, &[row("b", "1")]).await;
    let fault = r#"{"fault":"error","status":409,"code":"Conflict","on":"writes","partition":"b","times":1}"#;
    pair.target.add_faults(fault);
    let end = pair.sync(&END);
    assert!(end.err.contains("0 refused, 1 without an outcome, which the next pass"), "{end:?}");
    end.done();
    pair.diff().done();
}

#[tokio::test]
async fn a_target_that_is_gone_is_one_error() {
    for pair in [Pair::new(), Pair::into_cosmos()] {
        let [blogs, copy] = pair.copied(&[row("a", "1")]).await;
        copy.delete_table().await.unwrap();
        for change in [true, false] {
            if change {
                insert(&blogs, &[row("a", "2")]).await;
            }
            let error = pair.sync(&END).failed(6);
            let expected = "the target table Copy does not exist any more: delete Blogs-Copy.sync";
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[tokio::test]
async fn a_pass_that_stops_after_a_lost_response_is_unknown() {
    let pair = Pair::new();
    let [blogs, _] = pair.copied(&[row("a", "1"), row("c", "1")]).await;
    for partition in ["a", "c"] {
        let changed = row(partition, "1").with("Text", "changed");
        blogs.insert_or_replace(&changed).await.unwrap();
    }
    pair.target.add_faults(
        r#"[{"fault":"lose_reply","on":"writes","partition":"c"},
            {"fault":"internal_error","on":"reads","partition":"c"},
            {"fault":"delay_request","milliseconds":500,"on":"writes","partition":"a"},
            {"fault":"error","status":403,"code":"AccountIsDisabled","on":"writes","partition":"a"}]"#,
    );
    let error = pair.sync(&[&END[..], &["--give-up-after", "100ms"]].concat()).failed(5);
    pair.target.end_faults();
    assert!(error.contains("AccountIsDisabled"), "{error}");
    assert!(error.contains("the same command continues"), "{error}");
    pair.sync(&END).done();
}
