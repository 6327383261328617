//! Derive macros of `azure-table-client`, which re-exports and documents them.

mod attr;
mod choices;
mod condition;
mod depth;
mod errors;
mod expand;
mod key_format;
mod kinds;
mod model;
mod name;
mod newtype;
mod page;
mod projection;
mod rename;
mod table_set;
#[cfg(test)]
mod tests;
mod typo;

use std::path::Path;
use std::{env, fs};

use proc_macro::TokenStream;
use quote::ToTokens;
use syn::{DeriveInput, LitStr};

/// Implements `TableEntity`; see `azure_table_client::TableEntity`.
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    derived(input, expand::table_entity)
}

/// Implements `PropertyGroup`; see `azure_table_client::entity::PropertyGroup`.
#[proc_macro_derive(PropertyGroup, attributes(table))]
pub fn property_group(input: TokenStream) -> TokenStream {
    derived(input, expand::property_group)
}

/// Implements the conversions of an enum that is a value; see `azure_table_client::TableEnum`.
#[proc_macro_derive(TableEnum, attributes(table))]
pub fn table_enum(input: TokenStream) -> TokenStream {
    derived(input, expand::table_enum)
}

/// Implements `TableValue`; see `azure_table_client::TableValue`.
#[proc_macro_derive(TableValue, attributes(table))]
pub fn table_value(input: TokenStream) -> TokenStream {
    derived(input, expand::table_value)
}

/// Implements `ProjectionOf`; see `azure_table_client::filter::ProjectionOf`.
#[proc_macro_derive(Projection, attributes(table))]
pub fn projection(input: TokenStream) -> TokenStream {
    derived(input, expand::projection)
}

/// A condition as an expression; see `azure_table_client::filter!`, which passes its crate before the tokens of the
/// caller.
#[proc_macro]
pub fn filter(input: TokenStream) -> TokenStream {
    let input = proc_macro2::TokenStream::from(input);
    let parsed = depth::check_expression(&input).and_then(|()| syn::parse2(input));
    parsed.map_or_else(syn::Error::into_compile_error, condition::expand).into()
}

/// Implements `TableSet`; see `azure_table_client::client::TableSet`.
#[proc_macro_derive(TableSet, attributes(table))]
pub fn table_set(input: TokenStream) -> TokenStream {
    derived(input, expand::table_set)
}

/// A page in the package of the caller as a literal, with links for rustdoc. Only the documentation uses it.
#[doc(hidden)]
#[proc_macro]
pub fn page(input: TokenStream) -> TokenStream {
    let read = |path: LitStr| {
        let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let page = fs::read_to_string(Path::new(&folder).join(path.value()));
        page.map_err(|error| syn::Error::new(path.span(), error))
    };
    let text = syn::parse(input).and_then(read).map(|page| page::for_rustdoc(&page));
    text.map_or_else(syn::Error::into_compile_error, ToTokens::into_token_stream).into()
}

/// Returns the output of a derive, or the error of input that is not parsed.
fn derived(
    input: TokenStream,
    expand: fn(&DeriveInput) -> proc_macro2::TokenStream,
) -> TokenStream {
    let input = proc_macro2::TokenStream::from(input);
    let parsed = depth::check_item(&input).and_then(|()| syn::parse2(input));
    parsed.map_or_else(syn::Error::into_compile_error, |input| expand(&input)).into()
}
