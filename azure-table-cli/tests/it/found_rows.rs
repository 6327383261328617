//! `delete --filter`, `update` and `truncate`: limits, saved rows and properties.

use std::fs;

use crate::files::fill;
use crate::support::{Emulator, Folder, Run};

/// Runs a command in a folder, which gets the list of rows that are left.
pub(crate) fn run_in(folder: &Folder, emulator: &Emulator, arguments: &[&str]) -> Run {
    let mut command = emulator.command(arguments);
    Run::of(&command.current_dir(folder.path()).output().unwrap())
}

#[test]
fn unsafe_commands_are_refused_before_a_request() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fs::write(folder.file("old.jsonl"), "precious").unwrap();
    let delete = ["delete", "Blogs", "--filter", "Yes eq true"];
    let update = ["update", "Blogs", "--filter", "Yes eq true"];
    let all = ["--yes", "--max-rows", "9"];
    let large = format!("A={}", "x".repeat(40_000));
    for (arguments, part) in [
        (&["delete", "Blogs", "--yes"][..], "--filter <TEXT>"),
        (&["delete", "Blogs", "--filter", " ", "--yes", "--max-rows", "9"], "without a condition"),
        (&["delete", "Blogs", "p", "r", "--filter", "Yes eq true"], "cannot be used with"),
        (&["delete", "Blogs", "p", "r", "--dry-run"], "cannot be used with"),
        (&[&delete[..], &["--if-exists"]].concat(), "cannot be used with"),
        (&[&delete[..], &["--dry-run", "--save", "a.jsonl"]].concat(), "cannot be used with"),
        (&delete, "pass --yes --max-rows ROWS"),
        (&[&delete[..], &["--max-rows", "9"]].concat(), "pass --yes --max-rows ROWS"),
        (&[&delete[..], &["--yes"]].concat(), "--yes requires --max-rows"),
        (&[&delete[..], &["--yes", "--max-rows", "0"]].concat(), "0 is not in 1.."),
        (&[&delete[..], &all, &["--save", "old.jsonl"]].concat(), "the file exists"),
        (&[&delete[..], &all, &["--save", "a.csv"]].concat(), "JSON lines"),
        (&[&delete[..], &all, &["--save", "-"]].concat(), "JSON lines"),
        (
            &[&delete[..], &all, &["--save", "a.jsonl", "--failed", "a.jsonl"]].concat(),
            "the same file",
        ),
        (&["delete", "Blogs", "--filter", "Yes eq", "--dry-run"], "the filter is not valid"),
        (&["delete", "a-b", "--filter", "Yes eq true", "--dry-run"], "a-b"),
        (&[&update[..], &all].concat(), "--set"),
        (&["update", "Blogs", "--filter", "", "--set", "A=1"], "without a condition"),
        (&["delete", "Blogs", "--filter", "true", "--dry-run"], "without a condition"),
        (&["delete", "Blogs", "--filter", "not (false)", "--dry-run"], "without a condition"),
        (&["update", "Blogs", "--set", "A=1"], "--filter <TEXT>"),
        (&[&update[..], &all, &["--unset", "A", "--force"]].concat(), "cannot be used with"),
        (&[&delete[..], &all, &["--failed", "old.jsonl"]].concat(), "not a list of an earlier run"),
        (&[&update[..], &all, &["--set", "RowKey=1"]].concat(), "cannot be set"),
        (&[&update[..], &all, &["--set", "Timestamp=1"]].concat(), "cannot be set"),
        (&[&update[..], &all, &["--set", "a-b=1"]].concat(), "a-b"),
        (&[&update[..], &all, &["--set", "A:Edm.Int32=x"]].concat(), "\"A\" is invalid"),
        (&[&update[..], &all, &["--set", "A=1", "A=2"]].concat(), "given twice"),
        (&[&update[..], &all, &["--set", &large]].concat(), "32768 are allowed"),
        (&[&update[..], &all, &["--unset", "PartitionKey"]].concat(), "reserved"),
        (&[&update[..], &all, &["--set", "A=1", "--unset", "A"]].concat(), "both set and removed"),
        (
            &[&update[..], &all, &["--dialect", "cosmos", "--set", "rid=1"]].concat(),
            "\"rid\" is reserved",
        ),
        (&["truncate", "Blogs"], "pass --confirm Blogs --yes --max-rows ROWS"),
        (
            &[&["truncate", "Blogs"], &all[..]].concat(),
            "pass --confirm Blogs --yes --max-rows ROWS",
        ),
        (
            &[&["truncate", "Blogs", "--confirm", "blogs"], &all[..]].concat(),
            "--confirm blogs is not the name of the table Blogs",
        ),
        (
            &[&["truncate", "Blogs", "--confirm", "x", "--force"], &all[..]].concat(),
            "--confirm x is not",
        ),
        (&["truncate", "Blogs", "--confirm", "Blogs", "--yes"], "--yes requires --max-rows"),
        (&["truncate", "Blogs", "--confirm", "Blogs"], "pass --yes --max-rows ROWS"),
        (&["truncate", "Blogs", "--force"], "pass --yes --max-rows ROWS"),
        (&["truncate", "Blogs", "--force", "--yes"], "--yes requires --max-rows"),
    ] {
        let error = run_in(&folder, &emulator, arguments).failed(2);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
    assert_eq!(emulator.requests(), 0);
    assert_eq!(fs::read_to_string(folder.file("old.jsonl")).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_dry_run_and_a_limit_write_nothing() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 300).await;
    let before = emulator.requests_by_operation();
    let filter = ["delete", "Blogs", "--filter", "PartitionKey eq 'it''s 1' and Yes eq true"];
    let run = |options: &[&str]| run_in(&folder, &emulator, &[&filter[..], options].concat());
    let noted = run(&["--dry-run"]);
    assert!(noted.err.contains("\nthis dry run used 1 billable request: 1 Query\n"), "{noted:?}");
    let shown = run(&["--dry-run", "--quiet"]).done();
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].starts_with("partition: "), "{shown}");
    assert!(lines.len() == 3 && lines[1].starts_with("30 rows of Blogs match"), "{shown}");
    let refused = run(&["--dry-run", "--max-rows", "29"]);
    assert!(!refused.out.contains("the run would use"), "{refused:?}");
    refused.failed(1);
    let saved = folder.file("saved.jsonl");
    for options in [&[][..], &["--save", &saved]] {
        let error = run(&[&["--yes", "--max-rows", "29"], options].concat()).failed(1);
        assert!(error.contains("30 rows are more than the limit of 29 rows"), "{error}");
    }
    let after = emulator.requests_by_operation();
    assert_eq!(after["Query"], 5);
    assert_eq!(
        (&after["Transaction"], &after["Delete"]),
        (&before["Transaction"], &before["Delete"])
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let end = run(&["--yes", "--max-rows", "30"]);
    assert!(end.err.contains("30 rows of Blogs match") && end.err.contains("\n30 rows deleted\n"));
    end.done();
    assert_eq!(
        emulator.requests_by_operation()["Transaction"],
        before["Transaction"].as_u64().unwrap() + 1
    );
    assert!(run(&["--dry-run", "-q"]).done().contains("\n0 rows of Blogs match"));
    // There is nothing to ask.
    run(&["--yes", "--max-rows", "30"]).done();
    assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "270\n");
}

#[tokio::test]
async fn saved_rows_are_restored_exactly() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 1500).await;
    let [backup, saved] = ["backup.jsonl", "saved.jsonl"].map(|name| folder.file(name));
    emulator.run(&["export", "Blogs", &backup]).done();
    let delete = ["truncate", "Blogs", "--force", "--yes", "--max-rows", "1500", "--save", &saved];
    run_in(&folder, &emulator, &delete).done();
    assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "0\n");
    let size = fs::metadata(&saved).unwrap().len();
    // The saved rows may be the only copy.
    run_in(&folder, &emulator, &delete).failed(2);
    assert_eq!(fs::metadata(&saved).unwrap().len(), size);
    emulator.run(&["import", &saved, "Blogs"]).done();
    emulator.run(&["diff", "Blogs", &backup]).done();
}

#[tokio::test]
async fn an_update_keeps_the_other_properties() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 250).await;
    let backup = folder.file("backup.jsonl");
    emulator.run(&["export", "Blogs", &backup]).done();
    let update = |options: &[&str]| {
        let update = ["update", "Blogs", "--filter", "Yes eq true", "--yes", "--max-rows", "125"];
        run_in(&folder, &emulator, &[&update[..], options].concat())
    };
    let end = update(&["--set", "Hidden:Edm.Boolean=true", "Views:Edm.Int64=7"]);
    assert!(end.err.contains("\n125 rows updated\n"), "{end:?}");
    let found =
        emulator.run(&["count", "Blogs", "-q", "--filter", "Hidden eq true and Views eq 7L"]);
    assert_eq!(found.done(), "125\n");
    // A second run has nothing to write.
    let writes = || emulator.requests_by_operation()["Transaction"].clone();
    let before = writes();
    let end = update(&["--set", "Hidden:Edm.Boolean=true", "Views:Edm.Int64=7"]);
    assert!(end.err.contains("\n0 rows updated, 125 had the values already\n"), "{end:?}");
    assert_eq!(writes(), before);
    // Whole rows are replaced, from the table or from the saved ones.
    update(&["--set", "New=x", "--unset", "Hidden"]).done();
    update(&["--unset", "Views", "New", "--save", &folder.file("saved.jsonl")]).done();
    emulator.run(&["diff", "Blogs", &backup]).done();
    emulator
        .run(&["update", "Missing", "--filter", "A eq 1", "--set", "A=1", "--dry-run"])
        .failed(6);
}
