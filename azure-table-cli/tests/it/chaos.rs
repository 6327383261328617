//! A copy whose requests fail and whose process is killed copies each row once.
//!
//! `AZURE_TABLE_TESTS_FULL=1`, which `.ci/run rows` sets, copies 200,000 rows with at least 20 kills; otherwise a few thousand
//! with at least 5. Kills (SIGKILL) and interruptions (SIGINT) happen at random moments, and each run is resumed. Then `diff`
//! must find no difference, `count` each row, and the number of copied rows must be exact.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, TableClient};

use crate::support::{Emulator, Folder, Run, interrupt};

/// Together, the failures strike a fifth of the requests. The last two only make the run longer.
const FAULTS: &str = r#"{"seed":25,"faults":[
    {"fault":"lose_request","probability":0.04},
    {"fault":"lose_reply","probability":0.05},
    {"fault":"refuse_connection","probability":0.02},
    {"fault":"busy","probability":0.04},
    {"fault":"too_many_requests","probability":0.02},
    {"fault":"timed_out","probability":0.01},
    {"fault":"timed_out","after_commit":true,"probability":0.01},
    {"fault":"internal_error","after_commit":true,"probability":0.01},
    {"fault":"truncate_reply","probability":0.01},
    {"fault":"split_page","probability":0.5},
    {"fault":"delay_reply","milliseconds":50}
]}"#;

/// A run of the test.
struct Plan {
    mode: &'static str,
    rows: u32,
    kills: u32,
    /// One row of this many has a partition of its own.
    spread: u32,
    /// A run is killed after fewer requests than this.
    requests: u64,
}

/// Partitions have one row, a few or thousands.
pub(crate) fn row(n: u32, spread: u32) -> DynamicEntity {
    let partition = match n % spread {
        0 => format!("single-{n:06}"),
        rest if rest < spread * 2 / 5 => format!("small-{:04}", n / (4 * spread)),
        _ => format!("large-{:02}", n % (spread / 3)),
    };
    let mut row = DynamicEntity::new(partition, format!("{n:06}\u{1f600}"));
    row.set("Number", i64::from(n) << 33)
        .set("Ratio", f64::from(n) / 3.0)
        .set("Zero", if n.is_multiple_of(2) { 0.0 } else { -0.0 })
        .set("Posted", EdmDateTime::from_ticks(633_752_640_000_000_000 + i64::from(n)).unwrap())
        .set("Id", EdmValue::Guid(uuid::Uuid::from_u128(n.into())))
        .set("Text", "line\n".repeat(n as usize % 7));
    if n.is_multiple_of(3) {
        row.set("Data", n.to_be_bytes().to_vec());
    }
    row
}

async fn fill(table: &TableClient<DynamicEntity>, plan: &Plan) {
    let rows = (0..plan.rows).map(|n| row(n, plan.spread));
    table.bulk().run(rows.map(BulkOperation::Insert)).await.unwrap();
}

/// Numbers that look random, from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u128) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u64::try_from(u128::from(self.0 >> 33) % limit).unwrap()
    }
}

/// Waits until the process ends or the condition is true. Returns whether it ended.
async fn has_ended(child: &mut Child, until: impl Fn() -> bool) -> bool {
    loop {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        if until() {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Copies until a run is complete. Returns the number of kills, of interrupts and of runs that failed.
async fn copy_with_kills(
    copy: impl Fn(bool) -> Command,
    requests: impl Fn() -> u64,
    checkpoint: &Path,
    plan: &Plan,
) -> (u32, u32, u32) {
    let mut random = Random(2009);
    let (mut kills, mut interrupts, mut failures) = (0, 0, 0);
    loop {
        // A run that ended before its first row left no checkpoint.
        let mut child = copy(checkpoint.exists()).spawn().unwrap();
        if kills + interrupts < plan.kills {
            let limit = requests() + random.below(plan.requests.into());
            if !has_ended(&mut child, || requests() >= limit).await {
                if random.below(2) == 0 {
                    child.kill().unwrap();
                } else {
                    interrupt(&child);
                }
            }
        }
        let end = Run::of(&child.wait_with_output().unwrap());
        match end.code {
            Some(0) => {
                let copied = format!("{} rows copied", grouped(plan.rows));
                assert!(end.err.contains(&copied), "{end:?}");
                return (kills, interrupts, failures);
            }
            Some(130) => {
                assert!(end.err.contains("interrupted"), "{end:?}");
                assert_eq!(end.err.contains("--resume"), checkpoint.exists(), "{end:?}");
                interrupts += 1;
            }
            // Also by SIGINT, before the program handles it.
            None => kills += 1,
            // A request failed too often, or an outcome is unknown.
            Some(1 | 5) => failures += 1,
            _ => panic!("{end:?}"),
        }
        assert!(failures < 100, "{end:?}");
    }
}

/// Writes 3000 as `3,000`.
fn grouped(rows: u32) -> String {
    match (rows / 1000, rows % 1000) {
        (0, rows) => rows.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

async fn check(plan: Plan) {
    let (source, target) = (Emulator::start(), Emulator::start());
    fill(&source.table("Blogs").await, &plan).await;
    let folder = Folder::new();
    let files = [folder.file("copy.checkpoint"), folder.file("copy.refused")];
    let command = |arguments: &[&str]| {
        let mut command = source.command(arguments);
        command.env("TARGET", target.connection_string());
        command
    };
    source.add_faults(FAULTS);
    target.add_faults(FAULTS);
    let requests = || source.requests() + target.requests();
    let before = requests();
    let begin = Instant::now();
    let copy = |resume: bool| {
        let mut copy = command(&["copy", "Blogs", "Copy", "--to", "env:TARGET", "--create"]);
        copy.args(["--mode", plan.mode, "--checkpoint", &files[0], "--failed", &files[1]]);
        if resume {
            copy.arg("--resume");
        }
        copy
    };
    let (kills, interrupts, failures) =
        copy_with_kills(copy, requests, files[0].as_ref(), &plan).await;
    let elapsed = begin.elapsed();
    let failed = source.end_faults() + target.end_faults();
    let requests = requests() - before;
    println!(
        "copy --mode {} of {} rows: {kills} kills, {interrupts} interrupts, {failures} failed runs, {failed} of {requests} \
         requests failed, {:.1} s",
        plan.mode,
        plan.rows,
        elapsed.as_secs_f64()
    );
    // Requests whose connection is refused are not counted.
    assert!(failed * 7 > requests, "{failed} of {requests} requests failed");
    assert!(kills + interrupts >= plan.kills, "{kills} kills and {interrupts} interrupts");
    assert!(files.iter().all(|file| !Path::new(file).exists()));

    let diff =
        Run::of(&command(&["diff", "Blogs", "Copy", "--to", "env:TARGET"]).output().unwrap());
    assert!(diff.err.contains("no differences"), "{diff:?}");
    assert_eq!(diff.done(), "");
    assert_eq!(target.run(&["count", "Copy"]).done(), format!("{}\n", plan.rows));
}

fn is_full() -> bool {
    std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some()
}

#[tokio::test]
async fn an_upsert_under_faults_and_kills_copies_each_row_once() {
    let mode = "upsert-replace";
    check(if is_full() {
        Plan { mode, rows: 200_000, kills: 24, spread: 100, requests: 400 }
    } else {
        Plan { mode, rows: 3_000, kills: 5, spread: 10, requests: 40 }
    })
    .await;
}

/// A resumed run reads each row back that an earlier one may have inserted, so the table is smaller.
#[tokio::test]
async fn an_insert_under_faults_and_kills_copies_each_row_once() {
    let mode = "insert";
    check(if is_full() {
        Plan { mode, rows: 1_000, kills: 24, spread: 10, requests: 80 }
    } else {
        Plan { mode, rows: 300, kills: 5, spread: 10, requests: 20 }
    })
    .await;
}
