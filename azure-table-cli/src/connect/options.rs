//! The options that name an account.

use std::sync::Arc;

use azure_table_client::Dialect;
use azure_table_client::telemetry::ClientStats;
use clap::{Args, ValueEnum};

use super::Source;

/// The account and its credential. The [module](super) describes the order of the sources.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub struct Connection {
    /// The source of a connection string or of a URL with a signature.
    #[arg(
        long,
        global = true,
        value_name = "SOURCE",
        help = "Connection string or URL with a signature (sas --url): env:NAME, file:PATH, prompt, emulator or entra:URL"
    )]
    pub connection_from: Option<Source>,
    /// Whether the account is that of the emulator.
    #[arg(
        long,
        global = true,
        conflicts_with = "connection_from",
        help = "Connect to the emulator at http://127.0.0.1:10002/devstoreaccount1"
    )]
    pub emulator: bool,
    /// The name of the account.
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        conflicts_with_all = ["connection_from", "emulator"],
        help = "Account in the public cloud, instead of AZURE_STORAGE_ACCOUNT"
    )]
    pub account: Option<String>,
    /// Sign in with Microsoft Entra ID (az login, azd auth login); needs --account or --endpoint
    #[arg(long, global = true, conflicts_with_all = ["connection_from", "emulator"])]
    pub entra: bool,
    /// The address of the table service.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        conflicts_with_all = ["connection_from", "emulator"],
        help = "Address of the table service: https://ACCOUNT.table.core.windows.net"
    )]
    pub endpoint: Option<String>,
    /// Service behind the address, if its name does not show it: a custom domain, or an emulator of Cosmos DB
    #[arg(long, global = true, value_enum)]
    pub dialect: Option<DialectName>,
    /// Send credentials over plain HTTP to other machines
    #[arg(long, global = true)]
    pub allow_http: bool,
    /// The requests of all clients of the command.
    #[arg(skip)]
    pub requests: Arc<ClientStats>,
}

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DialectName {
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
