//! Fields as properties: one, or several of a series, of a value in parts, or of a group.

use azure_table_client::edm::EdmType;
use azure_table_client::entity::schema::{Absent, Layout, PropertySchema};
use syn::spanned::Spanned as _;
use syn::{Field, Type};

use super::attributes::Attributes;
use super::entity::{Definitions, Settings};
use super::items::problem;
use super::types::{argument, length, text_of, unsupported};

/// Words on a property without an effect on the rows that are read. A stored row has no null.
pub(super) const IGNORED_ON_FIELDS: [&str; 4] = ["on_inexact", "on_null", "read_only", "skip_if"];
const CODECS: [(&str, EdmType); 5] = [
    ("as_string", EdmType::String),
    ("as_padded", EdmType::String),
    ("as_json", EdmType::String),
    ("as_i32", EdmType::Int32),
    ("as_i64", EdmType::Int64),
];
/// The most groups within each other.
const MAX_GROUPS: usize = 16;

impl Definitions {
    /// Reads the properties of a field. `level` is the number of groups around it.
    pub(super) fn properties(
        &self,
        field: &Field,
        ident: &str,
        mut attributes: Attributes,
        settings: &Settings,
        level: usize,
    ) -> Result<Vec<PropertySchema>, String> {
        attributes.ignore(&IGNORED_ON_FIELDS);
        if let Some(prefix) = attributes.take("flatten") {
            return self.group(field, ident, &prefix.text.unwrap_or_default(), attributes, level);
        }
        let series = attributes.take("series");
        let is_split = attributes.has("split");
        let name = attributes.text("rename").unwrap_or_else(|| settings.rename_all.of_field(ident));
        let mut property = PropertySchema::new(name);
        property.aliases = attributes.texts("alias");
        property.is_copy = attributes.has("also_property");
        let codec = CODECS.into_iter().find(|(codec, _)| attributes.has(codec));
        let module = attributes.text("with");
        settings.apply(&mut property, &field.ty, &mut attributes);
        attributes.finish()?;
        let ty = argument(&field.ty, "Option").unwrap_or(&field.ty);
        if let Some((codec, edm_type)) = codec {
            codec.clone_into(&mut property.codec);
            property.edm_type = Some(edm_type);
            property.rust_type = text_of(ty);
        } else if let Some(module) = module {
            property.codec = module;
        } else if let Some(template) = series {
            self.series(&mut property, template.text.as_deref(), &field.ty)?;
        } else {
            let (edm_type, form) = self.values(ty)?;
            (property.edm_type, property.form) = (Some(edm_type), form);
        }
        if is_split {
            property.layout = Layout::Split;
            mark_default(&mut property);
        }
        Ok(vec![property])
    }

    fn series(
        &self,
        property: &mut PropertySchema,
        template: Option<&str>,
        ty: &Type,
    ) -> Result<(), String> {
        let (element, size) = match (ty, argument(ty, "Vec")) {
            (Type::Array(array), _) => {
                let size = length(&array.len).ok_or_else(|| unsupported(ty))?;
                (&*array.elem, Some(size))
            }
            (_, Some(element)) => (element, None),
            _ => return Err(unsupported(ty)),
        };
        let digits = match template {
            None => 2,
            Some(template) => {
                let (prefix, digits) = of_template(template).ok_or_else(|| {
                    problem(ty.span(), &format!("`{template}` is not the name of a series"))
                })?;
                property.name = prefix;
                digits
            }
        };
        property.layout = Layout::Series { digits, size };
        mark_default(property);
        let inner = argument(element, "Option");
        property.absent = if inner.is_some() { Absent::Optional } else { Absent::Required };
        let (edm_type, form) = self.values(inner.unwrap_or(element))?;
        (property.edm_type, property.form) = (Some(edm_type), form);
        Ok(())
    }

    fn group(
        &self,
        field: &Field,
        ident: &str,
        prefix: &str,
        mut attributes: Attributes,
        level: usize,
    ) -> Result<Vec<PropertySchema>, String> {
        let has_default = attributes.has("default");
        attributes.finish()?;
        let inner = argument(&field.ty, "Option");
        let group = self.named(inner.unwrap_or(&field.ty), "PropertyGroup");
        let Some(group) = group.filter(|_| level < MAX_GROUPS) else {
            return Err(unsupported(&field.ty));
        };
        let mut properties = self.fields(group, level + 1)?.properties;
        let name = if prefix.is_empty() { ident } else { prefix };
        for property in &mut properties {
            property.name.insert_str(0, prefix);
            for text in property.aliases.iter_mut().chain(&mut property.groups) {
                text.insert_str(0, prefix);
            }
            let optional = inner.is_some().then(|| name.to_owned());
            let with_default = has_default.then(|| format!("{name}!"));
            property.groups.splice(0..0, optional.into_iter().chain(with_default));
        }
        Ok(properties)
    }
}

/// A row may lack a field of several properties with a default, but not some of its properties.
fn mark_default(property: &mut PropertySchema) {
    if property.absent != Absent::Required {
        property.groups.push(format!("{}!", property.name));
        property.absent = Absent::Required;
    }
}

/// `Cpu{:02}` as prefix and number of digits.
fn of_template(template: &str) -> Option<(String, usize)> {
    let (prefix, place) = template.strip_suffix('}')?.split_once('{')?;
    let digits = match place.strip_prefix(":0") {
        Some(digits) => digits.parse().ok().filter(|digits| (1..=9).contains(digits))?,
        None if place.is_empty() => 1,
        None => return None,
    };
    Some((prefix.to_owned(), digits))
}
