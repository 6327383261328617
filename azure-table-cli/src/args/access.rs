//! `sas` and `whoami`.

use clap::Args;

/// Sign a shared access signature, which is printed
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table sas --table Blogs --permissions r --expires 1h")]
pub(crate) struct Sas {}

/// Show the credential and the requests that it permits; nothing is written
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table whoami --table Blogs")]
pub(crate) struct Whoami {}
