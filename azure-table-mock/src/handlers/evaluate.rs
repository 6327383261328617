//! The evaluation of filters on rows.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::core::Rules;
use crate::edm::EdmValue;
use crate::filter::{CompareOp, Filter};
use crate::names::Names;
use crate::step::Work;
use crate::store::{Cell, ComparedValue, StoredEntity};

/// A filter prepared for many rows.
///
/// If a property is missing, a comparison is false for every operator. A property of another type is less than the
/// literal, so that `ne`, `lt` and `le` match; an Int32 literal is widened to Int64 and Double, and an Int64 literal to
/// Double. `fidelity.md` has the sources. With `exact_types`, and in Cosmos DB, another type matches nothing.
pub(super) struct Matcher<'f> {
    condition: CompiledFilter<'f>,
    /// The compared properties. A [`Compared::Property`] is an index in this list.
    names: Names<&'f str>,
    /// The cost of a row in units of [`Work`].
    cost: usize,
    rules: MatchRules,
}

/// What a service decides about comparisons.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchRules {
    /// A literal matches values of its own type only.
    has_exact_types: bool,
    compares_timestamps: bool,
    /// The names of tables are compared with their case.
    has_cased_names: bool,
}

impl From<&Rules> for MatchRules {
    fn from(rules: &Rules) -> Self {
        Self {
            has_exact_types: rules.exact_types || rules.dialect.is_cosmos(),
            compares_timestamps: rules.dialect.compares_timestamps(),
            has_cased_names: rules.dialect.is_cosmos(),
        }
    }
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
    pub(super) fn new(filter: &'f Filter, rules: impl Into<MatchRules>) -> Self {
        let (condition, names) = (CompiledFilter::Never, Names::default());
        let mut matcher = Self { condition, names, cost: 1, rules: rules.into() };
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
            "Timestamp" if !self.rules.compares_timestamps => return CompiledFilter::Never,
            "Timestamp" => Compared::Timestamp,
            name => Compared::Property(self.names.add(name)),
        };
        CompiledFilter::Compare(
            compared,
            op,
            ComparedValue::new(literal, self.rules.has_exact_types),
        )
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
                Compared::Timestamp => literal.order_of_time(row.version.time()),
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
                let order = if self.rules.has_cased_names {
                    literal.order_of_text(table)
                } else {
                    literal.order_of_name(table)
                };
                holds(op, order)
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
    use crate::edm::EdmCow;
    use crate::row::Properties;
    use crate::store::RowText;

    const RULES: MatchRules =
        MatchRules { has_exact_types: false, compares_timestamps: true, has_cased_names: false };

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
        matches_by(RULES, text)
    }

    fn matches_by(rules: MatchRules, text: &str) -> bool {
        let filter = Filter::parse(text).unwrap();
        let (matcher, row) = (Matcher::new(&filter, rules), row("r"));
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
    fn values_match_literals_of_their_own_type() {
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
            "RowKey ge 5",
            "PartitionKey gt 'p'",
            "Timestamp eq '2020-01-01T00:00:00Z'",
        ] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn a_missing_property_matches_no_comparison() {
        for op in ["eq", "ne", "gt", "ge", "lt", "le"] {
            assert!(!matches(&format!("Missing {op} 5")), "{op}");
            assert!(matches(&format!("not (Missing {op} 5)")), "not is plain negation");
        }
        assert!(!matches("Missing") && matches("not Missing"));
    }

    /// The tests of `CloudStub` have a table of all pairs of types, made with the service.
    #[test]
    fn a_property_of_another_type_is_less_than_the_literal() {
        let literals = [
            ("I", "5"),
            ("L", "5L"),
            ("D", "5.0"),
            ("T", "true"),
            ("S", "''"),
            ("X", "X''"),
            ("G", "guid'00000000-0000-0000-0000-000000000000'"),
            ("Timestamp", "datetime'0001-01-01T00:00:00Z'"),
        ];
        let exact = MatchRules { has_exact_types: true, ..RULES };
        let widened = [("L", "I"), ("D", "I"), ("D", "L")];
        for (property, _) in literals.into_iter().chain([("PartitionKey", "")]) {
            for (of_type, literal) in literals {
                let is_own = property == of_type || (property == "PartitionKey" && of_type == "S");
                for op in ["eq", "ne", "gt", "ge", "lt", "le"] {
                    let text = format!("{property} {op} {literal}");
                    let expected = match (property, of_type) {
                        ("G", _) => false,
                        // The numbers are equal.
                        pair if widened.contains(&pair) => ["eq", "ge", "le"].contains(&op),
                        _ if is_own => continue,
                        _ => ["ne", "lt", "le"].contains(&op),
                    };
                    assert_eq!(matches(&text), expected, "{text}");
                    assert!(!matches_by(exact, &text), "{text}");
                }
            }
        }
    }

    #[test]
    fn keys_decide_for_many_rows_at_once() {
        let (first, last) = (row("b"), row("d"));
        let for_all = |text: &str| {
            let filter = Filter::parse(text).unwrap();
            Matcher::new(&filter, RULES).for_all("p", (&first, &last))
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
