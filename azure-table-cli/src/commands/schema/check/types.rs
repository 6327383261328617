//! Rust types as stored values.

use azure_table_client::edm::EdmType;
use azure_table_client::entity::schema::{ValueChoice, ValueForm};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Expr, ExprLit, Fields, GenericArgument, Lit, PathArguments, Type};

use super::attributes::Attributes;
use super::entity::{Definitions, IGNORED, derives, rename_rule};
use super::items::problem;

/// The most newtypes around a type. A type that contains itself has no end.
const MAX_NEWTYPES: usize = 16;

impl Definitions {
    /// The stored type and the values of a Rust type.
    pub(super) fn values(&self, ty: &Type) -> Result<(EdmType, ValueForm), String> {
        let ty = self.without_newtypes(ty)?;
        if let Type::Array(array) = ty
            && let (Some("u8"), Some(length)) =
                (last_word(&array.elem).as_deref(), length(&array.len))
        {
            return Ok((EdmType::Binary, ValueForm::Named(format!("{length} bytes").into())));
        }
        if let Some(choices) = self.named(ty, "TableEnum") {
            return choices_of(choices);
        }
        let text = text_of(ty);
        let (edm_type, form) = match &*last_word(ty).unwrap_or_default() {
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
            "Duration" if !text.starts_with("chrono") => (EdmType::String, "duration"),
            "Duration" | "TimeDelta" => (EdmType::String, "signed duration"),
            "Bytes" => (EdmType::Binary, "bytes"),
            "Vec" if text.ends_with("Vec<u8>") => (EdmType::Binary, "bytes"),
            "Box" if text.ends_with("Box<[u8]>") => (EdmType::Binary, "bytes"),
            "Box" | "Arc" | "Cow" if text.ends_with("str>") => (EdmType::String, "text"),
            _ => return Err(unsupported(ty)),
        };
        Ok((edm_type, ValueForm::named(form)))
    }

    /// The texts of a type in a key.
    pub(super) fn key_texts(&self, ty: &Type) -> Result<ValueForm, String> {
        let ty = self.without_newtypes(ty)?;
        let descending =
            argument(ty, "Descending").map(|ty| self.without_newtypes(ty)).transpose()?;
        let inner = descending.unwrap_or(ty);
        let word = last_word(inner).unwrap_or_default();
        let form = match &*word {
            // They do not fit a number of the service.
            "u64" | "u128" | "i128" => ValueForm::Named(word.into()),
            "NaiveDateTime" if descending.is_none() => ValueForm::named("date-time without Z"),
            _ => self.values(inner)?.1,
        };
        Ok(match form {
            ValueForm::Named(name) if descending.is_some() => {
                ValueForm::Named(format!("descending {name}").into())
            }
            // A key is read only as it is written.
            ValueForm::Choice { mut choices, has_other } => {
                for choice in &mut choices {
                    choice.aliases.clear();
                }
                ValueForm::Choice { choices, has_other }
            }
            form => form,
        })
    }

    /// The item of this type, if it has the derive.
    pub(super) fn named(&self, ty: &Type, derive: &str) -> Option<&DeriveInput> {
        let word = last_word(ty)?;
        self.0.iter().find(|item| derives(item, derive) && item.ident == word)
    }

    /// The type of the field in a newtype with `#[derive(TableValue)]`.
    fn without_newtypes<'t>(&'t self, ty: &'t Type) -> Result<&'t Type, String> {
        let mut inner = ty;
        for _ in 0..MAX_NEWTYPES {
            let Some(newtype) = self.named(inner, "TableValue") else { return Ok(inner) };
            let Data::Struct(data) = &newtype.data else { return Err(unsupported(ty)) };
            let Some(field) = data.fields.iter().next() else { return Err(unsupported(ty)) };
            inner = &field.ty;
        }
        Err(unsupported(ty))
    }
}

/// The values of an enum with `#[derive(TableEnum)]`.
fn choices_of(item: &DeriveInput) -> Result<(EdmType, ValueForm), String> {
    let mut attributes = Attributes::read(&item.attrs)?;
    attributes.ignore(&IGNORED);
    let rule = rename_rule(&mut attributes, item)?;
    let is_number = attributes.has("as_i32");
    attributes.finish()?;
    let (mut choices, mut has_other, mut number) = (Vec::new(), false, 0_i32);
    let Data::Enum(data) = &item.data else {
        return Err(problem(item.ident.span(), &"not an enum"));
    };
    for variant in &data.variants {
        let mut attributes = Attributes::read(&variant.attrs)?;
        if let Some((_, value)) = &variant.discriminant {
            let unknown =
                || problem(value.span(), &"the number of a variant is not supported by --check");
            number = text_of(value).parse().map_err(|_| unknown())?;
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
        number = number.wrapping_add(1);
        attributes.finish()?;
    }
    let edm_type = if is_number { EdmType::Int32 } else { EdmType::String };
    Ok((edm_type, ValueForm::Choice { choices, has_other }))
}

pub(super) fn unsupported(ty: &Type) -> String {
    problem(ty.span(), &format!("the type `{}` is not supported by --check", text_of(ty)))
}

/// The tokens without spaces.
pub(super) fn text_of(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string().split_whitespace().collect()
}

/// The last word of a path: `Uuid` of `uuid::Uuid`.
pub(super) fn last_word(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// The argument of a generic type with this name: `T` of `Option<T>`.
pub(super) fn argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The length of an array.
pub(super) fn length(expression: &Expr) -> Option<usize> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(length), .. }) => length.base10_parse().ok(),
        _ => None,
    }
}
