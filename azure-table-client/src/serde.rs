//! Entities from types with serde's derives, without the derive of this crate.
//!
//! [`SerdeEntity`] declares the facts that serde does not know: the keys, and the Edm type of each
//! property. [`Serde`] wraps the type as a [`TableEntity`].
//!
//! ```
//! use std::borrow::Cow;
//!
//! use azure_table_client::edm::{EdmDateTime, EdmType};
//! use azure_table_client::entity::KeyError;
//! use azure_table_client::serde::{Serde, SerdeEntity};
//! use azure_table_client::mock::MockTableService;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(rename_all = "PascalCase")]
//! struct Blog {
//!     #[serde(rename = "PartitionKey")]
//!     channel: String,
//!     #[serde(rename = "RowKey")]
//!     id: String,
//!     text: String,
//!     posted: EdmDateTime,
//!     views: u64,
//!     rating: Option<i32>,
//! }
//!
//! impl SerdeEntity for Blog {
//!     const PROPERTIES: &'static [(&'static str, EdmType)] = &[
//!         ("Text", EdmType::String),
//!         ("Posted", EdmType::DateTime),
//!         ("Views", EdmType::Int64),
//!         ("Rating", EdmType::Int32),
//!     ];
//!
//!     fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
//!         Ok(Cow::Borrowed(&self.channel))
//!     }
//!
//!     fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
//!         Ok(Cow::Borrowed(&self.id))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), azure_table_client::Error> {
//! let service = MockTableService::new().client();
//! let blogs = service.table_named::<Serde<Blog>>("Blogs");
//! blogs.create().await?;
//! let blog = Blog {
//!     channel: "Channel9".into(),
//!     id: "1".into(),
//!     text: "Hello".into(),
//!     posted: EdmDateTime::now(),
//!     views: 7,
//!     rating: None,
//! };
//! blogs.insert(&Serde(blog)).await?;
//! let stored = blogs.get(("Channel9", "1")).await?;
//! assert_eq!((&*stored.text, stored.views, stored.rating), ("Hello", 7, None));
//! # Ok(())
//! # }
//! ```
//!
//! # Properties
//!
//! Each member is written as the Edm type that is declared for it, and must have that type when
//! it is read. A value that does not fit without loss is an error, and so is a member that is not
//! declared. Properties of a row that are not declared are ignored.
//!
//! | Edm | the member in serde's data model |
//! |---|---|
//! | String | text, a character, the name of an enum's variant without data |
//! | Boolean | a boolean |
//! | Int32, Int64 | an integer of any width that fits |
//! | Double | a float; NaN and the infinities too |
//! | DateTime | text as in RFC 3339: [`EdmDateTime`], or `chrono::DateTime<Utc>` with chrono's feature `serde`; a part below 100 ns is dropped |
//! | Guid | text: `uuid::Uuid` with its feature `serde` |
//! | Binary | bytes or a list of `u8`: `Vec<u8>`, `[u8; 16]`, the types of the crate `serde_bytes` |
//!
//! `None` is not stored. A property that is not stored or null is a missing member: an `Option` is `None`,
//! `#[serde(default)]` applies, and any other member is an error. Nested structs, lists, maps and variants
//! with data cannot be properties; `#[serde(flatten)]` stores the members of a struct or a map as properties
//! (serde itself then rounds a Double to an `f32`), `#[serde(with = "…")]` converts it to
//! text or bytes.
//!
//! # Keys and Timestamp
//!
//! Members named `PartitionKey` and `RowKey` receive the keys as text. They are not properties and
//! are not declared; when written, they must have the values that [`SerdeEntity::partition_key`] and
//! [`SerdeEntity::row_key`] return. A type may also do without them and compute its keys from other
//! members. An entity whose keys differ from those of the row that it was read from is an error: it
//! would be written to another row. A member named `Timestamp` receives the Timestamp as text and is not written.
//!
//! A struct receives those of the three members that it has, so `#[serde(deny_unknown_fields)]` works. A
//! type whose members serde does not know in advance (`#[serde(flatten)]`, a tagged or untagged enum,
//! a map) receives both keys and no Timestamp; with
//! [`KEYS_ARE_MEMBERS`](SerdeEntity::KEYS_ARE_MEMBERS) set to `false`, none of the three.
//!
//! Source: [Understanding the Table service data model][model].
//!
//! [model]: https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
//! [`EdmDateTime`]: crate::edm::EdmDateTime

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::edm::EdmType;
use crate::entity::{DecodeError, DecodeReason, Row};
use crate::entity::{EncodeError, PropertyWriter, TableEntity};
use crate::key::{EntityKey, KeyError};
use crate::limits;

/// The keys of an entity and the Edm types of its properties.
///
/// See the [module](self) for how members become properties.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare how it maps to a row",
    label = "neither keys nor Edm types are known",
    note = "implement `SerdeEntity`: both keys, and the Edm type of each property"
)]
pub trait SerdeEntity: Serialize + DeserializeOwned + Send {
    /// The Edm type of each property, by the name that serde gives it.
    ///
    /// At most 252, the limit of an entity, and without PartitionKey, RowKey and Timestamp. A program
    /// that violates either rule and reads entities does not compile.
    const PROPERTIES: &'static [(&'static str, EdmType)];

    /// Whether serde receives the keys as members when an entity is read.
    ///
    /// `false` is for a map that would take them for properties, and computes its keys from others.
    const KEYS_ARE_MEMBERS: bool = true;

    /// The PartitionKey.
    ///
    /// # Errors
    /// The value cannot be stored as a key.
    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError>;

    /// The RowKey.
    ///
    /// # Errors
    /// The value cannot be stored as a key.
    fn row_key(&self) -> Result<Cow<'_, str>, KeyError>;
}

/// A [`SerdeEntity`] as a [`TableEntity`]. Derefs to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Serde<T>(pub T);

impl<T> Deref for Serde<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: SerdeEntity> Serde<T> {
    const NAMES: &'static [&'static str; limits::PROPERTIES] = &names(T::PROPERTIES);
}

/// The declared names, followed by empty ones: the compiler makes no array of just their number.
///
/// Evaluated at compile time only, where a panic is a compile error.
const fn names(declared: &[(&'static str, EdmType)]) -> [&'static str; limits::PROPERTIES] {
    assert!(declared.len() <= limits::PROPERTIES, "PROPERTIES lists more than 252");
    let mut names = [""; limits::PROPERTIES];
    let mut at = 0;
    while at < declared.len() {
        names[at] = declared[at].0;
        assert!(
            !matches!(names[at].as_bytes(), b"PartitionKey" | b"RowKey" | b"Timestamp"),
            "PROPERTIES must not list PartitionKey, RowKey or Timestamp"
        );
        at += 1;
    }
    names
}

#[diagnostic::do_not_recommend]
impl<T: SerdeEntity> TableEntity for Serde<T> {
    const COLUMNS: &'static [&'static str] = Self::NAMES.split_at(T::PROPERTIES.len()).0;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        self.0.partition_key()
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        self.0.row_key()
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        let (partition_key, row_key) = (self.0.partition_key()?, self.0.row_key()?);
        let members = write::EntitySerializer::new(T::PROPERTIES, &partition_key, &row_key, writer);
        Ok(self.0.serialize(members)?)
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        let properties = read::properties(row, T::PROPERTIES)?;
        let timestamp = row.timestamp()?;
        let key = EntityKey { partition_key: row.partition_key()?, row_key: row.row_key()? };
        let keys = T::KEYS_ARE_MEMBERS.then_some(&key);
        let entity =
            match T::deserialize(read::EntityDeserializer::new(keys, timestamp, properties)) {
                Ok(entity) => entity,
                Err(error) => return Err(error.of_entity(key)),
            };
        for (name, given, stored) in [
            ("PartitionKey", entity.partition_key(), &key.partition_key),
            ("RowKey", entity.row_key(), &key.row_key),
        ] {
            let reason = match given {
                Ok(given) if given == *stored => continue,
                Ok(given) => format!("the entity gives {given:?} as this key"),
                Err(error) => error.to_string(),
            };
            return Err(DecodeError::new(Some(key.clone()), name, DecodeReason::Key(reason)));
        }
        Ok(Self(entity))
    }
}
