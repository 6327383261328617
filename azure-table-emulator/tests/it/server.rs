//! The program on a free port.

use std::ffi::OsString;
use std::process::{Output, Stdio};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};
#[cfg(unix)]
use nix::sys::signal::{Signal, kill};
#[cfg(unix)]
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// A running emulator, which is killed on drop.
pub(crate) struct Server {
    child: Child,
    /// The lines it printed at its start.
    pub(crate) lines: Vec<String>,
    /// `http://127.0.0.1:port`, or `https://…`
    pub(crate) origin: String,
}

/// Another build of the program that the tests run, for example the release build of a package.
pub(crate) fn other_program() -> Option<OsString> {
    std::env::var_os("AZURE_TABLE_EMULATOR_PROGRAM")
}

/// A command with these arguments and without the environment variables of the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(
        other_program().unwrap_or_else(|| env!("CARGO_BIN_EXE_azure-table-emulator").into()),
    );
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AZURE_TABLE_EMULATOR_") || name == "AZURITE_ACCOUNTS"
        {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

impl Server {
    /// Starts the emulator with one account on a free port.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let arguments: Vec<_> = ["--port", "0"].iter().chain(arguments).copied().collect();
        Self::run(command(&arguments), 1).await
    }

    /// Starts the emulator and reads this many of its first lines.
    pub(crate) async fn run(mut command: Command, read: usize) -> Self {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = Vec::new();
        for _ in 0..read {
            lines.push(out.next_line().await.unwrap().expect("the program ended"));
        }
        let address = lines[0].strip_prefix("azure-table-emulator listening on ").unwrap();
        let origin = address.rsplit_once('/').unwrap().0.to_owned();
        Self { child, lines, origin }
    }

    /// `127.0.0.1:port`
    pub(crate) fn address(&self) -> &str {
        self.origin.split_once("://").unwrap().1
    }

    pub(crate) fn client(&self) -> TableServiceClient {
        self.client_of(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY)
    }

    pub(crate) fn client_of(&self, account: &str, key: &str) -> TableServiceClient {
        let endpoint = format!("{}/{account}", self.origin);
        TableServiceClient::from_connection_string(&format!(
            "AccountName={account};AccountKey={key};TableEndpoint={endpoint}"
        ))
        .unwrap()
    }

    /// Creates a table.
    pub(crate) async fn table(&self, name: &str) -> TableClient<DynamicEntity> {
        let table = self.client().table_named(name);
        table.create().await.unwrap();
        table
    }

    pub(crate) async fn get(&self, path: &str) -> reqwest::Response {
        reqwest::get(format!("{}{path}", self.origin)).await.unwrap()
    }

    pub(crate) async fn text(&self, path: &str) -> String {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.unwrap()
    }

    /// Opens a path like a browser.
    pub(crate) async fn html(&self, path: &str) -> String {
        let response = self.open(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.unwrap()
    }

    /// Opens a path like a browser.
    pub(crate) async fn open(&self, path: &str) -> reqwest::Response {
        let request = reqwest::Client::new().get(format!("{}{path}", self.origin));
        request.header("accept", "text/html,*/*;q=0.8").send().await.unwrap()
    }

    pub(crate) async fn assert_is_well(&self) {
        assert!(self.text("/-/health").await.contains(r#""status":"ok""#));
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address()).await.unwrap()
    }

    /// Sends bytes and returns the whole response.
    pub(crate) async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Ends it at once, like a crash.
    pub(crate) fn kill(&mut self) {
        self.child.start_kill().unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap()
    }

    /// Waits for its end. Returns its exit code and its standard error.
    pub(crate) async fn end(self) -> Output {
        self.child.wait_with_output().await.unwrap()
    }

    /// Stops it with a signal. Returns its standard error.
    #[cfg(unix)]
    pub(crate) async fn stop(self) -> String {
        self.signal(Signal::SIGTERM);
        let output = self.end().await;
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Ends it, since Windows has no signal for a single process. Returns its standard error, without what it would
    /// write at its end.
    #[cfg(not(unix))]
    pub(crate) async fn stop(mut self) -> String {
        self.kill();
        String::from_utf8(self.end().await.stderr).unwrap()
    }
}
