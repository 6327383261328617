//! Types that serde knows, as entities without the derive.

mod read;
mod write;

use std::borrow::Cow;

use ::serde::Serialize;
use ::serde::de::DeserializeOwned;

use super::{DecodeError, EncodeError, KeyError, PropertyWriter, Row, TableEntity};
use crate::edm::EdmType;

/// A type with serde's `Serialize` and `Deserialize` that can be an entity, as a [`Serde`].
///
/// It states the Edm type of each property, since serde does not: nothing is guessed from a value.
/// A struct whose members are all scalar is fine, and so are `#[serde(flatten)]` and maps; a member
/// that is a list or an object is an error, except for bytes.
///
/// | Edm | what serde writes and reads |
/// |---|---|
/// | String | text, a character, the name of a variant without data |
/// | Boolean | a boolean |
/// | Int32, Int64 | any integer within the range |
/// | Double | a floating point number; NaN and the infinities too |
/// | DateTime | RFC 3339 text, as with chrono's feature `serde`; what is below 100 ns is cut |
/// | Guid | hyphenated text, as with uuid's feature `serde` |
/// | Binary | bytes, or a list of numbers up to 255, as serde has it for `Vec<u8>` |
///
/// ```
/// use std::borrow::Cow;
///
/// use azure_table_client::edm::EdmType;
/// use azure_table_client::entity::KeyError;
/// use azure_table_client::entity::serde::{Serde, SerdeEntity};
/// use azure_table_client::mock::MockTableService;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// #[serde(rename_all = "PascalCase")]
/// struct Blog {
///     #[serde(rename = "PartitionKey")]
///     channel: String,
///     #[serde(rename = "RowKey")]
///     id: String,
///     text: String,
///     views: u64,
/// }
///
/// impl SerdeEntity for Blog {
///     const PROPERTIES: &'static [(&'static str, EdmType)] =
///         &[("Text", EdmType::String), ("Views", EdmType::Int64)];
///
///     fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
///         Ok(Cow::Borrowed(&self.channel))
///     }
///
///     fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
///         Ok(Cow::Borrowed(&self.id))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let blogs = MockTableService::new().client().table_named::<Serde<Blog>>("Blogs");
/// blogs.create().await?;
/// let blog =
///     Blog { channel: "Channel9".into(), id: "1".into(), text: "Hello".into(), views: 1 << 40 };
/// blogs.insert(&Serde(blog)).await?;
/// let stored = blogs.get(("Channel9", "1")).await?.into_entity().0;
/// assert_eq!(stored.views, 1 << 40);
/// # Ok(())
/// # }
/// ```
///
/// Source: [Understanding the Table service data model][model].
///
/// [model]: https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
pub trait SerdeEntity: Serialize + DeserializeOwned {
    /// Every property that is written and read, by the name that serde gives it. To write another
    /// one is an error; in a row, others are ignored.
    const PROPERTIES: &'static [(&'static str, EdmType)];

    /// Whether the keys are handed to serde as the members `PartitionKey` and `RowKey` when an
    /// entity is read. A type that makes its keys of other members, and denies unknown fields, says
    /// `false`.
    ///
    /// When it is written, members of these names must be equal to the keys, and are not stored
    /// beside them; nor is a member `Timestamp`.
    const KEYS_ARE_MEMBERS: bool = true;

    /// The PartitionKey.
    ///
    /// # Errors
    /// There is none.
    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError>;

    /// The RowKey.
    ///
    /// # Errors
    /// There is none.
    fn row_key(&self) -> Result<Cow<'_, str>, KeyError>;
}

/// A [`SerdeEntity`] as a [`TableEntity`]: `service.table_named::<Serde<Blog>>("Blogs")`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Serde<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T: SerdeEntity> TableEntity for Serde<T> {
    const COLUMNS: &'static [&'static str] = &[];
    const KEEPS_OTHERS: bool = true;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        self.0.partition_key()
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        self.0.row_key()
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        write::entity(&self.0, writer)
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        read::entity(row).map(Self)
    }
}

/// The declared type of a property.
fn declared<T: SerdeEntity>(name: &str) -> Option<(&'static str, EdmType)> {
    T::PROPERTIES.iter().find(|(known, _)| *known == name).copied()
}
