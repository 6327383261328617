//! The order of Azure Storage: by PartitionKey, then by RowKey, each by UTF-16 code units.

use std::cmp::Ordering;
use std::fmt;

use azure_table_client::{Dialect, EntityKey};

/// Whether a service returns rows in key order.
pub(crate) fn is_kept_by(dialect: Dialect) -> bool {
    dialect == Dialect::AzureStorage
}

/// Compares keys as Azure Storage orders rows.
pub(crate) fn compare(a: &EntityKey, b: &EntityKey) -> Ordering {
    compare_texts(&a.partition_key, &b.partition_key)
        .then_with(|| compare_texts(&a.row_key, &b.row_key))
}

/// Compares the `PartitionKey`s of two rows, or the `RowKey`s of two rows of a partition.
pub(crate) fn compare_texts(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Checks that a key is larger than the one before it.
pub(crate) fn check(last: Option<&EntityKey>, key: &EntityKey) -> Result<(), OutOfOrder> {
    match last {
        Some(last) if compare(last, key).is_ge() => {
            Err(OutOfOrder { key: key.clone(), last: last.clone() })
        }
        _ => Ok(()),
    }
}

/// A key that is not larger than the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutOfOrder {
    key: EntityKey,
    last: EntityKey,
}

impl OutOfOrder {
    /// Whether both keys are equal.
    pub(crate) fn is_twice(&self) -> bool {
        self.key == self.last
    }
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, last } = self;
        if self.is_twice() {
            write!(f, "it has a row twice, {key}")
        } else {
            write!(f, "a row comes after a larger key, {key} after {last}")
        }
    }
}

/// The advice for a table whose rows are not in the order of Azure Storage.
pub(crate) fn advice(option: &str) -> String {
    format!("if it is a table of Azure Cosmos DB, add {option} cosmos")
}

/// A key that is ordered as in Azure Storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ordered(pub(crate) EntityKey);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_by_utf_16_code_units() {
        let keys = [
            ("", ""),
            ("a", "\u{1f600}"),
            ("a", "\u{ffff}"),
            ("ab", ""),
            ("\u{1f600}", "1"),
            ("\u{e000}", "0"),
        ];
        let keys = keys.map(EntityKey::from);
        assert!(keys.windows(2).all(|pair| compare(&pair[0], &pair[1]).is_lt()));
        assert_eq!(compare(&keys[1], &keys[1]), Ordering::Equal);
        assert!(keys.windows(2).all(|pair| check(Some(&pair[0]), &pair[1]).is_ok()));
        assert_eq!(check(None, &keys[0]), Ok(()));
        let twice = check(Some(&keys[1]), &keys[1]).unwrap_err();
        assert!(twice.is_twice() && twice.to_string().starts_with("it has a row twice"));
        let error = check(Some(&keys[4]), &keys[3]).unwrap_err().to_string();
        assert_eq!(error, "a row comes after a larger key, (\"ab\", \"\") after (\"😀\", \"1\")");
    }
}
