use proc_macro2::TokenStream;
use quote::quote;

use super::bounds;
use crate::model::Body;

/// `PropertyGroup`.
pub(super) fn expand(body: &Body<'_>, columns: &TokenStream) -> TokenStream {
    let ident = body.ident;
    let (impl_generics, ty_generics, _) = body.generics.split_for_impl();
    let where_clause = bounds::of_body(body);
    let (fields, local) = (body.fields(), body.local());
    let writes = body.writes();
    let build = body.build(&body.reads(Some(&quote!(__first))));
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::PropertyGroup for #ident #ty_generics #where_clause {
            #fields
            #columns

            fn write_properties(
                &self,
                __writer: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                #local
                #(#writes)*
                __table::Ok(())
            }

            fn read_properties(
                __row: &mut __table::Row<'_>,
                __first: __table::usize,
            ) -> __table::Result<Self, __table::DecodeError> {
                #build
            }
        }
    }
}
