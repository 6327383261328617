//! `LIKE 'abc%'` as a range of texts.

use azure_table_arrow::{Column, ColumnKind, ColumnType};
use azure_table_client::filter::{CompareOp, Filter};
use datafusion_expr::{Expr, Like};

use super::{Pushed, comparison};

/// Translates a pattern that begins with plain text. All texts with this prefix are sent.
pub(super) fn like(like: &Like, column: &Column) -> Option<Pushed> {
    let Expr::Literal(pattern, _) = &*like.pattern else { return None };
    let pattern = pattern.try_as_str()??;
    let is_plain = like.escape_char.is_none() && !like.case_insensitive && !pattern.contains('\\');
    if !is_plain || column.column_type() != ColumnType::String || column.kind() == ColumnKind::ETag
    {
        return None;
    }
    let Some(wildcard) = pattern.find(['%', '_']) else {
        let literal = pattern.into();
        return comparison::of(column, CompareOp::Eq, &literal);
    };
    let prefix = &pattern[..wildcard];
    if prefix.is_empty() {
        return None;
    }
    let compare = |op, bound: &str| comparison::of(column, op, &bound.into());
    let lower = compare(CompareOp::Ge, prefix)?;
    let upper = after(prefix).and_then(|bound| compare(CompareOp::Lt, &bound));
    let Some(upper) = upper else { return Some(Pushed { is_exact: false, ..lower }) };
    let filter: Filter = lower.filter & upper.filter;
    Some(Pushed { filter, is_exact: lower.is_exact && &pattern[wildcard..] == "%" })
}

/// The first text after all texts with this prefix, if its last character has a successor.
fn after(prefix: &str) -> Option<String> {
    let last = prefix.chars().next_back()?;
    let next = char::from_u32(u32::from(last) + 1)?;
    Some(format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]))
}
