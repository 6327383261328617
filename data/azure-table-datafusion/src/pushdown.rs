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

/// Returns the filter for a condition on a table; `None` if the service cannot evaluate any part of it.
pub(crate) fn translate(expr: &Expr, schema: &TableSchema) -> Option<Pushed> {
    let pushed = condition::Translation { schema }.of(expr, false, 0)?;
    Budget::new().fits(&pushed.filter).then_some(pushed)
}
