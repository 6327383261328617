//! Entities: the trait that maps a struct to rows, keys, and entities without a struct. See the
//! [guide](crate::guide::entities).

pub mod codec;
mod extra;
mod group;
mod index;
mod kind;
mod series;

pub use azure_table_derive::PropertyGroup;
#[doc(inline)]
pub use azure_table_protocol::EntityJsonError;
#[doc(hidden)]
pub use azure_table_protocol::entity::{Accept, Field, Ownership, Policy, Reading, StoredType};
#[doc(inline)]
pub use azure_table_protocol::entity::{
    Columns, DecodeError, DecodeReason, EncodeError, IntoProperty, PropertyWriter, Row, schema,
};
pub(crate) use azure_table_protocol::entity::{
    DynamicEntity, EachResult, Entities, Form, KeysOnly, Lenient, ReadRow, Readable, RowConsumer,
    TableEntity, WithETag, guid_texts,
};
#[doc(hidden)]
pub use extra::ExtraField;
pub use group::PropertyGroup;
#[doc(hidden)]
pub use group::ReadGroup;
pub use index::HasIndexes;
#[doc(hidden)]
pub use index::IndexDefinition;
pub(crate) use kind::OfKind;
#[doc(hidden)]
pub use series::{SeriesField, SplitField};

#[doc(hidden)]
pub use crate::key::TickKey;
pub use crate::key::{
    Bucketed, Descending, Escaped, IntoKey, KeyArgument, KeyError, KeyNumber, KeyPart, KeyRange,
};
pub(crate) use crate::key::{EntityKey, after_prefix, by_keys, ordinal};

/// A [`TableEntity`] whose keys are made of typed parts; the derive implements it.
///
/// ```
/// use azure_table_client::{EntityKey, TableEntity};
///
/// #[derive(TableEntity)]
/// #[table(row_key(year, title))]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     year: u16,
///     title: String,
/// }
///
/// fn main() -> Result<(), azure_table_client::entity::KeyError> {
///     let key = EntityKey::new("Channel9", "02009!a.1b");
///     let (channel, year, title) = Blog::parse_key(&key)?;
///     assert_eq!((&*channel, year, &*title), ("Channel9", 2009, "a/b"));
///     assert_eq!(Blog::key(channel, year, title)?, key);
///
///     assert_eq!(Blog::parse_row_key("02009!x")?, (2009, "x".to_owned()));
///     assert_eq!(Blog::parse_partition_key("Channel9")?, "Channel9");
///     let error = Blog::parse_row_key("2009!x").unwrap_err();
///     assert!(error.to_string().starts_with("invalid RowKey: "));
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the keys of `{Self}` have no form",
    label = "no form of its keys",
    note = "write #[derive(TableEntity)] on the struct"
)]
pub trait TypedKeys: TableEntity {
    /// Whether an entity of this type can have these keys.
    ///
    /// It distinguishes the entity kinds in one table whose row keys have different forms.
    fn recognizes(partition_key: &str, row_key: &str) -> bool {
        Self::reads_keys(partition_key, row_key)
    }
}

/// An enum of entities in which `K` is the struct of a kind; the derive implements it.
///
/// See [`Query::of_kind`](crate::client::Query::of_kind).
///
/// ```
/// use azure_table_client::entity::Descending;
/// use azure_table_client::mock::MockTableService;
/// use azure_table_client::{DynamicEntity, TableEntity};
/// use chrono::{DateTime, Utc};
///
/// #[derive(TableEntity)]
/// #[table(name = "Timeline", discriminator = "EntityType")]
/// enum Item {
///     Post(Post),
///     #[table(rename = "picture")]
///     Photo(Photo),
///     #[table(other)]
///     Other(DynamicEntity), // kinds of newer programs: kept, and written back unchanged
/// }
///
/// #[derive(TableEntity)]
/// #[table(row_key = "{at}_Post")]
/// struct Post {
///     #[table(partition_key)]
///     user: String,
///     at: Descending<DateTime<Utc>>,
///     text: String,
/// }
///
/// #[derive(TableEntity)]
/// #[table(row_key = "{at}_Photo")]
/// struct Photo {
///     #[table(partition_key)]
///     user: String,
///     at: Descending<DateTime<Utc>>,
///     uri: String,
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), azure_table_client::Error> {
///     let items = MockTableService::new().client().table::<Item>();
///     items.create().await?;
///     let at = Descending(Utc::now());
///     let photo = Item::Photo(Photo { user: "joe".into(), at, uri: "…".into() });
///     let post = Item::Post(Post { user: "joe".into(), at, text: "Hello".into() });
///     // One transaction of two kinds. Writing through the enum also writes the kind.
///     items.transaction().insert(&photo).insert(&post).await?;
///
///     let stored = items.get(post.entity_key()?).await?;
///     let version = stored.etag.clone();
///     match stored.into_inner() {
///         Item::Post(post) => {
///             let post = Post { text: "Hello again".into(), ..post };
///             items.replace(&Item::Post(post), version).await?;
///         }
///         Item::Photo(_) | Item::Other(_) => {}
///     }
///     let photos = items.query().of_kind::<Photo>().filter(|p| p.user.eq("joe")).await?;
///     assert_eq!(photos.len(), 1);
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a filter cannot find the rows of `{Self}` that are a `{K}`",
    label = "not a kind of `{Self}` with a discriminator property",
    note = "`of_kind` accepts the struct in a variant of an enum with #[derive(TableEntity)] and #[table(discriminator = \"…\")]",
    note = "with `discriminator_in_row_key`, write a condition on the row key"
)]
pub trait HasKind<K>: TableEntity {
    /// The kinds whose struct is `K`, as the discriminator property holds them.
    #[doc(hidden)]
    const KINDS: &'static [&'static str];
}

/// A [`TableEntity`] that names its table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name its table",
    label = "no table name",
    note = "write #[derive(TableEntity)] and #[table(name = \"…\")] on the struct, or open the table with `table_named::<T>(\"…\")`"
)]
pub trait NamedTable: TableEntity {
    /// The table's name.
    const TABLE_NAME: &'static str;
}
