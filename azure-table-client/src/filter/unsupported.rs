//! Methods that callers expect of columns and that the service does not have.
//!
//! Their bounds are on sealed traits that no type implements, so a call does not compile. The compiler's message says
//! what to write instead.

use super::{Column, Condition, KeyColumn};

/// Declares a trait that no type implements.
macro_rules! unsupported {
    ($trait:ident: $message:literal, $label:literal, $($note:literal),*) => {
        #[diagnostic::on_unimplemented(message = $message, label = $label, $(note = $note),*)]
        #[doc(hidden)]
        pub trait $trait {
            /// Returns the result of the call, which does not compile.
            fn unsupported<R>() -> R;
        }
    };
}

unsupported!(
    FindsText: "the Table service cannot search within a text",
    "no such filter in the service",
    "`starts_with` finds a beginning; `eq` finds the whole text",
    "to search by something else, store it in a property of its own: a word, the text in lower case, the text reversed",
    "or filter the rows of a narrower query in the program: `rows.into_iter().filter(|row| row.text.contains(\"x\"))`"
);
unsupported!(
    IgnoresCase: "the Table service compares text case-sensitively",
    "no such filter in the service",
    "store the text in lower case in a property of its own, and compare it with text in lower case"
);
unsupported!(
    FindsNull: "the Table service has no null, and cannot find rows by a property that they lack",
    "no such filter in the service",
    "a row without the property matches no comparison with it; `b.rating.ge(i32::MIN)` finds the rows that have it",
    "store a value that states it, such as a Boolean `is_rated`, and compare that: `b.is_rated.eq(false)`"
);
unsupported!(
    ComparesInRust: "a column is not a Rust value: Rust's operators cannot compare it",
    "a value to compare a column with",
    "write a method: `b.rating.gt(3)`, and `eq`, `ne`, `lt`, `le`, `ge`; join conditions with `&` and `|`",
    "or write an expression: `filter!(Blog, b => b.rating > 3)`, with azure_table_client::filter"
);

#[doc(hidden)]
impl<E, T, C, F> Column<E, T, C, F> {
    /// The service has no such function.
    pub fn contains<V>(&self, _: V) -> Condition<E>
    where
        T: FindsText,
    {
        T::unsupported()
    }

    /// The service has no such function.
    pub fn ends_with<V>(&self, _: V) -> Condition<E>
    where
        T: FindsText,
    {
        T::unsupported()
    }

    /// The service has no such function.
    pub fn to_lowercase(&self) -> &Self
    where
        T: IgnoresCase,
    {
        self
    }

    /// The service has no such function.
    pub fn is_none(&self) -> Condition<E>
    where
        F: FindsNull,
    {
        F::unsupported()
    }

    /// The service has no such function.
    pub fn is_some(&self) -> Condition<E>
    where
        F: FindsNull,
    {
        F::unsupported()
    }
}

#[doc(hidden)]
impl<E, P> KeyColumn<E, P> {
    /// The service has no such function.
    pub fn contains<V>(&self, _: V) -> Condition<E>
    where
        P: FindsText,
    {
        P::unsupported()
    }

    /// The service has no such function.
    pub fn ends_with<V>(&self, _: V) -> Condition<E>
    where
        P: FindsText,
    {
        P::unsupported()
    }

    /// The service has no such function.
    pub fn to_lowercase(&self) -> &Self
    where
        P: IgnoresCase,
    {
        self
    }
}

macro_rules! operators {
    ($column:ty, [$($parameter:ident),*]) => {
        /// No value implements the bound: the compiler's message names the methods to write.
        #[doc(hidden)]
        impl<E, $($parameter,)* V: ComparesInRust> PartialEq<V> for $column {
            fn eq(&self, _: &V) -> bool {
                V::unsupported()
            }
        }

        /// No value implements the bound: the compiler's message names the methods to write.
        #[doc(hidden)]
        impl<E, $($parameter,)* V: ComparesInRust> PartialOrd<V> for $column {
            fn partial_cmp(&self, _: &V) -> Option<std::cmp::Ordering> {
                V::unsupported()
            }
        }
    };
}

operators!(Column<E, T, C, F>, [T, C, F]);
operators!(KeyColumn<E, P>, [P]);
