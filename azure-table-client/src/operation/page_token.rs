//! The continuation tokens of the service.

use std::cmp::Ordering;

use crate::entity::ordinal;
use crate::wire::page_token;

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

/// Returns the key in a part of a token. An empty part is the empty key.
fn decoded(part: &str) -> Option<String> {
    if part.is_empty() { Some(String::new()) } else { page_token::decode(part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_are_compared_without_case() {
        let token =
            |name: &str| PageToken { partition_key: page_token::encode(name), row_key: None };
        let compare = |a, b| token(a).compare_tables(&token(b)).unwrap();
        let (first, tenth) =
            ("listtabletestnode1\u{1}01d817ada76c12a6", "listtabletestnode10\u{1}01d817ada7dbdb08");
        assert!(compare(tenth, first).is_gt());
        assert!(compare("Blogs", "authors").is_gt());
    }
}
