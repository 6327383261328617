//! What is generated: one file for each output.

mod body;
mod bounds;
mod choices;
mod entity;
mod fallback;
mod group;
mod keys;
mod kinds;
mod named_table;
mod table_set;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput};

use crate::attr::{ContainerAttrs, Place};
use crate::choices::Choices;
use crate::errors::Errors;
use crate::kinds::Kinds;
use crate::model::{Body, Entity};
use crate::table_set::TableSet;

/// The output of `#[derive(TableEntity)]`.
pub(crate) fn table_entity(input: &DeriveInput) -> TokenStream {
    let is_enum = matches!(input.data, Data::Enum(_));
    let place = if is_enum { Place::Kinds } else { Place::Entity };
    output(input, place, fallback::entity, |attrs, errors| {
        if is_enum {
            let kinds = Kinds::read(input, attrs, errors)?;
            let table_entity = kinds::expand(&kinds);
            let named_table = named_table::expand(input, attrs.name.as_ref(), None);
            Ok(quote!(#table_entity #named_table))
        } else {
            let entity = Entity::read(input, attrs, errors)?;
            let table_entity = entity::expand(&entity);
            let keys = keys::expand(&entity);
            let where_clause = bounds::of_entity(&entity);
            let named_table = named_table::expand(input, entity.table_name, where_clause.as_ref());
            Ok(quote!(#table_entity #keys #named_table))
        }
    })
}

/// The output of `#[derive(PropertyGroup)]`.
pub(crate) fn property_group(input: &DeriveInput) -> TokenStream {
    output(input, Place::Group, fallback::group, |attrs, errors| {
        Body::read_group(input, attrs, errors).map(|body| group::expand(&body))
    })
}

/// The output of `#[derive(TableEnum)]`.
pub(crate) fn table_enum(input: &DeriveInput) -> TokenStream {
    output(input, Place::Choices, fallback::choices, |attrs, errors| {
        Choices::read(input, attrs, errors).map(|choices| choices::expand(&choices))
    })
}

/// The output of `#[derive(TableSet)]`.
pub(crate) fn table_set(input: &DeriveInput) -> TokenStream {
    output(input, Place::Set, fallback::table_set, |_, errors| {
        TableSet::read(input, errors).map(|set| table_set::expand(&set))
    })
}

fn output(
    input: &DeriveInput,
    place: Place,
    fallback: impl FnOnce(&DeriveInput, &ContainerAttrs) -> TokenStream,
    expand: impl FnOnce(&ContainerAttrs, Errors) -> syn::Result<TokenStream>,
) -> TokenStream {
    let mut errors = Errors::default();
    let attrs = ContainerAttrs::read(&input.attrs, place, &mut errors);
    let (error, output) = match expand(&attrs, errors) {
        Ok(output) => (None, output),
        Err(error) => (Some(error.to_compile_error()), fallback(input, &attrs)),
    };
    let import = attrs.import();
    // The fields' types and functions stand here again: whatever lints have to say about them,
    // they say it, or are told not to, where the user wrote them.
    quote! {
        #error
        #[allow(deprecated, unused_qualifications, clippy::absolute_paths)]
        const _: () = {
            #import
            #output
        };
    }
}
