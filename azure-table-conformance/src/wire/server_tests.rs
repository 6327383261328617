#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;

#[test]
fn endpoints_have_a_scheme_a_host_and_a_path() {
    let server = Server::new("http://127.0.0.1:10002/devstoreaccount1/", "one", "a2V5").unwrap();
    assert_eq!(server.endpoint(), "http://127.0.0.1:10002/devstoreaccount1");
    assert_eq!((server.port, server.path.as_str()), (10002, "/devstoreaccount1"));
    let server = Server::new("https://one.table.core.windows.net", "one", "a2V5").unwrap();
    assert_eq!((server.port, server.path.as_str()), (443, ""));
    for bad in ["", "one", "ftp://one", "/path", "https://one/?a=b", "https://user:pw@one"] {
        let error = Server::new(bad, "one", "a2V5").unwrap_err();
        assert!(matches!(error, ServerError::Endpoint(..)), "{bad}");
    }
    assert_eq!(Server::new("http://one", "o/e", "a2V5").unwrap_err(), ServerError::Account);
    assert_eq!(Server::new("http://one", "one", "?").unwrap_err(), ServerError::Key);
}

#[test]
fn connection_strings_name_an_account_with_a_key() {
    let of = Server::from_connection_string;
    let own = of("accountname=one;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn").unwrap();
    assert_eq!(own.endpoint(), "https://one.table.core.chinacloudapi.cn");
    let own = of("AccountName=one;AccountKey=a2V5;TableEndpoint=http://h:1/one").unwrap();
    assert_eq!(own.endpoint(), "http://h:1/one");
    assert_eq!(of("UseDevelopmentStorage=true").unwrap().endpoint(), DEVELOPMENT_ENDPOINT);
    let missing = of("AccountName=one;SharedAccessSignature=sig=x").unwrap_err();
    assert_eq!(missing, ServerError::ConnectionString("AccountKey"));
}

#[test]
fn the_key_is_not_printed() {
    let server = Server::new("http://one", "one", "c2VjcmV0").unwrap();
    let printed = format!("{server:?}");
    assert!(!printed.contains("secret") && !printed.contains("c2Vj"), "{printed}");
}

#[test]
fn an_invalid_endpoint_is_printed_without_secrets() {
    for (endpoint, shown) in [
        ("https://user:pw@one", "https://one"),
        ("https://one/?sv=1&sig=pw", "https://one"),
        ("AccountName=one;AccountKey=pw", ""),
        ("pw", ""),
        ("ftp://pw", ""),
        ("https://one/p w", ""),
    ] {
        let error = Server::new(endpoint, "one", "a2V5").unwrap_err();
        let ServerError::Endpoint(found, _) = &error else { panic!("{error:?}") };
        assert_eq!(found, shown, "{endpoint}");
        assert!(!format!("{error} {error:?}").contains("pw"), "{error:?}");
    }
}

#[test]
fn a_prefix_is_the_beginning_of_a_name() {
    let server = Server::new("http://one", "one", "a2V5").unwrap();
    assert_eq!(server.clone().table_prefix("live1").unwrap().prefix, "live1");
    for bad in ["", "1a", "a-b", &"a".repeat(31)] {
        assert_eq!(server.clone().table_prefix(bad).unwrap_err(), ServerError::TablePrefix);
    }
}

#[cfg(feature = "tls")]
#[test]
fn trusted_certificates_are_pem() {
    let server = Server::new("http://one", "one", "a2V5").unwrap();
    assert_eq!(server.trust(b"none").unwrap_err(), ServerError::Certificate);
}
