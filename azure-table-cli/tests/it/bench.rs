//! `bench`, over loopback. Its own tests measure limits in virtual time.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::time::Duration;

use azure_table_client::DynamicEntity;
use serde_json::Value;

use crate::support::{Emulator, Run, command, interrupt, run};

/// A run that takes a second for each phase.
const SHORT: [&str; 6] = ["bench", "Blogs", "--seconds", "1", "--max-rate", "300"];

#[tokio::test]
async fn a_run_prints_its_rates_and_leaves_no_row() {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    table.insert(&DynamicEntity::new("Channel9", "1")).await.unwrap();
    let text = emulator.run(&SHORT);
    assert!(text.err.starts_with("partition azure-table-bench-"), "{text:?}");
    assert!(
        text.err.contains("\ncleanup: ") && text.err.contains(" billable requests: "),
        "{text:?}"
    );
    let lines: Vec<_> = text.out.lines().collect();
    assert!(lines[0].starts_with("phase  ") && lines[1].starts_with("inserts  "), "{text:?}");
    assert!(lines[2].starts_with("inserts: "), "{text:?}");
    let json = emulator
        .run(&[&SHORT[..], &["--output", "jsonl", "--only", "reads,transactions", "-q"]].concat());
    assert_eq!(json.err, "");
    let phases: Vec<Value> =
        json.done().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["reads", "transactions"]);
    for phase in &phases {
        let step = &phase["steps"][0];
        assert_eq!((&phase["limit"], &step["rate"]), (&Value::Null, &250.into()), "{phase}");
        assert!(step["p50_ms"].as_f64().unwrap() <= step["p99_ms"].as_f64().unwrap(), "{phase}");
    }
    let rows = table.query().allow_scan().await.unwrap();
    assert_eq!(rows.len(), 1, "the other row stays");
}

#[tokio::test]
async fn throttling_is_the_limit() {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    emulator.add_faults(r#"{"fault":"throttle","entities_per_second":150}"#);
    let arguments = ["bench", "Blogs", "--only", "inserts", "--seconds", "8", "--output", "jsonl"];
    let out = emulator.run(&arguments).done();
    let phase: Value = serde_json::from_str(&out).unwrap();
    let limit = phase["limit"].as_u64().unwrap();
    assert!((135..=165).contains(&limit) && phase["end"] == "throttled", "{phase}");
    assert_eq!(table.query().allow_scan().await.unwrap().len(), 0);
}

#[tokio::test]
async fn ctrl_c_removes_the_rows() {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    let mut child = emulator.command(&["bench", "Blogs", "--max-rate", "100"]).spawn().unwrap();
    let mut line = String::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut line).unwrap();
    let partition = line.trim().strip_prefix("partition ").unwrap().to_owned();
    while table.query().allow_scan().await.unwrap().len() < 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    interrupt(&child);
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(Run::of(&child.wait_with_output().unwrap()).code, Some(130), "{rest}");
    assert!(rest.contains(&format!("removing the rows of the partition {partition}\n")), "{rest}");
    assert_eq!(table.query().allow_scan().await.unwrap().len(), 0, "{rest}");
}

#[tokio::test]
async fn a_table_is_required_or_created() {
    let emulator = Emulator::start();
    let error = emulator.run(&SHORT).failed(6);
    assert!(error.contains("TableNotFound"), "{error}");
    let arguments = [&SHORT[..], &["--create", "--only", "reads", "--quiet"]].concat();
    assert!(emulator.run(&arguments).done().contains("\nreads: "));
    assert_eq!(emulator.client().list_tables().await.unwrap(), ["Blogs"]);
}

#[test]
fn another_service_needs_yes_and_a_dry_run_sends_nothing() {
    let account = ["--endpoint", "https://account.table.core.windows.net"];
    let on_account = |arguments: &[&str]| {
        let mut command = command(&[arguments, &account].concat());
        command.env("AZURE_STORAGE_SAS_TOKEN", "sv=2019-02-02&sig=AAAA");
        Run::of(&command.stdin(Stdio::null()).output().unwrap())
    };
    let error = on_account(&["bench", "Blogs"]).failed(2);
    assert!(error.contains("not an emulator: pass --yes"), "{error}");
    let plan = on_account(&["bench", "Blogs", "--dry-run", "--create", "--max-rate", "300"]).done();
    assert_eq!(
        plan,
        "\
phase         requests  rows written  seconds
------------  --------  ------------  -------
create        1         0
inserts       17,750    17,750        60
reads         17,751    100           60
transactions  180       18,000        60
cleanup       359       0
at most 36,041 billable requests, and 180 s without the cleanup
"
    );
    let lines =
        on_account(&["bench", "Blogs", "--dry-run", "--only", "reads", "--output", "jsonl"]).done();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["phase"], &first["rows"]), (&"reads".into(), &100.into()));
    assert_eq!(first["seconds"], 60);
    run(&["bench", "a", "--emulator"]).failed(2);
    run(&["bench", "Blogs", "--emulator", "--max-rate", "0"]).failed(2);
}
