//! The translation of SQL conditions into filters of the service.
//!
//! A filter that is sent must match at least the rows of its condition (a superset). A comparison that is true in SQL has a value
//! of the column's type, and for that the service decides like SQL, if [`comparison`] allows it. Whether a comparison with a
//! missing property or with a value of another type is true on the service is not documented for every operator and type, so that
//! filters have no `not`: negations are moved into the comparisons. Filters on properties are not exact. Those on the keys and the
//! Timestamp are, because every row has them with one type.

mod budget;
mod comparison;
mod condition;
mod prefix;
#[cfg(test)]
mod tests;
mod text;
mod time;

use azure_table_arrow::TableSchema;
use azure_table_client::edm::EdmType;
use azure_table_client::filter::Filter;
use datafusion_expr::{Expr, TableProviderFilterPushDown};

pub(crate) use budget::Budget;

/// A filter that the service evaluates for a condition of SQL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pushed {
    pub(crate) filter: Filter,
    /// Whether the filter matches only rows of the condition. Otherwise DataFusion evaluates the condition as well.
    pub(crate) is_exact: bool,
}

impl Pushed {
    pub(crate) const fn support(&self) -> TableProviderFilterPushDown {
        if self.is_exact {
            TableProviderFilterPushDown::Exact
        } else {
            TableProviderFilterPushDown::Inexact
        }
    }
}

/// Pushes that would change results. All are off: a test turns each on, to prove that it would notice the difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a test")]
pub(crate) struct Forbidden {
    /// Comparisons of Doubles: SQL has NaN as the highest number, and two zeros.
    pub(crate) doubles: bool,
    /// `IS NULL`: the service has no null.
    pub(crate) is_null: bool,
    /// Comparisons of the rest column, which holds the values of mixed columns.
    pub(crate) rest: bool,
    /// Text ranges with bounds from U+D800 on, which the service orders by UTF-16 code units.
    pub(crate) surrogates: bool,
    /// Ranges of Guids.
    pub(crate) guid_ranges: bool,
    /// Ranges of Binaries.
    pub(crate) binary_ranges: bool,
    /// `<>`, `<` and `<=` of properties as exact filters, although a service may find rows without the property.
    pub(crate) missing_as_exact: bool,
    /// `=`, `>` and `>=` of properties of this type as exact filters, although a service may find values of other types.
    pub(crate) other_types_as_exact: Option<EdmType>,
    /// Times of a finer or coarser unit than the service's, without rounding the bound.
    pub(crate) unrounded_times: bool,
    /// More comparisons than the service accepts.
    pub(crate) any_length: bool,
}

/// Returns the filter for a condition on a table; `None` if the service cannot evaluate any part of it.
pub(crate) fn translate(expr: &Expr, schema: &TableSchema, forbidden: Forbidden) -> Option<Pushed> {
    let pushed = condition::Translation { schema, forbidden }.of(expr, false, 0)?;
    Budget::new(forbidden).fits(&pushed.filter).then_some(pushed)
}
