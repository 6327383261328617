//! `delete --filter`, `update` and `truncate` while rows change, responses are lost and the user interrupts.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::{DynamicEntity, TableClient};
use serde_json::Value;

use crate::found_rows::run_in;
use crate::support::{Emulator, Folder, Run, listed};

/// Keeps the response to the second query, the one for the rows that are written, long enough to change a row.
const SLOW_READ: &str =
    r#"{"fault":"delay_reply","on":"Query","skip":1,"times":1,"milliseconds":1000}"#;

fn row(n: u32) -> DynamicEntity {
    DynamicEntity::new("p", format!("{n:03}")).with("Rating", 1)
}

/// A table with rows of one partition.
async fn fill(emulator: &Emulator, rows: u32) -> TableClient<DynamicEntity> {
    let table = emulator.table("Blogs").await;
    table.bulk().run((0..rows).map(row).map(BulkOperation::Insert)).await.unwrap();
    table
}

fn start(emulator: &Emulator, folder: &Folder, arguments: &[&str]) -> Child {
    emulator.command(arguments).current_dir(folder.path()).spawn().unwrap()
}

/// Waits until this number of requests of an operation arrived.
async fn arrived(emulator: &Emulator, operation: &str, number: u64, child: &mut Child) {
    while emulator.requests_by_operation()[operation].as_u64().unwrap_or_default() < number {
        assert!(child.try_wait().unwrap().is_none(), "the program ended");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The keys and the outcomes in the list.
fn list(folder: &Folder) -> Vec<(String, String)> {
    let member = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let lines = listed(folder.file("Blogs.failed.jsonl"));
    lines.iter().map(|line| (member(line, "RowKey"), member(line, "outcome"))).collect()
}

const DELETE: [&str; 6] = ["delete", "Blogs", "--filter", "Rating eq 1", "--yes", "--max-rows=100"];
const UPDATE: [&str; 7] = [
    "update",
    "Blogs",
    "--filter=Rating eq 1",
    "--set",
    "Rating:Edm.Int32=2",
    "--yes",
    "--max-rows=100",
];

const TRUNCATE: [&str; 4] = ["truncate", "Blogs", "--yes", "--max-rows=100"];

#[tokio::test]
async fn a_row_that_changes_meanwhile_is_left_and_listed() {
    for (command, options, done) in [
        (&DELETE[..], &[][..], "99 rows deleted"),
        (&UPDATE, &[], "98 rows updated"),
        (&UPDATE, &["--unset", "Text"], "98 rows updated"),
        (&TRUNCATE, &["--confirm", "Blogs"], "99 rows deleted"),
        (&TRUNCATE, &["--force"], "100 rows deleted"),
        (&DELETE, &["--force"], "100 rows deleted"),
    ] {
        let (emulator, folder) = (Emulator::start(), Folder::new());
        let table = fill(&emulator, 100).await;
        emulator.add_faults(SLOW_READ);
        let mut child = start(&emulator, &folder, &[command, options].concat());
        arrived(&emulator, "Query", 2, &mut child).await;
        table.insert_or_merge(&row(50).with("Text", "new")).await.unwrap();
        table.delete(row(60).key().clone(), azure_table_client::IfMatch::Any).await.unwrap();
        let run = Run::of(&child.wait_with_output().unwrap());
        if done.starts_with("100") {
            assert!(run.err.contains(&format!("\n{done}\n")), "{run:?}");
            run.done();
            assert!(!folder.path().join("Blogs.failed.jsonl").exists());
            continue;
        }
        let error = run.failed(4);
        let changed = if command[0] == "update" { &["050", "060"][..] } else { &["050"] };
        let expected =
            format!("{done}, {} changed meanwhile (Blogs.failed.jsonl)\n", changed.len());
        assert!(error.ends_with(&expected), "{error}");
        let mut listed = list(&folder);
        listed.sort();
        let expected: Vec<_> =
            changed.iter().map(|key| ((*key).to_owned(), "changed".to_owned())).collect();
        assert_eq!(listed, expected);
        let left = table.get(row(50).key()).await.unwrap();
        assert_eq!(
            (left.get("Text"), left.get("Rating")),
            (Some(Ok("new".to_owned())), Some(Ok(1)))
        );
        // The second run reads the new version, and keeps the list: it has no other one.
        run_in(&folder, &emulator, &[command, options].concat()).done();
        assert_eq!(
            emulator.run(&["count", "Blogs", "-q", "--filter", "Rating eq 1"]).done(),
            "0\n"
        );
        assert_eq!(list(&folder).len(), changed.len());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn only_saved_versions_are_deleted() {
    for options in [&[][..], &["--force"]] {
        let (emulator, folder) = (Emulator::start(), Folder::new());
        let table = fill(&emulator, 100).await;
        emulator.add_faults(r#"{"fault":"delay_reply","on":"Query","milliseconds":1000}"#);
        let command = [&DELETE[..], &["--save", "saved.jsonl"], options].concat();
        let mut child = start(&emulator, &folder, &command);
        arrived(&emulator, "Query", 1, &mut child).await;
        table.insert_or_merge(&row(50).with("Text", "new")).await.unwrap();
        table.insert(&row(200)).await.unwrap();
        let error = Run::of(&child.wait_with_output().unwrap()).failed(4);
        assert!(error.contains("99 rows deleted, 1 changed meanwhile"), "{options:?}: {error}");
        emulator.end_faults();
        assert_eq!(emulator.requests_by_operation()["Query"], 1);
        assert_eq!(table.query().count().await.unwrap(), 2);
        let saved = fs::read_to_string(folder.file("saved.jsonl")).unwrap();
        assert_eq!(saved.lines().count(), 100);
    }
}

/// Another program creates the file of the list while the rows are written.
#[tokio::test]
async fn a_list_that_cannot_be_written_hides_no_result() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = fill(&emulator, 100).await;
    emulator.add_faults(r#"{"fault":"delay_reply","on":"Query","milliseconds":1000}"#);
    let mut child = start(&emulator, &folder, &[&DELETE[..], &["--save", "saved.jsonl"]].concat());
    arrived(&emulator, "Query", 1, &mut child).await;
    table.insert_or_merge(&row(50).with("Text", "new")).await.unwrap();
    fs::write(folder.file("Blogs.failed.jsonl"), "precious").unwrap();
    let error = Run::of(&child.wait_with_output().unwrap()).failed(1);
    assert!(error.contains("99 rows deleted, 1 changed meanwhile"), "{error}");
    assert!(error.contains("the list is incomplete: cannot write Blogs.failed.jsonl"), "{error}");
    assert_eq!(fs::read_to_string(folder.file("Blogs.failed.jsonl")).unwrap(), "precious");
}

#[tokio::test]
async fn rows_that_appear_meanwhile_do_not_exceed_the_limit() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = fill(&emulator, 90).await;
    emulator.add_faults(r#"{"fault":"delay_reply","on":"Query","times":1,"milliseconds":1000}"#);
    let mut child = start(&emulator, &folder, &DELETE);
    arrived(&emulator, "Query", 1, &mut child).await;
    table.bulk().run((200..220).map(row).map(BulkOperation::Insert)).await.unwrap();
    let error = Run::of(&child.wait_with_output().unwrap()).failed(1);
    let expected = "azure-table: more rows match now: the run stopped at the limit of 100 rows; \
                    100 rows deleted; repeat the command for the others\n";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(table.query().count().await.unwrap(), 10);
    run_in(&folder, &emulator, &DELETE).done();
    assert_eq!(table.query().count().await.unwrap(), 0);
}

#[tokio::test]
async fn lost_responses_are_resolved_or_listed_as_unknown() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = fill(&emulator, 100).await;
    emulator.add_faults(r#"{"fault":"lose_reply","on":"Transaction","times":1}"#);
    let error = run_in(&folder, &emulator, &UPDATE).failed(5);
    assert!(
        error.contains("0 rows updated, 100 unknown (Blogs.failed.jsonl); repeat the command"),
        "{error}"
    );
    assert!(list(&folder).iter().all(|(_, outcome)| outcome == "unknown"));
    assert_eq!(list(&folder).len(), 100);
    // The update was applied.
    assert!(run_in(&folder, &emulator, &UPDATE).done().is_empty());
    assert_eq!(list(&folder).len(), 100, "a run without such rows keeps the list");
    assert_eq!(emulator.end_faults(), 1);
    table.bulk().run((0..100).map(row).map(BulkOperation::InsertOrReplace)).await.unwrap();
    emulator.add_faults(r#"{"fault":"lose_reply","on":"Transaction","times":1}"#);
    // A row that is gone counts as deleted.
    let end = run_in(&folder, &emulator, &DELETE);
    assert!(end.err.contains("\n100 rows deleted\n"), "{end:?}");
    end.done();
    assert_eq!(emulator.end_faults(), 1);
}

#[tokio::test]
async fn an_interrupted_run_is_repeated() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = fill(&emulator, 900).await;
    let before = emulator.requests_by_operation()["Transaction"].as_u64().unwrap();
    emulator.add_faults(r#"{"fault":"delay_reply","on":"Transaction","milliseconds":200}"#);
    let command = ["truncate", "Blogs", "--force", "--yes", "--max-rows=900", "--concurrency=1"];
    let mut child = start(&emulator, &folder, &command);
    arrived(&emulator, "Transaction", before + 2, &mut child).await;
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let error = Run::of(&child.wait_with_output().unwrap()).failed(130);
    let expected = "interrupted with 800 rows in flight; 100 rows deleted; \
                    repeat the command for the others\n";
    assert!(error.ends_with(expected), "{error}");
    emulator.end_faults();
    assert_eq!(table.query().count().await.unwrap(), 700);
    run_in(&folder, &emulator, &command).done();
    assert_eq!(table.query().count().await.unwrap(), 0);
}
