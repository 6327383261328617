//! `policies`.

use azure_table_client::edm::EdmDateTime;
use clap::{Args, Subcommand};

use super::access::Moment;
use super::copy::Lines;

/// Show and change the stored access policies of a table, which signatures can name
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table policies set Blogs readers --permissions r --expires 30d
  azure-table sas --table Blogs --policy readers
  azure-table policies remove Blogs readers

A table has up to five policies. A change takes effect within 30 seconds. Each change replaces all policies of the table: a \
change that another program makes at the same time may be lost.")]
pub(crate) struct Policies {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Print the policies of a table
    Get {
        /// Name of the table
        table: String,
        /// Form of the list
        #[arg(long, short, value_enum, default_value_t = Lines::Text)]
        output: Lines,
    },
    /// Add a policy, or replace the one with this ID; the others stay
    Set(SetPolicy),
    /// Remove a policy, which revokes the signatures that name it
    Remove {
        /// Name of the table
        table: String,
        /// ID of the policy
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SetPolicy {
    /// Name of the table
    pub(crate) table: String,
    /// ID of the policy, up to 64 characters
    pub(crate) id: String,
    /// Letters: r(ead) a(dd) u(pdate) d(elete); without them, each signature has its own
    #[arg(long, short, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    /// Time of its start
    #[arg(long, value_name = "TIME")]
    pub(crate) starts: Option<EdmDateTime>,
    /// Time of its end, or its lifetime: 2027-01-01T00:00:00Z, 90m, 12h, 7d
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<Moment>,
}
