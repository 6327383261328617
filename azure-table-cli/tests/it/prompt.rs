//! The prompt for a connection, at a pseudoterminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::support::{Emulator, Folder, command};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A pseudoterminal. The program runs in a session of its own, which the terminal controls.
struct Terminal {
    master: File,
    slave: File,
    shown: Receiver<Vec<u8>>,
}

impl Terminal {
    fn open() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let slave = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        let master = File::from(master);
        let mut reader = master.try_clone().unwrap();
        let (sender, shown) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { master, slave: slave.into(), shown }
    }

    fn spawn(&self, program: &Command) -> Child {
        let mut setsid = Command::new("setsid");
        // A script that runs in the background passes on that SIGINT is ignored.
        setsid.args(["--ctty", "env", "--default-signal=INT"]);
        setsid.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => setsid.env(name, value),
                None => setsid.env_remove(name),
            };
        }
        let end = || Stdio::from(self.slave.try_clone().unwrap());
        setsid.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    /// Reads what the program prints until it contains this text.
    fn wait_for(&self, text: &str) -> String {
        let mut shown = String::new();
        while !shown.contains(text) {
            let bytes = self.shown.recv_timeout(TIMEOUT);
            shown += &String::from_utf8(bytes.unwrap_or_else(|_| panic!("{shown}"))).unwrap();
        }
        shown
    }

    fn enter(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    fn has_echo(&self) -> bool {
        tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ECHO)
    }
}

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
