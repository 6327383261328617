//! Whether the keys of any row can meet a filter, without code of the client: by trying the keys that the filter names.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use azure_table_client::edm::EdmValue;
use azure_table_client::filter::{CompareOp, Filter};

/// Compares by UTF-16 code units.
pub(crate) fn ordinal(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Whether values in this order match.
pub(crate) fn matches(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
    }
}

/// Whether a key can meet the filter, whatever the other properties of its row are. A filter distinguishes the empty key,
/// the keys that it names and the keys between two of these, of which the one after the lower end is tried.
/// A filter that is only `false` is sent by design.
pub(crate) fn can_match(filter: &Filter) -> bool {
    if filter.to_string() == "false" {
        return true;
    }
    let mut keys = [BTreeSet::from([String::new()]), BTreeSet::from([String::new()])];
    collect(filter, &mut keys);
    let [partitions, rows] = &keys;
    // Most partitions are excluded whatever the RowKey is.
    let mut partitions = partitions.iter().filter(|p| possible(filter, p, None).0);
    partitions.any(|p| rows.iter().any(|r| possible(filter, p, Some(r)).0))
}

fn collect(filter: &Filter, keys: &mut [BTreeSet<String>; 2]) {
    match filter {
        Filter::Compare { property, literal: EdmValue::String(key), .. } => {
            let keys = match property.as_str() {
                "PartitionKey" => &mut keys[0],
                "RowKey" => &mut keys[1],
                _ => return,
            };
            keys.extend([key.clone(), format!("{key}\0")]);
        }
        Filter::And { 0: parts, .. } | Filter::Or { 0: parts, .. } => {
            for part in parts {
                collect(part, keys);
            }
        }
        Filter::Not { 0: inner, .. } => collect(inner, keys),
        _ => {}
    }
}

/// Whether the filter can be true for a row with these keys, and whether it can be false.
fn possible(filter: &Filter, partition: &str, row: Option<&str>) -> (bool, bool) {
    let each = |parts: &[Filter]| -> Vec<_> {
        parts.iter().map(|part| possible(part, partition, row)).collect()
    };
    match filter {
        Filter::Compare { property, op, literal: EdmValue::String(text), .. } => {
            let key = match property.as_str() {
                "PartitionKey" => Some(partition),
                "RowKey" => row,
                _ => None,
            };
            key.map_or((true, true), |key| {
                let holds = matches(*op, ordinal(key, text));
                (holds, !holds)
            })
        }
        Filter::And { 0: all, .. } => {
            let all = each(all);
            (all.iter().all(|one| one.0), all.iter().any(|one| one.1))
        }
        Filter::Or { 0: any, .. } => {
            let any = each(any);
            (any.iter().any(|one| one.0), any.iter().all(|one| one.1))
        }
        Filter::Not { 0: inner, .. } => {
            let (holds, fails) = possible(inner, partition, row);
            (fails, holds)
        }
        Filter::Constant { 0: value, .. } => (*value, !value),
        _ => (true, true),
    }
}
