//! `count`.

use azure_table_client::DynamicEntity;
use serde_json::{Value, json};

use crate::support::Emulator;

async fn filled(options: &[&str]) -> Emulator {
    let emulator = Emulator::start_with(options);
    let table = emulator.table("Blogs").await;
    for (partition, rows) in [("small", 2), ("large", 12), ("tab\u{ad}here", 5), ("single", 1)] {
        for n in 0..rows {
            table.insert(&DynamicEntity::new(partition, format!("{n:02}"))).await.unwrap();
        }
    }
    emulator
}

#[tokio::test]
async fn rows_are_counted() {
    let emulator = filled(&[]).await;
    // Pages of few rows, some of them empty.
    emulator.add_faults(r#"{"fault":"split_page"}"#);
    assert_eq!(emulator.run(&["count", "Blogs"]).done(), "20\n");
    assert_eq!(emulator.run(&["count", "Blogs", "--parallel", "4"]).done(), "20\n");
    let filter = "PartitionKey eq 'large' and RowKey ge '10'";
    let end = emulator.run(&["count", "Blogs", "--filter", filter, "--quiet"]);
    assert_eq!((&*end.err, &*end.out), ("", "2\n"));
    emulator.run(&["count", "Nothing"]).failed(6);
    emulator.run(&["count", "Blogs", "--filter", "x y"]).failed(2);
    emulator.run(&["count", "Blogs", "--parallel", "0"]).failed(2);
    emulator.run(&["count", "Blogs", "--top", "3"]).failed(2);
}

#[tokio::test]
async fn the_largest_partitions_come_first() {
    for (options, dialect) in [(&[][..], "storage"), (&["--dialect", "cosmos"], "cosmos")] {
        let emulator = filled(options).await;
        for parallel in ["1", "3"] {
            let count =
                ["count", "Blogs", "--by-partition", "--dialect", dialect, "--parallel", parallel];
            let out = emulator.run(&[&count[..], &["--top", "3"]].concat()).done();
            assert_eq!(out, "12  \"large\"\n 5  \"tab\\u{ad}here\"\n 2  \"small\"\n");
            let end = emulator.run(&[&count[..], &["--output", "jsonl"]].concat());
            assert!(end.err.contains("20 rows in 4 partitions (4 listed)"), "{end:?}");
            let lines: Vec<Value> =
                end.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines[1], json!({"PartitionKey": "tab\u{ad}here", "rows": 5}));
        }
    }
}
