//! Keys as columns.

#![expect(clippy::needless_pass_by_value, reason = "a condition is written with values")]

use std::fmt;
use std::marker::PhantomData;

use super::condition::{Condition, any};
use super::projection::{Projection, Selection};
use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use crate::entity::{Bucketed, DecodeError, Descending, KeyArgument, KeyError, KeyPart, Row};
use crate::key::{KeyLayout, KeyParts, WholeKey};

/// A key of `E` whose parts are the tuple `P`.
#[doc(alias("PartitionKey", "RowKey"))]
pub struct KeyColumn<E, P> {
    property: &'static str,
    layout: KeyLayout,
    of: PhantomData<fn() -> (E, P)>,
}

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

/// Implements projections of a key: to its single part, or to the tuple of its parts.
macro_rules! key_projection {
    ($output:ty: $count:literal, $([$part:ident $text:ident])*) => {
        impl<Entity: 'static, $($part: KeyPart + 'static),*> Projection<Entity>
            for KeyColumn<Entity, ($($part,)*)>
        {
            type Output = $output;

            fn select(&self, selection: &mut Selection) {
                selection.system(self.property);
            }

            fn read(&self, row: &mut Row<'_>, _: &mut usize) -> Result<Self::Output, DecodeError> {
                let slot = Row::key_slot(self.property);
                let [$($text),*] = &row.key_parts::<$count>(slot, self.layout)?;
                $(let $text = row.key_part::<$part>(slot, $text)?;)*
                Ok(($($text),*))
            }
        }
    };
}

key_projection!(A: 1, [A a]);
key_projection!((A, B): 2, [A a] [B b]);
key_projection!((A, B, C): 3, [A a] [B b] [C c]);
key_projection!((A, B, C, D): 4, [A a] [B b] [C c] [D d]);
key_projection!((A, B, C, D, F): 5, [A a] [B b] [C c] [D d] [F f]);
key_projection!((A, B, C, D, F, G): 6, [A a] [B b] [C c] [D d] [F f] [G g]);

impl<E, P> KeyColumn<E, P> {
    fn compare(&self, op: CompareOp, value: &impl WholeKey<P>) -> Condition<E> {
        let key = value.key(self.layout);
        of_key(key.map(|key| Filter::on_key(self.property, op, key)))
    }

    /// Matches this key: a value, or the tuple of its parts.
    pub fn eq(&self, value: impl WholeKey<P>) -> Condition<E> {
        self.compare(CompareOp::Eq, &value)
    }

    /// Matches all other keys.
    pub fn ne(&self, value: impl WholeKey<P>) -> Condition<E> {
        self.compare(CompareOp::Ne, &value)
    }

    /// Matches keys before this key.
    pub fn lt(&self, value: impl WholeKey<P>) -> Condition<E> {
        self.compare(CompareOp::Lt, &value)
    }

    /// Matches this key and keys before it.
    pub fn le(&self, value: impl WholeKey<P>) -> Condition<E> {
        self.compare(CompareOp::Le, &value)
    }

    /// Matches keys after this key.
    pub fn gt(&self, value: impl WholeKey<P>) -> Condition<E> {
        self.compare(CompareOp::Gt, &value)
    }

    /// Matches this key and keys after it.
    pub fn ge(&self, value: impl WholeKey<P>) -> Condition<E> {
        self.compare(CompareOp::Ge, &value)
    }

    /// Matches keys between these keys, inclusive.
    pub fn between(&self, low: impl WholeKey<P>, high: impl WholeKey<P>) -> Condition<E> {
        self.ge(low) & self.le(high)
    }

    /// Matches these keys. An empty list matches no key. A list that is too long for one request is
    /// split into several.
    pub fn is_in<K: WholeKey<P>>(&self, keys: impl IntoIterator<Item = K>) -> Condition<E> {
        any(keys.into_iter().map(|key| self.eq(key)))
    }
}

/// Comparisons of keys in reverse order, which are smaller for newer values.
impl<E, T> KeyColumn<E, (Descending<T>,)> {
    /// Matches keys with a greater value; times are later than this time.
    pub fn newer_than(&self, value: impl KeyArgument<Descending<T>>) -> Condition<E> {
        self.lt(value)
    }

    /// Matches keys with a smaller value; times are earlier than this time.
    pub fn older_than(&self, value: impl KeyArgument<Descending<T>>) -> Condition<E> {
        self.gt(value)
    }
}

/// Reads of a key that is spread over several partitions.
impl<E, K, const N: u16> KeyColumn<E, (Bucketed<K, N>,)> {
    /// Matches the rows of this key in all of its buckets. The condition lists `N` keys.
    pub fn in_all_buckets(&self, key: impl KeyArgument<K>) -> Condition<E> {
        match Bucketed::<K, N>::texts(&key).and_then(|texts| {
            texts
                .into_iter()
                .map(|text| self.layout.write(&[text.into()]))
                .collect::<Result<Vec<_>, _>>()
        }) {
            Ok(keys) => any(keys
                .into_iter()
                .map(|key| of_key(Ok(Filter::on_key(self.property, CompareOp::Eq, key))))),
            Err(error) => of_key(Err(error)),
        }
    }
}
