//! Exports, and commands with `--save`, that cannot write all rows, as on a full disk.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::files::fill;
use crate::support::{Emulator, Folder, Run};

/// The largest file that the export can write, in KiB.
const LIMIT: usize = 300;

/// Runs a command that cannot write a file beyond a size in KiB.
pub(crate) fn run_limited(emulator: &Emulator, limit: usize, args: &[&str]) -> Run {
    Run::of(&limited(&emulator.command(args), limit).output().unwrap())
}

/// The same command, which cannot write a file beyond a size in KiB.
pub(crate) fn limited(command: &Command, limit: usize) -> Command {
    let script = format!("ulimit -f {limit}; exec \"$0\" \"$@\"");
    let mut limited = Command::new("bash");
    limited.args(["-c", &script]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    limited.stdin(Stdio::null());
    limited
}

#[tokio::test]
async fn an_export_continues_after_the_last_whole_row() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3000).await;
    for options in [&[][..], &["--system"]] {
        let expected = folder.file("expected.jsonl");
        emulator.run(&[&["export", "Blogs", &expected, "--yes"], options].concat()).done();
        let file = folder.file("rows.jsonl");
        let export = [&["export", "Blogs", &file, "--yes"], options].concat();
        let error = run_limited(&emulator, LIMIT, &export).failed(1);
        assert!(error.contains("cannot write"), "{error}");

        let written = fs::read(folder.file("rows.jsonl.part")).unwrap();
        let whole = written.split(|&byte| byte == b'\n').count() - 1;
        assert!(whole > 100 && written.len() <= LIMIT * 1024, "{whole} rows");
        assert!(!written.ends_with(b"\n"), "the last row was cut");
        let error = emulator.run(&[&export[..], &["--resume"]].concat());
        let rows = whole.to_string();
        let rows = rows.split_at(rows.len().saturating_sub(3));
        let rows =
            if rows.0.is_empty() { rows.1.to_owned() } else { format!("{},{}", rows.0, rows.1) };
        assert!(error.err.contains(&format!("continues after {rows} rows")), "{whole}: {error:?}");
        error.done();
        assert_eq!(fs::read(&file).unwrap(), fs::read(&expected).unwrap());
    }
}

/// The system may return rows that it could not write to the disk. A second write of all rows fails at the limit.
#[tokio::test]
async fn a_resumed_export_writes_the_rows_after_its_checkpoint_again() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 300).await;
    let expected = folder.file("expected.jsonl");
    emulator.run(&["export", "Blogs", &expected]).done();
    let rows = fs::read(&expected).unwrap();
    let (file, part) = (folder.file("rows.jsonl"), folder.file("rows.jsonl.part"));
    let checkpoint = folder.file("rows.jsonl.checkpoint");
    emulator.add_faults(
        r#"{"faults":[
            {"fault":"proxy_page","status":403,"on":"Query","skip":1},
            {"fault":"page_of","rows":10}
        ]}"#,
    );
    emulator.run(&["export", "Blogs", &file]).failed(8);
    emulator.end_faults();
    let saved = fs::read(&checkpoint).unwrap();
    assert!(saved.len() < 8 * 1024 && rows.len() > 16 * 1024, "{} {}", saved.len(), rows.len());
    fs::write(&part, &rows).unwrap();

    let resume = ["export", "Blogs", &file, "--resume"];
    let error = run_limited(&emulator, 8, &resume).failed(1);
    assert!(error.contains("cannot write") && error.contains("rows.jsonl.part"), "{error}");
    assert_eq!(fs::read(&checkpoint).unwrap(), saved);
    assert_eq!(fs::read(&part).unwrap(), rows);
    let run = emulator.run(&resume);
    assert!(run.err.contains("continues after 300 rows"), "{run:?}");
    run.done();
    assert_eq!(fs::read(&file).unwrap(), rows);
}

/// The file may end with anything after a power failure. A file without a checkpoint may be of another export.
#[tokio::test]
async fn only_whole_rows_of_the_same_export_are_kept() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 300).await;
    let expected = folder.file("expected.jsonl");
    emulator.run(&["export", "Blogs", &expected]).done();
    let (file, part) = (folder.file("rows.jsonl"), folder.file("rows.jsonl.part"));
    let checkpoint = folder.file("rows.jsonl.checkpoint");
    emulator.add_faults(
        r#"{"faults":[
            {"fault":"proxy_page","status":403,"on":"Query","skip":2},
            {"fault":"page_of","rows":100}
        ]}"#,
    );
    emulator.run(&["export", "Blogs", &file]).failed(8);
    emulator.end_faults();
    assert!(fs::exists(&checkpoint).unwrap());
    let saved = fs::read(&checkpoint).unwrap();
    let rows = fs::read(&expected).unwrap();
    let lines: Vec<_> = rows.split_inclusive(|&byte| byte == b'\n').collect();
    let kept = fs::read(&part).unwrap();
    let next = kept.split_inclusive(|&byte| byte == b'\n').count();
    assert!(kept == lines[..next].concat() && next == 200, "{next}");
    for (tail, more) in [
        (lines[next..next + 5].concat(), 5),
        ([lines[next], &[0; 4096], lines[next + 1]].concat(), 1),
        ([lines[next + 1], lines[next]].concat(), 1),
        (lines[next - 1].to_vec(), 0),
        ([b"\xef\xbb\xbf", lines[next]].concat(), 0),
        (b"{}\n".to_vec(), 0),
    ] {
        fs::write(&checkpoint, &saved).unwrap();
        fs::write(&part, [&kept[..], &tail].concat()).unwrap();
        let run = emulator.run(&["export", "Blogs", &file, "--resume", "--yes"]);
        let continues = format!("continues after {} rows", next + more);
        assert!(run.err.contains(&continues), "{continues}: {run:?}");
        run.done();
        let _ = fs::remove_file(&checkpoint);
    }
    fs::write(&part, lines[..10].concat()).unwrap();
    emulator.run(&["export", "Blogs", &file, "--yes"]).done();
    assert_eq!(fs::read(&file).unwrap(), rows);
}

#[tokio::test]
async fn rows_that_cannot_be_saved_are_not_deleted() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3000).await;
    let [saved, list] = ["saved.jsonl", "left"].map(|name| folder.file(name));
    let truncate = ["truncate", "Blogs", "--force", "--yes", "--max-rows=3000", "--save", &saved];
    let error =
        run_limited(&emulator, LIMIT, &[&truncate[..], &["--failed", &list]].concat()).failed(1);
    assert!(error.contains("cannot write") && error.contains("saved.jsonl"), "{error}");
    assert_eq!(emulator.run(&["count", "Blogs", "--quiet"]).done(), "3000\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
