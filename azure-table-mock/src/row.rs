//! The stored form of keys and properties.

mod key;
mod properties;

pub(crate) use self::key::{KeyText, OrderedKey, StoredKey, by_keys};
pub(crate) use self::properties::{Member, Properties, StoredProperties, push_property};
