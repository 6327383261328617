//! What is generated: one file for each output.

mod bounds;
mod entity;
mod fallback;
mod named_table;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attr::StructAttrs;
use crate::errors::Errors;
use crate::model::Entity;

/// The output of `#[derive(TableEntity)]`.
pub(crate) fn table_entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let attrs = StructAttrs::read(&input.attrs, &mut errors);
    let (error, output) = match Entity::read(input, &attrs, errors) {
        Ok(entity) => (None, expand(&entity)),
        Err(error) => (Some(error.to_compile_error()), fallback::expand(input, &attrs)),
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

fn expand(entity: &Entity<'_>) -> TokenStream {
    let table_entity = entity::expand(entity);
    let named_table = named_table::expand(entity);
    quote!(#table_entity #named_table)
}
