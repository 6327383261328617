use proc_macro2::TokenStream;
use quote::quote;

use super::bounds;
use crate::model::Entity;

/// `NamedTable`, if the struct names its table.
pub(super) fn expand(entity: &Entity<'_>) -> Option<TokenStream> {
    let name = entity.table_name?;
    let ident = entity.ident;
    let (impl_generics, ty_generics, _) = entity.generics.split_for_impl();
    let where_clause = bounds::where_clause(entity);
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics __table::NamedTable for #ident #ty_generics #where_clause {
            const TABLE_NAME: &'static __table::str = #name;
        }
    })
}
