//! `copy`: between the services, refused rows, unknown outcomes and checkpoints.

use std::fs;
use std::time::{Duration, Instant};

use azure_table_client::{DynamicEntity, TableServiceClient};
use serde_json::Value;

use crate::files::fill;
use crate::pair::{Pair, insert, row};
use crate::support::Emulator;

#[tokio::test]
async fn a_copy_has_the_same_rows_and_other_rows_stay() {
    let pair = Pair::new();
    let blogs = pair.source.table("Blogs").await;
    let rows = [row("a", "1"), row("a", "2"), row("\u{1f600}", "3"), row("\u{ffff}", "")];
    insert(&blogs, &rows).await;
    let copy = pair.target.table("Copy").await;
    insert(&copy, &[row("a", "1").with("Old", true), row("b", "0")]).await;

    let missing = pair.run(&["copy", "Nothing", "Copy"]).failed(6);
    assert!(missing.contains("TableNotFound") || missing.contains("not found"), "{missing}");
    let missing = pair.run(&["copy", "Blogs", "Nothing"]).failed(6);
    assert!(!missing.contains("--resume"), "{missing}");
    assert_eq!(fs::read_dir(pair.folder.path()).unwrap().count(), 0);

    let end = pair.copy(&["--parallel", "4"]);
    assert!(end.err.contains("4 rows copied"), "{end:?}");
    end.done();
    assert_eq!(copy.query().count().await.unwrap(), 5);
    let differences = pair.diff();
    assert_eq!(differences.out, "only in B: (\"b\", \"0\")\n");
    differences.failed(3);

    // A merge keeps other properties, a filter selects rows, and nothing is left behind.
    insert(&copy, &[row("c", "1")]).await;
    copy.delete(("a", "1"), azure_table_client::IfMatch::Any).await.unwrap();
    insert(&copy, &[DynamicEntity::new("a", "1").with("Own", 1)]).await;
    pair.copy(&["--mode", "upsert-merge", "--filter", "RowKey eq '1'", "--quiet"]).done();
    let merged = copy.get(("a", "1")).await.unwrap();
    assert_eq!(merged.properties().count(), 3);
    assert_eq!(fs::read_dir(pair.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_table_is_not_copied_into_itself() {
    let emulator = Emulator::start();
    let error = emulator.run(&["copy", "Blogs", "blogs"]).failed(2);
    assert!(error.contains("the source and the target are the same table"), "{error}");
}

#[tokio::test]
async fn a_source_that_does_not_exist_leaves_no_table() {
    let pair = Pair::new();
    let error = pair.copy(&["--create"]).failed(6);
    assert!(error.contains("Blogs"), "{error}");
    assert!(pair.target.client().list_tables().await.unwrap().is_empty());
    assert_eq!(fs::read_dir(pair.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn rows_that_cosmos_db_refuses_are_listed() {
    let pair = Pair::into_cosmos();
    let blogs = pair.source.table("Blogs").await;
    insert(&blogs, &[row("a", "1"), row("a", ""), row("", "2"), row("b", "1").with("Etag", "x")])
        .await;
    insert(&blogs, &[row("b", "2").with("ID", 1), row("b", "3"), row("c", &"k".repeat(1024))])
        .await;

    let missing = pair.copy(&[]).failed(6);
    assert!(missing.contains("add --create"), "{missing}");
    let error = pair.copy(&["--create", "--resume"]).failed(4);
    assert!(error.contains("2 rows copied, 5 refused (Blogs-Copy.failed.jsonl)"), "{error}");
    let refused = pair.refused();
    let keys: Vec<_> = refused
        .iter()
        .map(|line| (line["PartitionKey"].as_str().unwrap(), line["RowKey"].as_str().unwrap()))
        .collect();
    let long = "k".repeat(1024);
    assert_eq!(keys, [("", "2"), ("a", ""), ("b", "1"), ("b", "2"), ("c", &*long)]);
    assert!(refused[2]["reason"].as_str().unwrap().contains("Etag"), "{refused:?}");
    assert_eq!(
        (&refused[2]["outcome"], &refused[2]["row"]["Etag"]),
        (&"refused".into(), &"x".into())
    );
    let differences = pair.diff();
    assert_eq!(differences.out.lines().count(), 5, "{differences:?}");
    assert!(differences.out.lines().all(|line| line.starts_with("only in A: ")), "{differences:?}");
    assert!(!pair.path("Blogs-Copy.checkpoint").exists());
}

#[tokio::test]
async fn an_unknown_outcome_is_resolved_by_resuming() {
    for mode in ["upsert-replace", "insert"] {
        let pair = Pair::new();
        let blogs = pair.source.table("Blogs").await;
        insert(&blogs, &[row("a", "1"), row("b", "1"), row("c", "1"), row("c", "2")]).await;
        // The service applies the rows of one partition, and neither the reply nor a read shows it.
        pair.target.add_faults(
            r#"[{"fault":"lose_reply","on":"writes","partition":"b"},
                {"fault":"internal_error","on":"reads","partition":"b"}]"#,
        );
        let copy = ["--create", "--mode", mode, "--give-up-after", "1s"];
        let error = pair.copy(&copy).failed(5);
        assert!(
            error.contains("1 unknown (Blogs-Copy.failed.jsonl)") && error.contains("--resume"),
            "{error}"
        );
        assert!(pair.path("Blogs-Copy.checkpoint").exists());
        // The run would begin again.
        let error = pair.copy(&copy).failed(2);
        assert!(error.contains("add --resume"), "{error}");
        let error = pair.copy(&["--mode", "upsert-merge", "--resume"]).failed(2);
        assert!(error.contains("its mode is"), "{error}");

        pair.target.end_faults();
        let end = pair.copy(&[&copy[..], &["--resume"]].concat());
        assert!(end.err.contains("4 rows copied"), "{end:?}");
        end.done();
        pair.diff().done();
    }
}

#[tokio::test]
async fn an_insert_reports_rows_that_exist() {
    let pair = Pair::new();
    let blogs = pair.source.table("Blogs").await;
    insert(&blogs, &[row("a", "1"), row("a", "2"), row("b", "1")]).await;
    insert(&pair.target.table("Copy").await, &[row("a", "1").with("Text", "other")]).await;
    let error = pair.copy(&["--mode", "insert"]).failed(4);
    assert!(error.contains("2 rows copied, 1 refused"), "{error}");
    assert_eq!(pair.refused()[0]["RowKey"], "1");
    let differences = pair.diff();
    assert!(
        differences.out.starts_with(r#"different: ("a", "1"): Text is Edm.String "a" in A"#),
        "{differences:?}"
    );
}

#[tokio::test]
async fn a_copy_from_cosmos_db_begins_again() {
    let pair = Pair::from_cosmos();
    let service: TableServiceClient = pair.source.client();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    let partitions: Vec<_> = (0..80).map(|n| format!("p{n:02}")).collect();
    for partition in &partitions {
        insert(&blogs, &[row(partition, "1")]).await;
    }
    pair.target.add_faults(
        r#"[{"fault":"lose_reply","on":"writes","partition":"p07"},
            {"fault":"internal_error","on":"reads","partition":"p07"}]"#,
    );
    pair.copy(&["--create", "--give-up-after", "1s"]).failed(5);
    let checkpoint = fs::read_to_string(pair.path("Blogs-Copy.checkpoint")).unwrap();
    let checkpoint: Value = serde_json::from_str(&checkpoint).unwrap();
    assert_eq!(checkpoint["position"]["after"], Value::Null);
    assert!(!checkpoint.to_string().contains("AccountKey"));
    pair.target.end_faults();
    let end = pair.copy(&["--resume"]);
    assert!(end.err.contains("80 rows copied"), "{end:?}");
    end.done();
    assert_eq!(pair.diff().done(), "");
}

#[tokio::test]
async fn a_resumed_insert_compares_the_rows_that_exist() {
    let pair = Pair::from_cosmos();
    let blogs = pair.source.table("Blogs").await;
    for n in 0..10 {
        insert(&blogs, &[row(&format!("p{n:02}"), "1")]).await;
    }
    insert(&pair.target.table("Copy").await, &[row("p05", "1").with("Text", "other")]).await;
    pair.target.add_faults(
        r#"[{"fault":"lose_reply","on":"writes","partition":"p07"},
            {"fault":"internal_error","on":"reads","partition":"p07"}]"#,
    );
    pair.copy(&["--mode", "insert", "--give-up-after", "1s"]).failed(5);
    pair.target.end_faults();
    let error = pair.copy(&["--mode", "insert", "--resume"]).failed(4);
    assert!(error.contains("9 rows copied, 1 refused ("), "{error}");
    let refused = pair.refused();
    assert_eq!((refused.len(), &refused[0]["PartitionKey"]), (1, &Value::from("p05")));
    assert!(!pair.path("Blogs-Copy.checkpoint").exists());
}

#[tokio::test]
async fn save_every_sets_the_time_between_two_saves() {
    let pair = Pair::new();
    fill(&pair.source, "Blogs", 3000).await;
    let slow = r#"{"faults":[{"fault":"delay_reply","milliseconds":100}]}"#;
    pair.target.add_faults(slow);
    let mut copy =
        pair.source.command(&["copy", "Blogs", "Copy", "--create", "--to", "env:TARGET"]);
    copy.args(["--save-every", "20ms", "--concurrency", "1"]).current_dir(pair.folder.path());
    let mut copy = copy.env("TARGET", pair.target.connection_string()).spawn().unwrap();
    let copied = || {
        let text = fs::read(pair.path("Blogs-Copy.checkpoint")).ok()?;
        let saved: Value = serde_json::from_slice(&text).ok()?;
        saved["position"]["copied"].as_u64().filter(|copied| *copied > 0)
    };
    let begin = Instant::now();
    while copied().is_none() {
        assert!(copy.try_wait().unwrap().is_none(), "the copy ended without a save");
        assert!(begin.elapsed() < Duration::from_secs(4), "no row was saved");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    copy.kill().unwrap();
    copy.wait().unwrap();
    pair.target.end_faults();
    let resumed = pair.copy(&["--resume"]);
    assert!(resumed.err.contains("continues after"), "{resumed:?}");
    resumed.done();
    pair.diff().done();
}
