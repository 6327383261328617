//! The rows that an entity reads, by its stored form.

use std::collections::HashSet;
use std::fmt;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};
use azure_table_client::entity::Accept;
use azure_table_client::entity::schema::{
    Absent, KeyElement, Kinds, Layout, Others, PropertySchema, Schema, ValueForm,
};

use super::{form, several};
use crate::output::shortened;
use azure_table_protocol::entity::PARTS;

const FOUND_WIDTH: usize = 60;

/// An entity that reads rows.
#[derive(Debug)]
pub(super) struct Reader(Schema);

/// A column that an entity cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) column: String,
    pub(super) expected: String,
    pub(super) found: String,
}

/// One line without control characters.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, expected, found } = self;
        write!(f, "{}: expected {expected}, found {found}", column.escape_debug())
    }
}

impl Reader {
    /// # Errors
    /// The kinds are recognized by their keys.
    pub(super) fn new(schema: Schema) -> Result<Self, String> {
        match &schema.kinds {
            Some(kinds) if kinds.property.is_none() => {
                Err("kinds by the form of the keys are not supported by --check".to_owned())
            }
            _ => Ok(Self(schema)),
        }
    }

    /// The parts of the form that are not checked.
    pub(super) fn limits(&self) -> Vec<String> {
        let kinds = self.0.kinds.iter().flat_map(|kinds| &kinds.list).map(|(_, kind)| kind);
        let mut limits: Vec<_> =
            std::iter::once(&self.0).chain(kinds).flat_map(limits_of).collect();
        limits.dedup();
        limits
    }

    /// Returns the columns of the row that the entity cannot read.
    pub(super) fn problems(&self, row: &DynamicEntity) -> Vec<Problem> {
        let mut problems = Vec::new();
        match &self.0.kinds {
            None => problems_of(&self.0, row, None, &mut problems),
            Some(kinds) => of_kind(kinds, row, &mut problems),
        }
        problems
    }
}

fn limits_of(schema: &Schema) -> Vec<String> {
    let keys = [("PartitionKey", &schema.partition_key), ("RowKey", &schema.row_key)];
    let keys = keys
        .into_iter()
        .filter(|(_, elements)| !elements.is_empty() && key(elements, "").is_none());
    let keys = keys.map(|(name, _)| format!("the form of the {name} is not checked"));
    let properties = schema.properties.iter().filter(|property| !is_whole(property));
    let properties = properties.map(|property| {
        let name = &property.name;
        match property.edm_type {
            None => format!("{name:?} is not checked"),
            Some(_) if property.is_copy => format!("{name:?} is not compared with the key"),
            Some(edm_type) => format!("{name:?}: only the type {edm_type} is checked"),
        }
    });
    keys.chain(properties).collect()
}

/// Whether each value of the property is checked completely.
fn is_whole(property: &PropertySchema) -> bool {
    let is_described = match &*property.codec {
        "" => property.form != ValueForm::Unknown,
        codec => property.edm_type.is_some_and(|edm_type| {
            let zero = match edm_type {
                EdmType::Int32 => EdmValue::Int32(0),
                EdmType::Int64 => EdmValue::Int64(0),
                _ => EdmValue::String("0".to_owned()),
            };
            form::decodes(codec, &property.rust_type, &zero).is_some()
        }),
    };
    is_described && !property.is_copy || is_tolerant(property)
}

fn of_kind(kinds: &Kinds, row: &DynamicEntity, problems: &mut Vec<Problem>) {
    let column = kinds.property.as_deref().unwrap_or_default();
    let value = row.value(column);
    let kind = match value {
        Some(EdmValue::String(text)) => kinds.list.iter().find(|(name, _)| name == text),
        _ => None,
    };
    match kind {
        Some((_, schema)) => problems_of(schema, row, Some(column), problems),
        None if kinds.has_other => {}
        None => {
            let names: Vec<_> = kinds.list.iter().map(|(name, _)| format!("{name:?}")).collect();
            problems.push(Problem {
                column: column.to_owned(),
                expected: format!("one of {}", names.join(", ")),
                found: found(value),
            });
        }
    }
}

fn problems_of(
    schema: &Schema,
    row: &DynamicEntity,
    discriminator: Option<&str>,
    problems: &mut Vec<Problem>,
) {
    let keys = [
        ("PartitionKey", &schema.partition_key, &row.key().partition_key),
        ("RowKey", &schema.row_key, &row.key().row_key),
    ];
    for (name, elements, text) in keys {
        if key(elements, text) == Some(false) {
            problems.push(Problem {
                column: name.to_owned(),
                expected: key_form(elements),
                found: shortened(format!("{text:?}"), FOUND_WIDTH),
            });
        }
    }
    let mut read: HashSet<String> = discriminator.map(str::to_owned).into_iter().collect();
    for property in &schema.properties {
        property_of(schema, property, row, problems);
        read.extend(several::columns(property, row));
        read.extend(property.aliases.iter().cloned());
        read.extend(several::number_column(property));
    }
    if schema.others == Others::Refused {
        let unknown = row.properties().filter(|(name, _)| !read.contains(*name));
        problems.extend(unknown.map(|(name, value)| Problem {
            column: name.to_owned(),
            expected: "no such column".to_owned(),
            found: found(Some(value)),
        }));
    }
}

/// Reads the columns of a field.
fn property_of(
    schema: &Schema,
    property: &PropertySchema,
    row: &DynamicEntity,
    problems: &mut Vec<Problem>,
) {
    if let Some(column) = several::number_column(property)
        && several::parts(property, row).is_none()
    {
        let found = found(row.value(&column));
        problems.push(Problem { column, expected: format!("Edm.Int32 (1 to {PARTS})"), found });
        return;
    }
    let columns = several::columns(property, row);
    let is_group_absent = property.groups.iter().any(|group| !has_group(schema, group, row));
    for (at, name) in columns.iter().enumerate() {
        let mut names = std::iter::once(name).chain(&property.aliases);
        let column = names.find(|name| row.value(name).is_some()).unwrap_or(name);
        let value = row.value(column);
        let is_missing = property.absent == Absent::Required || property.layout == Layout::Split;
        let is_readable = match value {
            None => !is_missing || is_group_absent,
            Some(value) => {
                let is_part = property.layout == Layout::Split && at + 1 < columns.len();
                reads(property, value) && (!is_part || several::is_full(value))
            }
        };
        if !is_readable {
            problems.push(Problem {
                column: column.clone(),
                expected: expected(property),
                found: found(value),
            });
        }
    }
}

/// Whether the row has a property of a group.
fn has_group(schema: &Schema, group: &String, row: &DynamicEntity) -> bool {
    let mut members = schema.properties.iter().filter(|property| property.groups.contains(group));
    members.any(|property| several::is_present(property, row))
}

/// Whether a value of another type is read as the default. The copy of a key has none.
const fn is_tolerant(property: &PropertySchema) -> bool {
    property.is_tolerant && !property.is_copy
}

fn reads(property: &PropertySchema, value: &EdmValue) -> bool {
    let Some(edm_type) = property.edm_type else { return true };
    if is_tolerant(property) {
        return true;
    }
    let accept = match &*property.accept {
        "widened" => Accept::Widened,
        "lenient" => Accept::Lenient,
        _ => Accept::Exact,
    };
    let value = accept.convert(value.as_cow(), edm_type).into_value();
    if value.edm_type() != edm_type {
        return false;
    }
    match &*property.codec {
        "" => form::has_value(&property.form, &value),
        codec => form::decodes(codec, &property.rust_type, &value).unwrap_or(true),
    }
}

/// Whether a key has the form; `None` if that is not known.
fn key(elements: &[KeyElement], text: &str) -> Option<bool> {
    match elements {
        [KeyElement::Constant(constant)] => Some(constant == text),
        [KeyElement::Field { format, form, .. }] if format.is_empty() => form::has_key(form, text),
        _ => None,
    }
}

fn key_form(elements: &[KeyElement]) -> String {
    match elements {
        [KeyElement::Constant(constant)] => format!("{constant:?}"),
        [KeyElement::Field { form, .. }] => named(form),
        _ => String::new(),
    }
}

/// `Edm.Int32 (u8)`
fn expected(property: &PropertySchema) -> String {
    let edm_type = property.edm_type.map_or("a value", EdmType::as_str);
    let values = match &*property.codec {
        "" => named(&property.form),
        codec => format!("{codec} {}", property.rust_type).trim_end().to_owned(),
    };
    format!("{edm_type} ({values})")
}

/// The values of a form, for readers.
fn named(form: &ValueForm) -> String {
    match form {
        ValueForm::Named(name) => name.clone().into_owned(),
        ValueForm::Choice { choices, .. } => {
            let texts: Vec<_> =
                choices.iter().map(|choice| format!("{:?}", choice.stored)).collect();
            format!("one of {}", texts.join(", "))
        }
        _ => "not described".to_owned(),
    }
}

/// The type and the value, cut and without control characters.
fn found(value: Option<&EdmValue>) -> String {
    let text = match value {
        None => "nothing".to_owned(),
        Some(EdmValue::String(text)) => format!("Edm.String {text:?}"),
        Some(value) => format!("{} {value}", value.edm_type()),
    };
    shortened(text, FOUND_WIDTH)
}
