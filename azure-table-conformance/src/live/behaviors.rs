//! The behaviors of the client. A panic is the failure of one behavior.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::transport::Transport;
use futures_util::{StreamExt as _, stream};

use crate::client::{self, BEHAVIORS, Protocol, Target};

use super::account::{Account, Counting};
use super::panics;
use super::part::{CHANGES_SETTINGS, Part};
use super::plan::Plan;

/// The behavior that changes the settings of the service.
const SETTINGS: &str = "service::settings";
/// The behaviors at the same time.
const AT_ONCE: usize = 4;
/// The time limit of a behavior.
const LIMIT: Duration = Duration::from_secs(180);

pub(super) async fn run(plan: &Plan, account: &Account) -> Part {
    let target = target(account);
    let mut part = Part::default();
    for (reason, names) in target.left_out() {
        part.left_out.extend(names.iter().map(|name| ((*name).to_owned(), reason.to_owned())));
    }
    let is_settings = |name: &str| name == SETTINGS && !plan.changes_settings;
    let is_left_out =
        |name: &str| target.left_out().any(|(_, names)| names.contains(&name)) || is_settings(name);
    if is_settings(SETTINGS) && !account.is_cosmos() {
        part.left_out.push((SETTINGS.to_owned(), CHANGES_SETTINGS.to_owned()));
    }
    let selected: Vec<&str> =
        BEHAVIORS.iter().map(|it| it.name).filter(|name| !is_left_out(name)).collect();
    let runs = selected.into_iter().map(|name| one(name, &target));
    let results: Vec<_> = stream::iter(runs).buffer_unordered(AT_ONCE).collect().await;
    for (name, result) in results {
        part.check(name, result);
    }
    part
}

fn target(account: &Account) -> Target {
    let transport: Arc<dyn Transport> = Arc::<Counting>::clone(&account.transport);
    let is_azurite = account.is_azurite();
    let server = if is_azurite { client::Server::Azurite } else { client::Server::Other };
    let protocol = if account.is_cosmos() { Protocol::COSMOS } else { Protocol::DEFAULT };
    Target::new(account.connection_string().to_string())
        .transport(transport)
        .server(server)
        .protocol(protocol)
        .serves(account.dialect())
        .table_prefix(account.table_name("b"))
}

async fn one(name: &'static str, target: &Target) -> (&'static str, Result<(), String>) {
    let caught = panics::caught(client::run(name, target));
    let result = tokio::time::timeout(LIMIT, caught).await;
    let late = |_| Err(format!("it did not end within {} s", LIMIT.as_secs()));
    (name, result.unwrap_or_else(late))
}
