//! Keys that are made of typed parts, and the arguments that name them.

mod argument;
mod bucketed;
mod parts;

pub use argument::{BoundArgument, ExactTime, Inverse, KeyArgument};
#[doc(inline)]
pub use azure_table_protocol::key::{
    Descending, Escaped, IntoKey, KeyError, KeyLayout, KeyNumber, KeyPart, KeyPiece, KeyRange,
    LeadingKeys, TickKey,
};
pub(crate) use azure_table_protocol::key::{
    EntityKey, PartTexts, after_prefix, by_keys, escape, ordinal,
};
pub use bucketed::Bucketed;
pub use parts::{KeyBound, KeyParts, OnlyPart, Parts, ReversedPart, WholeKey};
