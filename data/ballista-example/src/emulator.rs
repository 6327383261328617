//! The emulator with the table.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use azure_table_client::auth::DEVELOPMENT_KEY;

use crate::Error;

/// A running `azure-table-emulator`, which ends with this value.
pub(crate) struct Emulator {
    child: Child,
    pub(crate) connection_string: String,
}

impl Emulator {
    /// Starts the program of `AZURE_TABLE_EMULATOR`, or the one in `PATH`, on a free port.
    pub(crate) fn start() -> Result<Self, Error> {
        let program =
            env::var("AZURE_TABLE_EMULATOR").unwrap_or_else(|_| "azure-table-emulator".to_owned());
        let mut child = Command::new(&program)
            .args(["--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!("cannot run {program}: {error}; set AZURE_TABLE_EMULATOR to its path")
            })?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let endpoint = line
            .trim()
            .strip_prefix("azure-table-emulator listening on ")
            .ok_or_else(|| format!("{program} does not listen: {line:?}"))?;
        let connection_string = format!(
            "AccountName=devstoreaccount1;AccountKey={DEVELOPMENT_KEY};TableEndpoint={endpoint}"
        );
        Ok(Self { child, connection_string })
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
