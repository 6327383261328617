use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::projection::Projection;

/// Columns in a tuple; more are tuples in a tuple.
const TUPLE: usize = 10;

/// `ProjectionOf`.
///
/// A field is named and typed as the column is, and both are checked where the compiler sees the
/// columns: at the user's field.
pub(super) fn expand(projection: &Projection<'_>) -> TokenStream {
    let Projection { ident, generics, of, fields } = projection;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let columns = fields.iter().map(|field| {
        if field.is_etag {
            let ty = field.ty;
            return quote_spanned!(ty.span()=> __table::etag::<#of, #ty>());
        }
        let column =
            field.column.as_ref().map_or(field.ident.to_token_stream(), |column| quote!(#column));
        quote_spanned!(field.ident.span()=> __columns.#column)
    });
    let columns = nested(columns.collect());
    let names: Vec<_> = fields
        .iter()
        .enumerate()
        .map(|(at, field)| format_ident!("__value_{at}", span = field.ty.span()))
        .collect();
    let pattern = nested(names.iter().map(quote::ToTokens::to_token_stream).collect());
    let fields = fields.iter().map(|field| field.ident);
    let of_columns = quote_spanned!(of.span()=> <#of as __table::HasColumns>::Columns<#of>);
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::ProjectionOf<#of> for #ident #ty_generics #where_clause {
            type Columns = #of_columns;

            fn projection(__columns: Self::Columns) -> impl __table::Projection<#of, Output = Self> {
                __table::project(#columns, |#pattern| Self { #(#fields: #names,)* })
            }
        }
    }
}

/// `(a, b, …)`; of many, `((a, b, …), (…))`.
fn nested(mut parts: Vec<TokenStream>) -> TokenStream {
    while parts.len() > TUPLE {
        parts = parts.chunks(TUPLE).map(|parts| quote!((#(#parts,)*))).collect();
    }
    quote!((#(#parts,)*))
}
