//! Reads from the secondary of an account with read access to it.

use azure_table_client::client::LocationMode;
use azure_table_client::{DynamicEntity, Error, RetryPolicy, TableServiceClient};

use crate::wire::Server;

use super::account::{Account, chain};
use super::part::Part;

pub(super) async fn run(account: &Account) -> Part {
    if account.is_cosmos() {
        return Part::skipped("Cosmos DB has no endpoint of a secondary");
    }
    if let Err(error) = resolve(&account.server).await {
        return Part::skipped(format!("the host of the secondary has no address: {error}"));
    }
    let mut part = Part::default();
    let stats = async { client(account, LocationMode::SecondaryOnly)?.stats().await };
    let stats = match stats.await {
        Ok(stats) => stats,
        Err(error) => {
            part.check("the state of the replication", Err(chain(&error)));
            return part;
        }
    };
    part.passed += 1;
    part.figures.push(format!("the state of the replication is {}", stats.replication));
    let listed = async { client(account, LocationMode::SecondaryOnly)?.list_tables().await };
    let listed = listed.await.map(drop).map_err(|error| chain(&error));
    part.check("the secondary lists tables", listed);
    part.check("a read of the secondary first finds a new row", read(account).await);
    part
}

fn client(account: &Account, mode: LocationMode) -> Result<TableServiceClient, Error> {
    let builder = account.builder()?.secondary_endpoint(endpoint(&account.server));
    builder.locations(mode).retry(RetryPolicy::none()).build()
}

/// The secondary of `account.table.…` is `account-secondary.table.…`, and that of `/account` is `/account-secondary`.
fn endpoint(server: &Server) -> String {
    if !server.path.is_empty() {
        return format!("{}-secondary", server.endpoint());
    }
    let endpoint = server.endpoint();
    match endpoint.split_once('.') {
        Some((first, rest)) => format!("{first}-secondary.{rest}"),
        None => format!("{endpoint}-secondary"),
    }
}

/// An account without a readable secondary has no name for one.
async fn resolve(server: &Server) -> std::io::Result<()> {
    let host = match endpoint(server).split_once("://") {
        Some((_, rest)) if server.path.is_empty() => {
            rest.split([':', '/']).next().unwrap_or_default().to_owned()
        }
        _ => server.host.clone(),
    };
    tokio::net::lookup_host((host, server.port)).await.map(drop)
}

/// Writes a row and reads it. The secondary may not have it yet: the primary is queried next.
async fn read(account: &Account) -> Result<(), String> {
    let read = async {
        let service = client(account, LocationMode::SecondaryThenPrimary)?;
        let table = service.table_named::<DynamicEntity>(account.table_name("secondary"));
        table.create().await?;
        table.insert(&DynamicEntity::new("p", "r").with("Value", 7)).await?;
        table.get(("p", "r")).await
    };
    match read.await {
        Ok(row) if row.get::<i32>("Value") == Some(Ok(7)) => Ok(()),
        Ok(row) => Err(format!("another row: {:?}", row.key())),
        Err(error) => Err(chain(&error)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_secondary_is_next_to_the_primary() {
        for (primary, secondary) in [
            (
                "https://mine.table.core.windows.net",
                "https://mine-secondary.table.core.windows.net",
            ),
            ("http://127.0.0.1:10002/mine", "http://127.0.0.1:10002/mine-secondary"),
        ] {
            assert_eq!(endpoint(&Server::new(primary, "mine", "a2V5").unwrap()), secondary);
        }
    }
}
