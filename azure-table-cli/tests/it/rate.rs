//! `--rate` and `--ramp`.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::BulkOperation;

use crate::support::{Emulator, Folder, Run, run};

/// Writes JSON lines of one partition to a file, and returns its path.
fn rows_file(folder: &Folder, rows: u32) -> String {
    let mut lines = String::new();
    for n in 0..rows {
        writeln!(lines, "{{\"PartitionKey\":\"p\",\"RowKey\":\"{n:06}\",\"N\":{n}}}").unwrap();
    }
    let path = folder.file("rows.jsonl");
    fs::write(&path, lines).unwrap();
    path
}

async fn fill(emulator: &Emulator, name: &str, rows: u32) {
    let row = |n| BulkOperation::Insert(DynamicEntity::new("p", format!("{n:06}")));
    emulator.table(name).await.bulk().run((0..rows).map(row)).await.unwrap();
}

#[test]
fn invalid_rates_are_refused() {
    for (arguments, part) in [
        (&["count", "Blogs", "--rate", "0"][..], "0 is not in 1.."),
        (&["query", "Blogs", "--rate", "5000000000"], "5000000000 is not in 1.."),
        (&["export", "Blogs", "--rate", "1.5"], "invalid digit"),
        (&["import", "-", "Blogs", "--ramp", "5"], "a number with its unit"),
        (&["delete", "Blogs", "p", "r", "--rate", "5"], "cannot be used with"),
        (&["delete", "Blogs", "p", "r", "--ramp", "5s"], "cannot be used with"),
        (&["put", "Blogs", "p", "r", "--rate=5"], "unexpected argument"),
    ] {
        let error = run(arguments).failed(2);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[tokio::test]
async fn each_command_on_many_rows_has_a_rate() {
    const ROWS: u32 = 300;
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let lines = rows_file(&folder, ROWS);
    fill(&emulator, "Blogs", ROWS).await;
    fill(&emulator, "Updated", ROWS).await;
    fill(&emulator, "Deleted", ROWS).await;
    emulator.table("Copied").await;
    emulator.table("Imported").await;
    let exported = folder.file("exported.jsonl");
    let write = ["--yes", "--max-rows", "300"];
    let commands = [
        &["query", "Blogs"][..],
        &["count", "Blogs"],
        &["schema", "Blogs"],
        &["export", "Blogs", &exported],
        &["diff", "Blogs", &exported],
        &["copy", "Blogs", "Copied"],
        &["import", &lines, "Imported"],
        &[&["update", "Updated", "--filter", "RowKey ge ''", "--set", "A=1"], &write[..]].concat(),
        &[&["delete", "Deleted", "--filter", "RowKey ge ''"], &write[..]].concat(),
    ];
    let timed = |command: &[&str], rate: &[&str]| {
        let mut process = emulator.command(&[command, rate].concat());
        let begin = Instant::now();
        Run::of(&process.current_dir(folder.path()).output().unwrap()).done();
        let time = begin.elapsed();
        assert!(time >= Duration::from_secs(1), "{command:?} {rate:?}: {time:?}");
    };
    for command in commands {
        timed(command, &["--rate", "200"]);
    }
    // A ramp begins at 100 rows/s.
    timed(&["count", "Blogs"], &["--rate", "1000", "--ramp", "1h"]);
    timed(&["import", &lines, "Imported"], &["--rate", "1000", "--ramp", "1h"]);
    for (table, filter) in
        [("Copied", "RowKey ge ''"), ("Imported", "RowKey ge ''"), ("Updated", "A eq '1'")]
    {
        assert_eq!(emulator.run(&["count", table, "--filter", filter]).done(), "300\n", "{table}");
    }
    assert_eq!(emulator.run(&["count", "Deleted"]).done(), "0\n");
}

/// An import at the rate that a service allows is hardly throttled, and no row fails.
#[tokio::test]
async fn a_service_does_not_throttle_its_own_rate() {
    for (dialect, fault, rate, rows) in [
        ("storage", r#"{"fault":"throttle","entities_per_second":2000}"#, "2000", 6_000),
        // The rows that 400 RU/s allow, with 8 RU each.
        (
            "cosmos",
            r#"{"fault":"throttle","entities_per_second":50,"retry_after_ms":500}"#,
            "50",
            150,
        ),
    ] {
        let (emulator, folder) = (Emulator::start_with(&["--dialect", dialect]), Folder::new());
        let lines = rows_file(&folder, rows);
        emulator.add_faults(fault);
        let dialect = ["--dialect", dialect];
        let import = ["import", &lines, "Blogs", "--create", "--rate", rate];
        emulator.run(&[&import[..], &dialect].concat()).done();
        let throttled = emulator.end_faults();
        assert!(throttled <= 1, "{rate}: {throttled} requests");
        let count = emulator.run(&[&["count", "Blogs"], &dialect[..]].concat()).done();
        assert_eq!(count, format!("{rows}\n"));
    }
}
