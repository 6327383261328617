//! The stored form of entities as data, for tools that compare the versions of a program.

use super::TableEntity;
use crate::decode::Columns;
use crate::edm::{EdmType, ValueForm};

/// The stored form of an entity: its table, its keys and its properties.
///
/// [`TableEntity::schema`] returns it.
///
/// ```
/// use azure_table_client::TableEntity;
/// use azure_table_client::edm::EdmType;
/// use azure_table_client::entity::schema::Absent;
///
/// #[derive(TableEntity)]
/// #[table(name = "Blogs")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
///     #[table(alias = "body")]
///     text: String,
///     #[table(default)]
///     rating: i32,
/// }
///
/// let schema = Blog::schema();
/// assert_eq!(schema.table.as_deref(), Some("Blogs"));
/// let [text, rating] = &schema.properties[..] else { panic!("two properties") };
/// assert_eq!((text.edm_type, &text.absent), (Some(EdmType::String), &Absent::Required));
/// assert_eq!(text.aliases, ["body"]);
/// assert_eq!(rating.absent, Absent::DefaultValue(Some("0".into())));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schema {
    /// The table's name, if the type names it.
    pub table: Option<String>,
    /// The pieces of the PartitionKey; none if they are not described.
    pub partition_key: Vec<KeyElement>,
    /// The pieces of the RowKey; none if they are not described.
    pub row_key: Vec<KeyElement>,
    /// The properties, in the order in which they are written.
    pub properties: Vec<PropertySchema>,
    /// The treatment of properties that are not listed.
    pub others: Others,
    /// The entity kinds of an enum.
    pub kinds: Option<Kinds>,
}

/// The entity kinds of an enum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kinds {
    /// The discriminator property; `None` if the form of the keys is the discriminator.
    pub property: Option<String>,
    /// The name and the stored form of each kind.
    pub list: Vec<(String, Schema)>,
    /// Whether rows of other kinds are read, too.
    pub has_other: bool,
}

/// The reader's treatment of properties without a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Others {
    /// They are ignored.
    #[default]
    Ignored,
    /// They are kept and written back.
    Kept,
    /// They are an error.
    Refused,
}

/// A piece of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyElement {
    /// The same text in every key.
    Constant(String),
    /// A field.
    Field {
        /// The field's name. Keys do not contain it; it shows that fields change places.
        name: String,
        /// The format: empty, `escaped`, `04` for four digits, or `inv4(9999)` for four digits of 9999 - value.
        format: String,
        /// The texts of its type.
        form: ValueForm,
        /// The Rust type, as the field names it.
        rust_type: String,
    },
}

/// A property, or the properties of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PropertySchema {
    /// The name; of a series, the name before the number.
    pub name: String,
    /// Other names that are read if the row does not have the property.
    pub aliases: Vec<String>,
    /// The number of properties.
    pub layout: Layout,
    /// The stored type; `None` if it is not described.
    pub edm_type: Option<EdmType>,
    /// The codec: `as_json`, or `with` and the module's path. Empty without one.
    pub codec: String,
    /// The values of the stored type that are written and read.
    pub form: ValueForm,
    /// The Rust type, as the field names it without `Option`.
    pub rust_type: String,
    /// The result of reading a row without the property.
    pub absent: Absent,
    /// Other stored types that are read: empty, `widened` or `lenient`.
    pub accept: String,
    /// Whether a value of another type is read as the default.
    pub is_tolerant: bool,
    /// Whether the property is a copy of a key field, with which it is compared.
    pub is_copy: bool,
    /// The groups that a row may lack as a whole, outermost first: the prefix of the names of each, or its field if it
    /// has no prefix, and `!` if such a group has a default.
    pub groups: Vec<String>,
}

/// The properties of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// One property.
    One,
    /// Numbered properties.
    Series {
        /// The least number of digits.
        digits: usize,
        /// The number of elements; `None` if it varies.
        size: Option<usize>,
    },
    /// Parts of a value that may exceed the limit of one property.
    Split,
}

/// The result of reading a row that does not have a property.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Absent {
    /// An error.
    Required,
    /// `None`.
    Optional,
    /// A default: the text of the value that would be stored, or `None` if it varies or is not known.
    DefaultValue(Option<String>),
}

impl PropertySchema {
    /// Returns a required property with this name, without any other description.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            aliases: Vec::new(),
            layout: Layout::One,
            edm_type: None,
            codec: String::new(),
            form: ValueForm::Unknown,
            rust_type: String::new(),
            absent: Absent::Required,
            accept: String::new(),
            is_tolerant: false,
            is_copy: false,
            groups: Vec::new(),
        }
    }
}

impl Schema {
    /// The names alone, for a type that implements the trait itself.
    pub(super) fn of_columns<T: TableEntity>() -> Self {
        let others = if T::KEEPS_OTHERS { Others::Kept } else { Others::Ignored };
        Self { others, ..Self::named(&Columns::of::<T>()) }
    }

    fn named(columns: &Columns) -> Self {
        let properties = columns.properties().map(PropertySchema::new).collect();
        Self { properties, ..Self::default() }
    }

    /// The names of a group alone.
    #[doc(hidden)]
    pub fn of_group(add: fn(&mut Columns)) -> Self {
        let mut columns = Columns::new(&[]);
        add(&mut columns);
        Self::named(&columns)
    }
}
