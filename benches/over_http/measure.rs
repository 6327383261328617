//! CPU and instructions of one call.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::canned::columns::{Case, Client, Column};
use crate::canned::requests::Ready;
use crate::canned::{cpu, runtime};

/// The argument with which this program runs one case in one column; see [`run`].
pub(crate) const RUN: &str = "--run";

/// The canned server and the folder of the recorded requests.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) endpoint: &'a str,
    pub(crate) folder: &'a Path,
    /// The folder in which callgrind's files stay.
    pub(crate) keep: Option<PathBuf>,
    /// One short round, to show that the bench works.
    pub(crate) is_test: bool,
}

impl Setting<'_> {
    /// Returns the least CPU of several rounds for each column, in microseconds. The columns take turns, because
    /// the machine's speed changes with its load.
    pub(crate) fn cpu(&self, case: Case, columns: &[Column]) -> Vec<f64> {
        let (rounds, calls) = match case {
            _ if self.is_test => (1, 1),
            Case::Get | Case::Insert | Case::Merge => (5, 10_000),
            Case::Query => (5, 20),
            Case::Transaction => (5, 1_000),
            Case::StartUp => (20, 1),
        };
        let mut least = vec![Duration::MAX; columns.len()];
        if case == Case::StartUp {
            for _ in 0..rounds {
                for (least, column) in least.iter_mut().zip(columns) {
                    let output = self.command(case, *column, calls).output().expect("a run");
                    assert!(output.status.success(), "{output:?}");
                    let micros = String::from_utf8(output.stdout).expect("text");
                    let micros = micros.trim().parse().expect("microseconds");
                    *least = Duration::from_micros(micros).min(*least);
                }
            }
        } else {
            let requests = Ready::read(&case.requests_file(self.folder));
            runtime().block_on(async {
                let client = |column: &Column| Client::new(*column, self.endpoint);
                let clients: Vec<_> = columns.iter().map(client).collect();
                for client in &clients {
                    client.run(case, &requests, 1).await;
                }
                for _ in 0..rounds {
                    for (least, client) in least.iter_mut().zip(&clients) {
                        let before = cpu();
                        client.run(case, &requests, calls).await;
                        *least = cpu().saturating_sub(before).min(*least);
                    }
                }
            });
        }
        let units = f64::from(calls * case.units());
        least.iter().map(|least| least.as_secs_f64() * 1e6 / units).collect()
    }

    /// Returns the user-space instructions of one call: the difference of two runs with different numbers of
    /// calls. The start-up is the difference of a process with one call and a process without a client.
    pub(crate) fn instructions(&self, case: Case, column: Column) -> f64 {
        let (fewer, more) = match case {
            Case::Get | Case::Insert | Case::Merge => (100, 600),
            Case::Query => (1, 3),
            Case::Transaction => (3, 13),
            Case::StartUp => (0, 1),
        };
        let runs = [fewer, more].map(|calls| self.callgrind(case, column, calls));
        let [fewer_total, more_total] = runs.map(Callgrind::finish);
        let units = f64::from((more - fewer) * case.units());
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let difference = (more_total - fewer_total) as f64;
        difference / units
    }

    fn callgrind(&self, case: Case, column: Column, calls: u32) -> Callgrind {
        let folder = self.keep.as_deref().unwrap_or(self.folder);
        let name = format!("callgrind.{}.{}.{calls}", case.name(), column.name());
        let file = folder.join(name);
        let run = self.command(case, column, calls);
        let mut command = Command::new("valgrind");
        command.arg("--tool=callgrind").arg(option("--callgrind-out-file=", &file));
        command.arg("--quiet").arg(run.get_program()).args(run.get_args());
        let process = command.stdout(Stdio::null()).spawn().expect("valgrind");
        Callgrind { process, file, is_kept: self.keep.is_some() }
    }

    fn command(&self, case: Case, column: Column, calls: u32) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args([RUN, case.name(), &column.name(), &calls.to_string(), self.endpoint]);
        command.arg(self.folder);
        command
    }
}

fn option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut option = std::ffi::OsString::from(name);
    option.push(path);
    option
}

/// A run under callgrind.
#[derive(Debug)]
struct Callgrind {
    process: std::process::Child,
    file: PathBuf,
    is_kept: bool,
}

impl Callgrind {
    /// Waits for the end, and returns the number of instructions.
    fn finish(mut self) -> i64 {
        let status = self.process.wait().expect("the end of valgrind");
        assert!(status.success(), "valgrind failed: {status}");
        let costs = std::fs::read_to_string(&self.file).expect("the file of callgrind");
        let total = costs.lines().find_map(|line| {
            line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:"))
        });
        let total = total.expect("a total").trim().parse().expect("a number");
        if !self.is_kept {
            std::fs::remove_file(&self.file).expect("the end of a file");
        }
        total
    }
}

/// Returns whether valgrind can be started.
pub(crate) fn has_valgrind() -> bool {
    let mut command = Command::new("valgrind");
    let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs one case in one column: the arguments of [`Setting::command`] after [`RUN`]. Without a call, it only starts
/// a runtime. Prints the CPU of the client and its calls, in microseconds.
pub(crate) fn run(arguments: &[String]) {
    let [case, column, calls, endpoint, folder] = arguments else {
        panic!("{RUN} CASE COLUMN CALLS ENDPOINT FOLDER");
    };
    let case = Case::ALL.into_iter().find(|one| one.name() == case).expect("a case");
    let column = Column::all().find(|one| one.name() == *column).expect("a column");
    let calls: u32 = calls.parse().expect("a number");
    let requests = Ready::read(&case.requests_file(Path::new(folder)));
    runtime().block_on(async {
        if calls == 0 {
            return;
        }
        let before = cpu();
        let client = Client::new(column, endpoint);
        client.run(case, &requests, calls).await;
        println!("{}", cpu().saturating_sub(before).as_micros());
    });
}
