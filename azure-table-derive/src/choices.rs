//! An enum that is a value: of a property or of a key.

use std::collections::HashMap;

use proc_macro2::Ident;
use quote::ToTokens as _;
use syn::{Data, DeriveInput, Expr, Fields, Type};

use crate::attr::{ContainerAttrs, Place, VariantAttrs, held_type};
use crate::errors::Errors;

pub(crate) struct Choices<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) as_i32: bool,
    pub(crate) variants: Vec<Choice<'a>>,
    /// The variant that holds all other values.
    pub(crate) other: Option<Other<'a>>,
}

pub(crate) struct Other<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    /// The number of choices before this one, and its explicit number. Later choices without a number
    /// are counted from it.
    pub(crate) at: usize,
    pub(crate) number: Option<&'a Expr>,
}

pub(crate) struct Choice<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) number: Option<&'a Expr>,
}

impl<'a> Choices<'a> {
    pub(crate) fn read(
        input: &'a DeriveInput,
        attrs: &ContainerAttrs,
        mut errors: Errors,
    ) -> syn::Result<Self> {
        let Data::Enum(data) = &input.data else {
            let message = match &input.data {
                Data::Struct(data) if data.fields.len() == 1 => {
                    "only an enum can be a choice: a struct of one field is stored as that field by #[derive(TableValue)]"
                }
                _ => "only an enum can be a choice: write an enum whose variants hold nothing",
            };
            return Err(errors.with(syn::Error::new_spanned(&input.ident, message)));
        };
        if let Some(parameter) = input.generics.params.first() {
            errors.report(parameter, "an enum that is a value has no parameters: remove them");
        }
        let mut variants = Vec::new();
        let mut other = None;
        let mut by_name: HashMap<String, &Ident> = HashMap::new();
        for variant in &data.variants {
            let attrs_of = VariantAttrs::read(&variant.attrs, Place::Choice, &mut errors);
            let ident = &variant.ident;
            if let Some(item) = &attrs_of.other {
                let held = if attrs.as_i32 { "i32" } else { "String" };
                let Some(ty) = held_type(&variant.fields) else {
                    errors.report(
                        ident,
                        format!("`{ident}` must hold all other values: write `{ident}({held})`"),
                    );
                    continue;
                };
                if other.is_some() {
                    errors.report(item, "`other` is on a variant already: remove one");
                }
                let number = variant.discriminant.as_ref().map(|(_, number)| number);
                other = Some(Other { ident, ty, at: variants.len(), number });
                continue;
            }
            if !matches!(variant.fields, Fields::Unit) {
                errors.report(
                    &variant.fields,
                    format!("`{ident}` cannot hold anything: it is stored as one value; mark the variant that holds all others with #[table(other)]"),
                );
            }
            if attrs.as_i32 {
                for text in attrs_of.rename.iter().chain(&attrs_of.aliases) {
                    errors.report(text, "the variants are stored as their numbers: write `= number` behind the variant");
                }
            }
            let name = attrs_of.name(ident, attrs.rename_all);
            let aliases: Vec<String> = attrs_of.aliases.iter().map(syn::LitStr::value).collect();
            for known in std::iter::once(&name).chain(&aliases) {
                if let Some(first) = by_name.insert(known.clone(), ident) {
                    let message = format!(
                        "`{first}` and `{ident}` are both stored as `{known}`: rename one of them"
                    );
                    errors.report(ident.to_token_stream(), message);
                }
            }
            let number = variant.discriminant.as_ref().map(|(_, number)| number);
            variants.push(Choice { ident, name, aliases, number });
        }
        if variants.is_empty() && other.is_none() {
            errors.report(&input.ident, "an enum that is a value needs at least one variant");
        }
        errors.check()?;
        Ok(Self { ident: &input.ident, as_i32: attrs.as_i32, variants, other })
    }
}
