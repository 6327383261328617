//! The questions of `delete --filter` and `truncate`, at a pseudoterminal.

use std::process::Child;

use crate::files::{fill, row};
use crate::support::{Emulator, Folder};
use crate::terminal::Terminal;

/// Starts a command, which puts its files into the folder.
fn start(terminal: &Terminal, emulator: &Emulator, folder: &Folder, arguments: &[&str]) -> Child {
    let list = folder.file("Blogs.failed.jsonl");
    terminal.spawn(&emulator.command(&[arguments, &["--failed", &list]].concat()))
}

#[tokio::test]
async fn the_number_of_rows_is_shown_before_the_question() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 1200).await;
    let saved = folder.file("saved.jsonl");
    let delete = ["delete", "Blogs", "--filter", "Number ge 0", "--save", &saved];
    for (answer, code, rows) in [("\n", 2, "1200\n"), ("n\n", 2, "1200\n"), ("y\n", 0, "0\n")] {
        let mut terminal = Terminal::open();
        let mut child = start(&terminal, &emulator, &folder, &delete);
        let shown = terminal.wait_for("delete 1,200 rows of Blogs? [y/N] ");
        assert!(
            shown.contains("table scan: ") && shown.contains("1,200 rows of Blogs match"),
            "{shown}"
        );
        assert!(!std::path::Path::new(&saved).exists());
        terminal.enter(answer);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{answer:?}");
        assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), rows);
    }
    assert_eq!(std::fs::read_to_string(&saved).unwrap().lines().count(), 1200);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_truncation_needs_the_name_of_the_table() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 10).await;
    let all = &["--yes", "--max-rows", "10"][..];
    for (options, question, answer, code) in [
        (&[][..], "Type Blogs to confirm: ", "y\n", 2),
        // `--yes` does not answer this question.
        (all, "Type Blogs to confirm: ", "blogs\n", 2),
        (&["--force"], "delete 10 rows of Blogs? [y/N] ", "Blogs\n", 2),
        (all, "Type Blogs to confirm: ", "Blogs\n", 0),
    ] {
        assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "10\n");
        let mut terminal = Terminal::open();
        let truncate = [&["truncate", "Blogs"], options].concat();
        let mut child = start(&terminal, &emulator, &folder, &truncate);
        terminal.wait_for(question);
        terminal.enter(answer);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{options:?}");
    }
    assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "0\n");
}

/// `--yes` does not answer the question, and its `--max-rows` does not extend what the user confirms.
#[tokio::test]
async fn the_number_in_the_question_is_the_limit_of_a_truncation() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = fill(&emulator, "Blogs", 10).await;
    let mut terminal = Terminal::open();
    let truncate = ["truncate", "Blogs", "--yes", "--max-rows", "100"];
    let mut child = start(&terminal, &emulator, &folder, &truncate);
    terminal.wait_for("delete 10 rows of Blogs? Type Blogs to confirm: ");
    table.insert(&row(10)).await.unwrap();
    terminal.enter("Blogs\n");
    let shown = terminal.wait_for("the run stopped at the limit of 10 rows");
    assert!(shown.contains("more rows match now"), "{shown}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "1\n");
}

#[tokio::test]
async fn ctrl_c_at_the_question_writes_nothing_and_leaves_no_file() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 10).await;
    let mut terminal = Terminal::open();
    let saved = folder.file("saved.jsonl");
    let mut child = start(&terminal, &emulator, &folder, &["truncate", "Blogs", "--save", &saved]);
    terminal.wait_for("to confirm: ");
    terminal.enter("\u{3}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "10\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
