//! A service that returns rows in another order than Azure Storage, and that is not known to be Cosmos DB.

use std::fs;

use azure_table_client::DynamicEntity;
use serde_json::{Value, json};

use crate::proxy::Proxy;
use crate::support::{Emulator, Folder};

const ROWS: usize = 60;

/// An emulator with pages of 10 rows, 20 rows in each partition.
async fn filled() -> Emulator {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    for n in 0..ROWS {
        let partition = ["a", "b", "c"][n / 20];
        table.insert(&DynamicEntity::new(partition, format!("{n:03}"))).await.unwrap();
    }
    emulator.add_faults(r#"{"fault":"page_of","rows":10}"#);
    emulator
}

#[tokio::test]
async fn an_export_keeps_no_position() {
    let emulator = filled().await;
    let proxy = Proxy::reversing(&emulator);
    for (name, parallel) in [("rows.jsonl", "1"), ("rows.csv", "1"), ("rows.parquet", "4")] {
        let folder = Folder::new();
        let file = folder.file(name);
        let export = ["export", "Blogs", &file, "--save-every", "1ms", "--parallel", parallel];
        let error = proxy.run(&export).failed(1);
        assert!(error.contains("table Blogs is not in key order: "), "{error}");
        assert!(error.contains("--dialect cosmos"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}: a file is left");
        proxy.run(&[&export[..], &["--dialect", "cosmos"]].concat()).done();
        let end = emulator.run(&["diff", "Blogs", &file]);
        assert!(end.err.contains("60 rows in A, 60 in B"), "{end:?}");
        end.done();
    }
    // Standard output has no position.
    assert_eq!(proxy.run(&["export", "Blogs", "-"]).done().lines().count(), ROWS);
}

#[tokio::test]
async fn a_copy_begins_again() {
    let (source, target, folder) = (filled().await, Emulator::start(), Folder::new());
    let proxy = Proxy::reversing(&source);
    let checkpoint = folder.file("copy.checkpoint");
    for (name, mode) in [("Replaced", "upsert-replace"), ("Inserted", "insert")] {
        let copy = |options: &[&str]| {
            let command = ["copy", "Blogs", name, "--to", "env:TARGET", "--create", "--mode", mode];
            let mut command = source.command(&[&command[..], options].concat());
            command.args(["--checkpoint", &checkpoint, "--failed", &folder.file("refused")]);
            command.env("AZURE_STORAGE_CONNECTION_STRING", proxy.connection_string());
            command.env("TARGET", target.connection_string());
            crate::support::Run::of(&command.output().unwrap())
        };
        let error = copy(&[]).failed(1);
        assert!(error.contains("table Blogs is not in key order: "), "{error}");
        assert!(error.contains("--from-dialect cosmos"), "{error}");
        let saved: Value = serde_json::from_str(&fs::read_to_string(&checkpoint).unwrap()).unwrap();
        assert_eq!(saved["position"]["after"], Value::Null);
        assert!(copy(&["--resume"]).failed(1).contains("--from-dialect cosmos"));
        let end = copy(&["--resume", "--from-dialect", "cosmos"]);
        assert!(end.err.contains("60 rows copied"), "{end:?}");
        end.done();
        let exported = folder.file("blogs.jsonl");
        source.run(&["export", "Blogs", &exported, "--yes"]).done();
        assert_eq!(target.run(&["diff", name, &exported]).done(), "");
    }
}

#[tokio::test]
async fn a_copy_that_learns_of_no_order_drops_a_saved_position() {
    let (source, target, folder) = (filled().await, Emulator::start(), Folder::new());
    let proxy = Proxy::reversing(&source);
    let checkpoint = folder.file("copy.checkpoint");
    let copy = |options: &[&str]| {
        let command = ["copy", "Blogs", "Copy", "--to", "env:TARGET", "--create"];
        let mut command = source.command(&[&command[..], options].concat());
        command.args(["--checkpoint", &checkpoint, "--failed", &folder.file("refused")]);
        command.env("AZURE_STORAGE_CONNECTION_STRING", proxy.connection_string());
        command.env("TARGET", target.connection_string());
        crate::support::Run::of(&command.output().unwrap())
    };
    copy(&[]).failed(1);
    target.run(&["drop", "Copy", "--yes"]).done();
    // A run that was interrupted before a row out of order has a position.
    let mut saved: Value = serde_json::from_str(&fs::read_to_string(&checkpoint).unwrap()).unwrap();
    saved["position"]["after"] = json!(["b", "030"]);
    saved["position"]["copied"] = json!(31);
    fs::write(&checkpoint, saved.to_string()).unwrap();
    let end = copy(&["--resume", "--from-dialect", "cosmos"]);
    assert_eq!(end.err.matches("the copy begins again").count(), 1, "{end:?}");
    assert!(!end.err.contains("(checkpoint of"), "{end:?}");
    assert!(end.err.contains("60 rows copied"), "{end:?}");
    end.done();
    assert_eq!(target.run(&["count", "Copy"]).done(), "60\n");
}

#[tokio::test]
async fn partitions_are_not_counted_twice() {
    let emulator = filled().await;
    let proxy = Proxy::reversing(&emulator);
    // A page has rows of two partitions.
    emulator.end_faults();
    let count = ["count", "Blogs", "--by-partition"];
    let end = proxy.run(&count);
    assert_eq!(end.out, "");
    let error = end.failed(1);
    assert!(error.contains(r#"the PartitionKey "b" comes after "c""#), "{error}");
    assert!(error.contains("--dialect cosmos"), "{error}");
    let out = proxy.run(&[&count[..], &["--dialect", "cosmos"]].concat()).done();
    assert_eq!(out, "20  \"a\"\n20  \"b\"\n20  \"c\"\n");
    // A number of rows does not depend on their order.
    assert_eq!(proxy.run(&["count", "Blogs"]).done(), "60\n");
}

#[tokio::test]
async fn differences_name_the_option_of_their_side() {
    let emulator = filled().await;
    let proxy = Proxy::reversing(&emulator);
    let folder = Folder::new();
    let file = folder.file("rows.jsonl");
    emulator.run(&["export", "Blogs", &file]).done();
    for (sides, option) in
        [(["Blogs", &file], "--from-dialect"), ([&file, "Blogs"], "--to-dialect")]
    {
        let error = proxy.run(&["diff", sides[0], sides[1]]).failed(1);
        assert!(error.contains("a row comes after a larger key"), "{error}");
        assert!(error.contains(&format!("{option} cosmos")), "{error}");
        assert_eq!(proxy.run(&["diff", sides[0], sides[1], option, "cosmos"]).done(), "");
    }
}
