//! The evaluation of filters on rows.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::dialect::ServiceDialect;
use crate::edm::{EdmCow, EdmValue};
use crate::filter::{CompareOp, Filter};
use crate::names::Names;
use crate::step::Work;
use crate::store::{Cell, ComparedValue, StoredEntity, compare};

/// A filter prepared for many rows.
///
/// If a property is missing or has another type than the literal, a comparison is false for every
/// operator. The documentation states that "the service ignores the entity" for `eq`, `gt` and `ge`. For
/// `ne`, `lt` and `le` the sources contradict each other, so the mock uses the same rule for all six.
pub(super) struct Matcher<'f> {
    condition: CompiledFilter<'f>,
    /// The compared properties. A [`Compared::Property`] is an index in this list.
    names: Names<&'f str>,
    /// The cost of a row in units of [`Work`].
    cost: usize,
    dialect: ServiceDialect,
}

enum CompiledFilter<'f> {
    Compare(Compared, CompareOp, ComparedValue<'f>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Never,
}

enum Compared {
    PartitionKey,
    RowKey,
    Timestamp,
    Property(usize),
}

/// The values that a matcher compares in some consecutive rows, one column for each of its names.
#[derive(Default)]
pub(super) struct ColumnCells {
    pub(super) columns: Vec<Arc<[Cell]>>,
    /// The index of the first row in the columns.
    pub(super) first: usize,
}

impl<'f> Matcher<'f> {
    pub(super) fn new(filter: &'f Filter, dialect: ServiceDialect) -> Self {
        let (condition, names) = (CompiledFilter::Never, Names::default());
        let mut matcher = Self { condition, names, cost: 1, dialect };
        matcher.condition = matcher.condition_of(filter);
        matcher
    }

    fn condition_of(&mut self, filter: &'f Filter) -> CompiledFilter<'f> {
        let mut all = |filters: &'f [Filter]| {
            filters.iter().map(|one| self.condition_of(one)).collect::<Vec<_>>()
        };
        match filter {
            Filter::Compare { property, op, literal, .. } => {
                self.comparison(property, *op, literal)
            }
            Filter::IsTrue { 0: property, .. } => {
                self.comparison(property, CompareOp::Eq, &EdmValue::Boolean(true))
            }
            Filter::Constant { 0: true, .. } => CompiledFilter::All(Vec::new()),
            Filter::And { 0: filters, .. } => CompiledFilter::All(all(filters)),
            Filter::Or { 0: filters, .. } => CompiledFilter::Any(all(filters)),
            Filter::Not { 0: inner, .. } => CompiledFilter::Not(Box::new(self.condition_of(inner))),
            // `false`, and a filter that is nested too deeply.
            _ => CompiledFilter::Never,
        }
    }

    fn comparison(
        &mut self,
        property: &'f str,
        op: CompareOp,
        literal: &'f EdmValue,
    ) -> CompiledFilter<'f> {
        // A comparison reads at most the literal.
        self.cost += match literal {
            EdmValue::String(text) => 1 + Work::of_bytes(8 * text.len()),
            EdmValue::Binary(bytes) => 1 + Work::of_bytes(8 * bytes.len()),
            _ => 1,
        };
        let compared = match property {
            "PartitionKey" => Compared::PartitionKey,
            "RowKey" => Compared::RowKey,
            "Timestamp" if !self.dialect.compares_timestamps() => return CompiledFilter::Never,
            "Timestamp" => Compared::Timestamp,
            name => Compared::Property(self.names.add(name)),
        };
        CompiledFilter::Compare(compared, op, ComparedValue::new(literal))
    }

    pub(super) fn names(&self) -> &Names<&'f str> {
        &self.names
    }

    /// The cost of a row in units of [`Work`].
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// The result that all rows of a partition between two RowKeys share, if their keys decide it.
    pub(super) fn for_all(
        &self,
        partition_key: &str,
        (first, last): (&StoredEntity, &StoredEntity),
    ) -> Option<bool> {
        self.condition.for_all(&|compared, op, literal| match compared {
            Compared::PartitionKey => Some(holds(op, literal.order_of_text(partition_key))),
            Compared::RowKey => {
                let [first, last] = [first, last].map(|row| literal.order_of_text(row.row_key()));
                // The orders of the keys in between are in between, so that the result changes at most once, except where
                // one key alone equals the literal.
                let changes_once = !matches!(op, CompareOp::Eq | CompareOp::Ne);
                let is_same =
                    first == last || (changes_once && holds(op, first) == holds(op, last));
                is_same.then(|| holds(op, first))
            }
            Compared::Timestamp | Compared::Property(_) => None,
        })
    }

    /// Returns `true` if a row matches. `at` is its index in the rows of `columns`.
    pub(super) fn matches(
        &self,
        partition_key: &str,
        row: &StoredEntity,
        (columns, at): (&ColumnCells, usize),
    ) -> bool {
        self.condition.holds(&|compared, op, literal| {
            let order = match compared {
                Compared::PartitionKey => literal.order_of_text(partition_key),
                Compared::RowKey => literal.order_of_text(row.row_key()),
                Compared::Timestamp => {
                    compare(&EdmCow::DateTime(row.version.time()), literal.value())
                }
                Compared::Property(index) => {
                    let cell = columns.columns.get(*index).and_then(|cells| cells.get(at));
                    cell.and_then(|cell| cell.compare(row, literal))
                }
            };
            holds(op, order)
        })
    }

    /// Returns `true` if a table with this name matches. A table has no other property.
    pub(super) fn matches_table(&self, table: &str) -> bool {
        self.condition.holds(&|compared, op, literal| match compared {
            Compared::Property(index) if self.names.list()[*index] == "TableName" => {
                holds(op, literal.order_of_text(table))
            }
            _ => false,
        })
    }
}

fn holds(op: CompareOp, order: Option<Ordering>) -> bool {
    order.is_some_and(|order| op.holds(order))
}

impl CompiledFilter<'_> {
    fn holds(&self, compare: &impl Fn(&Compared, CompareOp, &ComparedValue<'_>) -> bool) -> bool {
        match self {
            Self::Compare(compared, op, literal) => compare(compared, *op, literal),
            Self::All(all) => all.iter().all(|one| one.holds(compare)),
            Self::Any(any) => any.iter().any(|one| one.holds(compare)),
            Self::Not(inner) => !inner.holds(compare),
            Self::Never => false,
        }
    }

    /// Like [`holds`](Self::holds), where some comparisons are unknown.
    fn for_all(
        &self,
        compare: &impl Fn(&Compared, CompareOp, &ComparedValue<'_>) -> Option<bool>,
    ) -> Option<bool> {
        // The first result that decides the list, or an unknown one.
        let decide = |list: &[Self], deciding: bool| {
            let mut all = Some(!deciding);
            for one in list {
                match one.for_all(compare) {
                    Some(result) if result == deciding => return Some(deciding),
                    Some(_) => {}
                    None => all = None,
                }
            }
            all
        };
        match self {
            Self::Compare(compared, op, literal) => compare(compared, *op, literal),
            Self::All(all) => decide(all, false),
            Self::Any(any) => decide(any, true),
            Self::Not(inner) => inner.for_all(compare).map(|result| !result),
            Self::Never => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Properties;
    use crate::store::RowText;

    fn row(row_key: &str) -> StoredEntity {
        let properties: Properties<'_> = vec![
            ("I".into(), EdmCow::Int32(5)),
            ("L".into(), EdmCow::Int64(5)),
            ("D".into(), EdmCow::Double(5.0)),
            ("N".into(), EdmCow::Double(f64::NAN)),
            ("T".into(), EdmCow::Boolean(true)),
            ("S".into(), EdmCow::String("\u{1f600}".into())),
            ("X".into(), EdmCow::Binary(vec![1, 2].into())),
        ];
        RowText::new(row_key, &properties).written_at("2020-01-01T00:00:00Z".parse().unwrap())
    }

    fn matches(text: &str) -> bool {
        let filter = Filter::parse(text).unwrap();
        let (matcher, row) = (Matcher::new(&filter, ServiceDialect::AzureStorage), row("r"));
        let cells = matcher.names().list().iter().map(|name| {
            let member = row.properties().member(name);
            [member.map_or(Cell::MISSING, |member| Cell::of(&member))].into()
        });
        let columns = ColumnCells { columns: cells.collect(), first: 0 };
        let matches = matcher.matches("p", &row, (&columns, 0));
        assert!(matcher.for_all("p", (&row, &row)).is_none_or(|all| all == matches), "{text}");
        matches
    }

    #[test]
    fn a_very_long_filter_is_evaluated() {
        let long: Vec<String> = (5..100_000).rev().map(|n| format!("I eq {n}")).collect();
        assert!(matches(&long.join(" or ")));
        assert!(!matches(&long[..long.len() - 1].join(" or ")));
    }

    #[test]
    fn values_match_literals_of_their_own_type_only() {
        for text in [
            "I eq 5",
            "I le 5",
            "I lt 6",
            "L eq 5L",
            "D eq 5.0",
            "D ge 5e0",
            "T",
            "T eq true",
            "T gt false",
            "X eq X'0102'",
            "X gt X'01'",
            "S lt '\u{ffff}'",
            "5 ge I",
            "not (I ne 5)",
            "true",
            "I eq 5 and true",
            "I eq 6 or not false",
            "PartitionKey eq 'p' and RowKey ge 'r' and RowKey lt 's'",
            "Timestamp eq datetime'2020-01-01T00:00:00Z'",
            "Timestamp lt datetime'2020-01-02T00:00:00Z'",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in [
            "I eq 5L",
            "I eq 5.0",
            "L eq 5",
            "D eq 5",
            "T eq 1",
            "S eq 5",
            "S gt '\u{ffff}'",
            "N eq 5.0",
            "N ne 5.0",
            "I",
            "not T",
            "false",
            "I eq 5 and false",
            "not true",
            "RowKey",
            "RowKey ne 5",
            "PartitionKey gt 'p'",
            "Timestamp eq '2020-01-01T00:00:00Z'",
        ] {
            assert!(!matches(text), "{text}");
        }
    }

    /// The rule of the mock: no source decides it for `ne`, `lt` and `le`.
    #[test]
    fn missing_and_differently_typed_properties_match_no_comparison() {
        for op in ["eq", "ne", "gt", "ge", "lt", "le"] {
            assert!(!matches(&format!("Missing {op} 5")), "{op}");
            assert!(!matches(&format!("S {op} 5")), "{op}");
            assert!(matches(&format!("not (Missing {op} 5)")), "not is plain negation");
        }
        assert!(!matches("Missing") && matches("not Missing"));
    }

    #[test]
    fn keys_decide_for_many_rows_at_once() {
        let (first, last) = (row("b"), row("d"));
        let for_all = |text: &str| {
            let filter = Filter::parse(text).unwrap();
            Matcher::new(&filter, ServiceDialect::AzureStorage).for_all("p", (&first, &last))
        };
        for (text, expected) in [
            ("PartitionKey eq 'p'", Some(true)),
            ("PartitionKey eq 'q'", Some(false)),
            ("RowKey ge 'b'", Some(true)),
            ("RowKey gt 'b'", None),
            ("RowKey le 'd'", Some(true)),
            ("RowKey lt 'd'", None),
            ("RowKey lt 'b'", Some(false)),
            ("RowKey ge 'c'", None),
            ("RowKey eq 'b'", None),
            ("RowKey ne 'd'", None),
            ("RowKey ge 'a'", Some(true)),
            ("RowKey gt 'd'", Some(false)),
            ("RowKey gt 'e'", Some(false)),
            ("RowKey ne 'c'", None),
            ("RowKey eq 'a'", Some(false)),
            ("RowKey eq 5", Some(false)),
            ("I eq 5", None),
            ("I eq 5 and RowKey gt 'e'", Some(false)),
            ("I eq 5 or RowKey lt 'e'", Some(true)),
            ("I eq 5 and RowKey lt 'e'", None),
            ("not (RowKey gt 'e')", Some(true)),
            ("PartitionKey eq 'p' and RowKey ge 'a' and RowKey lt 'e'", Some(true)),
        ] {
            assert_eq!(for_all(text), expected, "{text}");
        }
    }
}
