//! Exports and imports that are killed or interrupted at any time have the same rows after `--resume` as undisturbed
//! ones.

use std::fs;
use std::process::Command;
use std::time::Duration;

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::BulkOperation;

use crate::files::{fill, row};
use crate::support::{Emulator, Folder, Run, listed};

const ROWS: u32 = 6000;

/// The times after which a run is killed, from before its first request to near its end.
pub(crate) const KILLS_MS: [u64; 8] = [5, 40, 90, 130, 180, 260, 340, 450];

/// Runs a command until it ends by itself, and kills each run before: by SIGKILL, or every third one by SIGINT. Returns
/// the number of runs that were stopped.
pub(crate) async fn run_with_kills(
    kills_ms: [u64; 8],
    command: impl Fn() -> Command,
) -> (u32, Run) {
    let mut stopped = 0;
    for (n, after) in kills_ms.into_iter().enumerate() {
        let mut child = command().spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(after)).await;
        if child.try_wait().unwrap().is_some() {
            let end = Run::of(&child.wait_with_output().unwrap());
            // Faults may end a run; the next one resumes it.
            assert!(matches!(end.code, Some(0 | 1 | 5)), "{end:?}");
            if end.code == Some(0) {
                return (stopped, end);
            }
            continue;
        }
        if n % 3 == 2 {
            let pid = child.id().to_string();
            assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
            // The program may be about to end, or may not handle the signal yet.
            let end = Run::of(&child.wait_with_output().unwrap());
            assert!(matches!(end.code, Some(0 | 130) | None), "{end:?}");
        } else {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        stopped += 1;
    }
    (stopped, Run::of(&command().output().unwrap()))
}

/// Adds `--resume` once there is a checkpoint: an insert cannot begin again.
fn resumed<'a>(arguments: &[&'a str], checkpoint: &str) -> Vec<&'a str> {
    let is_begun = std::path::Path::new(checkpoint).exists();
    [arguments, if is_begun { &["--resume"] } else { &[] }].concat()
}

#[tokio::test]
async fn a_killed_export_resumes_without_a_difference() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", ROWS).await;
    emulator.add_faults(
        r#"{"seed":3,"faults":[
            {"fault":"lose_reply","probability":0.05},
            {"fault":"busy","probability":0.03},
            {"fault":"page_of","rows":150},
            {"fault":"delay_reply","milliseconds":10}
        ]}"#,
    );
    for (name, options) in [
        ("rows.jsonl", &[][..]),
        ("parallel.jsonl", &["--parallel", "4"]),
        (
            "filter.jsonl",
            &["--filter", "Yes eq true or Number gt 0", "--select", "Yes,Number,Mixed"],
        ),
        ("rows.csv", &[]),
        ("rows.parquet", &["--mixed", "rest"]),
    ] {
        let expected = folder.file(&format!("expected-{name}"));
        emulator.run(&[&["export", "Blogs", &expected], options].concat()).done();
        let file = folder.file(name);
        let arguments = ["export", "Blogs", &file, "--yes", "--resume", "--save-every", "10ms"];
        let (stopped, end) =
            run_with_kills(KILLS_MS, || emulator.command(&[&arguments[..], options].concat()))
                .await;
        end.done();
        assert!(stopped >= 4, "{name}: {stopped} runs were stopped");
        assert_eq!(fs::read(&file).unwrap(), fs::read(&expected).unwrap(), "{name}");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 10, "no unfinished file and no checkpoint is left");
}

#[tokio::test]
async fn a_killed_import_resumes_without_a_lost_row() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", ROWS).await;
    let file = folder.file("rows.jsonl");
    emulator.run(&["export", "Blogs", &file]).done();
    let expected = fs::read(&file).unwrap();
    // Lost responses make the outcome of inserts a matter of proof.
    emulator.add_faults(
        r#"{"seed":7,"faults":[
            {"fault":"lose_reply","on":"Transaction","probability":0.05},
            {"fault":"internal_error","after_commit":true,"on":"Transaction","probability":0.03},
            {"fault":"delay_reply","milliseconds":20}
        ]}"#,
    );
    for mode in ["upsert-replace", "insert"] {
        let table = format!("Copy{}", mode.len());
        emulator.table(&table).await;
        let arguments =
            ["import", &file, &table, "--mode", mode, "--save-every", "10ms", "--concurrency", "2"];
        let checkpoint = folder.file("rows.jsonl.checkpoint");
        let command = || emulator.command(&resumed(&arguments, &checkpoint));
        let (stopped, end) = run_with_kills(KILLS_MS, command).await;
        let end = if end.code == Some(5) { Run::of(&command().output().unwrap()) } else { end };
        end.done();
        assert!(stopped >= 4, "{mode}: {stopped} runs were stopped");
        let copy = folder.file(&format!("{table}.jsonl"));
        emulator.run(&["export", &table, &copy]).done();
        assert!(fs::read(&copy).unwrap() == expected, "{mode}: the rows differ");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "only the files of rows are left");
}

#[tokio::test]
async fn a_killed_import_lists_each_row_that_it_does_not_apply_once() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let file = folder.file("rows.jsonl");
    let lines: String = (0..ROWS).map(|n| row(n).to_json().unwrap() + "\n").collect();
    fs::write(&file, lines).unwrap();
    // Every tenth row exists with another content.
    let table = emulator.table("Blogs").await;
    let existing = (0..ROWS).step_by(10).map(|n| {
        let key = row(n).key().clone();
        DynamicEntity::new(key.partition_key, key.row_key).with("Existing", true)
    });
    table.bulk().run(existing.map(BulkOperation::Insert)).await.unwrap();
    emulator.add_faults(
        r#"{"seed":9,"faults":[
            {"fault":"lose_reply","on":"Transaction","probability":0.03},
            {"fault":"delay_reply","milliseconds":5}
        ]}"#,
    );
    let arguments = ["import", &file, "Blogs", "--mode", "insert", "--save-every", "10ms"];
    let checkpoint = folder.file("rows.jsonl.checkpoint");
    let command = || emulator.command(&resumed(&arguments, &checkpoint));
    // The first run is killed once its checkpoint counts refused rows. Those that the list has and the checkpoint does
    // not count are found again.
    let mut first = command().spawn().unwrap();
    let counts_refused = || {
        let saved: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&checkpoint).ok()?).ok()?;
        saved["failed"].as_u64().filter(|&bytes| bytes > 0)
    };
    while counts_refused().is_none() {
        assert!(first.try_wait().unwrap().is_none(), "no row was refused");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let kills = [1500, 800, 400, 300, 200, 100, 50, 5];
    let (stopped, end) = run_with_kills(kills, command).await;
    // A resumed run cannot prove that the killed one did not insert a row that has another content now.
    let error = end.failed(5);
    assert!(
        stopped >= 4 && error.contains(" unknown; add --resume to import the others"),
        "{stopped}: {error}"
    );
    let list = listed(folder.file("rows.jsonl.failed.jsonl"));
    let refused = list.iter().filter(|line| line["outcome"] == "changed").count();
    assert!(refused > 0, "the refusals of the first run are lost");
    assert!(list[..refused].iter().all(|line| line["outcome"] == "changed"));
    assert!(list[refused..].iter().all(|line| line["outcome"] == "unknown"));
    let mut keys: Vec<_> = list.iter().map(|line| line["RowKey"].as_str().unwrap()).collect();
    keys.sort_unstable();
    let mut expected: Vec<_> =
        (0..ROWS).step_by(10).map(|n| row(n).key().row_key.clone()).collect();
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(table.query().await.unwrap().len(), ROWS as usize);
    assert_eq!(table.query().filter_text("Existing eq true").count().await.unwrap(), 600);
}

#[tokio::test]
async fn a_checkpoint_belongs_to_its_arguments() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", ROWS).await;
    emulator.add_faults(r#"{"faults":[{"fault":"delay_reply","milliseconds":300}]}"#);
    let file = folder.file("rows.jsonl");
    let mut child = emulator.command(&["export", "Blogs", &file]).spawn().unwrap();
    while !std::path::Path::new(&folder.file("rows.jsonl.checkpoint")).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let checkpoint = fs::read_to_string(folder.file("rows.jsonl.checkpoint")).unwrap();
    assert!(!checkpoint.contains("AccountKey") && checkpoint.contains("/devstoreaccount1/Blogs\""));
    let error = emulator.run(&["export", "Blogs", &file]).failed(2);
    assert!(error.contains("--resume"), "{error}");
    let error = emulator.run(&["export", "Blogs", &file, "--resume", "--select", "Yes"]).failed(2);
    assert!(error.contains("select"), "{error}");
    // A file that is shorter than the checkpoint states is not that of the checkpoint.
    emulator.end_faults();
    emulator.run(&["export", "Blogs", &file, "--resume"]).done();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), ROWS as usize);
    // The positions of an import count the rows of one file.
    emulator.add_faults(r#"{"faults":[{"fault":"delay_reply","milliseconds":300}]}"#);
    let arguments = ["import", &file, "Copy", "--create"];
    let mut child = emulator.command(&arguments).spawn().unwrap();
    while !std::path::Path::new(&folder.file("rows.jsonl.checkpoint")).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let more = DynamicEntity::new("p", "r").to_json().unwrap();
    let rows = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{more}\n{rows}")).unwrap();
    let error = emulator.run(&[&arguments[..], &["--resume"]].concat()).failed(2);
    assert!(error.contains("content"), "{error}");
}
