//! Copies that end early: by Ctrl-C before the first row, or because too many rows have no outcome.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::BulkOperation;
use serde_json::Value;

use crate::support::{Emulator, Folder, Run};

/// Sends a signal, such as `-INT`, once the process is connected to the listener, and returns its end.
async fn interrupted(mut child: Child, signal: &str, listener: &TcpListener) -> Run {
    let patience = Duration::from_secs(20);
    let (begin, pause) = (Instant::now(), Duration::from_millis(20));
    listener.set_nonblocking(true).unwrap();
    let _connection = loop {
        match listener.accept() {
            Ok(connection) => break connection,
            Err(_) => assert!(begin.elapsed() < patience, "no request came"),
        }
        tokio::time::sleep(pause).await;
    };
    let signal = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(signal.success());
    let signalled = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if signalled.elapsed() > Duration::from_secs(5) {
            child.kill().unwrap();
            panic!("{signal} did nothing: {:?}", Run::of(&child.wait_with_output().unwrap()));
        }
        tokio::time::sleep(pause).await;
    }
    Run::of(&child.wait_with_output().unwrap())
}

#[tokio::test]
async fn signals_end_the_creation_and_the_lookup_of_the_table() {
    let source = Emulator::start();
    source.table("Blogs").await;
    for (dialect, options, signal, code) in [
        ("storage", &["--create"][..], "-INT", 130),
        ("storage", &["--create"], "-TERM", 143),
        ("cosmos", &[], "-INT", 130),
    ] {
        // A service that never responds.
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", target.local_addr().unwrap());
        let folder = Folder::new();
        let copy = || {
            let mut copy = source.command(&["copy", "Blogs", "Copy", "--to", "env:TARGET"]);
            copy.args(options).args(["--to-dialect", dialect]).current_dir(folder.path());
            copy.env("TARGET", source.connection_string().replace(&source.origin, &origin));
            copy.spawn().unwrap()
        };
        let error = interrupted(copy(), signal, &target).await.failed(code);
        assert!(error.ends_with("interrupted before a row was sent\n"), "{dialect}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{dialect}: a file is left");
    }
}

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
        let error = copy(&[&["--give-up-after", "1s"], resume].concat()).failed(code);
        assert!(error.contains("10,000 rows"), "{error}");
        let state = if code == 5 { "unknown (Blogs-Copy.failed.jsonl)" } else { "not copied" };
        let expected = format!("100 rows copied, 10,000 {state}; continue with --resume");
        assert!(error.contains(&expected), "{error}");
        let position = &checkpoint()["position"];
        assert_eq!(position["unresolved"].as_array().unwrap().len(), LIMIT);
        assert_eq!(position["after"][1], format!("{:06}", LIMIT - 1));
    }
    target.end_faults();
    let end = copy(&["--resume"]);
    assert!(end.err.contains("20,200 rows copied"), "{end:?}");
    end.done();
    assert_eq!(target.run(&["count", "Copy"]).done(), "20200\n");
}
