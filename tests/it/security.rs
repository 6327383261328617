//! No secret is ever shown, and none travels where it can be read.

use azure_table_client::auth::{Credential, SasToken, SharedKey};
use azure_table_client::{DynamicEntity, ErrorKind, RetryPolicy, TableServiceClient};

const KEY: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
const SAS: &str = "sv=2019-02-02&sp=r&sig=c2VjcmV0LXNlY3JldC1zZWNyZXQ%3D";
const SECRETS: [&str; 3] = ["c2VjcmV0", "secret-secret", "sig="];

fn assert_hidden(shown: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// The whole chain of an error, as programs print it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut shown = vec![format!("{error} {error:?}")];
    let mut source = error.source();
    while let Some(cause) = source {
        shown.push(format!("{cause} {cause:?}"));
        source = cause.source();
    }
    shown.join(" ")
}

#[test]
fn credentials_and_clients_do_not_show_them() {
    let key = Credential::from(SharedKey::new("me", KEY).unwrap());
    let sas = Credential::from(SasToken::new(SAS).unwrap());
    for credential in [key, sas] {
        assert_hidden(&format!("{credential:?}"));
        let builder = TableServiceClient::builder("https://me.example.com", credential);
        assert_hidden(&format!("{builder:?}"));
    }
}

#[tokio::test]
async fn errors_of_a_broken_connection_do_not_show_them() {
    // Nothing listens on the reserved port 1.
    for credential in [
        Credential::from(SharedKey::new("me", KEY).unwrap()),
        Credential::from(SasToken::new(SAS).unwrap()),
    ] {
        let service = TableServiceClient::builder("http://127.0.0.1:1/me", credential)
            .retry(RetryPolicy::none())
            .build()
            .unwrap();
        let error = service.table_named::<DynamicEntity>("Blogs").query().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert_hidden(&chain(&error));
        assert_hidden(&format!("{service:?}"));
    }
}

#[test]
fn plain_http_to_another_host_is_refused_unless_asked_for() {
    let build = |endpoint: &str, credential: Credential, allow: bool| {
        TableServiceClient::builder(endpoint, credential).allow_http(allow).build()
    };
    let key = || Credential::from(SharedKey::new("me", KEY).unwrap());
    let refused = build("http://azurite:10002/me", key(), false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Configuration);
    assert!(refused.to_string().contains("allow_http"));
    assert!(build("http://azurite:10002/me", SasToken::new(SAS).unwrap().into(), false).is_err());
    assert!(build("http://azurite:10002/me", key(), true).is_ok());
    assert!(build("http://azurite:10002/me", Credential::Anonymous, false).is_ok());
    assert!(build("http://127.0.0.1:10002/me", key(), false).is_ok());
}

#[test]
fn the_variable_is_named_where_it_is_missing() {
    if std::env::var_os("AZURE_STORAGE_CONNECTION_STRING").is_none() {
        let error = TableServiceClient::from_env().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("AZURE_STORAGE_CONNECTION_STRING"));
    }
}
