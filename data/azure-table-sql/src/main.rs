//! SQL queries on the tables of an account.

mod account;
mod args;
mod columns;
mod confirm;
mod connection;
mod failure;
mod interrupt;
mod output;
mod sample;
mod session;
mod tables;

use std::process::ExitCode;

use args::Args;
use clap::Parser as _;
use confirm::confirm;
use failure::Result;
use output::Output;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

async fn run(args: Args) -> Result<()> {
    let sql = args.sql()?;
    let format = args.format()?;
    let connection = connection::open()?;
    let mut output = Output::new(format, args.to.as_deref())?;
    if let Some(file) = output.replaced() {
        confirm(args.yes, &format!("replace the file {}?", file.display()))?;
    }
    let session = session::of(connection, &args).await?;
    for statement in &sql {
        output.write(session::query(&session, statement).await?).await?;
    }
    Ok(())
}
