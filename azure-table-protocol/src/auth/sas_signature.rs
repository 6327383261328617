//! The strings to sign of shared access signatures.
//!
//! Source: [Create a service SAS][service] and [Create an account SAS][account], "Construct the
//! signature string". `user_delegation.rs` lists the sources of signatures with a user delegation key.
//!
//! [service]: https://learn.microsoft.com/rest/api/storageservices/create-service-sas
//! [account]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas

/// The first version whose signatures name the service before the account.
const NAMES_SERVICE: &str = "2015-02-21";
/// The first version that can restrict addresses and protocols; the first one with account SAS too.
pub const RESTRICTS_ORIGIN: &str = "2015-04-05";
/// The first version with encryption scopes, which blobs have and tables do not.
pub const HAS_ENCRYPTION_SCOPE: &str = "2020-12-06";

/// Returns the string to sign of a signature: `field` returns the decoded value of a query parameter, empty
/// if the signature does not have it.
pub(crate) type StringToSign = for<'f> fn(&str, &dyn Fn(&str) -> &'f str) -> String;

/// The signed resource: the table, in lower case.
fn table_of<'f>(account: &str, field: &dyn Fn(&str) -> &'f str) -> String {
    // Versions are dates, which sort as texts.
    let service = if field("sv") >= NAMES_SERVICE { "/table" } else { "" };
    format!("{service}/{account}/{}", field("tn").to_ascii_lowercase())
}

/// The string to sign of a signature for one table.
pub fn for_table<'f>(account: &str, field: &dyn Fn(&str) -> &'f str) -> String {
    let resource = table_of(account, field);
    let mut lines = vec![field("sp"), field("st"), field("se"), &resource, field("si")];
    if field("sv") >= RESTRICTS_ORIGIN {
        lines.extend(["sip", "spr"].map(field));
    }
    lines.extend(["sv", "spk", "srk", "epk", "erk"].map(field));
    lines.join("\n")
}

/// The first version with user delegation keys for tables.
pub const HAS_USER_DELEGATION: &str = "2025-07-05";

/// The string to sign of a signature for one table, with a user delegation key.
pub fn for_user_delegation<'f>(account: &str, field: &dyn Fn(&str) -> &'f str) -> String {
    let resource = table_of(account, field);
    let mut lines = vec![field("sp"), field("st"), field("se"), &resource];
    // The key: its owner, its times, its service and version; and the user who may use the signature.
    lines.extend(["skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid"].map(field));
    lines.extend(["sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(field));
    lines.join("\n")
}

/// The string to sign of a signature for an account; unlike the string for a table, it ends with a line break.
pub fn for_account<'f>(account: &str, field: &dyn Fn(&str) -> &'f str) -> String {
    let mut lines = vec![account];
    lines.extend(["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"].map(field));
    if field("sv") >= HAS_ENCRYPTION_SCOPE {
        lines.push(field("ses"));
    }
    lines.push("");
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_table_signature_depends_on_its_version() {
        let field = |version: &'static str| {
            move |name: &str| match name {
                "tn" => "Employees",
                "sv" => version,
                "sp" => "r",
                "st" => "2013-08-16",
                "se" => "2013-08-17",
                "si" => "id",
                "sip" => "168.1.5.60-168.1.5.70",
                "spr" => "https",
                "spk" => "Jeff",
                "erk" => "Price",
                _ => "",
            }
        };
        let old = "r\n2013-08-16\n2013-08-17\n/myaccount/employees\nid\n";
        let new = "r\n2013-08-16\n2013-08-17\n/table/myaccount/employees\nid\n";
        let origin = "168.1.5.60-168.1.5.70\nhttps\n";
        for (version, before, origin) in [
            ("2012-02-12", old, ""),
            ("2013-08-15", old, ""),
            ("2014-02-14", old, ""),
            ("2015-02-21", new, ""),
            ("2015-04-05", new, origin),
            ("2020-12-06", new, origin),
        ] {
            let expected = format!("{before}{origin}{version}\nJeff\n\n\nPrice");
            assert_eq!(for_table("myaccount", &field(version)), expected);
        }
    }

    #[test]
    fn the_text_of_an_account_signature_depends_on_its_version() {
        let text_of = |version: &'static str| {
            for_account("myaccount", &|name| match name {
                "sv" => version,
                "sp" => "rwdlau",
                "ss" => "t",
                "srt" => "sco",
                "se" => "2022-01-01T00:00:00Z",
                "ses" => "scope",
                _ => "",
            })
        };
        let text = "myaccount\nrwdlau\nt\nsco\n\n2022-01-01T00:00:00Z\n\n\n";
        assert_eq!(text_of("2015-04-05"), format!("{text}2015-04-05\n"));
        assert_eq!(text_of("2020-10-02"), format!("{text}2020-10-02\n"));
        assert_eq!(text_of("2020-12-06"), format!("{text}2020-12-06\nscope\n"));
    }
}
