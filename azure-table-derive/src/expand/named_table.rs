use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, LitStr, WhereClause};

/// `NamedTable`, if the type names its table.
pub(super) fn expand(
    input: &DeriveInput,
    name: Option<&LitStr>,
    where_clause: Option<&WhereClause>,
) -> Option<TokenStream> {
    let name = name?;
    let ident = &input.ident;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics __table::NamedTable for #ident #ty_generics #where_clause {
            const TABLE_NAME: &'static __table::str = #name;
        }
    })
}
