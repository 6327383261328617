use proc_macro2::TokenStream;
use quote::quote;

use crate::table_set::{Table, TableSet};

/// `TableSet`.
pub(super) fn expand(set: &TableSet<'_>) -> TokenStream {
    let ident = set.ident;
    let (impl_generics, ty_generics, where_clause) = set.generics.split_for_impl();
    let opens = set.tables.iter().map(|Table { ident, ty, name }| match name {
        Some(name) => quote!(#ident: <#ty as __table::TableField>::open(__service, #name)),
        None => quote!(#ident: <#ty as __table::NamedTableField>::open(__service)),
    });
    let untyped = set.tables.iter().map(|Table { ident, ty, name }| match name {
        Some(_) => quote!(<#ty as __table::TableField>::untyped(&self.#ident)),
        None => quote!(<#ty as __table::NamedTableField>::untyped(&self.#ident)),
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableSet for #ident #ty_generics #where_clause {
            fn open(__service: &__table::TableServiceClient) -> Self {
                Self { #(#opens,)* }
            }

            fn tables(&self) -> __table::Vec<__table::TableClient<__table::DynamicEntity>> {
                <[_]>::into_vec(::std::boxed::Box::new([#(#untyped),*]))
            }
        }
    }
}
