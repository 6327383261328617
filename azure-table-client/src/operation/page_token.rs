//! The continuation tokens of the service.

use std::borrow::Cow;
use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::entity::ordinal;

/// The continuation token that the service returns with a page. For a list of tables, the PartitionKey is the name of a
/// table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageToken {
    pub(crate) partition_key: String,
    /// The service may omit it.
    pub(crate) row_key: Option<String>,
}

impl PageToken {
    /// Compares the keys in two tokens of Azure Storage; `None` if a token has another form.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        let row_key = |token: &Self| decoded(token.row_key.as_deref().unwrap_or_default());
        let partitions = ordinal(&decoded(&self.partition_key)?, &decoded(&other.partition_key)?);
        let rows = ordinal(&row_key(self)?, &row_key(other)?);
        Some(partitions.then(rows))
    }

    /// Compares the names of tables in two tokens of Azure Storage; `None` if a token has another form.
    pub(crate) fn compare_tables(&self, other: &Self) -> Option<Ordering> {
        // The service writes the names in lower case, emulators as they were created.
        let name = |token: &Self| decoded(&token.partition_key).map(|name| name.to_lowercase());
        Some(ordinal(&name(self)?, &name(other)?))
    }
}

/// Returns the key in a part of a token: `1!<length>!<base64>`, in which `-`, `_` and `*` replace `=`, `/` and `+`. An
/// empty part is the empty key.
fn decoded(part: &str) -> Option<Cow<'static, str>> {
    if part.is_empty() {
        return Some(Cow::Borrowed(""));
    }
    let (length, text) = part.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(text.len()) {
        return None;
    }
    let text = text.replace('-', "=").replace('_', "/").replace('*', "+");
    String::from_utf8(STANDARD.decode(text).ok()?).ok().map(Cow::Owned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A part of a token in the form of Azure Storage.
    pub(in super::super) fn encoded(key: &str) -> String {
        let text = STANDARD.encode(key).replace('=', "-").replace('/', "_").replace('+', "*");
        format!("1!{}!{text}", text.len())
    }

    #[test]
    fn recorded_tokens_are_read() {
        for (part, key) in [
            ("1!16!cGs4MDEwMTZlOA--", "pk801016e8"),
            ("1!40!cGFydGl0aW9uMS3DtC0gLSctIi0lMjAtJTI3LXBr", "partition1-ô- -'-\"-%20-%27-pk"),
            ("1!32!enp6YTIBMDFkODRmNmM0NDJjMmE5ZA--", "zzza2\u{1}01d84f6c442c2a9d"),
            ("", ""),
        ] {
            assert_eq!(decoded(part).as_deref(), Some(key));
        }
        for other in ["NA", "cGs-", "1!3!cGs-", "2!4!cGs-", "1!4!c$s-", "{\"token\":\"x\"}"] {
            assert_eq!(decoded(other), None, "{other}");
        }
        let token = |name: &str| PageToken { partition_key: encoded(name), row_key: None };
        let compare = |a, b| token(a).compare_tables(&token(b)).unwrap();
        let (first, tenth) =
            ("listtabletestnode1\u{1}01d817ada76c12a6", "listtabletestnode10\u{1}01d817ada7dbdb08");
        assert!(compare(tenth, first).is_gt());
        assert!(compare("Blogs", "authors").is_gt());
    }
}
