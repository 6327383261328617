//! Derive macros of `azure-table-client`, which re-exports and documents them.

mod attr;
mod errors;
mod expand;
mod model;
mod name;
mod rename;
#[cfg(test)]
mod tests;
mod typo;

/// Implements `TableEntity` for a struct; see `azure_table_client::TableEntity`.
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn table_entity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::table_entity(&input).into()
}
