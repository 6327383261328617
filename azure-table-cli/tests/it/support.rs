//! The emulator and the program.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};

/// A running emulator (`azure-table serve`) on a free port, which is killed on drop.
pub(crate) struct Emulator {
    child: Child,
    /// `http://127.0.0.1:port`
    pub(crate) origin: String,
}

impl Emulator {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts the emulator with more options of `azure-table-emulator`.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        let mut serve = command(&["serve", "--port", "0"]);
        serve.args(options);
        Self::spawn(serve)
    }

    /// Starts the emulator by this command, which lets it select a free port.
    pub(crate) fn spawn(mut serve: Command) -> Self {
        let mut child = serve.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("azure-table-emulator listening on ")
            .expect("the emulator ended");
        let origin = address.rsplit_once('/').unwrap().0.to_owned();
        Self { child, origin }
    }

    pub(crate) fn connection_string(&self) -> String {
        let account = "devstoreaccount1";
        format!(
            "AccountName={account};AccountKey={DEVELOPMENT_KEY};TableEndpoint={}/{account}",
            self.origin
        )
    }

    pub(crate) fn client(&self) -> TableServiceClient {
        TableServiceClient::from_connection_string(&self.connection_string()).unwrap()
    }

    /// Creates a table and returns its client.
    pub(crate) async fn table(&self, name: &str) -> TableClient<DynamicEntity> {
        let table = self.client().table_named(name);
        table.create().await.unwrap();
        table
    }

    /// Returns the program with these arguments, connected to the emulator, for tests that send it signals.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("AZURE_STORAGE_CONNECTION_STRING", self.connection_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with these arguments to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().unwrap())
    }

    /// Runs the program with this standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // The program may end before it reads everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        Run::of(&child.wait_with_output().unwrap())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Returns standard output of a run that succeeded.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// Returns standard error of a run that ended with this exit code.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.err
    }
}

/// Returns the program with these arguments and without the variables of the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_azure-table"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("AZURE_") || text == "AZURITE_ACCOUNTS" {
            command.env_remove(&name);
        }
    }
    command.args(arguments);
    command
}

/// Runs the program without an account.
pub(crate) fn run(arguments: &[&str]) -> Run {
    Run::of(&command(arguments).stdin(Stdio::null()).output().unwrap())
}

/// Sends SIGINT to a process that the test started.
pub(crate) fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A folder that is removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("azure-table-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in the folder, as an argument.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The lines of a list of rows that did not get through, without the first one, which names the command.
#[track_caller]
pub(crate) fn listed(path: impl AsRef<Path>) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let head: serde_json::Value = lines.next().unwrap();
    assert!(head["format"] == 1 && head["command"].is_string(), "{head}");
    lines.collect()
}
