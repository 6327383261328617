//! The variables of the Azure CLI.

use azure_table_client::auth::{Credential, SasToken, SharedKey};
use zeroize::Zeroizing;

use super::{Account, Target};
use crate::failure::{Failure, Result};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
const ACCOUNT: &str = "AZURE_STORAGE_ACCOUNT";
const KEY: &str = "AZURE_STORAGE_KEY";
const SAS: &str = "AZURE_STORAGE_SAS_TOKEN";
const ENDPOINT: &str = "AZURE_STORAGE_SERVICE_ENDPOINT";

/// Returns the account that the variables name. `endpoint` is that of the options.
pub(super) fn target(
    endpoint: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Target> {
    let variable = |name| variable(name).filter(|value| !value.trim().is_empty());
    if endpoint.is_none()
        && let Some(text) = variable(CONNECTION_STRING)
    {
        let origin = format!("the environment variable {CONNECTION_STRING}");
        return Ok(Target::Text { text: Zeroizing::new(text), origin });
    }
    let account = variable(ACCOUNT);
    let endpoint = endpoint.map(str::to_owned).or_else(|| variable(ENDPOINT)).or_else(|| {
        account.as_ref().map(|account| format!("https://{account}.table.core.windows.net"))
    });
    let Some(endpoint) = endpoint else {
        return Err(Failure::usage(format!(
            "no account: set {CONNECTION_STRING}, or {ACCOUNT} with {KEY} or {SAS}; or pass \
             --connection-from, --emulator, or --entra with --endpoint"
        )));
    };
    let secrets = (variable(KEY).map(Zeroizing::new), variable(SAS).map(Zeroizing::new));
    let (credential, name) = match secrets {
        (Some(key), _) => {
            let Some(account) = account else {
                return Err(Failure::usage(format!(
                    "{KEY} is set without the name of its account in {ACCOUNT}"
                )));
            };
            (Credential::SharedKey(SharedKey::new(&account, &key)?), KEY)
        }
        (None, Some(token)) => (Credential::Sas(SasToken::new(&token)?), SAS),
        (None, None) => {
            return Err(Failure::usage(format!(
                "no credential for {endpoint}: set {KEY} with {ACCOUNT}, or {SAS}, or pass --entra"
            )));
        }
    };
    let origin = format!("the environment variable {name}");
    Ok(Target::Account(Account { endpoint, credential, origin }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Result<Target> {
        target(endpoint, |name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_connection_string_wins() {
        let both =
            [(CONNECTION_STRING, "UseDevelopmentStorage=true"), (ACCOUNT, "a"), (KEY, "AAAA")];
        assert!(matches!(of(None, &both), Ok(Target::Text { .. })));
    }

    #[test]
    fn an_endpoint_replaces_the_connection_string() {
        let all =
            [(CONNECTION_STRING, "UseDevelopmentStorage=true"), (SAS, "sv=2019-02-02&sig=AAAA")];
        let Ok(Target::Account(account)) = of(Some("https://x"), &all) else { panic!() };
        assert_eq!(account.endpoint, "https://x");
        assert!(matches!(account.credential, Credential::Sas(_)));
    }

    #[test]
    fn an_account_with_a_key_is_in_the_public_cloud() {
        let variables = [(ACCOUNT, "account1"), (KEY, "AAAA")];
        let Ok(Target::Account(account)) = of(None, &variables) else { panic!() };
        assert_eq!(account.endpoint, "https://account1.table.core.windows.net");
    }

    #[test]
    fn missing_variables_are_named() {
        for (variables, expected) in [
            (&[][..], "no account: set AZURE_STORAGE_CONNECTION_STRING"),
            (&[(ACCOUNT, "a")][..], "no credential for https://a.table.core.windows.net"),
            (&[(KEY, "AAAA"), (ENDPOINT, "https://x")][..], "without the name of its account"),
        ] {
            let Err(failure) = of(None, variables) else { panic!("{expected}") };
            assert!(failure.message().contains(expected), "{failure:?}");
        }
    }
}
