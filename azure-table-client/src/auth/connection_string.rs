//! Connection strings.
//!
//! Source: [Configure Azure Storage connection strings][strings].
//!
//! [strings]: https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string

use url::Url;

use azure_table_protocol::auth::is_account_name;

use super::{Credential, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SasToken, SharedKey};
use crate::error::Error;

const DEFAULT_SUFFIX: &str = "core.windows.net";

/// The settings for tables in a connection string.
#[derive(Debug)]
pub(crate) struct ConnectionString {
    pub(crate) endpoint: String,
    /// The endpoint of the secondary region, if there is one.
    pub(crate) secondary: Option<String>,
    pub(crate) credential: Credential,
    /// Whether the text names the development account, whose key is public.
    pub(crate) is_development: bool,
}

#[derive(Default)]
struct ConnectionSettings<'a> {
    protocol: Option<&'a str>,
    account_name: Option<&'a str>,
    account_key: Option<&'a str>,
    suffix: Option<&'a str>,
    table_endpoint: Option<&'a str>,
    secondary_endpoint: Option<&'a str>,
    sas: Option<&'a str>,
    development: Option<&'a str>,
    development_proxy: Option<&'a str>,
}

impl ConnectionString {
    /// Reads `Key=Value;Key=Value`. The errors name keys and never show a value, which may be a
    /// secret.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let settings = ConnectionSettings::parse(text)?;
        if let Some(development) = settings.development {
            return settings.development_storage(development);
        }
        if settings.development_proxy.is_some() {
            return Err(malformed(
                "it has DevelopmentStorageProxyUri without UseDevelopmentStorage=true",
            ));
        }
        if !settings.account_name.is_none_or(is_account_name) {
            return Err(bad_account_name());
        }
        let credential = settings.credential()?;
        let mut secondary = settings.secondary_endpoint.map(str::to_owned);
        let endpoint = match (settings.table_endpoint, settings.account_name) {
            (Some(endpoint), _) => endpoint.to_owned(),
            (None, Some(account)) => {
                let copy = settings.account_endpoint(&format!("{account}-secondary"))?;
                secondary.get_or_insert(copy);
                settings.account_endpoint(account)?
            }
            (None, None) => {
                return Err(malformed("it has neither AccountName nor TableEndpoint"));
            }
        };
        if let Some(secondary) = &secondary {
            Url::parse(secondary).map_err(|_| malformed("TableSecondaryEndpoint is not a URL"))?;
        }
        Ok(Self { endpoint, secondary, credential, is_development: false })
    }
}

fn malformed(reason: &str) -> Error {
    Error::configuration(format!("the connection string cannot be used: {reason}"))
}

fn bad_account_name() -> Error {
    malformed("AccountName has a character that account names cannot have")
}

impl<'a> ConnectionSettings<'a> {
    fn parse(text: &'a str) -> Result<Self, Error> {
        let mut settings = Self::default();
        for (index, segment) in text.split(';').map(str::trim).enumerate() {
            if segment.is_empty() {
                continue;
            }
            let Some((key, value)) = segment.split_once('=') else {
                return Err(malformed(&format!("segment {} is not Key=Value", index + 1)));
            };
            let (key, value) = (key.trim(), value.trim());
            let lower = key.to_ascii_lowercase();
            let place = match lower.as_str() {
                "defaultendpointsprotocol" => &mut settings.protocol,
                "accountname" => &mut settings.account_name,
                "accountkey" => &mut settings.account_key,
                "endpointsuffix" => &mut settings.suffix,
                "tableendpoint" => &mut settings.table_endpoint,
                "tablesecondaryendpoint" => &mut settings.secondary_endpoint,
                "sharedaccesssignature" => &mut settings.sas,
                "usedevelopmentstorage" => &mut settings.development,
                "developmentstorageproxyuri" => &mut settings.development_proxy,
                // The endpoints of the other storage services.
                other if other.ends_with("endpoint") => continue,
                // Not shown: a secret without its key ends up here.
                _ => {
                    return Err(malformed(&format!("the key of segment {} is unknown", index + 1)));
                }
            };
            if place.replace(value).is_some() {
                return Err(malformed(&format!("the key {key:?} appears twice")));
            }
            if value.is_empty() {
                return Err(malformed(&format!("the key {key:?} has no value")));
            }
        }
        Ok(settings)
    }

    fn credential(&self) -> Result<Credential, Error> {
        match (self.account_name, self.account_key, self.sas) {
            (_, Some(_), Some(_)) => {
                Err(malformed("it has both AccountKey and SharedAccessSignature; leave one out"))
            }
            (Some(account), Some(key), None) => Ok(SharedKey::new(account, key)?.into()),
            (None, Some(_), None) => Err(malformed("it has AccountKey but no AccountName")),
            (_, None, Some(sas)) => Ok(SasToken::new(sas)?.into()),
            (_, None, None) => {
                Err(malformed("it has neither AccountKey nor SharedAccessSignature"))
            }
        }
    }

    fn account_endpoint(&self, account: &str) -> Result<String, Error> {
        let protocol = self.protocol.unwrap_or("https").to_ascii_lowercase();
        if !matches!(protocol.as_str(), "http" | "https") {
            return Err(malformed("DefaultEndpointsProtocol must be http or https"));
        }
        if !account.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(bad_account_name());
        }
        let suffix = self.suffix.unwrap_or(DEFAULT_SUFFIX).trim_start_matches('.');
        Ok(format!("{protocol}://{account}.table.{suffix}"))
    }

    fn development_storage(&self, development: &str) -> Result<ConnectionString, Error> {
        if !development.eq_ignore_ascii_case("true") {
            return Err(malformed("UseDevelopmentStorage must be true or be left out"));
        }
        let mut origin = "http://127.0.0.1".to_owned();
        if let Some(proxy) = self.development_proxy {
            let proxy = Url::parse(proxy)
                .map_err(|_| malformed("DevelopmentStorageProxyUri is not a URL"))?;
            let host = proxy
                .host_str()
                .ok_or_else(|| malformed("DevelopmentStorageProxyUri has no host"))?;
            origin = format!("{}://{host}", proxy.scheme());
        }
        let endpoint = format!("{origin}:10002/{DEVELOPMENT_ACCOUNT}");
        // A contradiction is an error, because it is unclear which of the two accounts was meant.
        let table_endpoint = self.table_endpoint.map(|text| text.trim_end_matches('/'));
        for (key, value, development) in [
            ("AccountName", self.account_name, Some(DEVELOPMENT_ACCOUNT)),
            ("AccountKey", self.account_key, Some(DEVELOPMENT_KEY)),
            ("SharedAccessSignature", self.sas, None),
            ("TableEndpoint", table_endpoint, Some(endpoint.as_str())),
        ] {
            if value.is_some() && value != development {
                return Err(malformed(&format!(
                    "UseDevelopmentStorage and {key} contradict each other; leave one out"
                )));
            }
        }
        Ok(ConnectionString {
            secondary: Some(format!("{endpoint}-secondary")),
            endpoint,
            credential: SharedKey::development().into(),
            is_development: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "c2VjcmV0LXNlY3JldA==";

    fn endpoint(text: &str) -> String {
        ConnectionString::parse(text).unwrap().endpoint
    }

    #[test]
    fn where_the_secondary_is() {
        let secondary = |text: &str| ConnectionString::parse(text).unwrap().secondary;
        let account = format!("AccountName=me;AccountKey={KEY}");
        let known = |text: &str| Some(text.to_owned());
        assert_eq!(secondary(&account), known("https://me-secondary.table.core.windows.net"));
        let given = format!("{account};TableSecondaryEndpoint=https://copy.example.com");
        assert_eq!(secondary(&given), known("https://copy.example.com"));
        let custom = format!("{account};TableEndpoint=https://tables.example.com");
        assert_eq!(secondary(&custom), None);
        let emulator = "http://127.0.0.1:10002/devstoreaccount1-secondary";
        assert_eq!(secondary("UseDevelopmentStorage=true"), known(emulator));
    }

    #[test]
    fn endpoints_of_every_form() {
        let key = format!("AccountName=me;AccountKey={KEY}");
        assert_eq!(endpoint(&key), "https://me.table.core.windows.net");
        assert_eq!(
            endpoint(&format!(
                "defaultendpointsprotocol=HTTP;{key};ENDPOINTSUFFIX=core.chinacloudapi.cn;"
            )),
            "http://me.table.core.chinacloudapi.cn"
        );
        assert_eq!(
            endpoint(&format!(
                "{key};TableEndpoint=https://tables.example.com/;BlobEndpoint=https://b"
            )),
            "https://tables.example.com/"
        );
        assert_eq!(
            endpoint("UseDevelopmentStorage=true"),
            "http://127.0.0.1:10002/devstoreaccount1"
        );
        assert_eq!(
            endpoint(
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://host.docker:99/x"
            ),
            "http://host.docker:10002/devstoreaccount1"
        );
    }

    #[test]
    fn what_says_the_same_as_use_development_storage_may_stay() {
        let text = format!(
            "UseDevelopmentStorage=true;AccountName={DEVELOPMENT_ACCOUNT};\
             AccountKey={DEVELOPMENT_KEY};TableEndpoint=http://127.0.0.1:10002/devstoreaccount1/;\
             BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1"
        );
        assert_eq!(endpoint(&text), "http://127.0.0.1:10002/devstoreaccount1");
    }

    #[test]
    fn a_sas_keeps_endpoint_suffix_and_protocol() {
        let sas = "SharedAccessSignature=?sv=2019-02-02&ss=t&sig=a%3D";
        assert_eq!(
            endpoint(&format!("TableEndpoint=https://t.example.com;{sas}")),
            "https://t.example.com"
        );
        assert_eq!(
            endpoint(&format!(
                "{sas};AccountName=me;EndpointSuffix=x.net;DefaultEndpointsProtocol=http"
            )),
            "http://me.table.x.net"
        );
    }

    #[test]
    fn what_cannot_be_used_says_why_and_shows_no_secret() {
        let cases = [
            (String::new(), "neither AccountKey nor"),
            (format!("AccountName=me;{KEY}x"), "key of segment 2 is unknown"),
            ("AccountName=me;secret".to_owned(), "segment 2 is not Key=Value"),
            (format!("AccountKey={KEY}"), "no AccountName"),
            ("AccountName=me".to_owned(), "neither AccountKey nor"),
            (format!("AccountName=me;AcountKey={KEY}"), "key of segment 2 is unknown"),
            (format!("AccountName=me;AccountName=me;AccountKey={KEY}"), "twice"),
            ("AccountName=;AccountKey=x".to_owned(), "\"AccountName\" has no value"),
            ("AccountName=me;AccountKey=sec-ret!".to_owned(), "not valid base64"),
            (
                format!("AccountName=me;AccountKey={KEY};SharedAccessSignature=sig=x"),
                "leave one out",
            ),
            ("SharedAccessSignature=sig=x".to_owned(), "neither AccountName nor TableEndpoint"),
            (
                format!("AccountName=me;SharedAccessSignature=https://me.example.com?sig={KEY}"),
                "whole URL",
            ),
            (format!("AccountName=m/e;AccountKey={KEY}"), "AccountName has a character"),
            (
                format!("AccountName=m:e;AccountKey={KEY};TableEndpoint=https://t.example.com"),
                "AccountName has a character",
            ),
            (
                format!("AccountName=mé;SharedAccessSignature=sig={KEY};TableEndpoint=https://t"),
                "AccountName has a character",
            ),
            (
                format!("DefaultEndpointsProtocol=ftp;AccountName=me;AccountKey={KEY}"),
                "http or https",
            ),
            ("UseDevelopmentStorage=yes".to_owned(), "must be true"),
            ("AccountName=me;UseDevelopmentStorage=true".to_owned(), "AccountName contradict"),
            (format!("UseDevelopmentStorage=true;AccountKey={KEY}"), "AccountKey contradict"),
            (
                format!("UseDevelopmentStorage=true;SharedAccessSignature=sig={KEY}"),
                "SharedAccessSignature contradict",
            ),
            (
                "UseDevelopmentStorage=true;TableEndpoint=https://me.example.com".to_owned(),
                "TableEndpoint contradict",
            ),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite;\
                 TableEndpoint=http://127.0.0.1:10002/devstoreaccount1"
                    .to_owned(),
                "TableEndpoint contradict",
            ),
            (
                "DevelopmentStorageProxyUri=http://azurite".to_owned(),
                "DevelopmentStorageProxyUri without UseDevelopmentStorage=true",
            ),
            (
                format!(
                    "DevelopmentStorageProxyUri=http://azurite;AccountName=me;AccountKey={KEY}"
                ),
                "DevelopmentStorageProxyUri without UseDevelopmentStorage=true",
            ),
            (
                format!("AccountName=me;AccountKey={KEY};TableSecondaryEndpoint=x"),
                "TableSecondaryEndpoint",
            ),
        ];
        for (text, reason) in cases {
            let error = ConnectionString::parse(&text).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(reason), "{text}: {shown}");
            assert!(!shown.contains("c2Vj") && !shown.contains("sec-ret"), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = ConnectionString::parse(&text);
        }
    }
}
