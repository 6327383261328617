//! Boolean columns as conditions.

use std::ops::{BitAnd, BitOr, Not};

use super::{AsIs, Column, Condition, IntoCondition};

/// Implements a condition for a column, by value or by reference.
macro_rules! boolean_column {
    ($column:ty) => {
        #[diagnostic::do_not_recommend]
        impl<E, F> IntoCondition<E> for $column {
            fn into_condition(self) -> Condition<E> {
                self.is_true()
            }
        }

        impl<E, F, R: IntoCondition<E>> BitAnd<R> for $column {
            type Output = Condition<E>;

            /// Matches if the property is true and the condition matches.
            fn bitand(self, other: R) -> Condition<E> {
                self.is_true() & other
            }
        }

        impl<E, F, R: IntoCondition<E>> BitOr<R> for $column {
            type Output = Condition<E>;

            /// Matches if the property is true or the condition matches.
            fn bitor(self, other: R) -> Condition<E> {
                self.is_true() | other
            }
        }

        impl<E, F> Not for $column {
            type Output = Condition<E>;

            /// Matches if the property is not true.
            fn not(self) -> Condition<E> {
                !self.is_true()
            }
        }
    };
}

boolean_column!(Column<E, bool, AsIs, F>);
boolean_column!(&Column<E, bool, AsIs, F>);

#[cfg(test)]
mod tests {
    use super::*;

    fn text(condition: Condition<()>) -> String {
        condition.into_filter().unwrap().to_string()
    }

    #[test]
    fn lists_of_conditions_are_joined() {
        let a = Column::<(), i32>::dynamic("A");
        let live = Column::<(), bool>::dynamic("Live");
        assert_eq!(text(Condition::all([a.ge(1), a.lt(5)])), "A ge 1 and A lt 5");
        assert_eq!(
            text(Condition::any([a.eq(1), a.eq(2)]) & a.ne(3)),
            "(A eq 1 or A eq 2) and A ne 3"
        );
        assert_eq!(text(Condition::all([&live, &live])), "Live and Live");
        assert_eq!(text(Condition::any(Some(live))), "Live");
    }

    #[test]
    fn an_empty_list_matches_all_or_no_rows() {
        let none = || Vec::<Condition<()>>::new();
        let a = Column::<(), i32>::dynamic("A");
        assert_eq!(text(Condition::all(none())), "PartitionKey ge ''");
        assert_eq!(text(Condition::any(none())), "PartitionKey lt ''");
        assert_eq!(text(Condition::all(none()) & a.eq(1)), "PartitionKey ge '' and A eq 1");
        assert_eq!(text(!Condition::all(none()) | a.eq(1)), "not (PartitionKey ge '') or A eq 1");
    }

    #[test]
    fn a_boolean_column_is_a_condition() {
        let live = || Column::<(), bool>::dynamic("Live");
        let a = Column::<(), i32>::dynamic("A");
        assert_eq!(text(live() & a.eq(1)), "Live and A eq 1");
        assert_eq!(text(a.eq(1) | live()), "A eq 1 or Live");
        assert_eq!(text(!live()), "not (Live)");
        let live = live();
        assert_eq!(text(&live & !&live | live.clone()), "Live and not (Live) or Live");
        assert_eq!(text(live.into_condition()), "Live");
    }
}
