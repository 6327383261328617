//! The emulator and the program.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};

/// A running emulator, which is killed on drop.
pub(crate) struct Emulator {
    child: Child,
    endpoint: String,
}

impl Emulator {
    /// Starts the program of `AZURE_TABLE_EMULATOR`, which `data/check` builds.
    pub(crate) fn start() -> Self {
        let program = env::var("AZURE_TABLE_EMULATOR")
            .expect("AZURE_TABLE_EMULATOR: the path of azure-table-emulator");
        let mut child = Command::new(program)
            .args(["--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let endpoint =
            line.trim().strip_prefix("azure-table-emulator listening on ").unwrap().to_owned();
        Self { child, endpoint }
    }

    /// Starts the emulator with the table `Blogs`: two partitions of two rows, one of which has another type of rating.
    pub(crate) async fn with_blogs() -> Self {
        let emulator = Self::start();
        let table = emulator.table("Blogs").await;
        let id: uuid::Uuid = "c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap();
        for (channel, post, rating) in [("Channel9", "1", 3), ("Channel9", "2", 5), ("PDC", "1", 4)]
        {
            let row = DynamicEntity::new(channel, post).with("Rating", rating);
            table.insert(&row.with("Id", id)).await.unwrap();
        }
        let row = DynamicEntity::new("PDC", "2").with("Rating", "good\u{1b}[2J").with("Big", 7_i64);
        table.insert(&row).await.unwrap();
        emulator
    }

    /// Creates a table.
    pub(crate) async fn table(&self, name: &str) -> TableClient<DynamicEntity> {
        let table = self.client().table_named(name);
        table.create().await.unwrap();
        table
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
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
        self.run_into(arguments, Stdio::piped())
    }

    /// Runs the program with this standard output, connected to the emulator.
    pub(crate) fn run_into(&self, arguments: &[&str], stdout: Stdio) -> Run {
        let connection = self.connection_string();
        run_into(arguments, &[("AZURE_STORAGE_CONNECTION_STRING", &connection)], stdout)
    }

    /// Starts the program, connected to the emulator.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Child {
        let connection = self.connection_string();
        begin(arguments, &[("AZURE_STORAGE_CONNECTION_STRING", &connection)], Stdio::piped())
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

impl Run {
    /// Waits for the end of the program.
    pub(crate) fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Asserts that the run succeeded. Returns standard output.
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, &*self.stderr), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// Asserts that the run failed with this exit code and without output. Returns the message.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, &*self.stdout), (code, ""), "{}", self.stderr);
        self.stderr
    }
}

/// Runs the program with these variables only.
pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    run_into(arguments, variables, Stdio::piped())
}

/// Runs the program with these variables only and this standard output.
pub(crate) fn run_into(arguments: &[&str], variables: &[(&str, &str)], stdout: Stdio) -> Run {
    Run::of(begin(arguments, variables, stdout))
}

fn begin(arguments: &[&str], variables: &[(&str, &str)], stdout: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_azure-table-sql"))
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}
