//! The prompt for a connection, at a pseudoterminal.

use std::os::unix::process::ExitStatusExt as _;

use rustix::termios::tcgetattr;

use crate::support::{Emulator, Folder, command};
use crate::terminal::Terminal;

#[test]
fn ctrl_c_at_the_prompt_leaves_the_terminal_as_it_was() {
    let mut terminal = Terminal::open();
    assert!(terminal.has_echo());
    let before = format!("{:?}", tcgetattr(&terminal.slave).unwrap());
    let mut child = terminal.spawn(&command(&["tables", "--connection-from", "prompt"]));
    terminal.wait_for("(not shown): ");
    assert!(!terminal.has_echo());
    terminal.enter("AccountKey=c2Vj\u{3}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(format!("{:?}", tcgetattr(&terminal.slave).unwrap()), before);
}

#[test]
fn sigterm_at_the_prompt_leaves_the_terminal_as_it_was() {
    let mut terminal = Terminal::open();
    let before = format!("{:?}", tcgetattr(&terminal.slave).unwrap());
    let mut child = terminal.spawn(&command(&["tables", "--connection-from", "prompt"]));
    terminal.wait_for("(not shown): ");
    assert!(!terminal.has_echo());
    terminal.enter("AccountKey=c2Vj");
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(format!("{:?}", tcgetattr(&terminal.slave).unwrap()), before);
}

/// A service that never responds keeps the command running after the prompt.
#[test]
fn sigterm_after_the_prompt_ends_a_command_that_handles_no_signal() {
    let service = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/a", service.local_addr().unwrap());
    let mut terminal = Terminal::open();
    let mut child = terminal.spawn(&command(&["tables", "--connection-from", "prompt"]));
    terminal.wait_for("(not shown): ");
    terminal.enter(&format!("AccountName=a;AccountKey=c2Vj;TableEndpoint={endpoint}\n"));
    let _connection = service.accept().unwrap();
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

fn signal(child: &std::process::Child, name: &str) {
    let kill = std::process::Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn ctrl_c_at_a_question_ends_the_program() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let file = folder.file("rows.jsonl");
    std::fs::write(&file, "precious").unwrap();
    let mut terminal = Terminal::open();
    let mut child = terminal.spawn(&emulator.command(&["export", "Blogs", &file]));
    terminal.wait_for("[y/N] ");
    terminal.enter("\u{3}");
    // The program handles no signal yet.
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn each_side_has_its_question() {
    let emulator = Emulator::start();
    for table in ["Blogs", "Copy"] {
        emulator.run(&["create", table]).done();
    }
    let mut terminal = Terminal::open();
    let diff = ["diff", "Blogs", "Copy", "--from", "prompt", "--to", "prompt"];
    let mut child = terminal.spawn(&command(&diff));
    let mut shown = String::new();
    for question in ["--from (not shown): ", "--to (not shown): "] {
        shown += &terminal.wait_for(question);
        assert!(!terminal.has_echo());
        terminal.enter(&format!("{}\n", emulator.connection_string()));
    }
    shown += &terminal.wait_for("no differences");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!shown.contains("AccountKey"), "{shown}");
    assert!(terminal.has_echo());
}
