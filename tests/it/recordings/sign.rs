//! The signatures of requests, made independently of the client. Recordings have no keys, so requests are signed again.

use azure_table_client::transport::HttpRequest;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::paths::{encoded, parameters};
use super::session::ACCOUNT;

/// The parameters of a shared access signature. The last three are its text and restrictions, which a new one does not
/// have.
pub(super) const SAS: [&str; 15] = [
    "sv", "ss", "srt", "st", "se", "sp", "tn", "si", "spk", "srk", "epk", "erk", "sig", "spr",
    "sip",
];

fn signature(key: &[u8], lines: &[&str]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(lines.join("\n").as_bytes());
    BASE64_STANDARD.encode(mac.finalize().into_bytes())
}

/// Signs a request with the account's key.
pub(super) fn shared_key(key: &[u8], request: &mut HttpRequest) {
    let comp =
        parameters(request.uri.query().unwrap_or_default()).find(|(name, _)| *name == "comp");
    let comp = comp.map(|(_, value)| format!("?comp={value}")).unwrap_or_default();
    let resource = format!("/{ACCOUNT}{}{comp}", request.uri.path());
    let header = |name| request.headers.get(name).map_or("", |value| value.to_str().unwrap());
    let [md5, kind, date] = ["content-md5", "content-type", "x-ms-date"].map(header);
    let signature = signature(key, &[request.method.as_str(), md5, kind, date, &resource]);
    let value = format!("SharedKey {ACCOUNT}:{signature}");
    request.headers.insert("authorization", value.parse().unwrap());
}

/// Returns a shared access signature with the rights of the one in a query, which is valid at any time. Returns `None`
/// for a query without a signature, or with one whose rights the recorder removed.
pub(super) fn sas(key: &[u8], query: &str) -> Option<String> {
    let value = |name: &str| {
        let (_, value) = parameters(query).find(|(known, _)| *known == name)?;
        Some(match name {
            "st" => "2015-01-01T00:00:00Z".to_owned(),
            "se" => "2999-01-01T00:00:00Z".to_owned(),
            _ => value,
        })
    };
    let values = SAS.map(|name| value(name).unwrap_or_default());
    let [sv, ss, srt, st, se, sp, tn, si, spk, srk, epk, erk, ..] =
        values.each_ref().map(|it| &**it);
    if sv.is_empty() || (ss.is_empty() && tn.is_empty()) {
        return None;
    }
    let table = format!("/table/{ACCOUNT}/{}", tn.to_lowercase());
    let sig = if tn.is_empty() {
        signature(key, &[ACCOUNT, sp, ss, srt, st, se, "", "", sv, ""])
    } else {
        signature(key, &[sp, st, se, &table, si, "", "", sv, spk, srk, epk, erk])
    };
    let pairs = SAS[..12].iter().zip(&values).filter(|(_, value)| !value.is_empty());
    let pairs = pairs.map(|(name, value)| format!("{name}={}&", encoded(value)));
    Some(format!("{}sig={}", pairs.collect::<String>(), encoded(&sig)))
}
