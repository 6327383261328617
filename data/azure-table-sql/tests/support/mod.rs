//! The emulator and the program.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use azure_table_client::TableServiceClient;
use azure_table_client::auth::DEVELOPMENT_KEY;

/// A running emulator, which is killed on drop.
pub(crate) struct Emulator {
    child: Child,
    endpoint: String,
}

impl Emulator {
    /// Starts the program of `AZURE_TABLE_MOCK`, which `data/check` builds.
    pub(crate) fn start() -> Self {
        let program =
            env::var("AZURE_TABLE_MOCK").expect("AZURE_TABLE_MOCK: the path of azure-table-mock");
        let mut child = Command::new(program)
            .args(["--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let endpoint =
            line.trim().strip_prefix("azure-table-mock listening on ").unwrap().to_owned();
        Self { child, endpoint }
    }

    pub(crate) fn connection_string(&self) -> String {
        format!(
            "AccountName=devstoreaccount1;AccountKey={DEVELOPMENT_KEY};TableEndpoint={}",
            self.endpoint
        )
    }

    pub(crate) fn client(&self) -> TableServiceClient {
        TableServiceClient::from_connection_string(&self.connection_string()).unwrap()
    }

    /// Runs the program, connected to the emulator.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        run(arguments, &[("AZURE_STORAGE_CONNECTION_STRING", &self.connection_string())])
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
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program with these variables only.
pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_azure-table-sql"))
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
