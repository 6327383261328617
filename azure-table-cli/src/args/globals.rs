//! The options of all commands.

use std::sync::Arc;

use azure_table_client::Dialect;
use azure_table_client::telemetry::ClientStats;
use clap::{Args, ValueEnum};

use crate::connect::Source;

/// The options of all commands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Globals {
    /// Print no progress and no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Remove tables and rows without a question
    #[arg(long, short, global = true)]
    pub(crate) yes: bool,
    // Last, because its heading applies to all options behind it.
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// The account and its credential. `connect.rs` describes the order of the sources.
#[expect(clippy::struct_field_names, reason = "the option is --connection-from")]
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    #[arg(
        long,
        global = true,
        value_name = "SOURCE",
        help = "Connection string or URL with a signature: env:NAME, file:PATH, prompt, emulator or entra:URL"
    )]
    pub(crate) connection_from: Option<Source>,
    #[arg(
        long,
        global = true,
        conflicts_with = "connection_from",
        help = "Connect to the emulator at http://127.0.0.1:10002/devstoreaccount1"
    )]
    pub(crate) emulator: bool,
    /// Sign in with Microsoft Entra ID (az login, azd auth login); needs --endpoint
    #[arg(long, global = true, conflicts_with_all = ["connection_from", "emulator"])]
    pub(crate) entra: bool,
    #[arg(
        long,
        global = true,
        value_name = "URL",
        conflicts_with_all = ["connection_from", "emulator"],
        help = "Address of the table service: https://ACCOUNT.table.core.windows.net"
    )]
    pub(crate) endpoint: Option<String>,
    /// Service behind the address, if its name does not show it: a custom domain, or an emulator of Cosmos DB
    #[arg(long, global = true, value_enum)]
    pub(crate) dialect: Option<DialectName>,
    /// Send credentials over plain HTTP to other machines
    #[arg(long, global = true)]
    pub(crate) allow_http: bool,
    /// The requests of all clients of the command.
    #[arg(skip)]
    pub(crate) requests: Arc<ClientStats>,
}

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// Azure Storage
    Storage,
    /// Azure Cosmos DB for Table
    Cosmos,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Storage => Self::AzureStorage,
            DialectName::Cosmos => Self::CosmosDb,
        }
    }
}
