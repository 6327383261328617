//! Restores the settings of the service, and removes the tables of the run.

use std::time::Duration;

use azure_table_client::TableServiceClient;
use futures_util::{StreamExt as _, stream};

use super::account::{Account, chain};
use super::settings::{self, Settings};

/// The times before the passes over the list of tables. A request that was cut may create one after the first pass.
const PASSES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(500), Duration::from_millis(500)];
/// The time before the further pass of a run that a signal stopped in the middle of its requests.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(5);
const AT_ONCE: usize = 8;

/// Returns what could not be restored or removed, with the reasons.
pub(super) async fn run(
    account: &Account,
    settings: Option<&Settings>,
    is_interrupted: bool,
) -> Vec<String> {
    let mut left = Vec::new();
    if let Some(settings) = settings
        && let Err(error) = settings.restore(&account.server).await
    {
        left.push(settings::left(&error));
    }
    left.extend(match account.service() {
        Ok(service) => tables(account, &service, is_interrupted).await,
        Err(error) => vec![chain(&error)],
    });
    left.extend(account.unlock().await.err());
    left
}

async fn tables(
    account: &Account,
    service: &TableServiceClient,
    is_interrupted: bool,
) -> Vec<String> {
    let mut left = Vec::new();
    for wait in PASSES.into_iter().chain(is_interrupted.then_some(AFTER_INTERRUPTION)) {
        tokio::time::sleep(wait).await;
        left = remove(account, service).await;
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
