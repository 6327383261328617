use proc_macro2::TokenStream;
use quote::quote;

use crate::newtype::Newtype;

/// `TableValue`. The client implements the other traits for every such type.
pub(super) fn expand(newtype: &Newtype<'_>) -> TokenStream {
    let Newtype { ident, generics, field } = newtype;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let ty = &field.ty;
    let (get, create) = match &field.ident {
        Some(name) => (quote!(&self.#name), quote!(Self { #name: __inner })),
        None => (quote!(&self.0), quote!(Self(__inner))),
    };
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableValue for #ident #ty_generics #where_clause {
            type Inner = #ty;

            fn inner(&self) -> &#ty {
                #get
            }

            fn from_inner(__inner: #ty) -> Self {
                #create
            }
        }
    }
}
