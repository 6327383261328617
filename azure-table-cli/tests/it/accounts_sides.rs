//! `copy`, `diff` and `count` with `--all-tables`.

use std::fs;
use std::process::Command;

use azure_table_client::DynamicEntity;

use crate::accounts::{assert_same, fill_account};
use crate::accounts_faults::{SLOW, wait_for};
use crate::file_kills::{KILLS_MS, run_with_kills};
use crate::files::fill;
use crate::support::{Emulator, Folder, Run, interrupt};

/// Two accounts, and the folder of the checkpoints.
struct Sides {
    a: Emulator,
    b: Emulator,
    folder: Folder,
}

impl Sides {
    fn new() -> Self {
        Self { a: Emulator::start(), b: Emulator::start(), folder: Folder::new() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let sides = ["--all-tables", "--from", "env:A", "--to", "env:B"];
        let mut command = self.a.command(&[arguments, &sides].concat());
        command.env("A", self.a.connection_string()).env("B", self.b.connection_string());
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().unwrap())
    }
}

#[tokio::test]
async fn a_killed_copy_of_an_account_resumes_without_a_lost_row() {
    let sides = Sides::new();
    fill_account(&sides.a).await;
    let missing = sides.run(&["copy"]).failed(6);
    assert!(missing.contains("the target has no tables Con, Large,"), "{missing}");
    let refused = sides.run(&["copy", "--dry-run"]).failed(6);
    assert_eq!(refused.lines().last(), missing.lines().last());
    assert_eq!(sides.b.client().list_tables().await.unwrap().len(), 0);
    let faults = r#"{"seed":3,"faults":[
        {"fault":"lose_reply","probability":0.03},
        {"fault":"delay_reply","milliseconds":10}
    ]}"#;
    sides.b.add_faults(faults);
    let small = ["copy", "--create", "--include", "Logs*", "-q"];
    sides.run(&small).done();
    let creations = || sides.b.requests_by_operation()["CreateTable"].clone();
    let before = creations();
    sides.run(&small).done();
    assert_eq!(creations(), before, "the list of tables shows that it exists");
    let copy = ["copy", "--create", "--resume", "--save-every", "10ms"];
    let (stopped, end) = run_with_kills(KILLS_MS, || sides.command(&copy)).await;
    assert!(stopped >= 4 && end.err.contains("30 tables copied"), "{stopped}: {end:?}");
    end.done();
    sides.b.end_faults();
    assert_same(&sides.a, &sides.b, &[]);
    assert_eq!(fs::read_dir(sides.folder.path()).unwrap().count(), 0, "no file is left");
    // `[` is not part of the syntax.
    sides.run(&["copy", "--dry-run", "--include", "?[a-z]*"]).failed(2);
    let listed = sides.run(&["copy", "--dry-run", "--exclude", "?[a-z]*", "--exclude", "T*"]);
    assert!(listed.err.contains("note: no table matches the excluded pattern ?[a-z]*"));
    listed.done();
}

#[tokio::test]
async fn a_copy_of_an_account_keeps_its_lists_and_refuses_tables_with_one_name() {
    let (a, b, folder) =
        (Emulator::start_with(&["--dialect", "cosmos"]), Emulator::start(), Folder::new());
    for table in ["Blogs", "blogs", "Logs"] {
        fill(&a, table, 3).await;
    }
    let copy = |options: &[&str]| {
        let sides = ["copy", "--all-tables", "--from", "env:A", "--from-dialect", "cosmos"];
        let mut command =
            a.command(&[&sides[..], &["--to", "env:B", "--create"], options].concat());
        command.env("A", a.connection_string()).env("B", b.connection_string());
        Run::of(&command.current_dir(folder.path()).output().unwrap())
    };
    let error = copy(&[]).failed(2);
    assert!(error.contains("would be one table in the other account"), "{error}");
    assert_eq!(b.client().list_tables().await.unwrap().len(), 0);
    copy(&["--include", "Logs"]).done();
    let sides = ["diff", "--all-tables", "--from", "env:A", "--from-dialect", "cosmos"];
    let mut diff = a.command(&[&sides[..], &["--to", "env:B"]].concat());
    diff.env("A", a.connection_string()).env("B", b.connection_string());
    let error = Run::of(&diff.output().unwrap()).failed(2);
    assert!(error.contains("two tables Blogs would be one table"), "{error}");
    assert_eq!(b.run(&["count", "--all-tables"]).done(), "            3  Logs\n");
}

#[tokio::test]
async fn a_copy_of_an_account_survives_an_expired_credential_and_lost_tables() {
    let sides = Sides::new();
    for (table, rows) in [("Blogs", 100), ("Gone", 10), ("Large", 2000)] {
        fill(&sides.a, table, rows).await;
    }
    let denied = r#"{"fault":"error","status":403,"code":"AuthenticationFailed","on":"Transaction","skip":12}"#;
    sides.b.add_faults(denied);
    let copy = ["copy", "--create", "--save-every", "10ms"];
    let error = sides.run(&copy).failed(8);
    let last = error.lines().last().unwrap();
    assert!(last.starts_with("azure-table: table Large: "), "{error}");
    assert!(last.ends_with("2 of 3 tables are complete: add --resume to continue"), "{error}");
    sides.b.end_faults();
    // The target loses a complete table and the one that is not; the source loses one.
    let (source, target) = (sides.a.client(), sides.b.client());
    for table in ["Blogs", "Gone", "Large"] {
        target.delete_table(table).await.unwrap();
    }
    source.delete_table("Gone").await.unwrap();
    let resume = [&copy[..], &["--resume"]].concat();
    let error = sides.run(&resume).failed(4);
    assert!(error.contains("no table Large any more: it begins again"), "{error}");
    assert!(error.contains("table Gone: it was deleted in the source"), "{error}");
    assert!(error.contains("3 tables copied; only in part: Gone"), "{error}");
    sides.run(&["diff", "--exclude", "Gone"]).done();
    assert_eq!(fs::read_dir(sides.folder.path()).unwrap().count(), 0, "no file is left");
}

#[tokio::test]
async fn an_interrupted_copy_of_an_account_continues() {
    let sides = Sides::new();
    fill(&sides.a, "Blogs", 10).await;
    fill(&sides.a, "Large", 2000).await;
    sides.b.add_faults(SLOW);
    let copy = ["copy", "--create", "--save-every", "10ms", "--concurrency", "1"];
    let mut child = sides.command(&copy).spawn().unwrap();
    let checkpoint = sides.folder.path().join("all-tables.checkpoint");
    wait_for(&mut child, &checkpoint, r#""Large": "begun""#).await;
    interrupt(&child);
    let error = Run::of(&child.wait_with_output().unwrap()).failed(130);
    assert_eq!(error.matches("press Ctrl-C again").count(), 1, "{error}");
    assert!(
        error.contains("table Large: interrupted") && error.contains("1 of 2 tables"),
        "{error}"
    );
    sides.b.end_faults();
    let error = sides.run(&copy).failed(2);
    assert!(error.contains("add --resume"), "{error}");
    let error = sides.run(&[&copy[..], &["--resume", "--include", "L*"]].concat()).failed(2);
    assert!(error.contains("belongs to another run"), "{error}");
    sides.run(&[&copy[..], &["--resume"]].concat()).done();
    sides.run(&["diff"]).done();
}

#[tokio::test]
async fn the_differences_of_accounts_name_their_tables() {
    let sides = Sides::new();
    for emulator in [&sides.a, &sides.b] {
        fill(emulator, "Blogs", 3).await;
        fill(emulator, "Logs", 3).await;
    }
    assert_eq!(sides.run(&["diff"]).done(), "");
    sides.a.table("OnlyA").await;
    sides.b.table("OnlyB").await;
    let logs = sides.b.client().table_named::<DynamicEntity>("Logs");
    logs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let end = sides.run(&["diff"]);
    assert_eq!(
        end.out,
        "Logs: only in B: (\"p\", \"r\")\ntable only in A: OnlyA\ntable only in B: OnlyB\n"
    );
    let error = end.failed(3);
    let summary = "3 differences: 1 table only in A, 1 only in B; 0 rows only in A, 1 only in B, \
                   0 different; 6 rows in A, 7 in B";
    assert!(error.contains(summary) && error.contains("diff Logs: 7 rows"), "{error}");
    let lines = sides.run(&["diff", "--output", "jsonl", "--exclude", "onlya"]);
    assert_eq!(
        lines.out,
        "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"difference\":\"only in B\",\"table\":\"Logs\"}\n\
         {\"difference\":\"table only in B\",\"table\":\"OnlyB\"}\n"
    );
    lines.failed(3);
    sides.run(&["diff", "--include", "Blogs"]).done();
    sides.run(&["diff", "--include", "Nothing"]).failed(2);
    for command in ["diff", "copy"] {
        let error = sides.run(&[command, "--filter", "x y"]).failed(2);
        assert!(error.starts_with("azure-table: the filter is not valid"), "{error}");
    }
    let same = sides.a.run(&["diff", "--all-tables"]).failed(2);
    assert!(same.contains("both sides are the same account"), "{same}");
    sides.a.run(&["copy", "--all-tables"]).failed(2);
    sides.a.run(&["diff", "Blogs", "--all-tables"]).failed(2);
}

#[tokio::test]
async fn the_differences_of_a_backup_name_their_tables() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let blogs = fill(&emulator, "Blogs", 1200).await;
    fill(&emulator, "Con", 3).await;
    fill(&emulator, "OnlyA", 3).await;
    let backup = folder.file("backup");
    emulator.run(&["export", "--all-tables", &backup]).done();
    let diff = ["diff", "--all-tables", "--backup", &backup];
    let run = |options: &[&str]| emulator.run(&[&diff[..], options].concat());
    let end = run(&[]);
    assert!(end.err.contains("no differences: 3 tables, 1,206 rows in A, 1,206 in B"), "{end:?}");
    assert_eq!(end.done(), "");

    emulator.run(&["drop", "OnlyA", "--yes"]).done();
    emulator.table("OnlyB").await;
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let expected =
        "Blogs: only in B: (\"p\", \"r\")\ntable only in A: OnlyA\ntable only in B: OnlyB\n";
    let end = run(&[]);
    assert_eq!(end.out, expected);
    end.failed(3);
    run(&["--include", "con"]).done();
    for options in [&["--from", "env:A"][..], &["--include", "Nothing"]] {
        run(options).failed(2);
    }
    emulator.run(&["diff", "--backup", &backup, "Blogs", "blogs.jsonl"]).failed(2);
    emulator.run(&["diff", "--all-tables", "--backup", &folder.file("missing")]).failed(2);
    // The exit code 3 means differences.
    let manifest = folder.path().join("backup").join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("Blogs.jsonl", "blogs.jsonl")).unwrap();
    assert!(run(&[]).failed(1).contains("its checksum is wrong"));
}

#[tokio::test]
async fn the_rows_of_all_tables_are_counted() {
    let emulator = Emulator::start();
    fill(&emulator, "Blogs", 1200).await;
    fill(&emulator, "Logs", 3).await;
    let end = emulator.run(&["count", "--all-tables"]);
    assert!(end.err.contains("1,203 rows in 2 tables"), "{end:?}");
    assert_eq!(end.done(), "        1,200  Blogs\n            3  Logs\n");
    let lines = ["count", "--all-tables", "--output", "jsonl", "--include", "l?gs"];
    assert_eq!(emulator.run(&lines).done(), "{\"rows\":3,\"table\":\"Logs\"}\n");
    for arguments in [
        &["count"][..],
        &["count", "Blogs", "--all-tables"],
        &["count", "--all-tables", "--by-partition"],
        &["count", "Blogs", "--output", "jsonl"],
        &["count", "--all-tables", "--include", "x"],
        &["count", "--all-tables", "--filter", "x y"],
    ] {
        emulator.run(arguments).failed(2);
    }
}
