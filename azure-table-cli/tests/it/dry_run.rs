//! `--dry-run`: the estimated requests are about those of the run.

use std::fs;
use std::io::{BufRead as _, BufReader};

use azure_table_client::DynamicEntity;

use crate::files::fill;
use crate::found_rows::run_in;
use crate::pair::Pair;
use crate::run_files::lines;
use crate::support::{Emulator, Folder, Run, interrupt};

/// Returns the requests that the dry run of a command estimates, and those that the command then uses.
pub(crate) fn estimated_and_used(
    folder: &Folder,
    emulator: &Emulator,
    command: &[&str],
) -> (u64, u64) {
    compared(|arguments| run_in(folder, emulator, arguments), command)
}

fn compared(run: impl Fn(&[&str]) -> Run, command: &[&str]) -> (u64, u64) {
    let shown = run(&[command, &["--dry-run", "-q"]].concat()).done();
    let (_, estimated) = shown.trim_end().rsplit_once("the run would use about ").unwrap();
    let end = run(command);
    let used = end.err.trim_end().rsplit('\n').next().unwrap().to_owned();
    end.done();
    (number(estimated), number(&used))
}

/// Returns the number of `64 billable requests: …` and of `64 requests`.
pub(crate) fn number(requests: &str) -> u64 {
    requests.split_once(' ').unwrap().0.replace(',', "").parse().unwrap()
}

#[tokio::test]
async fn a_dry_run_estimates_the_requests_that_the_run_uses() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    // Five partitions of 161 or 160 rows.
    fill(&emulator, "Blogs", 801).await;
    emulator.table("Blogs2").await.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let limit = ["--yes", "--max-rows", "2001"];
    let all = ["--filter", "RowKey ge ''"];
    let some = ["--filter", "PartitionKey eq 'it''s 0'"];
    for (command, expected) in [
        (&[&["update", "Blogs", "--set", "A=1"], &all[..]].concat()[..], (11, 12)),
        // The rows have the value already.
        (&[&["update", "Blogs", "--set", "A=1"], &all[..]].concat(), (2, 2)),
        (&[&["update", "Blogs", "--set", "A=2"], &some[..]].concat(), (4, 4)),
        (&[&["update", "Blogs", "--set", "A=1"], &all[..]].concat(), (4, 4)),
        (&[&["update", "Blogs2", "--set", "A=1"], &all[..]].concat(), (3, 3)),
        (&[&["update", "Blogs2", "--unset", "A"], &all[..]].concat(), (3, 3)),
        (&[&["delete", "Blogs2"], &all[..]].concat(), (3, 3)),
        (&[&["delete", "Blogs2"], &all[..]].concat(), (1, 1)),
        (&["truncate", "Blogs", "--confirm", "Blogs"], (11, 12)),
    ] {
        let command = [command, &limit].concat();
        assert_eq!(estimated_and_used(&folder, &emulator, &command), expected, "{command:?}");
    }
}

/// Where a page ends within a partition, the run may send the rows that it has before the next page arrives.
#[tokio::test]
async fn a_run_may_use_a_request_more_for_each_page() {
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
    // The pages of this service have fewer rows.
    assert_eq!(estimated, 48);
    assert!((64..64 + 12).contains(&used), "{used}");
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
         the run would use about 6 requests\n",
        emulator.origin
    );
    assert_eq!(shown.done(), expected);
    assert_eq!(emulator.requests(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(estimated_and_used(&folder, &emulator, &import), (6, 6));

    fs::write(folder.file("rows.jsonl"), lines(0..1)).unwrap();
    for mode in ["upsert-replace", "upsert-merge", "replace", "merge"] {
        let import = ["import", "rows.jsonl", "Blogs", "--mode", mode];
        assert_eq!(estimated_and_used(&folder, &emulator, &import), (1, 1), "{mode}");
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
        (&["--format", "jsonl"][..], "2,001", 3),
        (&["--format", "jsonl", "--filter", "Yes eq true", "--select", "Text"], "1,001", 2),
        (&["--format", "csv"], "2,001", 3),
    ] {
        let command = [&["export", "Blogs", "rows", "--yes"], options].concat();
        let shown = run_in(&folder, &emulator, &[&command[..], &["--dry-run"]].concat());
        assert!(shown.out.starts_with(&format!("{rows} rows of Blogs (")), "{shown:?}");
        let used = format!("this dry run used {expected} billable requests: {expected} Query\n");
        assert!(shown.err.ends_with(&used), "{shown:?}");
        let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
        assert_eq!((estimated, used), (expected, expected), "{options:?}");
    }
    let requests = emulator.requests();
    for (rows, expected) in [("0", "1 request"), ("2001", "3 requests")] {
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
    for (name, options, expected) in
        [("a", &[][..], 6), ("b", &["--no-policies", "--exclude", "L*"], 3)]
    {
        let command = [&["export", "--all-tables", name], options].concat();
        let (estimated, used) = estimated_and_used(&folder, &emulator, &command);
        assert_eq!((estimated, used), (expected, expected), "{options:?}");
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
    let expected = format!(
        "801 rows in 5 partitions of Blogs ({account}) for Copy ({account}), which the run"
    );
    assert!(shown.out.starts_with(&format!("{expected} would create\n")), "{shown:?}");
    let used = "this dry run used 2 billable requests: 1 GetTable, 1 Query\n";
    assert!(shown.err.ends_with(used), "{shown:?}");
    assert_eq!(emulator.client().list_tables().await.unwrap(), ["Blogs"]);

    let part = ["--filter", "PartitionKey eq 'it''s 0'"];
    let one = ["--filter", "PartitionKey eq 'it''s 0' and RowKey lt '000001'"];
    for (options, expected) in [
        (&["--create"][..], (12, 13)),
        (&[], (10, 11)),
        (&["--for-sync"], (10, 12)),
        (&["--filter", "Yes eq true", "--mode", "merge"], (6, 6)),
        (&part, (3, 3)),
        // A low rate makes transactions smaller.
        (&[&["--rate", "200"], &part[..]].concat(), (3, 5)),
        (&one, (2, 2)),
        (&["--filter", "Yes eq 1"], (1, 1)),
    ] {
        let command = [&["copy", "Blogs", "Copy"], options].concat();
        assert_eq!(estimated_and_used(&folder, &emulator, &command), expected, "{options:?}");
    }
}

/// Where a page ends within a partition, the run may send the rows that it has before the next page arrives.
#[tokio::test]
async fn a_copy_of_several_pages_and_into_cosmos_db_is_estimated() {
    for (pair, expected) in [
        (Pair::new(), 24..=27),
        // It looks up the target table too.
        (Pair::into_cosmos(), 25..=28),
    ] {
        fill(&pair.source, "Blogs", 2_001).await;
        pair.target.table("Copy").await;
        let run = |arguments: &[&str]| pair.run(arguments);
        let (estimated, used) = compared(run, &["copy", "Blogs", "Copy"]);
        assert!(estimated == 24 && expected.contains(&used), "{estimated}; {used}");
        // Each range may end with an empty page.
        let (estimated, used) = compared(run, &["copy", "Blogs", "Copy", "--parallel", "4"]);
        assert!(estimated == 24 && (24..=40).contains(&used), "{estimated}; {used}");
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
    for file in ["Blogs-Copy.checkpoint", "Blogs-Copy.failed.jsonl", "Blogs-Copy.sync"] {
        fs::write(folder.file(file), "precious").unwrap();
    }
    let dry_run = [&copy[..], &["--create", "--for-sync", "--dry-run"]].concat();
    let shown = run_in(&folder, &emulator, &dry_run).done();
    assert!(shown.starts_with("1 row in 1 partition of Blogs ("), "{shown}");
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
    assert_eq!((estimated, used), (2, 2));
}

#[tokio::test]
async fn the_copy_of_an_account_is_estimated_by_its_keys() {
    for (pair, options, expected) in
        [(Pair::new(), &[][..], (18, 19)), (Pair::into_cosmos(), &["--exclude", "Logs"], (12, 14))]
    {
        fill(&pair.source, "Blogs", 801).await;
        fill(&pair.source, "Logs", 3).await;
        pair.target.table("Blogs").await;
        let run = |arguments: &[&str]| pair.run(arguments);
        let copy = ["copy", "--all-tables", "--create"];
        let shown = run(&[&copy[..], &["--dry-run"]].concat()).done();
        let lines = "write             801 rows  Blogs\ncreate              3 rows  Logs\n";
        assert!(shown.starts_with(lines), "{shown}");
        assert_eq!(pair.target.client().list_tables().await.unwrap(), ["Blogs"]);
        assert_eq!(compared(run, &[&copy[..], options].concat()), expected);
    }
}

/// Returns the requests of the dry run of a `sync`, and those of its first pass.
fn compared_pass(pair: &Pair, options: &[&str]) -> (u64, u64) {
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
    for pair in [Pair::new(), Pair::into_cosmos()] {
        // Five partitions of 161 or 160 rows.
        fill(&pair.source, "Blogs", 801).await;
        pair.copy(&["--create", "--for-sync"]).done();
        assert_eq!(compared_pass(&pair, &[]), (11, 12));
        let filter = ["--filter", "PartitionKey eq 'it''s 0'", "--max-rows", "161", "--yes"];
        pair.source.run(&[&["delete", "Blogs"], &filter[..]].concat()).done();
        let (estimated, used) = compared_pass(&pair, &["--delete", "--max-deletes", "161"]);
        assert_eq!(estimated, 174);
        // The pass does not wait for the versions of 100 rows before it deletes some.
        assert!((174..174 + 161).contains(&used), "{used}");
    }
}
