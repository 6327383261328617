//! `--dry-run`: the estimated requests are those of the run.

use std::fs;

use azure_table_client::DynamicEntity;

use crate::files::fill;
use crate::found_rows::run_in;
use crate::run_files::lines;
use crate::support::{Emulator, Folder};

/// Returns the billable requests that the dry run of a command states, and those that the command then uses.
pub(crate) fn estimated_and_used(
    folder: &Folder,
    emulator: &Emulator,
    command: &[&str],
) -> (String, String) {
    let shown = run_in(folder, emulator, &[command, &["--dry-run", "-q"]].concat()).done();
    let (_, estimated) = shown.trim_end().rsplit_once("the run would use about ").unwrap();
    let end = run_in(folder, emulator, command);
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
