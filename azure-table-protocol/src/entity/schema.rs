//! The stored form of entities as data, for tools that compare the versions of a program.

use super::TableEntity;
use super::decode::{Accept, Columns, Elements, Field, FieldKind, Policy, StoredType};
use crate::edm::{EdmType, EdmValue};
use crate::key::{KeyForm, KeyPiece};

#[doc(inline)]
pub use crate::edm::{ValueChoice, ValueForm};

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

impl Schema {
    /// The description of the consts of a type, or of the names of its columns.
    pub(super) fn of<T: TableEntity>() -> Self {
        let [partition_key, row_key] =
            T::KEYS.map(|layout| layout.0.iter().map(KeyElement::of).collect());
        let mut schema = Self {
            table: T::TABLE.map(str::to_owned),
            partition_key,
            row_key,
            others: T::OTHERS,
            ..Self::default()
        };
        if T::FIELDS.is_empty() {
            schema.properties = Columns::of::<T>().properties().map(PropertySchema::new).collect();
        }
        Surroundings::default().describe(T::FIELDS, &mut schema.properties);
        schema
    }
}

impl KeyElement {
    fn of(piece: &KeyPiece) -> Self {
        match *piece {
            KeyPiece::Literal(text) => Self::Constant(text.to_owned()),
            KeyPiece::Part { field, texts, rust_type, form } => Self::Field {
                name: field.to_owned(),
                format: match form {
                    // A text of fixed width is not escaped.
                    KeyForm::Escaped if texts.width.is_none() => "escaped".to_owned(),
                    KeyForm::Plain | KeyForm::Escaped => String::new(),
                    KeyForm::Digits { width, minuend: None } => format!("0{width}"),
                    KeyForm::Digits { width, minuend: Some(minuend) } => {
                        format!("inv{width}({minuend})")
                    }
                },
                form: (texts.form)(),
                rust_type: rust_type.to_owned(),
            },
        }
    }
}

/// The groups around a field.
#[derive(Debug, Clone, Default)]
struct Surroundings {
    /// Put before each name.
    prefix: String,
    /// The name of the innermost group: its prefix, or its field if it has no prefix.
    group: String,
    /// [`PropertySchema::groups`].
    groups: Vec<String>,
}

impl Surroundings {
    fn describe(&self, fields: &[Field], properties: &mut Vec<PropertySchema>) {
        for field in fields {
            let name = format!("{}{}", self.prefix, field.name);
            let mut inner = self.clone();
            match field.kind {
                FieldKind::Group { field: ident, .. } if field.name.is_empty() => {
                    inner.group = format!("{}{ident}", self.prefix);
                }
                FieldKind::Optional(_) => inner.groups.push(self.group.clone()),
                _ => inner.group.clone_from(&name),
            }
            if field.has_default() && !matches!(field.kind, FieldKind::One(_)) {
                inner.groups.push(format!("{}!", inner.group));
            }
            match field.kind {
                FieldKind::Group { fields, .. } | FieldKind::Optional(fields) => {
                    inner.prefix = name;
                    inner.describe(fields, properties);
                }
                _ => properties.push(self.property(field, name, inner.groups)),
            }
        }
    }

    /// Describes a field that is not a group.
    fn property(&self, field: &Field, name: String, groups: Vec<String>) -> PropertySchema {
        let alias = |alias: &&str| format!("{}{alias}", self.prefix);
        let described = PropertySchema {
            aliases: field.aliases.iter().map(alias).collect(),
            codec: field.codec.to_owned(),
            rust_type: field.rust_type.to_owned(),
            accept: match field.reading.accept {
                Accept::Exact => String::new(),
                Accept::Widened => "widened".to_owned(),
                Accept::Lenient => "lenient".to_owned(),
            },
            is_tolerant: matches!(field.reading.mistyped, Policy::UseDefault | Policy::Collect),
            is_copy: field.is_copy,
            groups,
            ..PropertySchema::new(name)
        };
        match field.kind {
            FieldKind::One(stored) => {
                let absent = absent(field, stored);
                PropertySchema { absent, ..described.with_values(stored) }
            }
            FieldKind::Series { elements: Elements { stored, size, is_fixed }, digits } => {
                let layout = Layout::Series { digits, size: is_fixed.then_some(size) };
                PropertySchema { layout, ..described.with_values(stored) }
            }
            FieldKind::Split(edm_type) => PropertySchema {
                layout: Layout::Split,
                edm_type: Some(edm_type),
                form: ValueForm::named(if edm_type == EdmType::String { "text" } else { "bytes" }),
                ..described
            },
            FieldKind::Group { .. } | FieldKind::Optional(_) => described,
        }
    }
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

    fn with_values(self, stored: StoredType) -> Self {
        let absent = if (stored.is_optional)() { Absent::Optional } else { Absent::Required };
        Self { edm_type: Some(stored.edm_type), form: (stored.form)(), absent, ..self }
    }
}

/// The result of reading a row without the property.
fn absent(field: &Field, stored: StoredType) -> Absent {
    match (field.reading.missing, field.default) {
        _ if field.is_copy => Absent::Optional,
        (Policy::OfType, _) if (stored.is_optional)() => Absent::Optional,
        (Policy::OfType | Policy::Error, _) => Absent::Required,
        (Policy::UseDefault | Policy::Collect, None) => Absent::Optional,
        // The default is created twice, since it may vary.
        (Policy::UseDefault | Policy::Collect, Some(default)) => match default() {
            Ok(None) => Absent::Optional,
            Ok(Some(value)) if default() == Ok(Some(value.clone())) => {
                Absent::DefaultValue(text_of(&value))
            }
            _ => Absent::DefaultValue(None),
        },
    }
}

/// The text of a default. A time or an id usually varies, even if two in a row are equal.
fn text_of(value: &EdmValue) -> Option<String> {
    let varies = matches!(value.edm_type(), EdmType::DateTime | EdmType::Guid);
    (!varies).then(|| value.to_string())
}
