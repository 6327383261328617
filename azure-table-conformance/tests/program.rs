//! The program: its exit codes, its reports, and an interruption.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::mpsc::{Sender, channel};
use std::thread;

const KEY: &str = "c2VjcmV0";

fn program(endpoint: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_azure-table-conformance"));
    command.args(["--endpoint", endpoint, "--key", "env:TEST_KEY"]);
    command.env("TEST_KEY", KEY).env_remove("AZURE_STORAGE_CONNECTION_STRING");
    command
}

/// A server that receives requests, and responds if `responds` returns true. Returns its URL.
fn serve(responds: fn(&str) -> bool, received: Sender<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/one", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let received = received.clone();
            thread::spawn(move || exchange(stream.unwrap(), responds, &received));
        }
    });
    endpoint
}

fn exchange(mut stream: TcpStream, responds: fn(&str) -> bool, received: &Sender<String>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        // The body of a request has no line end, so that it is the beginning of the next request line.
        while lines.next().is_some_and(|header| !header.unwrap_or_default().is_empty()) {}
        let has_response = responds(&line);
        if received.send(line).is_err() || !has_response {
            continue;
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    }
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{out}{err}")
}

#[test]
fn wrong_arguments_are_2_and_lists_are_0() {
    for arguments in [&["--wrong"][..], &["--only", "no/such/case"], &["--report"]] {
        let output = program("http://127.0.0.1:1/one").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(output.stdout.is_empty() && !text(&output).contains(KEY), "{}", text(&output));
    }
    for (argument, part) in [
        ("--list", "inserts/return-no-content: `Prefer"),
        ("--list", " (not settled)\n"),
        ("--help", "--endpoint URL"),
        ("--version", env!("CARGO_PKG_VERSION")),
    ] {
        let output = program("http://127.0.0.1:1/one").arg(argument).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{argument}");
        assert!(text(&output).contains(part), "{argument}: {}", text(&output));
    }
}

#[test]
fn differences_are_1_unless_they_are_known() {
    let (sender, _received) = channel();
    // Each response is 204.
    let endpoint = serve(|_| true, sender);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [report, known] = ["report.md", "known.tsv"].map(|name| folder.join(name));
    let case = "tables/delete-missing";
    let run = |arguments: &[&str]| {
        program(&endpoint).args(["--only", case]).args(arguments).output().unwrap()
    };
    let output = run(&["--report", report.to_str().unwrap(), "--report", known.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("expected 404 ResourceNotFound\n  got      204\n"),
        "{}",
        text(&output)
    );
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("| all | 1 | 0 | 1 | 0 | 0 |") && report.contains(case), "{report}");
    let list = std::fs::read_to_string(&known).unwrap();
    assert_eq!(list, format!("{case}\tdiffers\tDELETE /Tables('{{name}}') => 204\n"));
    assert_eq!(run(&["--known", known.to_str().unwrap()]).status.code(), Some(0));
    std::fs::write(&known, "").unwrap();
    let output = run(&["--known", known.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let text = text(&output);
    assert!(text.contains("tables/delete-missing: differs: DELETE"), "{text}");
}

#[cfg(unix)]
fn signal(name: &str, process: &std::process::Child) {
    let kill = Command::new("kill").args([name, &process.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_run_and_removes_the_tables() {
    for name in ["-INT", "-TERM"] {
        let (sender, received) = channel();
        // Reads have no response.
        let endpoint = serve(|line| !line.contains("GET "), sender);
        let mut child = program(&endpoint)
            .args(["--only", "gets/get", "--table-prefix", "mine"])
            .spawn()
            .unwrap();
        let until = |method: &str| received.iter().find(|line| line.contains(method)).unwrap();
        let read = until("GET ");
        let table = read.split(['/', '(']).find(|part| part.starts_with("mine")).unwrap();
        signal(name, &child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        let deletion = until("DELETE ");
        assert!(deletion.contains(&format!("/one/Tables('{table}')")), "{deletion}");
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_removal_of_tables() {
    let (sender, received) = channel();
    // Reads and deletions have no response.
    let endpoint = serve(|line| !line.contains("GET ") && !line.contains("DELETE "), sender);
    let mut command = program(&endpoint);
    command.args(["--only", "gets/get", "--table-prefix", "mine"]);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    for method in ["GET ", "DELETE "] {
        received.iter().find(|line| line.contains(method)).unwrap();
        signal("-INT", &child);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(
        text(&output).contains("not deleted or restored: tables that begin with mine"),
        "{}",
        text(&output)
    );
}
