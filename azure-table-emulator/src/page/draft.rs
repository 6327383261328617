//! The form of an entity: its properties with their types.

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};

use super::fields::Fields;
use super::html::Html;
use super::values::{TYPES, has_code, in_form, parse, with_plain_breaks};

/// The number of empty properties that a form offers.
const EMPTY: usize = 2;
/// The number of properties that one form can have. The service accepts 252.
const PROPERTIES: usize = 300;

/// The properties of a form, as the person typed them.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) partition_key: String,
    pub(super) row_key: String,
    properties: Vec<Property>,
}

#[derive(Debug)]
struct Property {
    name: String,
    edm_type: EdmType,
    value: String,
    is_removed: bool,
}

impl Draft {
    pub(super) fn of_entity(entity: &DynamicEntity) -> Self {
        let properties = entity.properties().map(|(name, value)| Property {
            name: name.to_owned(),
            edm_type: value.edm_type(),
            value: in_form(value),
            is_removed: false,
        });
        Self {
            partition_key: entity.key().partition_key.clone(),
            row_key: entity.key().row_key.clone(),
            properties: properties.collect(),
        }
    }

    /// Reads the fields `name-0`, `type-0`, `value-0`, `remove-0` and so on.
    pub(super) fn of_fields(fields: &Fields) -> Self {
        let of = |field: &str, at: usize| fields.get(&format!("{field}-{at}")).to_owned();
        let is_there = |at: &usize| fields.has(&format!("name-{at}"));
        let properties = (0..PROPERTIES).take_while(is_there).map(|at| Property {
            name: of("name", at).trim().to_owned(),
            edm_type: EdmType::from_name(&of("type", at)).unwrap_or(EdmType::String),
            value: with_plain_breaks(&of("value", at)),
            is_removed: fields.has(&format!("remove-{at}")),
        });
        let is_used = |one: &Property| !one.name.is_empty() || !one.value.is_empty();
        let (partition_key, row_key) = fields.keys();
        Self {
            partition_key: partition_key.to_owned(),
            row_key: row_key.to_owned(),
            properties: properties.filter(is_used).collect(),
        }
    }

    /// Returns the entity, or an error for each invalid property. Values that the person did not change
    /// keep their stored form, even if a form cannot show it.
    pub(super) fn entity(
        &self,
        stored: Option<&DynamicEntity>,
    ) -> Result<DynamicEntity, Vec<String>> {
        let mut entity = DynamicEntity::new(&self.partition_key, &self.row_key);
        let mut errors = Vec::new();
        for Property { name, edm_type, value, .. } in self.kept() {
            let stored = stored.and_then(|stored| stored.value(name));
            let unchanged =
                stored.filter(|old| old.edm_type() == *edm_type && in_form(old) == *value);
            if name.is_empty() {
                errors.push(format!("the property with the value {value:?} has no name"));
            } else if entity.value(name).is_some() {
                errors.push(format!("the property {name} occurs twice"));
            } else if let Some(unchanged) = unchanged {
                entity.set(name, unchanged.clone());
            } else {
                match parse(*edm_type, value) {
                    Ok(parsed) => _ = entity.set(name, with_breaks_of(stored, parsed)),
                    Err(reason) => errors.push(format!("{name} ({edm_type}) {reason}")),
                }
            }
        }
        if errors.is_empty() { Ok(entity) } else { Err(errors) }
    }

    fn kept(&self) -> impl Iterator<Item = &Property> {
        self.properties.iter().filter(|property| !property.is_removed)
    }

    /// Writes the inputs of the properties, and empty ones for more.
    pub(super) fn write(&self, body: &mut Html, stored: Option<&DynamicEntity>) {
        body.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Properties\" tabindex=\"0\">");
        body.raw("<table class=\"inputs\"><caption>Properties; leave a name empty to add none");
        body.raw("</caption><thead><tr><th scope=\"col\">Property</th>");
        body.raw("<th scope=\"col\">Type</th><th scope=\"col\">Value</th>");
        body.raw("<th scope=\"col\">Remove</th></tr></thead><tbody>");
        for (at, property) in self.properties.iter().enumerate() {
            property.write(body, at, stored);
        }
        for at in self.properties.len()..self.properties.len() + EMPTY {
            Property::empty().write(body, at, None);
        }
        body.raw("</tbody></table></div>");
    }
}

/// A stored text with `\r\n` keeps this form of line breaks.
fn with_breaks_of(stored: Option<&EdmValue>, value: EdmValue) -> EdmValue {
    match (stored, value) {
        (Some(EdmValue::String(old)), EdmValue::String(new)) if old.contains("\r\n") => {
            EdmValue::String(new.replace('\n', "\r\n"))
        }
        (_, value) => value,
    }
}

impl Property {
    fn empty() -> Self {
        let (name, value) = (String::new(), String::new());
        Self { name, edm_type: EdmType::String, value, is_removed: false }
    }

    fn write(&self, body: &mut Html, at: usize, stored: Option<&DynamicEntity>) {
        let label = if self.name.is_empty() { "the new property" } else { &self.name };
        body.raw("<tr><td><input name=\"name-").number(at).raw("\" value=\"").text(&self.name);
        body.raw("\" aria-label=\"Name of ").text(label).raw("\" autocomplete=\"off\" ");
        body.raw("spellcheck=\"false\"></td><td><select name=\"type-").number(at);
        body.raw("\" aria-label=\"Type of ").text(label).raw("\">");
        for edm_type in TYPES {
            body.raw("<option").raw(if edm_type == self.edm_type { " selected>" } else { ">" });
            body.text(edm_type.as_str()).raw("</option>");
        }
        // The first line break of a text area is not part of its value.
        body.raw("</select></td><td><textarea rows=\"1\" name=\"value-").number(at);
        body.raw("\" aria-label=\"Value of ").text(label).raw("\" spellcheck=\"false\">\n");
        body.text(&self.value).raw("</textarea>");
        if stored.and_then(|stored| stored.value(&self.name)).is_some_and(has_code) {
            body.raw("<p class=\"hint\">Control characters are shown as their code points. ");
            body.raw("A changed value is stored as shown.</p>");
        }
        body.raw("</td><td><input type=\"checkbox\" name=\"remove-").number(at);
        body.raw("\" aria-label=\"Remove ").text(label);
        body.raw(if self.is_removed { "\" checked></td></tr>" } else { "\"></td></tr>" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(form: &str) -> Draft {
        Draft::of_fields(&Fields::parse(form.as_bytes()))
    }

    #[test]
    fn a_form_is_read_with_types() {
        let form = "PartitionKey=p&RowKey=r&name-0=A&type-0=Edm.Int64&value-0=5&name-1=B&type-1=\
                    Edm.String&value-1=a%0D%0Ab&name-2=C&type-2=Edm.String&value-2=x&remove-2=on\
                    &name-3=&type-3=Edm.Int32&value-3=";
        let entity = draft(form).entity(None).unwrap();
        let expected = DynamicEntity::new("p", "r").with("A", 5_i64).with("B", "a\nb");
        assert_eq!(entity, expected);
        for (form, error) in [
            (
                "name-0=A&type-0=Edm.Int32&value-0=x",
                "A (Edm.Int32) must be a whole number of 32 bits",
            ),
            ("name-0=A&value-0=1&name-1=A&value-1=2", "the property A occurs twice"),
            ("name-0=&value-0=1", "the property with the value \"1\" has no name"),
        ] {
            assert_eq!(draft(form).entity(None).unwrap_err(), [error]);
        }
    }

    #[test]
    fn unchanged_values_keep_what_a_form_cannot_show() {
        let stored = DynamicEntity::new("p", "r").with("A", "x\0\r\ny").with("B", "a\r\nb");
        let shown = Draft::of_entity(&stored);
        assert_eq!(shown.entity(Some(&stored)).unwrap(), stored);
        let form = "PartitionKey=p&RowKey=r&name-0=B&type-0=Edm.String&value-0=a%0D%0Ac";
        let changed = draft(form).entity(Some(&stored)).unwrap();
        assert_eq!(changed, DynamicEntity::new("p", "r").with("B", "a\r\nc"));
    }
}
