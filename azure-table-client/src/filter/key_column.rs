//! Keys as columns.

#![expect(clippy::needless_pass_by_value, reason = "a condition is written with values")]

use std::fmt;
use std::marker::PhantomData;

use super::condition::Condition;
use super::projection::{Projection, Selection};
use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use crate::entity::{Bucketed, DecodeError, Row};
use crate::key::{
    ExactTime, Inverse, KeyArgument, KeyBound, KeyError, KeyLayout, KeyPart, KeyParts, LeadingKeys,
    ReversedPart, WholeKey,
};

/// A key of `E` whose parts are the tuple `P`.
///
/// The rows of one partition may be of several kinds. If the format of the key begins with literal text, such as
/// `"P_{at}"`, comparisons match only keys that begin with that text; the negation of a comparison by `!` also matches
/// other keys. Without such a text, a range of keys can include the keys of other kinds.
///
/// Leading parts stand for all keys that begin with their text. In a format such as `"{name}_{n:04}"`, whose text part
/// is not escaped, other names may begin with that text: `between(("x",), ("x",))` matches the keys of the name
/// `"x_y"`, too. With `"{name:escaped}!{n:04}"`, it matches the name `"x"` only.
#[doc(alias("PartitionKey", "RowKey"))]
pub struct KeyColumn<E, P> {
    property: &'static str,
    layout: KeyLayout,
    of: PhantomData<fn() -> (E, P)>,
}

impl<E, P> Clone for KeyColumn<E, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, P> Copy for KeyColumn<E, P> {}

impl<E, P> fmt::Debug for KeyColumn<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyColumn").field(&self.property).finish()
    }
}

fn of_key<E>(key: Result<Filter, KeyError>) -> Condition<E> {
    Condition::new(
        key.map_err(|error| FilterError::without_text(FilterErrorKind::NoValue, error.to_string())),
    )
}

impl<E, P> KeyColumn<E, P> {
    #[doc(hidden)]
    pub const fn new(property: &'static str, layout: KeyLayout) -> Self {
        Self { property, layout, of: PhantomData }
    }

    /// Matches keys whose first part starts with this text, or keys that start with this tuple of whole parts.
    /// A tuple of all parts matches that key.
    pub fn starts_with(&self, parts: impl KeyParts<P>) -> Condition<E> {
        of_key(parts.range(self.layout).map(|range| Filter::in_range(self.property, &range)))
    }
}

/// A part of a key that a projection reads as a `Value`.
#[doc(hidden)]
pub trait ReadPart {
    type Value: KeyPart;
}

impl<T: KeyPart> ReadPart for T {
    type Value = T;
}

impl<T: KeyPart> ReadPart for Inverse<T> {
    type Value = T;
}

impl<T: KeyPart> ReadPart for ExactTime<T> {
    type Value = T;
}

/// Implements projections of a key: to its single part, or to the tuple of its parts.
macro_rules! key_projection {
    ($output:ty: $count:literal, $([$part:ident $text:ident])*) => {
        impl<Entity: 'static, $($part: ReadPart + 'static),*> Projection<Entity>
            for KeyColumn<Entity, ($($part,)*)>
        {
            type Output = $output;

            fn select(&self, selection: &mut Selection) {
                selection.system(self.property);
            }

            fn read(&self, row: &mut Row<'_>, _: &mut usize) -> Result<Self::Output, DecodeError> {
                let slot = Row::key_slot(self.property);
                let [$($text),*] = &row.key_parts::<$count>(slot, self.layout)?;
                $(let $text = row.key_part::<$part::Value>(slot, $text)?;)*
                Ok(($($text),*))
            }
        }
    };
}

key_projection!(A::Value: 1, [A a]);
key_projection!((A::Value, B::Value): 2, [A a] [B b]);
key_projection!((A::Value, B::Value, C::Value): 3, [A a] [B b] [C c]);
key_projection!((A::Value, B::Value, C::Value, D::Value): 4, [A a] [B b] [C c] [D d]);
key_projection!((A::Value, B::Value, C::Value, D::Value, F::Value): 5, [A a] [B b] [C c] [D d] [F f]);
key_projection!((A::Value, B::Value, C::Value, D::Value, F::Value, G::Value): 6, [A a] [B b] [C c] [D d] [F f] [G g]);

impl<E, P> KeyColumn<E, P> {
    fn compare<F>(&self, op: CompareOp, value: &impl WholeKey<P, F>) -> Condition<E> {
        let key = value.key(self.layout);
        of_key(key.map(|key| Filter::on_key(self.property, op, key)))
    }

    /// Compares in stored order. All keys that begin with the leading parts are equal to them.
    fn bound(&self, op: CompareOp, leading: LeadingKeys) -> Filter {
        let range = match leading {
            LeadingKeys::One(key) => return Filter::on_key(self.property, op, key),
            LeadingKeys::Range(range) => range,
        };
        let (edge, op) = match op {
            CompareOp::Gt => (range.upper(), CompareOp::Ge),
            CompareOp::Le => (range.upper(), CompareOp::Lt),
            op => (Some(range.lower()), op),
        };
        let (op, key) = match (op, edge) {
            (op, Some(key)) => (op, key),
            // No key comes after the range.
            (CompareOp::Lt, None) => (CompareOp::Ge, ""),
            (_, None) => (CompareOp::Lt, ""),
        };
        Filter::on_key(self.property, op, key.to_owned())
    }

    /// Compares in stored order, among the keys that begin with the literal text of the layout: rows of other kinds
    /// have other texts there.
    fn order(&self, op: CompareOp, leading: Result<LeadingKeys, KeyError>) -> Condition<E> {
        of_key(leading.map(|leading| {
            let bound = self.bound(op, leading);
            let Some(all) = self.layout.all_keys() else { return bound };
            let on_key = |op, key: &str| Filter::on_key(self.property, op, key.to_owned());
            match op {
                CompareOp::Lt | CompareOp::Le => on_key(CompareOp::Ge, all.lower()) & bound,
                _ => match all.upper() {
                    Some(upper) => bound & on_key(CompareOp::Lt, upper),
                    None => bound,
                },
            }
        }))
    }

    /// Matches this key: a value, or the tuple of its parts.
    pub fn eq<F>(&self, value: impl WholeKey<P, F>) -> Condition<E> {
        self.compare(CompareOp::Eq, &value)
    }

    /// Matches all other keys. If the key's format begins with literal text, these keys begin with that text, too.
    pub fn ne<F>(&self, value: impl WholeKey<P, F>) -> Condition<E> {
        let other = self.compare(CompareOp::Ne, &value);
        match self.layout.all_keys() {
            Some(all) => of_key(Ok(Filter::in_range(self.property, &all))) & other,
            None => other,
        }
    }

    /// Matches these keys. An empty list matches no key. A list that is too long for one request is
    /// split into several.
    ///
    /// If a filter lists both keys and has other conditions, a query is sent for each row if the rows of a partition are
    /// few: at most 8 for each query that would be sent for several rows (usually up to 13 rows on Azure Storage).
    ///
    /// ```
    /// use azure_table_client::TableEntity;
    /// use azure_table_client::filter::PlanKind;
    /// use azure_table_client::mock::MockTableService;
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "Orders", rename_all = "PascalCase")]
    /// struct Order {
    ///     #[table(partition_key)]
    ///     customer: u32,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     total: f64,
    /// }
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let mock = MockTableService::new();
    ///     let orders = mock.client().table::<Order>();
    ///     let order = |n: u32| Order { customer: n / 100, id: n % 100, total: 9.5 };
    ///     mock.seed("Orders", &(0..10_000).map(order).collect::<Vec<_>>())?;
    ///
    ///     // Two partitions of 100 rows each, not the 9,800 rows between them.
    ///     let of_two = orders.query().filter(|o| o.customer.is_in([0, 99]) & o.total.gt(5.0));
    ///     assert_eq!(of_two.plan()?.to_string(), "2 partitions: the filter lists the PartitionKeys");
    ///     assert_eq!(of_two.await?.len(), 200);
    ///     assert_eq!(mock.requests().scanned_rows(), 200);
    ///
    ///     let some = orders.query().filter(|o| {
    ///         (o.customer.eq(1) & o.id.is_in([5, 7])) | (o.customer.eq(98) & o.id.eq(50))
    ///     });
    ///     assert_eq!(some.plan()?.to_string(), "3 point reads: the filter lists both keys");
    ///     assert_eq!(some.await?.cost.requests, 3);
    ///
    ///     // Two rows, not the 100 rows between them.
    ///     let dear = orders.query().filter(|o| o.customer.eq(5) & o.id.is_in([0, 99]) & o.total.gt(1.0));
    ///     assert_eq!(dear.plan()?.to_string(), "2 points: the filter lists both keys");
    ///     // 8 queries for ranges of 13 rows, not 100 queries.
    ///     let dear = orders.query().filter(|o| o.customer.eq(5) & o.id.is_in(0..=99) & o.total.gt(1.0));
    ///     assert_eq!((dear.plan()?.kind, dear.plan()?.queries), (PlanKind::RowRange, 8));
    ///
    ///     let none = orders.query().filter(|o| o.customer.is_in([0, 99]) & o.customer.is_in([1, 98]));
    ///     assert_eq!(none.plan()?.to_string(), "nothing: no key can meet the filter");
    ///     Ok(())
    /// }
    /// ```
    pub fn is_in<F, K: WholeKey<P, F>>(&self, keys: impl IntoIterator<Item = K>) -> Condition<E> {
        Condition::any(keys.into_iter().map(|key| self.eq(key)))
    }
}

/// Comparisons in stored order: with a value, or with a tuple of leading parts, which stands for all keys that begin
/// with them. A part in reverse order is given as [`Descending(x)`](crate::entity::Descending), since its greater values come first.
///
/// ```
/// # use azure_table_client::TableEntity;
/// # #[derive(TableEntity)]
/// # #[table(name = "Visits", row_key(day, user))]
/// # struct Visit {
/// #     #[table(partition_key)]
/// #     site: String,
/// #     day: u32,
/// #     user: u32,
/// # }
/// let visits = Visit::columns();
/// // All visits of the days 3 to 5.
/// let some = visits.row_key.between((3,), (5,)).into_filter()?;
/// assert_eq!(some.to_string(), "RowKey ge '0000000003!' and RowKey lt '0000000005\"'");
/// # Ok::<(), azure_table_client::filter::FilterError>(())
/// ```
impl<E, P> KeyColumn<E, P> {
    /// Matches keys before this key.
    pub fn lt<F>(&self, value: impl KeyBound<P, F>) -> Condition<E> {
        self.order(CompareOp::Lt, value.leading(self.layout))
    }

    /// Matches this key and keys before it.
    pub fn le<F>(&self, value: impl KeyBound<P, F>) -> Condition<E> {
        self.order(CompareOp::Le, value.leading(self.layout))
    }

    /// Matches keys after this key.
    pub fn gt<F>(&self, value: impl KeyBound<P, F>) -> Condition<E> {
        self.order(CompareOp::Gt, value.leading(self.layout))
    }

    /// Matches this key and keys after it.
    pub fn ge<F>(&self, value: impl KeyBound<P, F>) -> Condition<E> {
        self.order(CompareOp::Ge, value.leading(self.layout))
    }

    /// Matches keys between these keys, inclusive.
    pub fn between<F, G>(
        &self,
        low: impl KeyBound<P, F>,
        high: impl KeyBound<P, G>,
    ) -> Condition<E> {
        let bound =
            |op, leading: Result<_, _>| of_key(leading.map(|leading| self.bound(op, leading)));
        bound(CompareOp::Ge, low.leading(self.layout))
            & bound(CompareOp::Le, high.leading(self.layout))
    }
}

/// Comparisons by the value of the first part, which is stored in reverse order: `x` for a key of one part, `(x,)` for
/// a key of several parts.
impl<E, P> KeyColumn<E, P> {
    /// Matches keys with a greater value; times are later than this time.
    pub fn newer_than<F>(&self, value: impl ReversedPart<P, F>) -> Condition<E> {
        self.order(CompareOp::Lt, value.leading(self.layout))
    }

    /// Matches keys with this value or a greater one.
    pub fn newer_or_equal<F>(&self, value: impl ReversedPart<P, F>) -> Condition<E> {
        self.order(CompareOp::Le, value.leading(self.layout))
    }

    /// Matches keys with a smaller value; times are earlier than this time.
    pub fn older_than<F>(&self, value: impl ReversedPart<P, F>) -> Condition<E> {
        self.order(CompareOp::Gt, value.leading(self.layout))
    }

    /// Matches keys with this value or a smaller one.
    pub fn older_or_equal<F>(&self, value: impl ReversedPart<P, F>) -> Condition<E> {
        self.order(CompareOp::Ge, value.leading(self.layout))
    }
}

/// Reads of a key that is spread over several partitions.
impl<E, K, const N: u16> KeyColumn<E, (Bucketed<K, N>,)> {
    /// Matches the rows of this key in all of its buckets. The condition lists `N` keys.
    pub fn in_all_buckets(&self, key: impl KeyArgument<K>) -> Condition<E> {
        let texts = match Bucketed::<K, N>::texts(&key) {
            Ok(texts) => texts,
            Err(error) => return of_key(Err(error)),
        };
        Condition::any(texts.into_iter().map(|text| {
            let key = self.layout.write(&[text.into()]);
            of_key(key.map(|key| Filter::on_key(self.property, CompareOp::Eq, key)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Descending, KeyPiece, PartTexts};

    const NUMBER: PartTexts = PartTexts::of::<u8>();
    const TEXT: PartTexts = PartTexts::of::<String>();
    const INVERSE: KeyPiece = PartTexts::of::<u16>().digits("year", "u16", 4, Some(9999));
    const ONE: KeyLayout = KeyLayout::new(&[NUMBER.plain("a", "u8")]);
    const YEAR: KeyLayout = KeyLayout::new(&[INVERSE]);
    const TWO: KeyLayout = KeyLayout::new(&[
        NUMBER.plain("a", "u8"),
        KeyPiece::Literal("_"),
        TEXT.escaped("b", "String"),
    ]);

    fn column<P>(layout: KeyLayout) -> KeyColumn<(), P> {
        KeyColumn::new("RowKey", layout)
    }

    fn text(condition: Condition<()>) -> String {
        condition.into_filter().unwrap().to_string()
    }

    #[test]
    fn keys_compare_with_leading_parts() {
        let key = column::<(u8, String)>(TWO);
        assert_eq!(text(key.eq((7, "x"))), "RowKey eq '007_x'");
        assert_eq!(text(key.lt((7,))), "RowKey lt '007_'");
        assert_eq!(text(key.ge((7,))), "RowKey ge '007_'");
        assert_eq!(text(key.le((7,))), "RowKey lt '007`'");
        assert_eq!(text(key.gt((7,))), "RowKey ge '007`'");
        assert_eq!(text(key.gt((7, "x"))), "RowKey gt '007_x'");
        assert_eq!(text(key.between((3,), (5, "x"))), "RowKey ge '003_' and RowKey le '005_x'");
        let single = column::<(u8,)>(ONE);
        assert_eq!(text(single.eq((7,))), text(single.eq(7)));
        assert_eq!(text(single.between((7,), 8)), "RowKey ge '007' and RowKey le '008'");
        assert_eq!(text(single.is_in([(7,)])), "RowKey eq '007'");
    }

    #[test]
    fn a_descending_part_is_compared_in_stored_order_or_by_value() {
        let key = column::<(Descending<u8>,)>(ONE);
        assert_eq!(text(key.eq(5)), "RowKey eq '250'");
        assert_eq!(text(key.is_in([5, 6])), "RowKey eq '250' or RowKey eq '249'");
        assert_eq!(text(key.lt(Descending(5))), "RowKey lt '250'");
        assert_eq!(text(key.newer_than(5)), "RowKey lt '250'");
        assert_eq!(text(key.newer_or_equal(5)), "RowKey le '250'");
        assert_eq!(text(key.older_than((5,))), "RowKey gt '250'");
        assert_eq!(text(key.older_or_equal(Descending(5))), "RowKey ge '250'");
        let key = column::<(Descending<u8>, String)>(TWO);
        assert_eq!(text(key.eq((5, "x"))), "RowKey eq '250_x'");
        assert_eq!(text(key.lt((Descending(5),))), "RowKey lt '250_'");
        assert_eq!(text(key.newer_than((5,))), "RowKey lt '250_'");
        assert_eq!(text(key.newer_or_equal((5,))), "RowKey lt '250`'");
        assert_eq!(text(key.older_than((5,))), "RowKey ge '250`'");
        assert_eq!(text(key.older_or_equal((5,))), "RowKey ge '250_'");
    }

    #[test]
    fn a_part_that_a_format_reverses_is_compared_like_a_descending_one() {
        let key = column::<(Inverse<u16>,)>(YEAR);
        assert_eq!(text(key.eq(2009)), "RowKey eq '7990'");
        assert_eq!(text(key.newer_than(2009)), "RowKey lt '7990'");
        assert_eq!(text(key.lt(Descending(2009))), "RowKey lt '7990'");
        assert_eq!(text(key.starts_with((2009,))), "RowKey ge '7990' and RowKey lt '7990 '");
    }

    #[test]
    fn comparisons_are_bounded_by_the_leading_literal_text() {
        const ITEM: KeyLayout = KeyLayout::new(&[
            KeyPiece::Literal("P_"),
            NUMBER.plain("a", "u8"),
            KeyPiece::Literal("_"),
            TEXT.plain("b", "String"),
        ]);
        const LAST: KeyLayout =
            KeyLayout::new(&[KeyPiece::Literal("\u{ffff}"), NUMBER.plain("a", "u8")]);
        let key = column::<(Descending<u8>, String)>(ITEM);
        assert_eq!(text(key.lt((Descending(5),))), "RowKey ge 'P_' and RowKey lt 'P_250_'");
        assert_eq!(text(key.le((Descending(5), "x"))), "RowKey ge 'P_' and RowKey le 'P_250_x'");
        assert_eq!(text(key.gt((Descending(5), "x"))), "RowKey gt 'P_250_x' and RowKey lt 'P`'");
        assert_eq!(text(key.ge((Descending(5),))), "RowKey ge 'P_250_' and RowKey lt 'P`'");
        assert_eq!(text(key.newer_or_equal((5,))), "RowKey ge 'P_' and RowKey lt 'P_250`'");
        assert_eq!(text(key.older_than((5,))), "RowKey ge 'P_250`' and RowKey lt 'P`'");
        assert_eq!(
            text(key.ne((5, "x"))),
            "RowKey ge 'P_' and RowKey lt 'P`' and RowKey ne 'P_250_x'"
        );
        let both = "RowKey ge 'P_250_' and RowKey le 'P_251_x'";
        assert_eq!(text(key.between((Descending(5),), (Descending(4), "x"))), both);

        let key = column::<(u8,)>(LAST);
        assert_eq!(text(key.gt(7)), "RowKey gt '\u{ffff}007'");
        assert_eq!(text(key.lt(7)), "RowKey ge '\u{ffff}' and RowKey lt '\u{ffff}007'");
        assert_eq!(text(key.ne(7)), "RowKey ge '\u{ffff}' and RowKey ne '\u{ffff}007'");
    }

    #[test]
    fn a_bound_after_all_keys_is_no_bound() {
        const ANY: KeyLayout = KeyLayout::new(&[
            TEXT.plain("a", "String"),
            KeyPiece::Literal("\u{ffff}"),
            NUMBER.plain("b", "u8"),
        ]);
        let key = column::<(String, u8)>(ANY);
        assert_eq!(text(key.le(("\u{ffff}",))), "RowKey ge ''");
        assert_eq!(text(key.gt(("\u{ffff}",))), "RowKey lt ''");
    }
}
