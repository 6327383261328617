//! The options of all commands.

use azure_table_client::TableServiceClient;
use clap::Args;

use crate::connect::Connection;
use crate::failure::Result;

/// The options of all commands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Globals {
    /// Print no progress and no notes
    #[arg(long, short, global = true, help_heading = "All commands")]
    pub(crate) quiet: bool,
    /// Remove tables and rows, update rows, or replace files and lists of earlier runs without a question
    #[arg(long, short, global = true, help_heading = "All commands")]
    pub(crate) yes: bool,
    // Last, because its heading applies to all options behind it.
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Globals {
    /// Returns the client of the account. Nothing is sent.
    pub(crate) fn service(&self) -> Result<TableServiceClient> {
        self.connection.service()
    }
}
