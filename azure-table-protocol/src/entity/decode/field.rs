//! The fields of an entity as data: the derive writes them once, and the columns, the ownership and the schema are
//! functions of them.

use std::borrow::Cow;

use super::reading::{Accept, Policy, Reading};
use crate::edm::{ConvertError, EdmType, EdmValue, FromEdm, ToEdm, ValueForm};
use crate::limits;

/// The maximum number of parts of a split value: 16 of 64 KiB fill an entity of 1 MiB.
pub const PARTS: usize = 16;

/// A field that is one property or several.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name of the property; of a series, the name before the number; of a group, the text before each name.
    pub name: &'static str,
    /// The length of `name` in UTF-16 code units.
    pub(crate) name_units: usize,
    /// The text before the value in JSON, `,"Name":`.
    pub(crate) member: &'static str,
    pub(crate) kind: FieldKind,
    /// The Rust type, as the field names it without `Option`.
    pub(crate) rust_type: &'static str,
    /// Other names of the property.
    pub aliases: &'static [&'static str],
    /// The codec, as the field names it.
    pub(crate) codec: &'static str,
    /// The policies of reading. Several properties have a default if `missing` says so.
    pub reading: Reading,
    /// Returns the stored value of the default; `None` if the default is `None`.
    pub(crate) default: Option<StoredDefault>,
    /// Whether the property is a copy of a key field.
    pub(crate) is_copy: bool,
    /// Whether the row can have the property without the entity writing it.
    pub(crate) is_silent: bool,
}

/// Returns the stored value of a field's default.
pub(crate) type StoredDefault = fn() -> Result<Option<EdmValue>, ConvertError>;

/// The properties of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldKind {
    /// One property.
    One(StoredType),
    /// Numbered properties.
    Series {
        elements: Elements,
        /// The least number of digits.
        digits: usize,
    },
    /// Parts of this type, and their number.
    Split(EdmType),
    /// The properties of the fields of another struct.
    Group {
        /// The name of the field.
        field: &'static str,
        /// The fields of the struct.
        fields: &'static [Field],
    },
    /// The properties of a group that a row may lack as a whole.
    Optional(&'static [Field]),
}

/// The elements of a series.
#[derive(Debug, Clone, Copy)]
pub struct Elements {
    /// The values of each property.
    pub stored: StoredType,
    /// The most properties that there can be.
    pub size: usize,
    /// Whether there are always so many.
    pub is_fixed: bool,
}

/// The values of a Rust type in the service.
#[derive(Debug, Clone, Copy)]
pub struct StoredType {
    pub(crate) edm_type: EdmType,
    pub(crate) form: fn() -> ValueForm,
    /// Whether a missing property is a value.
    pub(crate) is_optional: fn() -> bool,
}

impl StoredType {
    /// Returns the values of `T`.
    pub const fn of<T: ToEdm + FromEdm>() -> Self {
        Self {
            edm_type: <T as ToEdm>::EDM_TYPE,
            form: T::form,
            is_optional: || T::from_missing().is_some(),
        }
    }

    /// Returns a property of these values whose name in JSON is `member`, `,"Name":`.
    ///
    /// # Panics
    /// If `member` is not of this form. The derive evaluates this at compile time.
    pub const fn field(self, member: &'static str, rust_type: &'static str) -> Field {
        let (name, _) = member.split_at(member.len() - 2);
        let (_, name) = name.split_at(2);
        Field { member, ..Field::of(name, rust_type, FieldKind::One(self)) }
    }
}

impl Field {
    /// A numbered series of properties.
    pub const fn series(
        name: &'static str,
        rust_type: &'static str,
        digits: usize,
        elements: Elements,
    ) -> Self {
        Self::of(name, rust_type, FieldKind::Series { elements, digits })
    }

    /// A value in parts.
    pub const fn split(name: &'static str, edm_type: EdmType) -> Self {
        Self::of(name, "", FieldKind::Split(edm_type))
    }

    /// The fields of another struct, `prefix` before the name of each.
    pub const fn group(prefix: &'static str, field: &'static str, fields: &'static [Self]) -> Self {
        Self::of(prefix, "", FieldKind::Group { field, fields })
    }

    /// The fields of a group that a row may lack as a whole.
    pub const fn optional(fields: &'static [Self]) -> Self {
        Self::of("", "", FieldKind::Optional(fields))
    }

    const fn of(name: &'static str, rust_type: &'static str, kind: FieldKind) -> Self {
        let policy = Policy::OfType;
        let (missing, null, mistyped, accept) = (policy, policy, policy, Accept::Exact);
        Self {
            name,
            name_units: limits::utf16_units(name),
            member: "",
            kind,
            rust_type,
            aliases: &[],
            codec: "",
            reading: Reading { missing, null, mistyped, accept },
            default: None,
            is_copy: false,
            is_silent: false,
        }
    }

    /// Adds the other names.
    #[must_use]
    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Sets the codec.
    #[must_use]
    pub const fn codec(self, codec: &'static str) -> Self {
        Self { codec, ..self }
    }

    /// Sets the policies of reading.
    #[must_use]
    pub const fn reading(
        self,
        missing: Policy,
        null: Policy,
        mistyped: Policy,
        accept: Accept,
    ) -> Self {
        Self { reading: Reading { missing, null, mistyped, accept }, ..self }
    }

    /// Sets the default.
    #[must_use]
    pub const fn default(self, default: StoredDefault) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Marks the copy of a key field.
    #[must_use]
    pub const fn copy_of_key(self) -> Self {
        Self { is_copy: true, ..self }
    }

    /// Marks a property that the entity does not always write.
    #[must_use]
    pub const fn silent(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// The number of columns.
    pub const fn size(&self) -> usize {
        match self.kind {
            FieldKind::One(_) => 1,
            FieldKind::Series { elements, .. } => elements.size,
            FieldKind::Split(_) => PARTS + 1,
            FieldKind::Group { fields, .. } | FieldKind::Optional(fields) => Self::count(fields),
        }
    }

    /// The number of columns of these fields.
    pub const fn count(fields: &[Self]) -> usize {
        let (mut at, mut count) = (0, 0);
        while at < fields.len() {
            count += fields[at].size();
            at += 1;
        }
        count
    }

    /// The names of the first `N` fields, for the compiler.
    pub const fn names<const N: usize>(fields: &[Self]) -> [&'static str; N] {
        let (mut at, mut names) = (0, [""; N]);
        while at < N {
            names[at] = fields[at].name;
            at += 1;
        }
        names
    }

    /// The name of an element of a series, or of a part of a split value.
    pub fn element(&self, index: usize) -> Cow<'static, str> {
        match self.kind {
            FieldKind::Series { digits, .. } => {
                Cow::Owned(format!("{}{index:0digits$}", self.name))
            }
            FieldKind::Split(_) if index > 0 => Cow::Owned(format!("{}_{index}", self.name)),
            _ => Cow::Borrowed(self.name),
        }
    }

    /// The name of the property that holds the number of the parts of a split value.
    pub fn number_of_parts(&self) -> String {
        format!("{}_Parts", self.name)
    }

    /// Whether a row without the properties of the field is read as its default.
    pub(crate) const fn has_default(&self) -> bool {
        matches!(self.reading.missing, Policy::UseDefault | Policy::Collect)
    }
}
