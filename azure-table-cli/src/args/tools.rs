//! `serve`, `sql`, `completions` and `man`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Run the emulator; its own --help lists the options
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    after_help = "Example: azure-table serve --port 10002 --data tables"
)]
pub(crate) struct Serve {
    /// Options of azure-table-emulator
    #[arg(value_name = "OPTIONS")]
    pub(crate) options: Vec<OsString>,
}

/// Run SQL over the tables, by the program azure-table-sql
///
/// Options after the word sql go to azure-table-sql: azure-table sql --help shows those. Options of azure-table precede it:
/// azure-table --emulator sql "SHOW TABLES".
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    after_help = "Example: azure-table sql 'SELECT count(*) FROM Blogs'"
)]
pub(crate) struct Sql {
    /// Arguments of azure-table-sql
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table completions bash > ~/.local/share/bash-completion/completions/azure-table
  azure-table completions zsh > \"${fpath[1]}/_azure-table\"
  azure-table completions fish > ~/.config/fish/completions/azure-table.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Write the man pages to a folder
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The folder, which is created if it is missing
    pub(crate) folder: PathBuf,
}
