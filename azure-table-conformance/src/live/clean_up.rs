//! Removes the tables of the run, and restores the settings of the service.

use std::time::Duration;

use azure_table_client::client::ServiceProperties;
use azure_table_client::{Error, TableServiceClient};
use futures_util::{StreamExt as _, stream};

use super::account::{Account, chain};

/// The passes over the list of tables. A request that was cut may create one after the first pass.
const PASSES: u32 = 3;
const BETWEEN_PASSES: Duration = Duration::from_millis(500);
const AT_ONCE: usize = 8;

/// The settings of the service before the run; none of Cosmos DB.
#[derive(Debug)]
pub(super) struct Settings(Option<ServiceProperties>);

impl Settings {
    pub(super) async fn read(account: &Account) -> Result<Self, String> {
        if account.is_cosmos() {
            return Ok(Self(None));
        }
        let read = async { account.service()?.properties().await };
        let read = read.await.map_err(|error| format!("service properties: {}", chain(&error)))?;
        Ok(Self(Some(read)))
    }

    async fn restore(&self, service: &TableServiceClient) -> Result<(), Error> {
        let Some(before) = &self.0 else { return Ok(()) };
        if service.properties().await? != *before {
            service.set_properties(before).await?;
        }
        Ok(())
    }
}

/// Returns what could not be removed or restored, with the reasons.
pub(super) async fn run(account: &Account, settings: &Settings) -> Vec<String> {
    let service = match account.service() {
        Ok(service) => service,
        Err(error) => return vec![chain(&error)],
    };
    let mut left = Vec::new();
    for pass in 0..PASSES {
        if pass > 0 {
            tokio::time::sleep(BETWEEN_PASSES).await;
        }
        left = remove(account, &service).await;
    }
    if let Err(error) = settings.restore(&service).await {
        left.push(format!("the settings of the service: {}", chain(&error)));
    }
    left
}

async fn remove(account: &Account, service: &TableServiceClient) -> Vec<String> {
    let tables = match service.list_tables().await {
        Ok(tables) => tables,
        Err(error) => return vec![format!("the list of tables: {}", chain(&error))],
    };
    let prefix = &account.server.prefix;
    let own = tables.into_iter().filter(|name| name.starts_with(prefix.as_str()));
    let removals = own.map(|name| async move {
        let deleted = service.delete_table_if_exists(&name).await;
        deleted.err().map(|error| format!("table {name}: {}", chain(&error)))
    });
    let removals = stream::iter(removals).buffer_unordered(AT_ONCE);
    removals.filter_map(std::future::ready).collect().await
}
