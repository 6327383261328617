use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attr::StructAttrs;

/// Implementations in name only, for a struct that was refused: the mistakes in it are then all
/// that the compiler reports, and not every use of the struct as well.
pub(super) fn expand(input: &DeriveInput, attrs: &StructAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let named_table = attrs.name.as_ref().map(|name| {
        quote! {
            #[automatically_derived]
            impl #impl_generics __table::NamedTable for #ident #ty_generics #where_clause {
                const TABLE_NAME: &'static __table::str = #name;
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableEntity for #ident #ty_generics #where_clause {
            const COLUMNS: &'static [&'static __table::str] = &[];

            fn partition_key(&self) -> __table::KeyText<'_> {
                loop {}
            }

            fn row_key(&self) -> __table::KeyText<'_> {
                loop {}
            }

            fn write_properties(
                &self,
                _: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                loop {}
            }

            fn from_row(
                _: &mut __table::Row<'_>,
            ) -> __table::Result<Self, __table::DecodeError> {
                loop {}
            }
        }
        #named_table
    }
}
