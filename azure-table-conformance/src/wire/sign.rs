//! Signatures: Shared Key, Shared Key Lite, and shared access signatures of an account and of a table.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The key of an account.
#[derive(Clone)]
pub(crate) struct Key(Zeroizing<Vec<u8>>);

impl Key {
    pub(crate) fn from_base64(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(BASE64_STANDARD.decode(text).ok()?);
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    /// The key in Base64, for a connection string.
    #[cfg(feature = "live")]
    pub(crate) fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE64_STANDARD.encode(&*self.0))
    }

    /// A key that no account has.
    pub(crate) fn wrong() -> Self {
        Self(Zeroizing::new(b"the key of no account".to_vec()))
    }

    /// The Base64 of the HMAC-SHA256 of a text.
    pub(crate) fn sign(&self, text: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("HMAC accepts keys of every length")
        };
        mac.update(text.as_bytes());
        BASE64_STANDARD.encode(mac.finalize().into_bytes())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The texts that the signatures of a request cover.
pub(crate) struct SignedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) content_md5: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) date: &'a str,
    pub(crate) account: &'a str,
    /// The path as it is sent, with that of the account.
    pub(crate) path: &'a str,
    /// The value of the query option `comp`.
    pub(crate) comp: Option<&'a str>,
}

impl SignedRequest<'_> {
    fn resource(&self) -> String {
        let comp = self.comp.map(|comp| format!("?comp={comp}")).unwrap_or_default();
        format!("/{}{}{comp}", self.account, self.path)
    }

    /// The text of Shared Key.
    pub(crate) fn full(&self) -> String {
        [self.method, self.content_md5, self.content_type, self.date, &self.resource()].join("\n")
    }

    /// The text of Shared Key Lite.
    pub(crate) fn lite(&self) -> String {
        [self.date, &self.resource()].join("\n")
    }
}

/// The text of the shared access signature with these fields: of a table if they name one in `tn`, otherwise of the account.
pub(crate) fn string_of_sas(account: &str, fields: &[(String, String)]) -> String {
    let field = |name: &str| {
        fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    };
    if field("tn").is_empty() {
        let mut lines: Vec<&str> = vec![account];
        lines.extend(["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"].map(field));
        // Since this version, the text has the encryption scope.
        if field("sv") >= "2020-12-06" {
            lines.push(field("ses"));
        }
        lines.push("");
        return lines.join("\n");
    }
    let resource = format!("/table/{account}/{}", field("tn").to_lowercase());
    let mut lines = vec![field("sp"), field("st"), field("se"), &resource, field("si")];
    lines.extend(["sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(field));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The lines are those of "Authorize with Shared Key", sections "Table service" and "Constructing the canonicalized
    /// resource string".
    #[test]
    fn texts_are_those_of_the_documentation() {
        let request = SignedRequest {
            method: "GET",
            content_md5: "",
            content_type: "application/xml",
            date: "Sun, 11 Oct 2009 19:52:39 GMT",
            account: "testaccount1",
            path: "/Tables",
            comp: None,
        };
        let full = "GET\n\napplication/xml\nSun, 11 Oct 2009 19:52:39 GMT\n/testaccount1/Tables";
        assert_eq!(request.full(), full);
        assert_eq!(request.lite(), "Sun, 11 Oct 2009 19:52:39 GMT\n/testaccount1/Tables");
        let emulator = SignedRequest {
            account: "devstoreaccount1",
            path: "/devstoreaccount1/",
            comp: Some("properties"),
            ..request
        };
        let resource = "/devstoreaccount1/devstoreaccount1/?comp=properties";
        assert!(emulator.lite().ends_with(resource), "{}", emulator.lite());
    }

    /// Test case 2 of RFC 4231.
    #[test]
    fn signatures_are_hmacs() {
        let key = Key::from_base64(&BASE64_STANDARD.encode("Jefe")).unwrap();
        assert_eq!(
            key.sign("what do ya want for nothing?"),
            "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="
        );
        assert!(Key::from_base64("").is_none() && Key::from_base64("?").is_none());
    }

    fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The lines are those of "Create a service SAS", version 2015-04-05 and later for tables.
    #[test]
    fn a_service_signature_covers_the_fields_of_a_table() {
        let fields = fields(&[
            ("sv", "2015-04-05"),
            ("tn", "Employees"),
            ("st", "2013-08-16"),
            ("se", "2013-08-17"),
            ("sp", "r"),
            ("spk", "Jeff"),
            ("srk", "Price"),
            ("epk", "Jeff"),
            ("erk", "Price"),
        ]);
        let text = "r\n2013-08-16\n2013-08-17\n/table/myaccount/employees\n\n\n\n2015-04-05\n\
                    Jeff\nPrice\nJeff\nPrice";
        assert_eq!(string_of_sas("myaccount", &fields), text);
    }

    #[test]
    fn an_account_signature_ends_with_an_empty_line() {
        let of = |version| {
            let all = [("sv", version), ("ss", "t"), ("srt", "o"), ("sp", "r"), ("se", "E")];
            string_of_sas("one", &fields(&all))
        };
        assert_eq!(of("2019-02-02"), "one\nr\nt\no\n\nE\n\n\n2019-02-02\n");
        assert_eq!(of("2020-12-06"), "one\nr\nt\no\n\nE\n\n\n2020-12-06\n\n");
    }
}
