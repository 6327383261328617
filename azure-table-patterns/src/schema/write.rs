//! The text of a snapshot: one line for each property, in a stable order.
//!
//! The format is our own because people review its diffs, delete lines by hand, and find an error by its line; a format of
//! serde would spread a property over a dozen lines, and the reader of these files would have to stay.

use std::fmt::{Display, Formatter, Result};

use azure_table_client::entity::schema::{
    Absent, KeyElement, Layout, Others, PropertySchema, ValueForm,
};

use super::snapshot::Snapshot;

pub(super) const HEAD: &str =
    "# The stored form of the rows. A change of this file is a change of stored data.";
pub(super) const END: &str = "end";

impl Display for Snapshot {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "{HEAD}")?;
        block(self, f, "")?;
        writeln!(f, "{END}")
    }
}

fn block(snapshot: &Snapshot, f: &mut Formatter<'_>, indent: &str) -> Result {
    let Snapshot { schema, removed, kinds } = snapshot;
    if let Some(table) = &schema.table {
        writeln!(f, "{indent}table {}", quoted(table))?;
    }
    for (word, elements) in [("partition-key", &schema.partition_key), ("row-key", &schema.row_key)]
    {
        if !elements.is_empty() {
            writeln!(f, "{indent}{word} {}", key(elements))?;
        }
    }
    match schema.others {
        Others::Kept => writeln!(f, "{indent}others kept")?,
        Others::Refused => writeln!(f, "{indent}others refused")?,
        _ => {}
    }
    for (word, list) in [("property", &schema.properties), ("removed", removed)] {
        for one in list {
            writeln!(f, "{indent}{word} {}", property(one))?;
        }
    }
    let Some(kinds) = kinds else { return Ok(()) };
    match &kinds.property {
        Some(property) => writeln!(f, "{indent}kinds by {}", quoted(property))?,
        None => writeln!(f, "{indent}kinds by-keys")?,
    }
    for (name, kind) in &kinds.list {
        writeln!(f, "{indent}kind {}", quoted(name))?;
        block(kind, f, &format!("{indent}  "))?;
    }
    if kinds.has_other {
        writeln!(f, "{indent}other-kinds")?;
    }
    Ok(())
}

/// The form of a key.
pub(super) fn key(elements: &[KeyElement]) -> String {
    elements.iter().map(element).collect::<Vec<_>>().join(" ")
}

fn element(element: &KeyElement) -> String {
    match element {
        KeyElement::Constant(text) => format!("literal {}", quoted(text)),
        KeyElement::Field { name, format, form, rust_type } => {
            let mut words = vec!["field".to_owned(), quoted(name)];
            words.extend(values(form, rust_type));
            if !format.is_empty() {
                words.push(format!("format {}", quoted(format)));
            }
            words.join(" ")
        }
        _ => String::new(),
    }
}

fn property(property: &PropertySchema) -> String {
    let mut words = vec![quoted(&property.name)];
    if let Some(edm_type) = property.edm_type {
        words.push(edm_type.to_string());
        if property.codec.is_empty() {
            words.extend(values(&property.form, &property.rust_type));
        } else {
            words.push(format!("codec {}", quoted(&property.codec)));
            words.push(format!("rust {}", quoted(&property.rust_type)));
        }
    }
    match property.layout {
        Layout::Series { digits, size } => {
            let size = size.map_or_else(|| "any".to_owned(), |size| size.to_string());
            words.push(format!("series {digits} {size}"));
        }
        Layout::Split => words.push("split".to_owned()),
        _ => {}
    }
    words.push(match &property.absent {
        Absent::Optional => "optional".to_owned(),
        Absent::DefaultValue(None) => "default varies".to_owned(),
        Absent::DefaultValue(Some(text)) => format!("default {}", quoted(text)),
        _ => "required".to_owned(),
    });
    words.extend(property.aliases.iter().map(|alias| format!("alias {}", quoted(alias))));
    if !property.accept.is_empty() {
        words.push(format!("accepts {}", property.accept));
    }
    if property.is_tolerant {
        words.push("tolerant".to_owned());
    }
    if property.is_copy {
        words.push("copy-of-key".to_owned());
    }
    words.extend(property.groups.iter().map(|group| format!("group {}", quoted(group))));
    words.join(" ")
}

fn values(form: &ValueForm, rust_type: &str) -> Vec<String> {
    match form {
        ValueForm::Named(name) => vec![format!("form {}", quoted(name))],
        ValueForm::Choice { choices, has_other } => {
            let mut words = Vec::new();
            for choice in choices {
                let (variant, stored) = (quoted(&choice.variant), quoted(&choice.stored));
                words.push(format!("choice {variant} {stored}"));
                words.extend(choice.aliases.iter().map(|alias| format!("or {}", quoted(alias))));
            }
            words.extend(has_other.then(|| "other-choices".to_owned()));
            words
        }
        _ => vec![format!("rust {}", quoted(rust_type))],
    }
}

/// The text in quotes, with escapes for quotes, backslashes and control characters.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
