//! The lists of rows that were not applied. No run damages the list of another one or a file of the user.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::files::fill;
use crate::run_files::lines;
use crate::support::{Emulator, Folder, Run, listed};

/// Starts a command, waits for its first request, and returns it.
async fn started(emulator: &Emulator, mut command: Command) -> Child {
    let before = emulator.requests();
    let mut child = command.spawn().unwrap();
    while emulator.requests() == before {
        assert!(child.try_wait().unwrap().is_none(), "the program ended without a request");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child
}

#[tokio::test]
async fn one_run_at_a_time_writes_a_list() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 300).await;
    fill(&emulator, "Copy", 300).await;
    let input = folder.file("rows.jsonl");
    fs::write(&input, lines(0..300)).unwrap();
    let command = |arguments: &[&str], checkpoint: Option<&str>| {
        let mut command = emulator.command(arguments);
        command.args(checkpoint.map(|name| ["--checkpoint", name]).into_iter().flatten());
        command.args(["--mode", "insert", "--yes"]).current_dir(folder.path());
        command.stdin(File::open(&input).unwrap());
        command
    };
    emulator.add_faults(r#"{"faults":[{"fault":"delay_reply","milliseconds":100}]}"#);
    let checkpoints = [Some("c1"), Some("c2")];
    for (arguments, [first, second], list) in [
        (&["import", "rows.jsonl", "Blogs"][..], checkpoints, "rows.jsonl.failed.jsonl"),
        (&["copy", "Blogs", "Copy"], checkpoints, "Blogs-Copy.failed.jsonl"),
        (&["import", "-", "Blogs"], [None, None], "Blogs.failed.jsonl"),
    ] {
        let child = started(&emulator, command(arguments, first)).await;
        let error = Run::of(&command(arguments, second).output().unwrap()).failed(2);
        assert!(error.contains("another run uses these files"), "{error}");
        Run::of(&child.wait_with_output().unwrap()).failed(4);
        assert_eq!(listed(folder.file(list)).len(), 300, "{list}");
    }
    emulator.end_faults();
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["Blogs-Copy.failed.jsonl", "Blogs.failed.jsonl", "rows.jsonl", "rows.jsonl.failed.jsonl"];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn an_existing_list_is_replaced_only_with_consent_and_by_a_row() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let file = folder.file("rows.jsonl");
    fs::write(&file, lines(0..3)).unwrap();
    let list = folder.file("precious.txt");
    let precious = |path: &str| assert_eq!(fs::read_to_string(path).unwrap(), "precious");
    fs::write(&list, "precious").unwrap();
    let import = ["import", &file, "Blogs", "--mode", "insert", "--failed", &list];
    let copy = ["copy", "Blogs", "Copy", "--create", "--failed", &list];
    for command in [&import[..], &copy] {
        let error = emulator.run(command).failed(2);
        assert!(error.contains("precious.txt") && error.contains("--yes"), "{error}");
        precious(&list);
    }
    let error = emulator.run(&["import", &file, "Missing"]).failed(6);
    assert!(error.contains("add --create"), "{error}");
    // These fail before a row is refused.
    for (code, command) in [
        (2, ["copy", "Blogs", "R2", "--failed", &list, "--yes"]),
        (6, ["import", &file, "Missing", "--failed", &list, "--yes"]),
        (2, ["import", &file, "R2", "--failed", &list, "--yes"]),
    ] {
        emulator.run(&command).failed(code);
        precious(&list);
    }
    // Standard input has the lists of the table.
    fs::write(folder.file("Blogs.failed.jsonl"), "precious").unwrap();
    let mut command = emulator.command(&["import", "-", "Blogs"]);
    let error = Run::of(&command.current_dir(folder.path()).output().unwrap()).failed(2);
    assert!(error.contains("Blogs.failed.jsonl"), "{error}");
    // With consent, a list is replaced by the rows of this run, and an empty one is removed.
    emulator.run(&[&import[..], &["--yes"]].concat()).failed(4);
    assert_eq!(listed(&list).len(), 3);
    emulator.run(&[&copy[..], &["--yes"]].concat()).done();
    assert!(!Path::new(&list).exists());
}

#[tokio::test]
async fn the_progress_counts_refused_rows_apart() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let file = folder.file("rows.jsonl");
    fs::write(&file, lines(0..4)).unwrap();
    emulator.run(&["export", "Blogs", &file, "--yes"]).done();
    let all = emulator.run(&["import", &file, "Blogs", "--mode", "insert"]);
    assert!(all.err.contains("import: 0 rows of 3, 3 not applied"), "{all:?}");
    all.failed(4);
    let mut copy = emulator.command(&["copy", "Blogs", "Copy", "--create", "--expect", "3"]);
    Run::of(&copy.current_dir(folder.path()).output().unwrap()).done();
    emulator.run(&["delete", "Copy", "it's 1", "000001\u{e9}\u{1f600}", "--yes"]).done();
    let mut again =
        emulator.command(&["copy", "Blogs", "Copy", "--mode", "insert", "--expect", "3"]);
    let again = Run::of(&again.current_dir(folder.path()).output().unwrap());
    assert!(again.err.contains("copy: 1 row of 3, 2 not applied"), "{again:?}");
    again.failed(4);
}
