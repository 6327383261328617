//! The entities, the clients, the server process and the CPU clock that the benches over HTTP share.

pub(crate) mod columns;
mod plain;
pub(crate) mod requests;
mod server;
mod transports;

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::transport::Transport;
use azure_table_client::{TableClient, TableEntity, TableServiceClient};

pub(crate) use self::server::serve;
pub(crate) use self::transports::Over;

/// Operations of a transaction.
pub(crate) const OPERATIONS: u32 = 100;
/// Pages of a query.
pub(crate) const PAGES: u32 = 10;
/// Entities of a page.
pub(crate) const PAGE: u32 = 1_000;
/// The row key of the first entity, which `get` reads.
pub(crate) const FIRST_ROW: u64 = 2_521_794_455_999_990_000;

#[derive(Debug, Clone, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
pub(crate) struct Blog {
    #[table(partition_key)]
    pub(crate) partition: String,
    #[table(row_key)]
    pub(crate) row: String,
    pub(crate) text: String,
    pub(crate) author: String,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) rating: i32,
    pub(crate) votes: i32,
    pub(crate) views: i64,
    pub(crate) size: i64,
    pub(crate) score: f64,
    pub(crate) open: bool,
}

/// Returns the entity whose row key is `n` after the first.
pub(crate) fn blog(n: u32) -> Blog {
    Blog {
        partition: "Channel9".into(),
        row: (FIRST_ROW + u64::from(n)).to_string(),
        text: "The quick brown fox jumps over the lazy dog".into(),
        author: "author-1".into(),
        title: "A title of the usual length".into(),
        url: "https://example.com/blogs/1".into(),
        rating: 3,
        votes: 17,
        views: 1_000_000_007,
        size: 4096,
        score: 1.0 / 7.0,
        open: true,
    }
}

/// Returns the client of a table over this transport.
pub(crate) fn table(endpoint: &str, transport: Arc<dyn Transport>) -> TableClient<Blog> {
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).expect("a key");
    let service = TableServiceClient::builder(endpoint, key).transport(transport).build();
    service.expect("a client").table::<Blog>()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// The canned server in a process of its own, so that only the client's CPU is counted.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    pub(crate) endpoint: String,
}

impl Server {
    /// Starts this program with `--serve`, which calls [`serve`].
    pub(crate) fn start() -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        let process = command.arg("--serve").stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = process.expect("the server");
        let stdout = process.stdout.take().expect("the server's output");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the server's address");
        Self { process, endpoint: line.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).expect("the end of the server");
    }
}

/// Returns the CPU time of this process.
#[cfg(unix)]
pub(crate) fn cpu() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;

    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the usage");
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(micros.try_into().expect("a positive time"))
}

/// Not measured on Windows: all figures of CPU are 0.
#[cfg(not(unix))]
pub(crate) fn cpu() -> Duration {
    Duration::ZERO
}

/// A folder for the recorded requests of this run, which ends with it.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name = format!("azure-table-client-bench-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the end of a folder");
    }
}
