//! `--dry-run`: the estimated requests are those of the run.

use std::fs;
use std::io::{BufRead as _, BufReader};

use azure_table_client::DynamicEntity;

use crate::files::fill;
use crate::found_rows::run_in;
use crate::pair::Pair;
use crate::run_files::lines;
use crate::support::{Emulator, Folder, Run, interrupt};

/// Returns the billable requests that the dry run of a command states, and those that the command then uses.
pub(crate) fn estimated_and_used(
    folder: &Folder,
    emulator: &Emulator,
    command: &[&str],
) -> (String, String) {
    compared(|arguments| run_in(folder, emulator, arguments), command)
}

fn compared(run: impl Fn(&[&str]) -> Run, command: &[&str]) -> (String, String) {
    let shown = run(&[command, &["--dry-run", "-q"]].concat()).done();
    let (_, estimated) = shown.trim_end().rsplit_once("the run would use about ").unwrap();
    let end = run(command);
    let used = end.err.trim_end().rsplit('\n').next().unwrap().to_owned();
    end.done();
    (estimated.to_owned(), used)
}

/// Returns the number of `64 billable requests: …`.
pub(crate) fn total(requests: &str) -> u64 {
    requests.split_once(' ').unwrap().0.replace(',', "").parse().unwrap()
}

#[tokio::test]
async fn a_dry_run_states_the_requests_that_the_run_uses() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    // Five partitions of 161 or 160 rows.
    fill(&emulator, "Blogs", 801).await;
    emulator.table("Blogs2").await.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let limit = ["--yes", "--max-rows", "2001"];
    let all = ["--filter", "RowKey ge ''"];
    let some = ["--filter", "PartitionKey eq 'it''s 0'"];
    for (command, expected) in [
        (
            &[&["update", "Blogs", "--set", "A=1"], &all[..]].concat()[..],
            "12 billable requests: 2 Query, 10 Transaction",
        ),
        // The rows have the value already.
        (
            &[&["update", "Blogs", "--set", "A=1"], &all[..]].concat(),
            "2 billable requests: 2 Query",
        ),
        (
            &[&["update", "Blogs", "--set", "A=2"], &some[..]].concat(),
            "4 billable requests: 2 Query, 2 Transaction",
        ),
        (
            &[&["update", "Blogs", "--set", "A=1"], &all[..]].concat(),
            "4 billable requests: 2 Query, 2 Transaction",
        ),
        (
            &[&["update", "Blogs2", "--set", "A=1"], &all[..]].concat(),
            "3 billable requests: 2 Query, 1 Merge",
        ),
        (
            &[&["update", "Blogs2", "--unset", "A"], &all[..]].concat(),
            "3 billable requests: 2 Query, 1 Replace",
        ),
        (&[&["delete", "Blogs2"], &all[..]].concat(), "3 billable requests: 2 Query, 1 Delete"),
        (&[&["delete", "Blogs2"], &all[..]].concat(), "1 billable request: 1 Query"),
        (
            &["truncate", "Blogs", "--confirm", "Blogs"],
            "12 billable requests: 2 Query, 10 Transaction",
        ),
    ] {
        let command = [command, &limit].concat();
        let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
        assert_eq!((&*estimated, &*used), (expected, expected), "{command:?}");
    }
}

/// Where a page ends within a partition, the run may send the rows that it has before the next page arrives.
#[tokio::test]
async fn a_run_uses_at_most_one_request_for_each_page_more_than_its_dry_run_states() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 4_000).await;
    emulator.add_faults(
        r#"{"faults":[
            {"fault":"page_of","rows":350},
            {"fault":"delay_reply","on":"Query","milliseconds":20}
        ]}"#,
    );
    let command = ["truncate", "Blogs", "--confirm", "Blogs", "--yes", "--max-rows", "4000"];
    let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
    assert_eq!(estimated, "64 billable requests: 24 Query, 40 Transaction");
    assert!((64..64 + 12).contains(&total(&used)) && used.contains(": 24 Query, "), "{used}");
}

#[tokio::test]
async fn an_import_is_estimated_without_a_request() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    // Five partitions, whose rows alternate.
    fs::write(folder.file("rows.jsonl"), lines(0..201)).unwrap();
    let import = ["import", "rows.jsonl", "Blogs", "--create"];
    let shown = run_in(&folder, &emulator, &[&import[..], &["--dry-run"]].concat());
    let expected = format!(
        "201 rows in 5 partitions for Blogs ({}/devstoreaccount1)\n\
         the run would use about 6 billable requests: 1 CreateTable, 5 Transaction\n",
        emulator.origin
    );
    assert_eq!(shown.done(), expected);
    assert_eq!(emulator.requests(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let (estimated, used) = estimated_and_used(&folder, &emulator, &import);
    assert_eq!(estimated, used);

    fs::write(folder.file("rows.jsonl"), lines(0..1)).unwrap();
    for (mode, single) in [
        ("upsert-replace", "InsertOrReplace"),
        ("upsert-merge", "InsertOrMerge"),
        ("replace", "Replace"),
        ("merge", "Merge"),
    ] {
        let import = ["import", "rows.jsonl", "Blogs", "--mode", mode];
        let (estimated, used) = estimated_and_used(&folder, &emulator, &import);
        let expected = format!("1 billable request: 1 {single}");
        assert_eq!((&estimated, &used), (&expected, &expected));
    }
}

#[test]
fn a_dry_run_of_an_import_finds_damage() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fs::write(folder.file("rows.jsonl"), lines(0..3) + "{\n").unwrap();
    let error = run_in(&folder, &emulator, &["import", "rows.jsonl", "Blogs", "--dry-run"]);
    assert!(error.failed(3).contains("rows.jsonl:4: "));
    let dry_run = ["import", "-", "Blogs", "--dry-run", "-q"];
    let input = emulator.run_with_input(&dry_run, lines(0..1).as_bytes()).done();
    assert!(input.contains("1 row in 1 partition for Blogs"), "{input}");
    emulator.run(&["import", "-", "Blogs", "--dry-run", "--resume"]).failed(2);
    emulator.run(&["import", "-", "Bl-ogs", "--dry-run"]).failed(2);
    assert_eq!(emulator.requests(), 0);
}

#[tokio::test]
async fn an_export_is_estimated_by_its_keys_or_by_the_expected_rows() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 2_001).await;
    for (options, rows, expected) in [
        (&["--format", "jsonl"][..], "2,001", "3 billable requests: 3 Query"),
        (
            &["--format", "jsonl", "--filter", "Yes eq true", "--select", "Text"],
            "1,001",
            "2 billable requests: 2 Query",
        ),
        (&["--format", "csv"], "2,001", "3 billable requests: 3 Query"),
    ] {
        let command = [&["export", "Blogs", "rows", "--yes"], options].concat();
        let shown = run_in(&folder, &emulator, &[&command[..], &["--dry-run"]].concat());
        assert!(shown.out.starts_with(&format!("{rows} rows of Blogs (")), "{shown:?}");
        assert!(shown.err.ends_with(&format!("this dry run used {expected}\n")), "{shown:?}");
        let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
        assert_eq!((&*estimated, &*used), (expected, expected), "{options:?}");
    }
    let requests = emulator.requests();
    for (rows, expected) in
        [("0", "1 billable request: 1 Query"), ("2001", "3 billable requests: 3 Query")]
    {
        let shown = emulator.run(&["export", "Blogs", "--dry-run", "--expect", rows]).done();
        assert_eq!(shown, format!("the run would use about {expected}\n"));
    }
    assert_eq!(emulator.requests(), requests);
    emulator.run(&["export", "Missing", "--dry-run"]).failed(6);
    emulator.run(&["export", "Blogs", "--dry-run", "--resume"]).failed(2);
}

#[tokio::test]
async fn the_export_of_an_account_is_estimated_with_its_policies() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 1_001).await;
    fill(&emulator, "Logs", 3).await;
    for (name, options, expected) in [
        ("a", &[][..], "6 billable requests: 1 ListTables, 3 Query, 2 GetTableAcl"),
        ("b", &["--no-policies", "--exclude", "L*"], "3 billable requests: 1 ListTables, 2 Query"),
    ] {
        let command = [&["export", "--all-tables", name], options].concat();
        let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
        assert_eq!((&*estimated, &*used), (expected, expected), "{options:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_copy_is_estimated_by_its_keys() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    // Five partitions of 161 or 160 rows.
    fill(&emulator, "Blogs", 801).await;
    let copy = ["copy", "Blogs", "Copy", "--create"];
    let shown = run_in(&folder, &emulator, &[&copy[..], &["--dry-run"]].concat());
    let account = format!("{}/devstoreaccount1", emulator.origin);
    let expected = format!("801 rows of Blogs ({account}) for Copy ({account}), which the run");
    assert!(shown.out.starts_with(&format!("{expected} would create\n")), "{shown:?}");
    let used = "this dry run used 2 billable requests: 1 GetTable, 1 Query\n";
    assert!(shown.err.ends_with(used), "{shown:?}");
    assert_eq!(emulator.client().list_tables().await.unwrap(), ["Blogs"]);

    let part = ["--filter", "PartitionKey eq 'it''s 0'"];
    let one = ["--filter", "PartitionKey eq 'it''s 0' and RowKey lt '000001'"];
    for (options, expected) in [
        (&["--create"][..], "12 billable requests: 1 CreateTable, 1 Query, 10 Transaction"),
        (&[], "11 billable requests: 1 Query, 10 Transaction"),
        (&["--for-sync"], "12 billable requests: 2 Query, 10 Transaction"),
        (
            &["--filter", "Yes eq true", "--mode", "merge"],
            "6 billable requests: 1 Query, 5 Transaction",
        ),
        (&part, "3 billable requests: 1 Query, 2 Transaction"),
        (&[&["--rate", "200"], &part[..]].concat(), "5 billable requests: 1 Query, 4 Transaction"),
        (&one, "2 billable requests: 1 Query, 1 InsertOrReplace"),
        (&["--filter", "Yes eq 1"], "1 billable request: 1 Query"),
    ] {
        let command = [&["copy", "Blogs", "Copy"], options].concat();
        let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
        assert_eq!((&*estimated, &*used), (expected, expected), "{options:?}");
    }
}

/// Where a page ends within a partition, the run may send the rows that it has before the next page arrives.
#[tokio::test]
async fn a_copy_of_several_pages_and_into_cosmos_db_is_estimated() {
    for (pair, expected) in [
        (Pair::new(), "24 billable requests: 3 Query, "),
        (Pair::into_cosmos(), "25 billable requests: 1 GetTable, 3 Query, "),
    ] {
        fill(&pair.source, "Blogs", 2_001).await;
        pair.target.table("Copy").await;
        let run = |arguments: &[&str]| pair.run(arguments);
        let (estimated, used) = compared(run, &["copy", "Blogs", "Copy"]);
        assert!(estimated.starts_with(expected), "{estimated}");
        assert!((0..=3).contains(&(total(&used) - total(&estimated))), "{estimated}; {used}");
        let (estimated, used) = compared(run, &["copy", "Blogs", "Copy", "--parallel", "4"]);
        let pages = total(&estimated) - 21;
        assert!((0..=pages).contains(&(total(&used) - total(&estimated))), "{estimated}; {used}");
    }
}

#[tokio::test]
async fn a_dry_run_of_a_copy_refuses_what_the_run_refuses() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 1).await;
    let refused = |arguments: &[&str], code, part: &str| {
        let error = run_in(&folder, &emulator, &[arguments, &["--dry-run"]].concat()).failed(code);
        assert!(error.contains(part), "{error}");
    };
    let copy = ["copy", "Blogs", "Copy"];
    refused(&["copy", "Blogs", "blogs"], 2, "are the same table");
    refused(&["copy", "Blogs", "Bl-ogs"], 2, "Bl-ogs");
    refused(&[&copy[..], &["--resume"]].concat(), 2, "--resume");
    refused(&[&copy[..], &["--for-sync", "--mode", "insert"]].concat(), 2, "upsert-replace");
    refused(&[&copy[..], &["--create", "--filter", "x y"]].concat(), 2, "is not valid");
    refused(&copy, 6, "the table Copy does not exist: add --create");
    refused(&["copy", "Nothing", "Blogs"], 6, "");
    assert_eq!(emulator.client().list_tables().await.unwrap(), ["Blogs"]);

    // The lists and the checkpoint of an earlier run stay.
    for file in ["Blogs-Copy.checkpoint", "Blogs-Copy.refused", "Blogs-Copy.keys"] {
        fs::write(folder.file(file), "precious").unwrap();
    }
    let dry_run = [&copy[..], &["--create", "--for-sync", "--dry-run"]].concat();
    let shown = run_in(&folder, &emulator, &dry_run).done();
    assert!(shown.starts_with("1 row of Blogs ("), "{shown}");
    let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let texts: Vec<_> = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(texts, ["precious"; 3]);
}

/// A signature for the rows of a table does not permit to look it up.
#[tokio::test]
async fn a_copy_into_a_signed_table_is_estimated() {
    let (pair, copy) = (Pair::new(), ["copy", "Blogs", "Copy"]);
    fill(&pair.source, "Blogs", 1).await;
    pair.target.table("Copy").await;
    let sas = ["sas", "--table", "Copy", "-p", "au", "--expires", "1h", "--http", "--url"];
    let url = pair.target.run(&sas).done();
    let signed = |arguments: &[&str]| {
        Run::of(&pair.command(arguments).env("TARGET", url.trim()).output().unwrap())
    };
    let shown = signed(&[&copy[..], &["--dry-run"]].concat());
    assert!(shown.err.starts_with("it is unknown whether the table Copy exists: "), "{shown:?}");
    assert!(!shown.err.contains("sig="), "{shown:?}");
    let (estimated, used) = compared(signed, &copy);
    let expected = "2 billable requests: 1 Query, 1 InsertOrReplace";
    assert_eq!((&*estimated, &*used), (expected, expected));
}

#[tokio::test]
async fn the_copy_of_an_account_is_estimated_by_its_keys() {
    for (pair, options, expected) in [
        (
            Pair::new(),
            &[][..],
            "18 billable requests: 1 CreateTable, 2 ListTables, 2 Query, 3 InsertOrReplace, 10 Transaction",
        ),
        (
            Pair::into_cosmos(),
            &["--exclude", "Logs"],
            "14 billable requests: 1 GetTable, 2 ListTables, 1 Query, 10 Transaction",
        ),
    ] {
        fill(&pair.source, "Blogs", 801).await;
        fill(&pair.source, "Logs", 3).await;
        pair.target.table("Blogs").await;
        let run = |arguments: &[&str]| pair.run(arguments);
        let copy = ["copy", "--all-tables", "--create"];
        let shown = run(&[&copy[..], &["--dry-run"]].concat()).done();
        let lines = "write             801 rows  Blogs\ncreate              3 rows  Logs\n";
        assert!(shown.starts_with(lines), "{shown}");
        assert_eq!(pair.target.client().list_tables().await.unwrap(), ["Blogs"]);
        let (estimated, used) = compared(run, &[&copy[..], options].concat());
        assert_eq!((&*estimated, &*used), (expected, expected));
    }
}

/// Returns the requests of the dry run of a `sync`, and those of its first pass.
fn compared_pass(pair: &Pair, options: &[&str]) -> (String, String) {
    let run = |arguments: &[&str]| {
        if arguments.contains(&"--dry-run") {
            return pair.run(arguments);
        }
        let mut child = pair.command(&[arguments, &["--every", "1h"]].concat()).spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(messages.any(|line| line.starts_with("pass 1: ")));
        interrupt(&child);
        let err = messages.filter(|line| line.contains(" billable request")).collect();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        Run { code: Some(0), out: String::new(), err }
    };
    compared(run, &[&["sync", "Blogs", "Copy", "--yes"], options].concat())
}

#[tokio::test]
async fn a_pass_of_a_sync_is_estimated() {
    let copied = "12 billable requests: 2 Query, 10 Transaction";
    let deleted = "335 billable requests: 325 Query, 10 Transaction";
    for pair in [Pair::new(), Pair::into_cosmos()] {
        // Five partitions of 161 or 160 rows.
        fill(&pair.source, "Blogs", 801).await;
        pair.copy(&["--create", "--for-sync"]).done();
        let (estimated, used) = compared_pass(&pair, &[]);
        assert_eq!((&*estimated, &*used), (copied, copied));
        let filter = ["--filter", "PartitionKey eq 'it''s 0'", "--max-rows", "161", "--yes"];
        pair.source.run(&[&["delete", "Blogs"], &filter[..]].concat()).done();
        let (estimated, used) = compared_pass(&pair, &["--delete", "--max-deletes", "161"]);
        assert_eq!(estimated, deleted);
        // The pass does not wait for the versions of 100 rows before it deletes some.
        let more = total(&used) - total(&estimated);
        assert!(more <= 161 - 2 && used.contains(" 325 Query, "), "{used}");
    }
}
