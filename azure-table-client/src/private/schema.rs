//! Descriptions of the stored form.

use crate::decode::{Accept, Policy};
use crate::edm::{ConvertError, EdmType, EdmValue, FromEdm, ToEdm, ValueChoice, ValueForm};
use crate::entity::SeriesName;
use crate::entity::schema::{Absent, KeyElement, Kinds, Layout, PropertySchema, Schema};
use crate::filter::stored;

/// The attributes of a field that is a property.
#[derive(Debug, Clone, Copy)]
pub struct FieldSchema {
    name: &'static str,
    /// The type as it is written, without `Option`.
    ty: &'static str,
    aliases: &'static [&'static str],
    codec: &'static str,
    missing: Policy,
    mistyped: Policy,
    accept: Accept,
    is_copy: bool,
}

impl FieldSchema {
    /// A property that is read by the rules of its type.
    pub const fn new(name: &'static str, ty: &'static str) -> Self {
        let (aliases, policy): (&[&str], _) = (&[], Policy::OfType);
        let (missing, mistyped, accept) = (policy, policy, Accept::Exact);
        Self { name, ty, aliases, codec: "", missing, mistyped, accept, is_copy: false }
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

    /// Sets the policies.
    #[must_use]
    pub const fn policies(self, missing: Policy, mistyped: Policy, accept: Accept) -> Self {
        Self { missing, mistyped, accept, ..self }
    }

    /// Marks the copy of a key.
    #[must_use]
    pub const fn copy_of_key(self) -> Self {
        Self { is_copy: true, ..self }
    }

    fn describe<R: ToEdm + FromEdm>(&self, schema: &mut Schema, absent: Absent) {
        let mut property = PropertySchema::new(self.name);
        property.aliases = self.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        property.edm_type = Some(<R as ToEdm>::EDM_TYPE);
        self.codec.clone_into(&mut property.codec);
        property.form = R::form();
        self.ty.clone_into(&mut property.rust_type);
        property.absent = if self.is_copy { Absent::Optional } else { absent };
        accepted(self.accept).clone_into(&mut property.accept);
        property.is_tolerant = matches!(self.mistyped, Policy::UseDefault | Policy::Collect);
        property.is_copy = self.is_copy;
        schema.properties.push(property);
    }

    /// The result of reading a row without the property. `default` is called twice, since it may vary.
    fn absent<R: ToEdm + FromEdm>(
        &self,
        default: impl Fn() -> Result<Option<EdmValue>, ConvertError>,
    ) -> Absent {
        match self.missing {
            Policy::Error => Absent::Required,
            Policy::OfType => match R::from_missing() {
                None => Absent::Required,
                Some(_) => Absent::Optional,
            },
            Policy::UseDefault | Policy::Collect => match default() {
                Ok(None) => Absent::Optional,
                Ok(Some(value)) if default() == Ok(Some(value.clone())) => {
                    Absent::DefaultValue(text_of(&value))
                }
                _ => Absent::DefaultValue(None),
            },
        }
    }
}

/// The text of a default. A time or an id usually varies, even if two in a row are equal.
fn text_of(value: &EdmValue) -> Option<String> {
    let varies = matches!(value.edm_type(), EdmType::DateTime | EdmType::Guid);
    (!varies).then(|| value.to_string())
}

fn accepted(accept: Accept) -> &'static str {
    match accept {
        Accept::Exact => "",
        Accept::Widened => "widened",
        Accept::Lenient => "lenient",
    }
}

/// Describes the table and the keys of an entity.
pub fn schema<const P: usize, const R: usize>(
    table: Option<&str>,
    partition_key: [KeyElement; P],
    row_key: [KeyElement; R],
) -> Schema {
    let table = table.map(str::to_owned);
    let (partition_key, row_key) = (partition_key.into(), row_key.into());
    let mut schema = Schema::default();
    (schema.table, schema.partition_key, schema.row_key) = (table, partition_key, row_key);
    schema
}

/// Describes an enum of entities.
pub fn schema_of_kinds<const N: usize>(
    table: Option<&str>,
    property: Option<&str>,
    list: [(&str, Schema); N],
    has_other: bool,
) -> Schema {
    let mut kinds = Kinds::default();
    kinds.property = property.map(str::to_owned);
    kinds.list = list.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    kinds.has_other = has_other;
    let mut schema = schema(table, [], []);
    schema.kinds = Some(kinds);
    schema
}

/// Describes a text that is the same in every key.
pub fn constant(text: &str) -> KeyElement {
    KeyElement::Constant(text.to_owned())
}

/// Describes a property that is stored in its native type.
pub(super) fn describe<T: ToEdm + FromEdm>(
    schema: &mut Schema,
    field: &FieldSchema,
    default: impl Fn() -> Option<T>,
) {
    let absent = field.absent::<T>(|| match default() {
        Some(value) => stored(&value),
        None => Ok(None),
    });
    field.describe::<T>(schema, absent);
}

/// Describes a property that a module of the user's encodes. The default is `None` if the field is, and there is none if
/// the property is required.
pub fn describe_encoded<R: super::StoredValue, T>(
    schema: &mut Schema,
    field: &FieldSchema,
    encode: impl Fn(&T) -> Result<R, ConvertError>,
    default: impl Fn() -> Option<Option<T>>,
) {
    let absent = field.absent::<R>(|| match default().flatten() {
        Some(value) => stored(&encode(&value)?),
        None => Ok(None),
    });
    field.describe::<R>(schema, absent);
}

/// Describes the properties of a group. Groups without a prefix are told apart by their fields.
pub fn describe_group(
    schema: &mut Schema,
    group: Schema,
    prefix: &str,
    field: &str,
    has_default: bool,
) {
    let group_name = if prefix.is_empty() { field } else { prefix };
    for mut property in group.properties {
        for name in property.aliases.iter_mut().chain([&mut property.name]) {
            name.insert_str(0, prefix);
        }
        for name in &mut property.groups {
            name.insert_str(0, if name.is_empty() { group_name } else { prefix });
        }
        if has_default {
            property.groups.insert(0, format!("{group_name}!"));
        }
        schema.properties.push(property);
    }
}

/// Describes a numbered series of properties.
pub fn describe_series(
    schema: &mut Schema,
    describe: fn(&mut PropertySchema, SeriesName),
    name: SeriesName,
    ty: &str,
    accept: Accept,
    has_default: bool,
) {
    let mut property = PropertySchema::new(name.prefix);
    describe(&mut property, name);
    ty.clone_into(&mut property.rust_type);
    accepted(accept).clone_into(&mut property.accept);
    if has_default {
        property.groups.push(format!("{}!", name.prefix));
    }
    schema.properties.push(property);
}

/// Describes a value that is stored in parts.
pub fn describe_split(schema: &mut Schema, edm_type: EdmType, name: &str, has_default: bool) {
    let mut property = PropertySchema::new(name);
    property.layout = Layout::Split;
    property.edm_type = Some(edm_type);
    property.form = ValueForm::named(if edm_type == EdmType::String { "text" } else { "bytes" });
    if has_default {
        property.groups.push(format!("{name}!"));
    }
    schema.properties.push(property);
}

/// The form of an enum.
pub fn choices(list: &[(&str, String, &[&str])], has_other: bool) -> ValueForm {
    let choices = list.iter().map(|(variant, stored, aliases)| {
        let mut choice = ValueChoice::new(*variant, stored);
        choice.aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        choice
    });
    ValueForm::Choice { choices: choices.collect(), has_other }
}

/// The text of a variant's number.
pub fn number_text(number: i32) -> String {
    number.to_string()
}

/// The form of an enum in a key, which is read only as it is written.
pub fn key_choices<T: ToEdm>() -> ValueForm {
    let mut form = T::form();
    if let ValueForm::Choice { choices, .. } = &mut form {
        for choice in choices {
            choice.aliases.clear();
        }
    }
    form
}
