//! The account that the environment names, as for `azure-table`.

use std::env;

use azure_table_client::TableServiceClient;
use azure_table_client::auth::{Credential, SasToken, SharedKey};

use crate::failure::{Exit, Failure, Result};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
const ACCOUNT: &str = "AZURE_STORAGE_ACCOUNT";
const KEY: &str = "AZURE_STORAGE_KEY";
const SAS: &str = "AZURE_STORAGE_SAS_TOKEN";
const ENDPOINT: &str = "AZURE_STORAGE_SERVICE_ENDPOINT";

/// Returns the client of the account.
pub(crate) fn service() -> Result<TableServiceClient> {
    of(|name| env::var(name).ok())
}

fn of(variable: impl Fn(&str) -> Option<String>) -> Result<TableServiceClient> {
    let variable = |name| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(text) = variable(CONNECTION_STRING) {
        return Ok(TableServiceClient::from_connection_string(&text)?);
    }
    let account = variable(ACCOUNT);
    let endpoint = variable(ENDPOINT).or_else(|| {
        account.as_ref().map(|account| format!("https://{account}.table.core.windows.net"))
    });
    let Some(endpoint) = endpoint else {
        return Err(Failure::new(
            Exit::Usage,
            format!("no account: set {CONNECTION_STRING}, or {ACCOUNT} with {KEY} or {SAS}"),
        ));
    };
    let credential: Credential = match (variable(KEY), variable(SAS)) {
        (Some(key), _) => {
            let Some(account) = account else {
                return Err(Failure::usage(format!(
                    "{KEY} is set without the name of its account in {ACCOUNT}"
                )));
            };
            SharedKey::new(&account, &key)?.into()
        }
        (None, Some(token)) => SasToken::new(&token)?.into(),
        (None, None) => {
            return Err(Failure::usage(format!(
                "no credential for {endpoint}: set {KEY} with {ACCOUNT}, or {SAS}"
            )));
        }
    };
    Ok(TableServiceClient::builder(endpoint, credential).build()?)
}
