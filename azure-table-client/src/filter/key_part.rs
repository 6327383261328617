//! Fields that are a part of a key of several parts. They are not columns; the compiler's messages name the column of
//! the whole key.

use std::marker::PhantomData;

use super::Condition;

macro_rules! key_part {
    ($part:ident, $trait:ident, $message:literal, $label:literal, $($note:literal),*) => {
        #[diagnostic::on_unimplemented(message = $message, label = $label, $(note = $note),*)]
        #[doc(hidden)]
        pub trait $trait: Sized {
            /// Returns the condition, which does not compile.
            fn condition() -> Condition<Self>;
        }

        #[doc(hidden)]
        #[derive(Debug)]
        pub struct $part<E> {
            of: PhantomData<fn() -> E>,
        }

        impl<E> $part<E> {
            #[must_use]
            #[allow(clippy::new_without_default, reason = "for generated code")]
            pub const fn new() -> Self {
                Self { of: PhantomData }
            }

            key_part!(@methods $trait: eq ne lt le gt ge is_in starts_with newer_than newer_or_equal older_than older_or_equal);

            pub fn between<L, H>(&self, _: L, _: H) -> Condition<E>
            where
                E: $trait,
            {
                E::condition()
            }
        }
    };
    (@methods $trait:ident: $($method:ident)*) => {
        $(
            pub fn $method<V>(&self, _: V) -> Condition<E>
            where
                E: $trait,
            {
                E::condition()
            }
        )*
    };
}

key_part!(
    PartitionKeyPart,
    ComparesPartitionKeyPart,
    "this field of `{Self}` is a part of the PartitionKey, and the service compares whole keys only",
    "not a column by itself",
    "write `partition_key`, the column of the whole key: `b.partition_key.starts_with((a,))` for the first part, `b.partition_key.eq((a, b))` for all parts",
    "to find rows by a later part alone, store it in a property of its own: #[table(also_property)]"
);
key_part!(
    RowKeyPart,
    ComparesRowKeyPart,
    "this field of `{Self}` is a part of the RowKey, and the service compares whole keys only",
    "not a column by itself",
    "write `row_key`, the column of the whole key: `b.row_key.starts_with((a,))` for the first part, `b.row_key.eq((a, b))` for all parts",
    "to find rows by a later part alone, store it in a property of its own: #[table(also_property)]"
);
