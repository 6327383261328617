//! Structs and enums as stored forms.

use azure_table_client::edm::EdmType;
use azure_table_client::entity::schema::{
    Absent, KeyElement, Kinds, Others, PropertySchema, Schema, ValueChoice, ValueForm,
};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{
    Data, DeriveInput, Expr, ExprLit, Field, Fields, GenericArgument, Lit, PathArguments, Type,
};

use super::super::rename::RenameRule;
use super::attributes::Attributes;
use super::items::problem;

/// Words on a struct or an enum without an effect on the rows that are read.
const IGNORED: [&str; 3] = ["crate", "index", "no_constructors"];
/// Words on a property without an effect on the rows that are read. A stored row has no null.
const IGNORED_ON_FIELDS: [&str; 4] = ["on_inexact", "on_null", "read_only", "skip_if"];
/// Words on fields that are not read from a column.
const NOT_STORED: [&str; 6] = ["timestamp", "etag", "extra", "errors", "computed", "skip"];
const CODECS: [(&str, EdmType); 5] = [
    ("as_string", EdmType::String),
    ("as_padded", EdmType::String),
    ("as_json", EdmType::String),
    ("as_i32", EdmType::Int32),
    ("as_i64", EdmType::Int64),
];

/// The items of a file.
pub(super) struct Definitions(Vec<DeriveInput>);

/// The settings of a struct for its fields.
struct Settings {
    rename_all: RenameRule,
    accept: Option<String>,
    on_missing: Option<String>,
    on_mistyped: Option<String>,
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
        match &item.data {
            Data::Enum(_) => self.kinds(item),
            _ => self.structure(item),
        }
    }

    fn kinds(&self, item: &DeriveInput) -> Result<Schema, String> {
        let Data::Enum(data) = &item.data else { return Ok(Schema::default()) };
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
                kinds.has_other = true;
                continue;
            }
            let name = attributes.text("rename");
            let name = name.unwrap_or_else(|| rule.of_variant(&variant.ident.unraw().to_string()));
            attributes.finish()?;
            let held = variant.fields.iter().next().and_then(|field| last_word(&field.ty));
            let kind = self.0.iter().find(|item| held.as_deref() == Some(&*item.ident.to_string()));
            let Some(kind) = kind.filter(|kind| matches!(kind.data, Data::Struct(_))) else {
                let message =
                    format!("the struct of the variant {} is not in the file", variant.ident);
                return Err(problem(variant.ident.span(), &message));
            };
            kinds.list.push((name, self.structure(kind)?));
        }
        schema.kinds = Some(kinds);
        Ok(schema)
    }

    fn structure(&self, item: &DeriveInput) -> Result<Schema, String> {
        let mut attributes = Attributes::read(&item.attrs)?;
        attributes.ignore(&IGNORED);
        attributes.ignore(&["on_null"]);
        let mut schema = Schema::default();
        schema.table = attributes.text("name");
        if attributes.has("deny_unknown") {
            schema.others = Others::Refused;
        }
        let settings = Settings {
            rename_all: rename_rule(&mut attributes, item)?,
            accept: attributes.text("accept"),
            on_missing: attributes.text("on_missing"),
            on_mistyped: attributes.text("on_mistyped"),
        };
        let constants = [attributes.text("partition_key"), attributes.text("row_key")];
        attributes.finish()?;
        let keys = [&mut schema.partition_key, &mut schema.row_key];
        for (elements, constant) in keys.into_iter().zip(constants) {
            match constant {
                Some(text) if text.contains(['{', '}']) => {
                    return Err(problem(
                        item.ident.span(),
                        &"a key of several parts is not supported by --check",
                    ));
                }
                constant => elements.extend(constant.map(KeyElement::Constant)),
            }
        }
        let Data::Struct(data) = &item.data else {
            return Err(problem(
                item.ident.span(),
                &"only structs and enums of structs are supported by --check",
            ));
        };
        for field in &data.fields {
            self.field(field, &settings, &mut schema)?;
        }
        if schema.partition_key.is_empty() || schema.row_key.is_empty() {
            return Err(problem(
                item.ident.span(),
                &format!("{} has no field for each key", item.ident),
            ));
        }
        Ok(schema)
    }

    fn field(&self, field: &Field, settings: &Settings, schema: &mut Schema) -> Result<(), String> {
        let Some(ident) = &field.ident else {
            return Err(problem(
                field.span(),
                &"a field without a name is not supported by --check",
            ));
        };
        let mut attributes = Attributes::read(&field.attrs)?;
        let is_extra = attributes.has("extra");
        if is_extra {
            schema.others = Others::Kept;
        }
        if is_extra || NOT_STORED.iter().any(|name| attributes.has(name)) {
            attributes.ignore(&["default"]);
            return attributes.finish();
        }
        let ident = ident.unraw().to_string();
        let keys = [attributes.has("partition_key"), attributes.has("row_key")];
        let is_copy = attributes.has("also_property");
        if keys != [false, false] {
            let element = self.key(field, &ident)?;
            for (is_key, elements) in
                keys.into_iter().zip([&mut schema.partition_key, &mut schema.row_key])
            {
                elements.extend(is_key.then(|| element.clone()));
            }
            if !is_copy {
                attributes.ignore(&IGNORED_ON_FIELDS);
                return attributes.finish();
            }
        }
        let property = self.property(field, &ident, attributes, settings, is_copy)?;
        schema.properties.push(property);
        Ok(())
    }

    fn key(&self, field: &Field, ident: &str) -> Result<KeyElement, String> {
        let descending = argument(&field.ty, "Descending");
        let mut form = self.values(descending.unwrap_or(&field.ty), field)?.1;
        match (&mut form, descending) {
            // A key is read only as it is written.
            (ValueForm::Choice { choices, .. }, _) => {
                for choice in choices {
                    choice.aliases.clear();
                }
            }
            (ValueForm::Named(name), Some(_)) => *name = format!("descending {name}").into(),
            (ValueForm::Named(name), None)
                if last_word(&field.ty).as_deref() == Some("NaiveDateTime") =>
            {
                *name = "date-time without Z".into();
            }
            _ => {}
        }
        Ok(KeyElement::Field {
            name: ident.to_owned(),
            format: String::new(),
            form,
            rust_type: field.ty.to_token_stream().to_string(),
        })
    }

    fn property(
        &self,
        field: &Field,
        ident: &str,
        mut attributes: Attributes,
        settings: &Settings,
        is_copy: bool,
    ) -> Result<PropertySchema, String> {
        attributes.ignore(&IGNORED_ON_FIELDS);
        let name = attributes.text("rename").unwrap_or_else(|| settings.rename_all.of_field(ident));
        let mut property = PropertySchema::new(name);
        property.aliases = attributes.texts("alias");
        property.is_copy = is_copy;
        let inner = argument(&field.ty, "Option");
        let ty = inner.unwrap_or(&field.ty);
        let codec = CODECS.into_iter().find(|(codec, _)| attributes.has(codec));
        let has_default = attributes.has("default");
        let own = attributes.text("on_missing");
        let of_struct = settings.on_missing.clone().filter(|_| inner.is_none() && !has_default);
        property.absent = match own.or(of_struct).as_deref() {
            _ if is_copy => Absent::Optional,
            Some("error") => Absent::Required,
            Some(_) => Absent::DefaultValue(None),
            None if inner.is_some() => Absent::Optional,
            None if has_default => Absent::DefaultValue(None),
            None => Absent::Required,
        };
        let accept = attributes.text("accept").or_else(|| settings.accept.clone());
        property.accept = accept.filter(|accept| accept != "exact").unwrap_or_default();
        let mistyped = attributes.text("on_mistyped").or_else(|| settings.on_mistyped.clone());
        property.is_tolerant = mistyped.is_some_and(|policy| policy != "error");
        attributes.finish()?;
        match codec {
            Some((codec, edm_type)) => {
                codec.clone_into(&mut property.codec);
                property.edm_type = Some(edm_type);
                property.rust_type = ty.to_token_stream().to_string();
            }
            None => {
                let (edm_type, form) = self.values(ty, field)?;
                (property.edm_type, property.form) = (Some(edm_type), form);
            }
        }
        Ok(property)
    }

    /// The stored type and the values of a Rust type.
    fn values(&self, ty: &Type, field: &Field) -> Result<(EdmType, ValueForm), String> {
        if let Type::Array(array) = ty
            && let (Some("u8"), Expr::Lit(ExprLit { lit: Lit::Int(length), .. })) =
                (last_word(&array.elem).as_deref(), &array.len)
        {
            return Ok((
                EdmType::Binary,
                ValueForm::Named(format!("{} bytes", length.base10_digits()).into()),
            ));
        }
        let word = last_word(ty).unwrap_or_default();
        if let Some(choices) =
            self.0.iter().find(|item| derives(item, "TableEnum") && item.ident == word)
        {
            return choices_of(choices);
        }
        let ty_text: String = ty.to_token_stream().to_string().split_whitespace().collect();
        let (edm_type, form) = match &*word {
            "String" => (EdmType::String, "text"),
            "bool" => (EdmType::Boolean, "bool"),
            "i8" => (EdmType::Int32, "i8"),
            "i16" => (EdmType::Int32, "i16"),
            "i32" => (EdmType::Int32, "i32"),
            "u8" => (EdmType::Int32, "u8"),
            "u16" => (EdmType::Int32, "u16"),
            "u32" => (EdmType::Int64, "u32"),
            "i64" => (EdmType::Int64, "i64"),
            "f32" => (EdmType::Double, "f32"),
            "f64" => (EdmType::Double, "f64"),
            "EdmDateTime" | "DateTime" | "NaiveDateTime" => (EdmType::DateTime, "date-time"),
            "NaiveDate" => (EdmType::DateTime, "date"),
            "Uuid" => (EdmType::Guid, "guid"),
            "Duration" if !ty_text.starts_with("chrono") => (EdmType::String, "duration"),
            "Duration" | "TimeDelta" => (EdmType::String, "signed duration"),
            "Bytes" => (EdmType::Binary, "bytes"),
            "Vec" | "Box" if ty_text.ends_with("Vec<u8>") || ty_text.ends_with("Box<[u8]>") => {
                (EdmType::Binary, "bytes")
            }
            "Box" | "Arc" | "Cow" if ty_text.ends_with("str>") => (EdmType::String, "text"),
            _ => {
                let message = format!("the type `{ty_text}` is not supported by --check");
                return Err(problem(field.ty.span(), &message));
            }
        };
        Ok((edm_type, ValueForm::named(form)))
    }
}

/// The values of an enum with `#[derive(TableEnum)]`.
fn choices_of(item: &DeriveInput) -> Result<(EdmType, ValueForm), String> {
    let mut attributes = Attributes::read(&item.attrs)?;
    attributes.ignore(&IGNORED);
    let rule = rename_rule(&mut attributes, item)?;
    let is_number = attributes.has("as_i32");
    attributes.finish()?;
    let (mut choices, mut has_other, mut number) = (Vec::new(), false, 0_i64);
    let variants = match &item.data {
        Data::Enum(data) => data.variants.iter().collect(),
        _ => Vec::new(),
    };
    for variant in variants {
        let mut attributes = Attributes::read(&variant.attrs)?;
        if let Some((_, value)) = &variant.discriminant {
            let text: String = value.to_token_stream().to_string().split_whitespace().collect();
            number = text.parse().map_err(|_| {
                problem(value.span(), &"the number of a variant is not supported by --check")
            })?;
        }
        let ident = variant.ident.unraw().to_string();
        if attributes.has("other") || !matches!(variant.fields, Fields::Unit) {
            has_other = true;
        } else {
            let name = attributes.text("rename").unwrap_or_else(|| rule.of_variant(&ident));
            let stored = if is_number { number.to_string() } else { name };
            let mut choice = ValueChoice::new(ident, stored);
            choice.aliases = attributes.texts("alias");
            choices.push(choice);
        }
        number += 1;
        attributes.finish()?;
    }
    let edm_type = if is_number { EdmType::Int32 } else { EdmType::String };
    Ok((edm_type, ValueForm::Choice { choices, has_other }))
}

fn rename_rule(attributes: &mut Attributes, item: &DeriveInput) -> Result<RenameRule, String> {
    let Some(text) = attributes.text("rename_all") else { return Ok(RenameRule::default()) };
    RenameRule::from_spelling(&text)
        .ok_or_else(|| problem(item.ident.span(), &format!("rename_all has no rule {text:?}")))
}

fn derives(item: &DeriveInput, derive: &str) -> bool {
    let lists = item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let mut words = lists.flat_map(|list| {
        list.to_token_stream()
            .to_string()
            .split(|c: char| !c.is_alphanumeric())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    words.any(|word| word == derive)
}

/// The last word of a path: `Uuid` of `uuid::Uuid`.
pub(super) fn last_word(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        Type::Paren(inner) => last_word(&inner.elem),
        Type::Group(inner) => last_word(&inner.elem),
        _ => None,
    }
}

/// The argument of a generic type with this name: `T` of `Option<T>`.
fn argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
