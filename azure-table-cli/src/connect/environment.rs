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

/// Returns the address of an account in the public cloud. `origin` is the option or the variable that names the account.
pub(super) fn public_endpoint(account: &str, origin: &str) -> Result<String> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    if account.is_empty() || !account.bytes().all(is_allowed) {
        // The text is not repeated: it may be a secret.
        return Err(Failure::usage(format!("{origin} is not the name of an account")));
    }
    Ok(format!("https://{account}.table.core.windows.net"))
}

/// Returns the account that the variables name. `account` and `endpoint` are those of the options.
pub(super) fn target(
    account: Option<&str>,
    endpoint: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Target> {
    let variable = |name| variable(name).filter(|value| !value.trim().is_empty());
    if account.is_none()
        && endpoint.is_none()
        && let Some(text) = variable(CONNECTION_STRING)
    {
        return Ok(Target::of_text(text, format!("the environment variable {CONNECTION_STRING}")));
    }
    let (account, origin, other) = match account {
        Some(account) => (Some(account.to_owned()), "--account", None),
        None => (variable(ACCOUNT), ACCOUNT, variable(ENDPOINT)),
    };
    let public = account.as_deref().map(|account| public_endpoint(account, origin)).transpose()?;
    let endpoint = endpoint.map(str::to_owned).or(other).or(public);
    let Some(endpoint) = endpoint else {
        return Err(Failure::usage(format!(
            "no account: set {CONNECTION_STRING}, or {ACCOUNT} with {KEY} or {SAS}; or pass \
             --connection-from, --emulator, or --entra with --account"
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
        of_account(None, endpoint, variables)
    }

    fn of_account(
        account: Option<&str>,
        endpoint: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<String> {
        let target = target(account, endpoint, |name| {
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
    fn an_account_of_the_options_replaces_the_variables() {
        let all = [
            (CONNECTION_STRING, "UseDevelopmentStorage=true"),
            (ACCOUNT, "a"),
            (ENDPOINT, "https://a"),
            (KEY, "AAAA"),
        ];
        let text = of_account(Some("b"), None, &all).unwrap();
        let expected =
            "AccountName=b;AccountKey=AAAA;TableEndpoint=https://b.table.core.windows.net";
        assert_eq!(text, expected);
        let text = of_account(Some("b"), Some("https://x"), &all).unwrap();
        assert_eq!(text, "AccountName=b;AccountKey=AAAA;TableEndpoint=https://x");
        for bad in ["a.b?sig=AAAA", ""] {
            let Err(failure) = of_account(Some(bad), None, &all) else { panic!("{bad}") };
            assert_eq!(failure.message(), "--account is not the name of an account");
        }
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
