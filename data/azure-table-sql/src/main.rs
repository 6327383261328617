//! SQL queries on the tables of an account.

mod account;
mod args;
mod columns;
mod failure;
mod output;
mod sample;
mod session;
mod tables;

use std::process::ExitCode;

use args::Args;
use azure_table_cli::confirm::confirm;
use azure_table_cli::failure::Result;
use clap::Parser as _;
use output::Output;

/// The name in messages.
const NAME: &str = "azure-table-sql";

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(NAME),
    }
}

async fn run(args: Args) -> Result<()> {
    let sql = args.sql()?;
    let format = args.format()?;
    let target = args.connection.target()?;
    let mut output = Output::new(format, args.to.as_deref())?;
    if let Some(file) = output.replaced() {
        confirm(args.yes, &format!("replace the file {}?", file.display()))?;
    }
    let session = session::of(target, &args).await?;
    for statement in &sql {
        output.write(session::query(&session, statement).await?).await?;
    }
    Ok(())
}
