//! The variables of the Azure CLI.

use azure_table_client::TableServiceClient;
use azure_table_client::auth::Credential;

use super::Target;
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
        return Ok(Target::of_text(text, format!("the environment variable {CONNECTION_STRING}")));
    }
    let account = variable(ACCOUNT);
    let is_name =
        |text: &String| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if !account.as_ref().is_none_or(is_name) {
        // The text is not repeated: it may be a secret.
        return Err(Failure::usage(format!("{ACCOUNT} is not the name of an account")));
    }
    let endpoint = endpoint.map(str::to_owned).or_else(|| variable(ENDPOINT)).or_else(|| {
        account.as_ref().map(|account| format!("https://{account}.table.core.windows.net"))
    });
    let Some(endpoint) = endpoint else {
        return Err(Failure::usage(format!(
            "no account: set {CONNECTION_STRING}, or {ACCOUNT} with {KEY} or {SAS}; or pass \
             --connection-from, --emulator, or --entra with --endpoint"
        )));
    };
    // The client refuses addresses with a secret, and its error does not repeat them.
    let service = TableServiceClient::builder(endpoint, Credential::Anonymous).build()?;
    let endpoint = service.endpoint();
    match (variable(KEY), variable(SAS)) {
        (Some(key), _) => {
            let Some(account) = account else {
                return Err(Failure::usage(format!(
                    "{KEY} is set without the name of its account in {ACCOUNT}"
                )));
            };
            let text = format!("AccountName={account};AccountKey={key};TableEndpoint={endpoint}");
            Ok(Target::of_text(text, format!("the environment variable {KEY}")))
        }
        (None, Some(token)) => {
            let token = token.trim().trim_start_matches('?');
            let text = format!("TableEndpoint={endpoint};SharedAccessSignature={token}");
            Ok(Target::of_text(text, format!("the environment variable {SAS}")))
        }
        (None, None) => Err(Failure::usage(format!(
            "no credential for {endpoint}: set {KEY} with {ACCOUNT}, or {SAS}, or pass --entra"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Result<String> {
        let target = target(endpoint, |name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })?;
        Ok(target.connection_string().unwrap().to_string())
    }

    #[test]
    fn the_connection_string_wins() {
        let both =
            [(CONNECTION_STRING, "UseDevelopmentStorage=true"), (ACCOUNT, "a"), (KEY, "AAAA")];
        assert_eq!(of(None, &both).unwrap(), "UseDevelopmentStorage=true");
    }

    #[test]
    fn an_endpoint_replaces_the_connection_string() {
        let all = [(CONNECTION_STRING, "UseDevelopmentStorage=true"), (SAS, "?sv=1&sig=AAAA")];
        let expected = "TableEndpoint=https://x;SharedAccessSignature=sv=1&sig=AAAA";
        assert_eq!(of(Some("https://x"), &all).unwrap(), expected);
    }

    #[test]
    fn an_account_with_a_key_is_in_the_public_cloud() {
        let text = of(None, &[(ACCOUNT, "a"), (KEY, "AAAA")]).unwrap();
        let expected =
            "AccountName=a;AccountKey=AAAA;TableEndpoint=https://a.table.core.windows.net";
        assert_eq!(text, expected);
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
