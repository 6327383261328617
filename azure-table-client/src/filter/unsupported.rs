//! Methods that callers expect of columns and that the service does not have.
//!
//! Their bounds are on sealed traits that no type implements, so a call does not compile. The compiler's message says
//! what to write instead.

use super::{Column, Condition, KeyColumn};

unsupported!(
    FindsText: "the Table service cannot search within a text",
    "no such filter in the service",
    "`starts_with` finds a beginning; `eq` finds the whole text",
    "to find a word, store it in a property of its own and compare that",
    "or query fewer rows, for example of one partition, and filter them in the program: `rows.into_iter().filter(|row| row.text.contains(\"x\"))`"
);
unsupported!(
    FindsEnd: "the Table service cannot compare the end of a text",
    "no such filter in the service",
    "store the text reversed in a property of its own, and compare that: `b.text_reversed.starts_with(\"sr.\")`",
    "or query fewer rows, for example of one partition, and filter them in the program: `rows.into_iter().filter(|row| row.text.ends_with(\".rs\"))`"
);
unsupported!(
    IgnoresCase: "the Table service compares text case-sensitively",
    "no such filter in the service",
    "store the text in lower case in a property of its own, and compare it with text in lower case: `b.text_lower.eq(\"hello\")`",
    "or query fewer rows, for example of one partition, and compare them in the program"
);
unsupported!(
    FindsNull: "the Table service has no null, and cannot find rows by a property that they lack",
    "no such filter in the service",
    "store a value that states it, such as a Boolean `is_rated`, in every row, and compare that: `b.is_rated.eq(false)`",
    "or query fewer rows, for example of one partition, and filter them in the program: `rows.into_iter().filter(|row| row.rating.is_none())`"
);
unsupported!(
    FindsValue: "a column has no `is_some`: a row has the property if any comparison with it matches",
    "no such filter in the service",
    "compare with the least value: `b.rating.ge(i32::MIN)` finds the rows that have a rating"
);
unsupported!(
    ComparesInRust: "a column is not a Rust value: Rust's operators cannot compare it",
    "write a method, such as `.eq(…)` or `.gt(…)`, instead of the operator",
    "`==` is `b.rating.eq(3)`, `!=` is `ne`, `<` is `lt`, `<=` is `le`, `>` is `gt`, `>=` is `ge`; join conditions with `&` and `|`",
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
        T: FindsEnd,
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
        F: FindsValue,
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
        P: FindsEnd,
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
