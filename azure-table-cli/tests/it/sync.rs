//! `sync`: changes, deletions, refusals and unknown outcomes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr};
use std::time::Duration;

use azure_table_client::{DynamicEntity, IfMatch, TableClient};

use crate::files::fill;
use crate::pair::{Pair, insert, row};
use crate::proxy::Proxy;
use crate::support::{Emulator, Run, interrupt};

const END: [&str; 4] = ["--until-equal", "--every", "10ms", "--yes"];

impl Pair {
    pub(crate) fn sync(&self, options: &[&str]) -> Run {
        self.run(&[&["sync", "Blogs", "Copy"], options].concat())
    }

    /// Deletes rows too, until both tables are equal.
    fn sync_all(&self) -> Run {
        self.sync(&[&END[..], &["--delete", "--max-deletes", "100"]].concat())
    }

    /// Creates the source with these rows, and copies it.
    pub(crate) async fn copied(&self, rows: &[DynamicEntity]) -> [TableClient<DynamicEntity>; 2] {
        let blogs = self.source.table("Blogs").await;
        insert(&blogs, rows).await;
        self.copy(&["--create", "--for-sync"]).done();
        [blogs, self.target.client().table_named("Copy")]
    }
}

/// The lines that a running command prints to standard error.
pub(crate) struct Messages(BufReader<ChildStderr>);

impl Messages {
    pub(crate) fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stderr.take().unwrap()))
    }

    /// Reads lines until one contains the text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let mut read = String::new();
        while !read.contains(text) {
            assert!(self.0.read_line(&mut read).unwrap() > 0, "{text}: {read}");
        }
    }
}

async fn delete(table: &TableClient<DynamicEntity>, key: (&str, &str)) {
    table.delete(key, IfMatch::Any).await.unwrap();
}

fn few_rows() -> Vec<DynamicEntity> {
    (0..10).map(|n| row(if n < 5 { "a" } else { "b\u{1f600}" }, &n.to_string())).collect()
}

#[tokio::test]
async fn changes_inserts_and_deletions_arrive() {
    for pair in [Pair::new(), Pair::into_cosmos(), Pair::from_cosmos()] {
        let [blogs, copy] = pair.copied(&few_rows()).await;
        blogs.insert_or_replace(&row("a", "1").with("Text", "changed")).await.unwrap();
        insert(&blogs, &[row("c", "1")]).await;
        delete(&blogs, ("a", "2")).await;
        delete(&blogs, ("b\u{1f600}", "9")).await;
        let dry = pair.sync(&["--delete", "--dry-run"]).done();
        assert!(
            dry.contains(", 2 of 10 rows to delete in one pass\nthe run would use about "),
            "{dry}"
        );
        assert_eq!(copy.query().count().await.unwrap(), 10);

        let end = pair.sync_all();
        assert!(end.err.contains("2 deleted, 0 refused in"), "{end:?}");
        assert!(end.err.contains("\npass 2: 0 rows copied, 0 deleted, 0 refused in"), "{end:?}");
        // One more pass after the comparison changes nothing.
        let after = end.err.find("\npass 3: 0 rows copied, 0 deleted, 0 refused in");
        assert!(after < end.err.find("no differences: 9 rows\n") && after.is_some(), "{end:?}");
        end.done();
        pair.diff().done();
        // A row that is inserted again is copied again.
        insert(&blogs, &[row("a", "2").with("Again", true)]).await;
        let again = pair.sync_all();
        assert!(again.err.contains("no differences: 10 rows\n"), "{again:?}");
        again.done();
    }
}

#[tokio::test]
async fn without_a_copy_the_first_pass_copies_all_rows() {
    let pair = Pair::new();
    let blogs = pair.source.table("Blogs").await;
    insert(&blogs, &few_rows()).await;
    let copy = pair.target.table("Copy").await;
    assert!(pair.sync(&["--dry-run"]).done().starts_with("10 rows to copy in one pass\n"));
    assert_eq!(fs::read_dir(pair.folder.path()).unwrap().count(), 0);

    let end = pair.sync(&END);
    assert!(end.err.contains("the first pass copies all rows"), "{end:?}");
    assert!(end.err.contains("pass 1: 10 rows copied"), "{end:?}");
    end.done();
    // Without --delete, the row stays.
    delete(&blogs, ("a", "1")).await;
    let error = pair.sync(&END).failed(3);
    assert!(error.contains("1 difference after two passes"), "{error}");
    assert_eq!(copy.query().count().await.unwrap(), 10);
    pair.sync_all().done();
}

#[tokio::test]
async fn rows_of_another_program_are_deleted_too() {
    let pair = Pair::new();
    let [blogs, copy] = pair.copied(&few_rows()).await;
    insert(&copy, &[row("a", "of another program")]).await;
    delete(&blogs, ("a", "1")).await;
    let end = pair.sync_all();
    assert!(end.err.contains("2 deleted, 0 refused in"), "{end:?}");
    end.done();
    pair.diff().done();
    assert_eq!(copy.query().count().await.unwrap(), 9);
}

#[tokio::test]
async fn more_than_a_tenth_of_the_rows_is_not_deleted_unasked() {
    let pair = Pair::new();
    let [blogs, copy] = pair.copied(&few_rows()).await;
    for n in ["1", "2"] {
        delete(&blogs, ("a", n)).await;
    }
    insert(&blogs, &[row("c", "new")]).await;
    for options in [&[][..], &["--max-deletes", "1"]] {
        let error = pair.sync(&[&END[..], &["--delete"], options].concat()).failed(2);
        let question = "not confirmed: delete 2 of 11 rows of Copy? (pass --max-deletes ROWS";
        assert!(error.contains(question) && error.contains("No row was deleted"), "{error}");
        // The changes were copied.
        assert_eq!(copy.query().count().await.unwrap(), 11);
    }
    let error = pair.sync(&["--delete", "--until-equal"]).failed(2);
    let question = "sync deletes the rows of Copy that Blogs does not have. Continue?";
    assert!(error.contains(question), "{error}");
    pair.sync(&[&END[..], &["--delete", "--max-deletes", "2"]].concat()).done();
    pair.diff().done();
    // One row of ten needs no question.
    delete(&blogs, ("a", "3")).await;
    insert(&blogs, &[row("c", "2")]).await;
    pair.sync(&[&END[..], &["--delete"]].concat()).done();
}

#[tokio::test]
async fn deletions_need_the_whole_source() {
    let pair = Pair::new();
    let [blogs, copy] = pair.copied(&few_rows()).await;
    let signature = ["sas", "--table", "Blogs", "-p", "r", "--expires", "1h", "--http", "--url"];
    for (limits, code) in [(&[][..], 0), (&["--partition-key", "a"], 2)] {
        let url = pair.source.run(&[&signature[..], limits].concat()).done();
        fs::write(pair.path("source"), url).unwrap();
        let sync = [&END[..], &["--delete", "--from", "file:source"]].concat();
        let end = pair.sync(&sync);
        assert_eq!(end.code, Some(code), "{end:?}");
        assert!(code == 0 || end.err.contains("limited to a range of keys"), "{end:?}");
    }
    let target = pair
        .target
        .run(&[&["sas", "--table", "Copy"], &signature[3..], &["--partition-key", "a"]].concat());
    fs::write(pair.path("target"), target.done()).unwrap();
    for option in ["--delete", "--until-equal"] {
        let mut sync = pair.source.command(&["sync", "Blogs", "Copy", option, "--yes"]);
        sync.args(["--to", "file:target"]).current_dir(pair.folder.path());
        let error = Run::of(&sync.output().unwrap()).failed(2);
        assert!(error.contains("keys of the target, and its signature is limited"), "{error}");
    }
    // The second scan is that of the keys: its pages fail.
    delete(&blogs, ("a", "1")).await;
    pair.source.add_faults(r#"{"fault":"internal_error","on":"Query","skip":2}"#);
    let error = pair.sync_all();
    pair.source.end_faults();
    assert!(error.code == Some(1), "{error:?}");
    assert_eq!(copy.query().count().await.unwrap(), 10);

    let same = pair.source.run(&["sync", "Blogs", "blogs"]).failed(2);
    assert!(same.contains("the source and the target are the same table"), "{same}");

    for row in few_rows() {
        blogs.delete_if_exists(row.key().clone(), IfMatch::Any).await.unwrap();
    }
    let error = pair.sync_all().failed(1);
    assert!(error.contains("table Blogs has no row: no row is deleted"), "{error}");
    assert_eq!(copy.query().count().await.unwrap(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_in_another_order_deletes_nothing() {
    let pair = Pair::new();
    let blogs = pair.source.table("Blogs").await;
    insert(&blogs, &few_rows()).await;
    let proxy = Proxy::reversing(&pair.source);
    let run = |dialect: &str, arguments: &[&str]| {
        let mut command = pair.command(arguments);
        command.args(["--from-dialect", dialect]);
        command.env("AZURE_STORAGE_CONNECTION_STRING", proxy.connection_string());
        Run::of(&command.output().unwrap())
    };
    run("cosmos", &["copy", "Blogs", "Copy", "--create", "--for-sync"]).done();
    let copy = pair.target.client().table_named::<DynamicEntity>("Copy");
    delete(&blogs, ("a", "1")).await;
    let sync =
        |dialect: &str| run(dialect, &[&["sync", "Blogs", "Copy", "--delete"], &END[..]].concat());
    let error = sync("storage").failed(1);
    assert!(error.contains("after a larger key") && error.contains("--from-dialect"), "{error}");
    assert_eq!(copy.query().count().await.unwrap(), 10);
    sync("cosmos").done();
    assert_eq!(copy.query().count().await.unwrap(), 9);
}

#[tokio::test]
async fn an_unknown_outcome_repeats_the_pass_and_deletes_nothing() {
    let pair = Pair::new();
    let [blogs, copy] = pair.copied(&[&few_rows()[..], &[row("c", "1")]].concat()).await;
    blogs.insert_or_replace(&row("c", "1").with("Text", "changed")).await.unwrap();
    delete(&blogs, ("b\u{1f600}", "9")).await;
    // The service applies the row, and neither the reply nor a read shows it.
    pair.target.add_faults(
        r#"[{"fault":"lose_reply","on":"writes","partition":"c"},
            {"fault":"internal_error","on":"reads","partition":"c"}]"#,
    );
    let position = || fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap();
    let before = position();
    let options = ["sync", "Blogs", "Copy", "--delete", "--give-up-after", "1s"];
    let mut child = pair.command(&[&options[..], &END].concat()).spawn().unwrap();
    let mut messages = Messages::of(&mut child);
    messages.wait_for("without an outcome, which the next pass repeats in");
    assert_eq!(position(), before);
    assert!(copy.get_if_exists(("b\u{1f600}", "9")).await.unwrap().is_some());
    pair.target.end_faults();
    messages.wait_for("1 deleted");
    messages.wait_for("no differences: 10 rows");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    pair.diff().done();
}

#[tokio::test]
async fn a_lost_response_of_a_deletion_is_resolved() {
    let pair = Pair::new();
    let [blogs, _] = pair.copied(&few_rows()).await;
    for n in 0..5 {
        delete(&blogs, ("a", &n.to_string())).await;
    }
    // The first transaction copies the rows of the overlap.
    pair.target.add_faults(r#"{"fault":"lose_reply","on":"Transaction","skip":1,"times":1}"#);
    let end = pair.sync_all();
    assert_eq!(pair.target.end_faults(), 1);
    assert!(end.err.contains("pass 1: 5 rows copied, 5 deleted, 0 refused in"), "{end:?}");
    assert!(end.err.contains("no differences: 5 rows"), "{end:?}");
    end.done();
    pair.diff().done();
}

#[tokio::test]
async fn a_row_that_another_program_writes_before_its_deletion_stays_until_the_next_pass() {
    let pair = Pair::new();
    let [blogs, copy] = pair.copied(&few_rows()).await;
    delete(&blogs, ("a", "1")).await;
    // The comparison has the version of the row, and the source is looked up once more.
    pair.source.add_faults(r#"{"fault":"delay_reply","milliseconds":2000,"on":"Get"}"#);
    let reads = || pair.source.requests_by_operation()["Get"].as_u64().unwrap_or_default();
    let before = reads();
    let sync = ["sync", "Blogs", "Copy", "--delete", "--every", "1h", "--yes"];
    let mut child = pair.command(&sync).spawn().unwrap();
    while reads() == before {
        assert!(child.try_wait().unwrap().is_none(), "the command ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    copy.insert_or_replace(&row("a", "1").with("Text", "other")).await.unwrap();
    let mut messages = Messages::of(&mut child);
    messages.wait_for("1 written by another program and left in");
    pair.source.end_faults();
    interrupt(&child);
    messages.wait_for("interrupted: the same command continues");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let listed = &pair.refused()[0];
    assert_eq!(listed["reason"], "another program wrote it before it was deleted");
    assert_eq!((&listed["RowKey"], &listed["outcome"]), (&"1".into(), &"changed".into()));
    assert!(copy.get_if_exists(("a", "1")).await.unwrap().is_some());
    // A later pass compares again.
    pair.sync_all().done();
    pair.diff().done();
}

#[tokio::test]
async fn refused_rows_are_listed_and_no_difference() {
    let pair = Pair::into_cosmos();
    let [blogs, copy] = pair.copied(&few_rows()).await;
    // Cosmos DB refuses this property, in a new row and in a row that it has.
    insert(&blogs, &[row("c", "1").with("Etag", "x")]).await;
    blogs.insert_or_replace(&row("a", "1").with("Etag", "x")).await.unwrap();
    let error = pair.sync_all().failed(4);
    assert!(error.contains("2 refused in"), "{error}");
    assert!(
        error.contains("2 rows refused (Blogs-Copy.failed.jsonl); no other differences"),
        "{error}"
    );
    let refused: Vec<_> = pair.refused().iter().map(|line| line["PartitionKey"].clone()).collect();
    assert_eq!(refused, ["a", "c"]);
    // Another program has a row with the key of the first one. It stays while the source has the key.
    insert(&copy, &[row("c", "1")]).await;
    pair.sync_all().failed(4);
    assert!(copy.get_if_exists(("c", "1")).await.unwrap().is_some());
    delete(&blogs, ("c", "1")).await;
    delete(&blogs, ("a", "1")).await;
    pair.sync_all().done();
    pair.diff().done();
}

#[tokio::test]
async fn a_resumed_copy_keeps_the_time_of_the_killed_one() {
    let pair = Pair::new();
    let blogs = fill(&pair.source, "Blogs", 3000).await;
    pair.target.add_faults(r#"{"fault":"delay_reply","milliseconds":100}"#);
    let copy = ["copy", "Blogs", "Copy", "--create", "--for-sync", "--concurrency", "1"];
    let mut child = pair.command(&copy).spawn().unwrap();
    let position = || fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap();
    let table = pair.target.client().table_named::<DynamicEntity>("Copy");
    while !table.query().count().await.is_ok_and(|rows| rows > 200) {
        assert!(child.try_wait().unwrap().is_none());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    pair.target.end_faults();
    // A copy that is not complete: its position is not used, and neither copy continues the other.
    let killed = position();
    assert!(killed.contains("\"since\": null"), "{killed}");
    let error = pair.copy(&["--resume"]).failed(2);
    assert!(error.contains("its for-sync is"), "{error}");
    let rows = table.query().await.unwrap();
    for row in &rows[..100] {
        blogs.delete(row.key().clone(), IfMatch::Any).await.unwrap();
    }
    pair.copy(&["--for-sync", "--resume"]).done();
    let time = |text: &str| text.split('"').find(|part| part.ends_with('Z')).unwrap().to_owned();
    assert_eq!(time(&position()), time(&killed));
    pair.sync_all().done();
    pair.diff().done();
}

#[tokio::test]
async fn files_of_other_tables_and_damaged_ones_are_refused() {
    let pair = Pair::new();
    let [blogs, _] = pair.copied(&few_rows()).await;
    let other = Emulator::start();
    other.table("Copy").await;
    let mut sync = pair.command(&["sync", "Blogs", "Copy"]);
    let error = Run::of(&sync.env("TARGET", other.connection_string()).output().unwrap()).failed(2);
    assert!(error.contains("Blogs-Copy.sync belongs to another run: its target is"), "{error}");
    for options in [&["--mode", "insert"][..], &["--filter", "PartitionKey eq 'a'"]] {
        pair.copy(&[&["--for-sync"], options].concat()).failed(2);
    }
    // A second copy keeps the position of the first one.
    let position = fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap();
    delete(&blogs, ("a", "1")).await;
    pair.copy(&["--for-sync"]).done();
    assert_eq!(fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap(), position);

    for (text, part) in [
        ("{}", "Blogs-Copy.sync is not a checkpoint"),
        (r#"{"format":2,"program":"0.2.0"}"#, "written by azure-table 0.2.0"),
    ] {
        fs::write(pair.path("Blogs-Copy.sync"), text).unwrap();
        let error = pair.sync_all().failed(2);
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_signal_ends_the_wait_for_the_next_pass() {
    let pair = Pair::new();
    pair.copied(&few_rows()).await;
    let mut child = pair.command(&["sync", "Blogs", "Copy", "--every", "1h"]).spawn().unwrap();
    let mut messages = Messages::of(&mut child);
    messages.wait_for("pass 1: ");
    let error = pair.sync(&[]).failed(2);
    assert!(error.contains("another run uses these files"), "{error}");
    interrupt(&child);
    messages.wait_for("interrupted: the same command continues");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
