//! Copies that end early.

use std::fs;

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::BulkOperation;
use serde_json::Value;

use crate::support::{Emulator, Folder, Run};

/// The limit on the rows without an outcome.
const LIMIT: usize = 10_000;

#[tokio::test]
async fn a_copy_stops_at_a_limit_of_rows_without_an_outcome() {
    let (source, target, folder) = (Emulator::start(), Emulator::start(), Folder::new());
    let rows = |partition: &'static str, count: usize| {
        (0..count)
            .map(move |n| BulkOperation::Insert(DynamicEntity::new(partition, format!("{n:06}"))))
    };
    let blogs = source.table("Blogs").await;
    let all = rows("a", 100).chain(rows("b", 2 * LIMIT)).chain(rows("c", 100));
    blogs.bulk().run(all).await.unwrap();
    // One partition is throttled until it is given up.
    target.add_faults(r#"{"fault":"busy","partition":"b"}"#);
    let copy = |options: &[&str]| {
        let mut copy = source.command(&["copy", "Blogs", "Copy", "--to", "env:TARGET", "--create"]);
        copy.args(options).env("TARGET", target.connection_string()).current_dir(folder.path());
        Run::of(&copy.output().unwrap())
    };
    let checkpoint = || -> Value {
        let text = fs::read_to_string(folder.file("Blogs-Copy.checkpoint")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    // A resumed run does not get further while the partition is throttled. To that run, the rows may have been written by
    // the first one.
    for (resume, code) in [(&[][..], 1), (&["--resume"], 5)] {
        let error = copy(&[&["--give-up-after", "1"], resume].concat()).failed(code);
        assert!(error.contains("10,000 rows"), "{error}");
        assert!(error.contains("100 rows copied; continue with --resume"), "{error}");
        let position = &checkpoint()["position"];
        assert_eq!(position["unresolved"].as_array().unwrap().len(), LIMIT);
        assert_eq!(position["after"]["RowKey"], format!("{:06}", LIMIT - 1));
    }
    target.end_faults();
    let end = copy(&["--resume"]);
    assert!(end.err.contains("20,200 rows copied"), "{end:?}");
    end.done();
    assert_eq!(target.run(&["count", "Copy"]).done(), "20200\n");
}
