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

/// An account with its credential.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) service: TableServiceClient,
    /// `None` if the credential is a key.
    pub(crate) signature: Option<Signature>,
}

/// A shared access signature.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The only table to which it gives access; `None` if it is for the account.
    pub(crate) table: Option<String>,
}

impl Signature {
    fn of_token(token: &str) -> Self {
        let mut fields =
            token.trim_start_matches('?').split('&').filter_map(|field| field.split_once('='));
        let table = fields.find(|(name, _)| name.eq_ignore_ascii_case("tn"));
        Self { table: table.map(|(_, table)| table.to_owned()) }
    }

    fn of_connection_string(text: &str) -> Option<Self> {
        let mut pairs = text.split(';').filter_map(|pair| pair.split_once('='));
        let token =
            pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("SharedAccessSignature"));
        token.map(|(_, token)| Self::of_token(token.trim()))
    }
}

/// Returns the account. Nothing is sent.
pub(crate) fn open() -> Result<Connection> {
    of(|name| env::var(name).ok())
}

fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Connection> {
    let variable = |name| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(text) = variable(CONNECTION_STRING) {
        let service = TableServiceClient::from_connection_string(&text)?;
        return Ok(Connection { service, signature: Signature::of_connection_string(&text) });
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
    let (credential, signature): (Credential, _) = match (variable(KEY), variable(SAS)) {
        (Some(key), _) => {
            let Some(account) = account else {
                return Err(Failure::usage(format!(
                    "{KEY} is set without the name of its account in {ACCOUNT}"
                )));
            };
            (SharedKey::new(&account, &key)?.into(), None)
        }
        (None, Some(token)) => {
            (SasToken::new(&token)?.into(), Some(Signature::of_token(token.trim())))
        }
        (None, None) => {
            // The endpoint is not shown: it may be an address with a signature.
            return Err(Failure::usage(format!(
                "no credential: set {KEY} with {ACCOUNT}, or {SAS}"
            )));
        }
    };
    let service = TableServiceClient::builder(endpoint, credential).build()?;
    Ok(Connection { service, signature })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_of_a_table_names_it() {
        let token = "?sv=2019-02-02&tn=Blogs&sig=AAAA";
        let signature = Some(Signature { table: Some("Blogs".to_owned()) });
        let text = format!("TableEndpoint=https://a;SharedAccessSignature={token}");
        assert_eq!(Signature::of_connection_string(&text), signature);
        let variables = |name: &str| match name {
            ACCOUNT => Some("a".to_owned()),
            SAS => Some(token.to_owned()),
            _ => None,
        };
        assert_eq!(of(variables).unwrap().signature, signature);
        let account = Signature::of_token("sv=2019-02-02&ss=t&sig=AAAA");
        assert_eq!(account, Signature { table: None });
        assert_eq!(Signature::of_connection_string("AccountName=a;AccountKey=AAAA"), None);
    }
}
