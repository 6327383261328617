//! Structs and enums as stored forms.

use azure_table_client::entity::schema::{
    Absent, KeyElement, Kinds, Others, PropertySchema, Schema, ValueForm,
};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Field, Type, Variant};

use super::super::rename::RenameRule;
use super::attributes::Attributes;
use super::items::problem;
use super::property::IGNORED_ON_FIELDS;
use super::types::{argument, last_word, text_of};

/// Words on a struct or an enum without an effect on the rows that are read.
pub(super) const IGNORED: [&str; 4] = ["crate", "index", "no_constructors", "on_null"];
/// Words on fields that are not read from a column.
const NOT_STORED: [&str; 6] = ["timestamp", "etag", "extra", "errors", "computed", "skip"];

/// The items of a file.
pub(super) struct Definitions(pub(super) Vec<DeriveInput>);

/// The settings of a struct for its fields.
pub(super) struct Settings {
    pub(super) rename_all: RenameRule,
    accept: Option<String>,
    on_missing: Option<String>,
    on_mistyped: Option<String>,
    /// The fields that are parts of each key.
    parts: [Vec<String>; 2],
}

impl Definitions {
    pub(super) const fn new(items: Vec<DeriveInput>) -> Self {
        Self(items)
    }

    /// The items with `#[derive(TableEntity)]`.
    pub(super) fn entities(&self) -> Vec<&DeriveInput> {
        self.0.iter().filter(|item| derives(item, "TableEntity")).collect()
    }

    pub(super) fn schema(&self, item: &DeriveInput) -> Result<Schema, String> {
        let Data::Enum(data) = &item.data else { return self.structure(item) };
        let mut attributes = Attributes::read(&item.attrs)?;
        attributes.ignore(&IGNORED);
        let rule = rename_rule(&mut attributes, item)?;
        let mut schema = Schema::default();
        schema.table = attributes.text("name");
        let mut kinds = Kinds::default();
        kinds.property = attributes.text("discriminator");
        attributes.finish()?;
        for variant in &data.variants {
            let mut attributes = Attributes::read(&variant.attrs)?;
            if attributes.has("other") {
                let word = variant.fields.iter().next().and_then(|field| last_word(&field.ty));
                if word.as_deref() != Some("DynamicEntity") {
                    return Err(problem(
                        variant.ident.span(),
                        &"a variant for other kinds without DynamicEntity is not supported by --check",
                    ));
                }
                kinds.has_other = true;
                continue;
            }
            let name = attributes.text("rename");
            let name = name.unwrap_or_else(|| rule.of_variant(&variant.ident.unraw().to_string()));
            attributes.finish()?;
            kinds.list.push((name, self.structure(self.held(variant)?)?));
        }
        schema.kinds = Some(kinds);
        Ok(schema)
    }

    /// The struct that a variant holds.
    fn held(&self, variant: &Variant) -> Result<&DeriveInput, String> {
        let held =
            variant.fields.iter().next().and_then(|field| self.named(&field.ty, "TableEntity"));
        held.ok_or_else(|| {
            let message = format!("the struct of the variant {} is not in the file", variant.ident);
            problem(variant.ident.span(), &message)
        })
    }

    fn structure(&self, item: &DeriveInput) -> Result<Schema, String> {
        let schema = self.fields(item, 0)?;
        if schema.partition_key.is_empty() || schema.row_key.is_empty() {
            let message = format!("{} has no field for each key", item.ident);
            return Err(problem(item.ident.span(), &message));
        }
        Ok(schema)
    }

    /// Reads an entity or a group.
    pub(super) fn fields(&self, item: &DeriveInput, level: usize) -> Result<Schema, String> {
        let mut attributes = Attributes::read(&item.attrs)?;
        attributes.ignore(&IGNORED);
        let mut schema = Schema::default();
        schema.table = attributes.text("name");
        if attributes.has("deny_unknown") {
            schema.others = Others::Refused;
        }
        let keys = ["partition_key", "row_key"].map(|name| attributes.key(name));
        let settings = Settings {
            rename_all: rename_rule(&mut attributes, item)?,
            accept: attributes.text("accept"),
            on_missing: attributes.text("on_missing"),
            on_mistyped: attributes.text("on_mistyped"),
            parts: keys
                .each_ref()
                .map(|key| key.as_ref().map(|key| key.fields.clone()).unwrap_or_default()),
        };
        attributes.finish()?;
        for (elements, key) in
            [&mut schema.partition_key, &mut schema.row_key].into_iter().zip(keys)
        {
            elements.extend(key.and_then(|key| key.constant).map(KeyElement::Constant));
        }
        let Data::Struct(data) = &item.data else {
            return Err(problem(item.ident.span(), &"only a struct can be an entity of a kind"));
        };
        for field in &data.fields {
            self.field(field, &settings, &mut schema, level)?;
        }
        Ok(schema)
    }

    fn field(
        &self,
        field: &Field,
        settings: &Settings,
        schema: &mut Schema,
        level: usize,
    ) -> Result<(), String> {
        let Some(ident) = &field.ident else {
            return Err(problem(
                field.span(),
                &"a field without a name is not supported by --check",
            ));
        };
        let ident = ident.unraw().to_string();
        let mut attributes = Attributes::read(&field.attrs)?;
        if let Some(word) = NOT_STORED.into_iter().find(|word| attributes.has(word)) {
            if word == "extra" {
                schema.others = Others::Kept;
            }
            attributes.ignore(&["default"]);
            return attributes.finish();
        }
        let is_whole = ["partition_key", "row_key"].map(|word| attributes.has(word));
        let is_part = settings.parts.each_ref().map(|parts| parts.contains(&ident));
        for (at, elements) in
            [&mut schema.partition_key, &mut schema.row_key].into_iter().enumerate()
        {
            // The form of a key with several parts is not checked.
            let form = match (is_whole[at], is_part[at]) {
                (true, _) => self.key_texts(&field.ty)?,
                (false, true) => ValueForm::Unknown,
                (false, false) => continue,
            };
            let (name, rust_type) = (ident.clone(), text_of(&field.ty));
            elements.push(KeyElement::Field { name, format: String::new(), form, rust_type });
        }
        let is_key = is_whole.into_iter().chain(is_part).any(|is_key| is_key);
        if is_key && !attributes.contains("also_property") {
            attributes.ignore(&IGNORED_ON_FIELDS);
            return attributes.finish();
        }
        schema.properties.extend(self.properties(field, &ident, attributes, settings, level)?);
        Ok(())
    }
}

impl Settings {
    /// Sets the policies of a property by its attributes, or else by those of the struct.
    pub(super) fn apply(
        &self,
        property: &mut PropertySchema,
        ty: &Type,
        attributes: &mut Attributes,
    ) {
        let is_option = argument(ty, "Option").is_some();
        let has_default = attributes.has("default");
        let of_struct = self.on_missing.clone().filter(|_| !is_option && !has_default);
        property.absent = match attributes.text("on_missing").or(of_struct).as_deref() {
            _ if property.is_copy => Absent::Optional,
            Some("error") => Absent::Required,
            Some(_) => Absent::DefaultValue(None),
            None if is_option => Absent::Optional,
            None if has_default => Absent::DefaultValue(None),
            None => Absent::Required,
        };
        let accept = attributes.text("accept").or_else(|| self.accept.clone());
        property.accept = accept.filter(|accept| accept != "exact").unwrap_or_default();
        let mistyped = attributes.text("on_mistyped").or_else(|| self.on_mistyped.clone());
        property.is_tolerant = mistyped.is_some_and(|policy| policy != "error");
    }
}

pub(super) fn rename_rule(
    attributes: &mut Attributes,
    item: &DeriveInput,
) -> Result<RenameRule, String> {
    let Some(text) = attributes.text("rename_all") else { return Ok(RenameRule::default()) };
    RenameRule::from_spelling(&text)
        .ok_or_else(|| problem(item.ident.span(), &format!("rename_all has no rule {text:?}")))
}

pub(super) fn derives(item: &DeriveInput, derive: &str) -> bool {
    let lists = item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive"));
    lists
        .map(|list| list.to_token_stream().to_string())
        .any(|list| list.split(|c: char| !c.is_alphanumeric()).any(|word| word == derive))
}
