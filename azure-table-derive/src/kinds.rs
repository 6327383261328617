//! An enum whose variants are kinds of entities in one table.

use std::collections::HashMap;

use proc_macro2::Ident;
use quote::ToTokens as _;
use syn::{Data, DeriveInput, Generics, Type};

use crate::attr::{ContainerAttrs, Discriminator, Place, VariantAttrs, held_type};
use crate::errors::Errors;
use crate::model::refuse_lifetimes;
use crate::name;

pub(crate) struct Kinds<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// The discriminator property; without one, the form of the row key is the discriminator.
    pub(crate) property: Option<String>,
    pub(crate) variants: Vec<Kind<'a>>,
    pub(crate) other: Option<(&'a Ident, &'a Type)>,
}

pub(crate) struct Kind<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) name: String,
}

impl<'a> Kinds<'a> {
    pub(crate) fn read(
        input: &'a DeriveInput,
        attrs: &ContainerAttrs,
        mut errors: Errors,
    ) -> syn::Result<Self> {
        if let Some(table) = &attrs.name
            && let Err(message) = name::check_table(&table.value())
        {
            errors.report(table, message);
        }
        refuse_lifetimes(&input.generics, &mut errors);
        let property = match &attrs.discriminator {
            Some(Discriminator::Property(property)) => {
                if name::is_reserved(&property.value()) {
                    let message = format!(
                        "`{}` belongs to the service: name a property of your own",
                        property.value()
                    );
                    errors.report(property, message);
                } else if let Err(message) = name::check_property(&property.value()) {
                    errors.report(property, message);
                }
                Some(property.value())
            }
            Some(Discriminator::RowKey) => None,
            None => {
                errors.report(
                    &input.ident,
                    "an enum of entities needs to know their kind: write #[table(discriminator = \"EntityType\")] \
                     with the property that holds it, or #[table(discriminator_in_row_key)]",
                );
                None
            }
        };
        let Data::Enum(data) = &input.data else {
            return Err(errors.with(syn::Error::new_spanned(&input.ident, "not an enum")));
        };
        let mut variants = Vec::new();
        let mut other = None;
        let mut by_name: HashMap<String, &Ident> = HashMap::new();
        for variant in &data.variants {
            let attrs_of = VariantAttrs::read(&variant.attrs, Place::Kind, &mut errors);
            let ident = &variant.ident;
            let Some(ty) = held_type(&variant.fields) else {
                errors.report(
                    ident,
                    format!("`{ident}` must hold one entity: write `{ident}(Entity)` with a struct that derives TableEntity"),
                );
                continue;
            };
            if let Some(item) = &attrs_of.other {
                if other.is_some() {
                    errors.report(item, "`other` is on a variant already: remove one");
                }
                other = Some((ident, ty));
                continue;
            }
            let name = attrs_of.name(ident, attrs.rename_all);
            if let Some(first) = by_name.insert(name.clone(), ident) {
                let at = attrs_of
                    .rename
                    .map_or_else(|| ident.to_token_stream(), |r| r.to_token_stream());
                errors.report(
                    at,
                    format!(
                        "`{first}` and `{ident}` are both the kind `{name}`: rename one of them"
                    ),
                );
            }
            variants.push(Kind { ident, ty, name });
        }
        if variants.is_empty() && other.is_none() && data.variants.is_empty() {
            errors.report(&input.ident, "an enum of entities needs at least one variant");
        }
        errors.check()?;
        Ok(Self { ident: &input.ident, generics: &input.generics, property, variants, other })
    }
}
