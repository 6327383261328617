//! Conditions: AND, OR, NOT, lists and ranges.

use azure_table_arrow::{Column, ColumnType, TableSchema};
use azure_table_client::filter::{CompareOp, Filter};
use datafusion_expr::expr::{Between, InList};
use datafusion_expr::{BinaryExpr, Expr, Operator};

use super::{Pushed, comparison, prefix};

/// The limit on nested conditions. Filters other than lists have at most 15 comparisons anyway.
const MAX_DEPTH: usize = 64;

/// The translation of conditions on one table.
#[derive(Clone, Copy)]
pub(super) struct Translation<'s> {
    pub(super) schema: &'s TableSchema,
}

impl Translation<'_> {
    /// Translates a condition, or its negation.
    pub(super) fn of(self, expr: &Expr, negated: bool, depth: usize) -> Option<Pushed> {
        if depth > MAX_DEPTH {
            return None;
        }
        let of = |expr: &Expr, negated| self.of(expr, negated, depth + 1);
        match expr {
            Expr::Not(inner) => of(inner, !negated),
            // A negated IS TRUE is also true for null.
            Expr::IsTrue(inner) if !negated => of(inner, false),
            Expr::IsFalse(inner) if !negated => of(inner, true),
            Expr::Alias(alias) => of(&alias.expr, negated),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (op, negated) {
                (Operator::And, false) | (Operator::Or, true) => {
                    all(of(left, negated), of(right, negated))
                }
                (Operator::Or, false) | (Operator::And, true) => {
                    any(of(left, negated), of(right, negated))
                }
                _ => self.compare(left, compare_op(*op)?, right, negated),
            },
            Expr::Between(Between { expr, negated: outside, low, high }) => {
                if *outside == negated {
                    let low = self.compare(expr, CompareOp::Ge, low, false);
                    all(low, self.compare(expr, CompareOp::Le, high, false))
                } else {
                    let low = self.compare(expr, CompareOp::Lt, low, false);
                    any(low, self.compare(expr, CompareOp::Gt, high, false))
                }
            }
            Expr::InList(list) => self.in_list(list, list.negated != negated),
            Expr::Like(like) if like.negated == negated => {
                prefix::like(like, self.column(&like.expr)?)
            }
            Expr::Column(_) => comparison::of_boolean(self.column(expr)?, !negated),
            _ => None,
        }
    }

    /// Translates a comparison of a column with a literal, on either side.
    fn compare(self, left: &Expr, op: CompareOp, right: &Expr, negated: bool) -> Option<Pushed> {
        let op = if negated { inverse(op) } else { op };
        match (left, right) {
            (column, Expr::Literal(literal, _)) => {
                comparison::of(self.column(column)?, op, literal)
            }
            (Expr::Literal(literal, _), column) => {
                comparison::of(self.column(column)?, mirrored(op), literal)
            }
            _ => None,
        }
    }

    /// Translates a list to a chain of comparisons.
    fn in_list(self, list: &InList, negated: bool) -> Option<Pushed> {
        let column = self.column(&list.expr)?;
        let op = if negated { CompareOp::Ne } else { CompareOp::Eq };
        let mut chain: Option<Pushed> = None;
        for value in &list.list {
            let Expr::Literal(value, _) = value else { return None };
            if value.is_null() {
                // `x NOT IN (1, NULL)` is never true; `x IN (1, NULL)` is true for 1.
                if negated {
                    return None;
                }
                continue;
            }
            let one = comparison::of(column, op, value)?;
            chain = match chain {
                None => Some(one),
                Some(chain) if negated => all(Some(chain), Some(one)),
                Some(chain) => any(Some(chain), Some(one)),
            };
        }
        chain
    }

    /// The column that an expression is, if conditions on it may be sent.
    fn column(&self, expr: &Expr) -> Option<&Column> {
        let named = |expr: &Expr| match expr {
            Expr::Column(column) => self.schema.column(&column.name),
            _ => None,
        };
        match expr {
            // DataFusion compares a Guid with bytes of any length as Binary.
            Expr::Cast(cast) if cast.field.data_type().is_binary() => {
                named(&cast.expr).filter(|column| column.column_type() == ColumnType::Guid)
            }
            expr => named(expr),
        }
    }
}

/// Both must match. One that cannot be sent is left to DataFusion.
fn all(left: Option<Pushed>, right: Option<Pushed>) -> Option<Pushed> {
    match (left, right) {
        (Some(left), Some(right)) => joined(left, right, |a, b| a & b),
        (Some(one), None) | (None, Some(one)) => Some(Pushed { is_exact: false, ..one }),
        (None, None) => None,
    }
}

/// One must match, so both must be sent.
fn any(left: Option<Pushed>, right: Option<Pushed>) -> Option<Pushed> {
    joined(left?, right?, |a, b| a | b)
}

fn joined(left: Pushed, right: Pushed, join: fn(Filter, Filter) -> Filter) -> Option<Pushed> {
    let filter = join(left.filter, right.filter);
    let is_exact = left.is_exact && right.is_exact;
    (filter != Filter::TooDeep).then_some(Pushed { filter, is_exact })
}

const fn compare_op(op: Operator) -> Option<CompareOp> {
    Some(match op {
        Operator::Eq => CompareOp::Eq,
        Operator::NotEq => CompareOp::Ne,
        Operator::Gt => CompareOp::Gt,
        Operator::GtEq => CompareOp::Ge,
        Operator::Lt => CompareOp::Lt,
        Operator::LtEq => CompareOp::Le,
        _ => return None,
    })
}

/// The comparison that is true where `op` is false.
const fn inverse(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Eq => CompareOp::Ne,
        CompareOp::Ne => CompareOp::Eq,
        CompareOp::Gt => CompareOp::Le,
        CompareOp::Ge => CompareOp::Lt,
        CompareOp::Lt => CompareOp::Ge,
        CompareOp::Le => CompareOp::Gt,
    }
}

/// The comparison with exchanged operands.
const fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        same => same,
    }
}
