//! The lists of rows that were not applied: one run at a time writes a list.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::files::{fill, row};
use crate::support::{Emulator, Folder, Run};

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
    let lines: String = (0..300).map(|n| row(n).to_json().unwrap() + "\n").collect();
    fs::write(&input, lines).unwrap();
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
        (&["import", "rows.jsonl", "Blogs"][..], checkpoints, "rows.jsonl.refused"),
        (&["copy", "Blogs", "Copy"], checkpoints, "Blogs-Copy.refused"),
        (&["import", "-", "Blogs"], [None, None], "Blogs.refused"),
    ] {
        let child = started(&emulator, command(arguments, first)).await;
        let error = Run::of(&command(arguments, second).output().unwrap()).failed(2);
        assert!(error.contains("another run uses these files"), "{error}");
        Run::of(&child.wait_with_output().unwrap()).failed(4);
        let text = fs::read_to_string(Path::new(folder.path()).join(list)).unwrap();
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        assert_eq!(text.lines().count(), 300, "{list}");
    }
    emulator.end_faults();
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["Blogs-Copy.refused", "Blogs.refused", "rows.jsonl", "rows.jsonl.refused"]);
}
