//! SQL queries on the tables of an account.

mod account;
mod args;
mod columns;
mod connection;
mod failure;
mod output;
mod session;

use std::process::ExitCode;

use args::Args;
use clap::Parser as _;
use failure::Result;

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
    let service = connection::service()?;
    let session = session::of(service, &args).await?;
    for (at, statement) in sql.iter().enumerate() {
        let frame = session::query(&session, statement).await?;
        output::write(frame, format, args.to.as_deref(), at == 0).await?;
    }
    Ok(())
}
