//! The mock behind a loopback port, for clients in other languages: prints its address and serves
//! until its standard input ends.

#![allow(clippy::print_stdout, reason = "the address is its output")]

use azure_table_client::mock::MockTableServer;
use tokio::io::AsyncReadExt as _;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = MockTableServer::start().await;
    println!("{}/devstoreaccount1", server.server().uri());
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    Ok(())
}
