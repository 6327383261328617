//! A token of Microsoft Entra ID, and a signature with a user delegation key.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::time::OffsetDateTime;
use azure_identity::DeveloperToolsCredential;
use azure_table_client::auth::{Credential, TablePermissions, TableSas, UserDelegationKeyRequest};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::{DynamicEntity, Error, TableClient, TableServiceClient};

use super::account::{Account, chain};
use super::part::Part;
use super::redaction::{Redaction, Secrets};

const TOKEN: &str = "AZURE_TABLE_LIVE_TOKEN";
/// The lifetime of what the section requests or assumes.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// The hosts of Azure, as ends of names.
const SUFFIXES: [&str; 8] = [
    ".table.core.windows.net",
    ".table.core.chinacloudapi.cn",
    ".table.core.usgovcloudapi.net",
    ".table.cosmos.azure.com",
    ".table.cosmosdb.azure.com",
    ".table.cosmos.azure.cn",
    ".table.cosmosdb.azure.cn",
    ".table.cosmos.azure.us",
];
const HINT: &str = "sign in with `az login`, or set AZURE_TABLE_LIVE_TOKEN";

pub(super) async fn run(account: &Account, redaction: &Redaction) -> Part {
    if !account.server.is_https {
        return Part::skipped("tokens need HTTPS");
    }
    let credential = match credential(account, redaction).await {
        Ok(credential) => credential,
        Err(reason) => return Part::skipped(format!("no token ({HINT}): {reason}")),
    };
    let (service, table) = match table(account, credential.into()) {
        Ok(both) => both,
        Err(error) => {
            let mut part = Part::default();
            part.check("a client by token", Err(chain(&error)));
            return part;
        }
    };
    match table.create().await {
        Ok(_) => {}
        Err(error) if is_permission(&error) => {
            let reason = "the identity of the token may not use the tables of the account";
            return Part::skipped(format!("{reason}: {}", chain(&error)));
        }
        Err(error) => {
            let mut part = Part::default();
            part.check("a table by token", Err(chain(&error)));
            return part;
        }
    }
    checks(account, redaction, &service, &table).await
}

async fn checks(
    account: &Account,
    redaction: &Redaction,
    service: &TableServiceClient,
    table: &TableClient<DynamicEntity>,
) -> Part {
    let mut part = Part { passed: 1, ..Part::default() };
    let row = DynamicEntity::new("p", "r").with("Value", 7);
    let by_token = async {
        table.insert(&row).await?;
        table.get(("p", "r")).await
    };
    part.check("a row is written and read by token", by_token.await.map(drop).map_err(text));
    if account.is_cosmos() {
        part.left_out.push(("user delegation SAS".to_owned(), "Cosmos DB has none".to_owned()));
        return part;
    }
    let signed = match delegated(account, redaction, service, table.name()).await {
        Ok(signed) => signed,
        Err(error) if is_permission(&error) => {
            let reason = format!("the identity may not request a key: {}", chain(&error));
            part.left_out.push(("user delegation SAS".to_owned(), reason));
            return part;
        }
        Err(error) => {
            part.check("a user delegation key", Err(chain(&error)));
            return part;
        }
    };
    part.passed += 1;
    let read = signed.get(("p", "r")).await;
    part.check("a user delegation SAS reads a row", read.map(drop).map_err(text));
    let refused = match signed.insert(&DynamicEntity::new("p", "2")).await {
        Err(error) if error.status() == Some(403) => Ok(()),
        Err(error) => Err(chain(&error)),
        Ok(_) => Err("the service accepted the write".to_owned()),
    };
    part.check("a user delegation SAS for reads does not write", refused);
    part
}

#[expect(clippy::needless_pass_by_value, reason = "the form of map_err")]
fn text(error: Error) -> String {
    chain(&error)
}

/// Whether the identity lacks a role. Any other refusal is a failure.
fn is_permission(error: &Error) -> bool {
    let code = error.code().map(ToString::to_string).unwrap_or_default();
    error.status() == Some(403)
        && ["AuthorizationPermissionMismatch", "AuthorizationFailure"].contains(&code.as_str())
}

type Table = TableClient<DynamicEntity>;

fn table(account: &Account, credential: Credential) -> Result<(TableServiceClient, Table), Error> {
    let builder = TableServiceClient::builder(account.server.endpoint(), credential);
    let service = account.set_up(builder).build()?;
    let table = service.table_named(account.table_name("entra"));
    Ok((service, table))
}

/// Returns the table by a signature that permits reads.
async fn delegated(
    account: &Account,
    redaction: &Redaction,
    service: &TableServiceClient,
    table: &str,
) -> Result<Table, Error> {
    let expiry = EdmDateTime::from_system_time(SystemTime::now() + LIFETIME);
    let expiry = expiry.unwrap_or(EdmDateTime::MAX);
    let key = service.user_delegation_key(&UserDelegationKeyRequest::until(expiry)).await?;
    let sas = TableSas::new(table).permissions(TablePermissions::READ).expires_at(expiry);
    let token = sas.sign_delegated(&key).map_err(Error::from)?;
    redaction.add(token.as_query());
    let builder = TableServiceClient::builder(account.server.endpoint(), token);
    Ok(account.set_up(builder).build()?.table_named(table))
}

/// The token of the variable, or the credential of the developer tools once it has issued a token.
async fn credential(
    account: &Account,
    redaction: &Redaction,
) -> Result<Arc<dyn TokenCredential>, String> {
    if let Ok(token) = std::env::var(TOKEN) {
        redaction.add(&token);
        return Ok(Arc::new(Given(token)));
    }
    if !is_azure(&account.server.host) {
        return Err("tokens of developer tools are sent to hosts of Azure only".to_owned());
    }
    let credential: Arc<dyn TokenCredential> =
        DeveloperToolsCredential::new(None).map_err(|error| chain(&error))?;
    let service = if account.is_cosmos() { "cosmos" } else { "storage" };
    let scope = format!("https://{service}.azure.com/.default");
    let credential = Arc::new(Recorded { inner: credential, secrets: redaction.secrets() });
    credential.get_token(&[&scope], None).await.map_err(|error| chain(&error))?;
    Ok(credential)
}

/// Adds each token to those that no text may have.
struct Recorded {
    inner: Arc<dyn TokenCredential>,
    secrets: Secrets,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorded(…)")
    }
}

#[async_trait::async_trait]
impl TokenCredential for Recorded {
    async fn get_token(
        &self,
        scopes: &[&str],
        options: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        let token = self.inner.get_token(scopes, options).await?;
        self.secrets.add(token.token.secret());
        Ok(token)
    }
}

/// Whether the host has a suffix of Azure Storage or of Azure Cosmos DB.
fn is_azure(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    SUFFIXES.iter().any(|suffix| host.ends_with(suffix))
}

/// The token of the variable.
struct Given(String);

impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Given(…)")
    }
}

#[async_trait::async_trait]
impl TokenCredential for Given {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        // Its lifetime is not known; the run is shorter.
        let expires = OffsetDateTime::from(SystemTime::now() + LIFETIME);
        Ok(AccessToken::new(self.0.clone(), expires))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_developer_tools_go_to_azure_only() {
        for (host, is_sent) in [
            ("mine.table.core.windows.net", true),
            ("MINE.table.CORE.windows.net", true),
            ("mine-secondary.table.core.chinacloudapi.cn", true),
            ("mine.table.cosmos.azure.com", true),
            ("mine.table.core.windows.net.example", false),
            ("core.windows.net.evil", false),
            ("evilcore.windows.net", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(is_azure(host), is_sent, "{host}");
        }
    }
}
