//! Derive macros of `azure-table-client`, which re-exports and documents them.

mod attr;
mod choices;
mod condition;
mod errors;
mod expand;
mod key_format;
mod kinds;
mod model;
mod name;
mod newtype;
mod projection;
mod rename;
mod table_set;
#[cfg(test)]
mod tests;
mod typo;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `TableEntity`; see `azure_table_client::TableEntity`.
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    expand::table_entity(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `PropertyGroup`; see `azure_table_client::entity::PropertyGroup`.
#[proc_macro_derive(PropertyGroup, attributes(table))]
pub fn property_group(input: TokenStream) -> TokenStream {
    expand::property_group(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements the conversions of an enum that is a value; see `azure_table_client::TableEnum`.
#[proc_macro_derive(TableEnum, attributes(table))]
pub fn table_enum(input: TokenStream) -> TokenStream {
    expand::table_enum(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `TableValue`; see `azure_table_client::edm::TableValue`.
#[proc_macro_derive(TableValue, attributes(table))]
pub fn table_value(input: TokenStream) -> TokenStream {
    expand::table_value(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `ProjectionOf`; see `azure_table_client::filter::ProjectionOf`.
#[proc_macro_derive(Projection, attributes(table))]
pub fn projection(input: TokenStream) -> TokenStream {
    expand::projection(&parse_macro_input!(input as DeriveInput)).into()
}

/// A condition as an expression; see `azure_table_client::filter!`, which passes its crate before the tokens of the
/// caller.
#[proc_macro]
pub fn filter(input: TokenStream) -> TokenStream {
    condition::expand(parse_macro_input!(input as condition::FilterInput)).into()
}

/// Implements `TableSet`; see `azure_table_client::client::TableSet`.
#[proc_macro_derive(TableSet, attributes(table))]
pub fn table_set(input: TokenStream) -> TokenStream {
    expand::table_set(&parse_macro_input!(input as DeriveInput)).into()
}
