//! A program at a pseudoterminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A pseudoterminal. The program runs in a session of its own, which the terminal controls.
pub(crate) struct Terminal {
    master: File,
    pub(crate) slave: File,
    shown: Receiver<Vec<u8>>,
}

impl Terminal {
    pub(crate) fn open() -> Self {
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

    pub(crate) fn spawn(&self, program: &Command) -> Child {
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
        if let Some(folder) = program.get_current_dir() {
            setsid.current_dir(folder);
        }
        let end = || Stdio::from(self.slave.try_clone().unwrap());
        setsid.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    /// Reads what the program prints until it contains this text.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let mut shown = String::new();
        while !shown.contains(text) {
            let bytes = self.shown.recv_timeout(TIMEOUT);
            shown += &String::from_utf8(bytes.unwrap_or_else(|_| panic!("{shown}"))).unwrap();
        }
        shown
    }

    pub(crate) fn enter(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn has_echo(&self) -> bool {
        tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ECHO)
    }
}
