//! Entra ID tokens, checked like by `--oauth basic` of Azurite: the claims, but not the signature.

use std::time::{Duration, SystemTime};

use azure_table_client::Dialect;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The issuers of the clouds.
const ISSUERS: [&str; 4] = [
    "https://sts.windows.net/",
    "https://sts.microsoftonline.de/",
    "https://sts.chinacloudapi.cn/",
    "https://sts.windows-ppe.net/",
];
/// The audiences for all accounts of Azure Storage: by its URL and by its application.
const AUDIENCES: [&str; 2] = ["https://storage.azure.com", "e406a681-f3d4-42a8-90b6-c2b029497af1"];
/// The audiences for all accounts of Azure Cosmos DB, by cloud. Source: `azure-data-tables` 12.7.0, `_base_client.py`.
const COSMOS_AUDIENCES: [&str; 3] =
    ["https://cosmos.azure.com", "https://cosmos.azure.us", "https://cosmos.azure.cn"];
/// The endpoints of the clouds, after the account's name.
const ENDPOINTS: [&str; 4] = [
    ".table.core.windows.net",
    ".table.core.chinacloudapi.cn",
    ".table.core.usgovcloudapi.net",
    ".table.core.cloudapi.de",
];

/// Returns `true` for a token with a known issuer, an audience of this account and a valid lifetime.
pub(crate) fn is_valid(token: &str, dialect: Dialect, account: &str, now: SystemTime) -> bool {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    claims(token)
        .is_some_and(|claims| is_current(&claims, now) && is_for(&claims, dialect, account))
}

/// Decodes the claims of a JSON Web Token: `header.claims.signature`.
fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(_signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let decoded = |part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok();
    let _header: Value = decoded(header)?;
    decoded(claims)
}

fn is_current(claims: &Value, now: Duration) -> bool {
    let time = |name: &str| claims.get(name).and_then(Value::as_f64);
    let (Some(from), Some(until), Some(_issued)) = (time("nbf"), time("exp"), time("iat")) else {
        return false;
    };
    from <= now.as_secs_f64() && now.as_secs_f64() <= until
}

fn is_for(claims: &Value, dialect: Dialect, account: &str) -> bool {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
    let audience = text("aud");
    let audience = audience.strip_suffix('/').unwrap_or(audience);
    let is_audience = match dialect {
        Dialect::CosmosDb => COSMOS_AUDIENCES.contains(&audience),
        _ => AUDIENCES.contains(&audience) || is_of_account(audience, account),
    };
    is_audience && ISSUERS.iter().any(|issuer| text("iss").starts_with(issuer))
}

fn is_of_account(audience: &str, account: &str) -> bool {
    let endpoint = audience.strip_prefix("https://").and_then(|rest| rest.strip_prefix(account));
    endpoint.is_some_and(|endpoint| ENDPOINTS.contains(&endpoint))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.sig", part(&json!({ "alg": "RS256" })), part(claims))
    }

    /// Claims that are valid for the account `one` at the time 100, with one of them replaced.
    fn is_valid_with(name: &str, value: Value) -> bool {
        let mut claims = json!({
            "aud": "https://storage.azure.com", "iss": "https://sts.windows.net/tenant/",
            "iat": 50, "nbf": 50, "exp": 150,
        });
        claims[name] = value;
        is_valid_in(Dialect::AzureStorage, &claims)
    }

    fn is_valid_in(dialect: Dialect, claims: &Value) -> bool {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        is_valid(&token(claims), dialect, "one", now)
    }

    #[test]
    fn each_claim_is_checked() {
        for (name, value, expected) in [
            ("aud", json!("https://storage.azure.com/"), true),
            ("aud", json!("e406a681-f3d4-42a8-90b6-c2b029497af1"), true),
            ("aud", json!("https://one.table.core.windows.net"), true),
            ("aud", json!("https://two.table.core.windows.net"), false),
            ("aud", json!("https://one.blob.core.windows.net"), false),
            ("aud", json!("https://vault.azure.net"), false),
            ("aud", json!(null), false),
            ("iss", json!("https://sts.chinacloudapi.cn/x"), true),
            ("iss", json!("https://evil.example/https://sts.windows.net/"), false),
            ("iss", json!(null), false),
            ("nbf", json!(100), true),
            ("nbf", json!(101), false),
            ("nbf", json!(null), false),
            ("exp", json!(100), true),
            ("exp", json!(99), false),
            ("exp", json!("150"), false),
            ("iat", json!(null), false),
        ] {
            assert_eq!(is_valid_with(name, value.clone()), expected, "{name} {value}");
        }
    }

    #[test]
    fn each_service_has_its_own_audiences() {
        for (audience, in_storage, in_cosmos) in [
            ("https://storage.azure.com", true, false),
            ("https://one.table.core.windows.net", true, false),
            ("https://cosmos.azure.com", false, true),
            ("https://cosmos.azure.com/", false, true),
            ("https://cosmos.azure.us", false, true),
            ("https://cosmos.azure.cn", false, true),
            ("https://cosmos.azure.com.evil.example", false, false),
        ] {
            let claims = json!({
                "aud": audience, "iss": "https://sts.windows.net/tenant/", "iat": 50, "nbf": 50, "exp": 150,
            });
            assert_eq!(is_valid_in(Dialect::AzureStorage, &claims), in_storage, "{audience}");
            assert_eq!(is_valid_in(Dialect::CosmosDb, &claims), in_cosmos, "{audience}");
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let good = token(&json!({}));
        for bad in ["", "a.b", "a.b.c", "e30.e30", &format!("{good}.more"), "e30.W10.x", "e30.MQ."]
        {
            let now = SystemTime::UNIX_EPOCH;
            assert!(!is_valid(bad, Dialect::AzureStorage, "one", now), "{bad}");
        }
    }
}
