//! The files of a run: output, unfinished file and checkpoint. No run damages the files of another one or of the user.

use std::fs;
use std::path::Path;
use std::process::Child;
#[cfg(unix)]
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::files::{fill, row};
use crate::support::{Emulator, Folder, Run};

/// Waits until the program has created a file.
async fn created(path: &str, program: &mut Child) {
    while !Path::new(path).exists() {
        assert!(program.try_wait().unwrap().is_none(), "the program ended without {path}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for the end of a program, at most 20 s.
async fn end(mut child: Child) -> Run {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Run::of(&child.wait_with_output().unwrap())
}

pub(crate) fn lines(rows: std::ops::Range<u32>) -> String {
    rows.map(|n| row(n).to_json().unwrap() + "\n").collect()
}

fn names(folder: &Folder) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[tokio::test]
async fn the_files_of_a_run_differ() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let (file, csv) = (folder.file("rows.jsonl"), folder.file("rows.csv"));
    for (file, other) in [
        (&file, "rows.jsonl"),
        (&file, "rows.jsonl.part"),
        (&csv, "rows.csv.part"),
        (&csv, "rows.csv.rows.part"),
        (&csv, "../{}/rows.csv"),
    ] {
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let other = folder.file(&other.replace("{}", name));
        let error = emulator.run(&["export", "Blogs", file, "--checkpoint", &other]).failed(2);
        assert!(error.contains("the same"), "{error}");
    }
    assert_eq!(names(&folder), Vec::<String>::new());

    fs::write(&file, lines(0..3)).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&file, folder.file("alias.jsonl")).unwrap();
    for (option, other) in [
        ("--failed", "rows.jsonl"),
        ("--checkpoint", "rows.jsonl"),
        ("--failed", "rows.jsonl.checkpoint"),
        ("--failed", "./rows.jsonl.checkpoint.tmp"),
        #[cfg(unix)]
        ("--failed", "alias.jsonl"),
    ] {
        let other = folder.file(other);
        let error = emulator.run(&["import", &file, "Blogs", option, &other, "--yes"]).failed(2);
        assert!(error.contains("the same"), "{error}");
    }
    let both = folder.file("both");
    let error = emulator
        .run(&["copy", "Blogs", "Copy", "--create", "--checkpoint", &both, "--failed", &both])
        .failed(2);
    assert!(error.contains("the same"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), lines(0..3));
}

#[tokio::test]
async fn the_default_checkpoint_may_be_spelled_in_another_way() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let export = ["export", "Blogs", "x.jsonl", "--checkpoint", "./x.jsonl.checkpoint"];
    let mut command = emulator.command(&export);
    Run::of(&command.current_dir(folder.path()).output().unwrap()).done();
    assert_eq!(names(&folder), ["x.jsonl"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_imported_in_one_pass() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let text = lines(0..700);
    let import = ["import", "/dev/stdin", "Blogs", "--create", "--format", "jsonl"];
    let mut command = emulator.command(&import);
    command.stdin(std::process::Stdio::piped()).current_dir(folder.path());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    end(child).await.done();
    assert_eq!(emulator.run(&["count", "Blogs"]).done(), "700\n");

    let pipe = folder.file("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for option in [&["--resume"][..], &["--checkpoint", "x"]] {
        let arguments = [&["import", &pipe, "Pipe", "--create"], option].concat();
        let error = end(emulator.command(&arguments).spawn().unwrap()).await.failed(2);
        assert!(error.contains("pipe"), "{error}");
    }
    let writer = {
        let (pipe, text) = (pipe.clone(), text.clone());
        std::thread::spawn(move || fs::write(pipe, text))
    };
    let mut command = emulator.command(&["import", &pipe, "Pipe", "--create"]);
    end(command.current_dir(folder.path()).spawn().unwrap()).await.done();
    writer.join().unwrap().unwrap();
    assert_eq!(emulator.run(&["count", "Pipe"]).done(), "700\n");
    // An export does not replace a pipe, and follows a link.
    let error = emulator.run(&["export", "Blogs", &pipe, "--yes"]).failed(2);
    assert!(error.contains("not a regular file"), "{error}");
    let (file, link) = (folder.file("file.jsonl"), folder.file("link.jsonl"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink("file.jsonl", &link).unwrap();
    emulator.run(&["export", "Blogs", &link, "--yes"]).done();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 700);
}

#[tokio::test]
async fn one_run_at_a_time_uses_a_checkpoint() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 2500).await;
    let (file, input) = (folder.file("rows.jsonl"), folder.file("input.jsonl"));
    fs::write(&input, lines(0..300)).unwrap();
    let (checkpoint, other) = (folder.file("copy.checkpoint"), folder.file("other.checkpoint"));
    let export = ["export", "Blogs", &file, "--save-every", "10ms"];
    let import = ["import", &input, "Input", "--create"];
    let copy = ["copy", "Blogs", "Copy", "--create", "--checkpoint", &checkpoint];
    emulator.add_faults(r#"{"faults":[{"fault":"delay_reply","milliseconds":400}]}"#);
    for (command, checkpoint) in [
        (&export[..], "rows.jsonl.checkpoint"),
        (&import, "input.jsonl.checkpoint"),
        (&copy, "copy.checkpoint"),
    ] {
        let mut first = emulator.command(command).current_dir(folder.path()).spawn().unwrap();
        created(&folder.file(checkpoint), &mut first).await;
        let resumed = [command, &["--resume"]].concat();
        let error = end(emulator.command(&resumed).spawn().unwrap()).await.failed(2);
        assert!(error.contains("another run"), "{error}");
        if command[0] == "export" {
            let same = [command, &["--checkpoint", &other]].concat();
            let error = end(emulator.command(&same).spawn().unwrap()).await.failed(2);
            assert!(error.contains("another run"), "{error}");
        }
        end(first).await.done();
    }
    emulator.end_faults();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2500);
    assert_eq!(names(&folder), ["input.jsonl", "rows.jsonl"]);
}

#[tokio::test]
async fn a_resumed_run_reports_where_it_begins() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 2500).await;
    let file = folder.file("rows.jsonl");
    let export = ["export", "Blogs", &file, "--resume", "--save-every", "10ms"];
    emulator.add_faults(
        r#"{"faults":[{"fault":"delay_reply","milliseconds":300},{"fault":"page_of","rows":500}]}"#,
    );
    let mut child = emulator.command(&export).spawn().unwrap();
    let rows = || {
        let text = fs::read(folder.file("rows.jsonl.checkpoint")).ok()?;
        let checkpoint: serde_json::Value = serde_json::from_slice(&text).ok()?;
        checkpoint["position"]["rows"].as_u64()
    };
    while rows().is_none_or(|rows| rows < 1000) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child.kill().unwrap();
    assert!(Run::of(&child.wait_with_output().unwrap()).err.contains("no checkpoint"));
    emulator.end_faults();
    let resumed = emulator.run(&export);
    assert!(resumed.err.contains("continues after "), "{resumed:?}");
    assert!(resumed.err.contains(" rows (checkpoint of 2"), "{resumed:?}");
    resumed.done();
    for (mode, code) in [("upsert-merge", 0), ("insert", 2), ("replace", 2), ("merge", 2)] {
        for command in [["import", &file, "Blogs"], ["copy", "Blogs", "Copy"]] {
            let options = ["--mode", mode, "--create", "--resume"];
            let mut command = emulator.command(&[&command[..], &options].concat());
            let run = Run::of(&command.current_dir(folder.path()).output().unwrap());
            assert!(run.err.contains("no checkpoint"), "{mode}: {run:?}");
            assert_eq!(run.code, Some(code), "{mode}: {run:?}");
        }
    }
    let quiet = emulator.run(&["import", &file, "Blogs", "--resume", "-q"]);
    assert_eq!((quiet.code, &*quiet.err), (Some(0), ""));
}

#[tokio::test]
async fn an_import_of_a_changed_file_is_not_resumed() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    emulator.table("Blogs").await;
    let file = folder.file("rows.jsonl");
    let text = lines(0..2000);
    fs::write(&file, &text).unwrap();
    emulator.add_faults(r#"{"faults":[{"fault":"delay_reply","milliseconds":300}]}"#);
    let mut child = emulator.command(&["import", &file, "Blogs"]).spawn().unwrap();
    created(&folder.file("rows.jsonl.checkpoint"), &mut child).await;
    child.kill().unwrap();
    child.wait().unwrap();
    emulator.end_faults();
    // The same size and the same first 64 KiB.
    let mut other: Vec<_> = text.lines().collect();
    let last = other.len() - 1;
    other.swap(last, last - 1);
    fs::write(&file, other.join("\n") + "\n").unwrap();
    let error = emulator.run(&["import", &file, "Blogs", "--resume"]).failed(2);
    assert!(error.contains("content"), "{error}");
    // It does not continue, and does not begin again.
    assert!(!error.contains("checkpoint of"), "{error}");
    fs::write(&file, &text).unwrap();
    emulator.run(&["import", &file, "Blogs", "--resume"]).done();
    assert_eq!(emulator.run(&["count", "Blogs"]).done(), "2000\n");
}

#[tokio::test]
async fn a_resumed_export_whose_rows_are_missing_begins_again() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 30).await;
    let file = folder.file("rows.parquet");
    fs::write(&file, "of an earlier export").unwrap();
    emulator.run(&["export", "Blogs", &file, "--yes"]).failed(1);
    let (rows, checkpoint) = (folder.file("rows.parquet.rows.part"), file.clone() + ".checkpoint");
    let unfinished = fs::read_to_string(&checkpoint).unwrap();
    fs::remove_file(&rows).unwrap();
    let run = emulator.run(&["export", "Blogs", &file, "--resume", "--mixed", "rest"]);
    assert!(run.err.contains("begins again"), "{run:?}");
    assert!(!run.err.contains("has no rows"), "{run:?}");
    run.done();
    let exported = fs::read(&file).unwrap();
    assert!(exported.starts_with(b"PAR1"));
    // A run that was killed before its last two steps, and whose rows were removed: the file is the old one.
    let finished = |path: &str| {
        let mut saved: serde_json::Value = serde_json::from_str(&unfinished).unwrap();
        let found = fs::metadata(path).unwrap();
        let modified = found.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        saved["position"]["finished"] = found.len().into();
        saved["position"]["modified"] = u64::try_from(modified).unwrap().into();
        fs::write(&checkpoint, saved.to_string()).unwrap();
    };
    finished(&file);
    fs::write(&file, vec![b'x'; exported.len()]).unwrap();
    let run = emulator.run(&["export", "Blogs", &file, "--resume", "--mixed", "rest"]);
    assert!(run.err.contains("begins again"), "{run:?}");
    run.done();
    assert_eq!(fs::read(&file).unwrap(), exported);
    // A run that was killed between its last two steps is complete.
    finished(&file);
    emulator
        .client()
        .table_named::<azure_table_client::DynamicEntity>("Blogs")
        .delete_table()
        .await
        .unwrap();
    emulator.run(&["export", "Blogs", &file, "--resume"]).done();
    assert_eq!(fs::read(&file).unwrap(), exported);
    assert_eq!(names(&folder), ["rows.parquet"]);
}

#[tokio::test]
async fn an_export_without_a_row_leaves_nothing() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let file = folder.file("rows.jsonl");
    for (table, code) in [("Missing", 6), ("R2", 2)] {
        emulator.run(&["export", table, &file]).failed(code);
        assert_eq!(names(&folder), Vec::<String>::new(), "{table}");
    }
    emulator.run(&["export", "Blogs", &file]).done();
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_stops_an_import_that_creates_its_table() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let file = folder.file("rows.jsonl");
    fs::write(&file, lines(0..3)).unwrap();
    emulator.add_faults(r#"{"faults":[{"fault":"delay_reply","milliseconds":8000}]}"#);
    let before = emulator.requests();
    let child = emulator.command(&["import", &file, "Blogs", "--create"]).spawn().unwrap();
    while emulator.requests() == before {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let begin = Instant::now();
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    end(child).await.failed(130);
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert_eq!(names(&folder), ["rows.jsonl"]);
}

#[tokio::test]
async fn values_of_json_lines_that_would_change_silently_are_errors() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    emulator.table("Blogs").await;
    let file = folder.file("rows.jsonl");
    for (members, part) in [
        (r#""A":9223372036854775808"#, "\"A\""),
        (r#""A":-9223372036854775809"#, "\"A\""),
        (r#""A@odata.type":"Edm.Int64""#, "\"A\""),
        (r#""B":1,"A@odata.type":"Edm.Int64""#, "\"A\""),
    ] {
        fs::write(&file, format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",{members}}}\n"))
            .unwrap();
        let error = emulator.run(&["import", &file, "Blogs"]).failed(3);
        assert!(error.contains("rows.jsonl:1: ") && error.contains(part), "{error}");
    }
    assert_eq!(emulator.run(&["count", "Blogs"]).done(), "0\n");
}

#[tokio::test]
async fn the_progress_has_the_expected_rows_and_throttled_reads() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 1500).await;
    let file = folder.file("rows.jsonl");
    let copy = ["copy", "Blogs", "Copy", "--create"];
    for command in [&["export", "Blogs", &file][..], &["count", "Blogs"], &copy] {
        emulator.add_faults(r#"{"faults":[{"fault":"busy","on":"reads","times":2}]}"#);
        let run = emulator.run(&[command, &["--expect", "1500"]].concat());
        emulator.end_faults();
        assert!(run.err.contains("1,500 rows of 1,500"), "{run:?}");
        assert!(run.err.contains("2 requests throttled"), "{run:?}");
        run.done();
    }
}

#[tokio::test]
async fn a_resumed_import_does_not_create_the_table_that_had_its_rows() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let (file, rows) = (folder.file("rows.jsonl"), lines(0..2000));
    fs::write(&file, rows).unwrap();
    let checkpoint = folder.file("rows.jsonl.checkpoint");
    let import = ["import", &file, "Blogs", "--create"];
    let resume = [&import[..], &["--resume"]].concat();
    let table = emulator.client().table_named::<azure_table_client::DynamicEntity>("Blogs");
    // The checkpoint has no row yet.
    emulator.add_faults(r#"{"faults":[{"fault":"delay_request","milliseconds":300}]}"#);
    let mut child = emulator.command(&import).spawn().unwrap();
    created(&checkpoint, &mut child).await;
    child.kill().unwrap();
    child.wait().unwrap();
    emulator.end_faults();
    table.delete_table_if_exists().await.unwrap();
    // The credential expires after some rows, of which the killed run may have sent more.
    let expired = r#"{"fault":"error","status":403,"code":"AuthorizationFailure","on":"Transaction","skip":4}"#;
    emulator.add_faults(expired);
    emulator.run(&[&resume[..], &["--concurrency", "1"]].concat()).failed(5);
    emulator.end_faults();
    emulator.run(&resume[..3]).failed(2);
    table.delete_table().await.unwrap();
    let creations = emulator.requests_by_operation()["CreateTable"].clone();
    let error = emulator.run(&resume).failed(6);
    assert!(error.contains("the table Blogs does not exist any more"), "{error}");
    assert!(error.contains(&format!("delete {checkpoint} to import all rows again")), "{error}");
    assert_eq!(emulator.requests_by_operation()["CreateTable"], creations);
    fs::remove_file(&checkpoint).unwrap();
    emulator.run(&[&resume[..], &["--yes"]].concat()).done();
    assert_eq!(emulator.run(&["count", "Blogs", "-q"]).done(), "2000\n");
}

#[cfg(unix)]
#[tokio::test]
async fn unfinished_files_of_others_are_not_replaced_or_followed() {
    use std::os::unix::fs::symlink;
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    for name in ["rows.jsonl", "rows.csv"] {
        let [file, part, target] =
            [name, &format!("{name}.part"), "target"].map(|it| folder.file(it));
        let export = ["export", "Blogs", &file];
        fs::write(&part, "precious").unwrap();
        let error = emulator.run(&export).failed(2);
        assert!(
            error.contains("replace the unfinished file") && error.contains(".part"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&part).unwrap(), "precious");
        emulator.run(&[&export[..], &["--yes"]].concat()).done();
        assert!(!fs::exists(&part).unwrap());

        fs::write(&target, "precious").unwrap();
        symlink(&target, &part).unwrap();
        emulator.run(&export).failed(2);
        emulator.run(&[&export[..], &["--yes"]].concat()).done();
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");

        let checkpoint = format!("{file}.checkpoint");
        symlink(folder.file("missing"), &checkpoint).unwrap();
        let error = emulator.run(&[&export[..], &["--yes"]].concat()).failed(2);
        assert!(error.contains("is a link: name the checkpoint itself"), "{error}");
        assert!(!fs::exists(folder.file("missing")).unwrap());
        fs::remove_file(&checkpoint).unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_device_without_an_end_is_not_read() {
    let emulator = Emulator::start();
    emulator.table("Blogs").await;
    for format in ["jsonl", "csv"] {
        let error = emulator.run(&["import", "/dev/zero", "Blogs", "--format", format]).failed(2);
        assert!(error.contains("/dev/zero is a device"), "{error}");
    }
    let folder = Folder::new();
    let mut import = emulator.command(&["import", "/dev/null", "Blogs", "--format", "jsonl"]);
    Run::of(&import.current_dir(folder.path()).output().unwrap()).done();
}
