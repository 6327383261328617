//! The order of Azure Storage: by PartitionKey, then by RowKey, each by UTF-16 code units.

use std::cmp::Ordering;

use azure_table_client::EntityKey;

/// Compares keys as Azure Storage orders rows.
pub(crate) fn compare(a: &EntityKey, b: &EntityKey) -> Ordering {
    let units = |a: &str, b: &str| a.encode_utf16().cmp(b.encode_utf16());
    units(&a.partition_key, &b.partition_key).then_with(|| units(&a.row_key, &b.row_key))
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
    }
}
