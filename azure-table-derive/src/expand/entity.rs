use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use super::bounds;
use crate::attr::DefaultValue;
use crate::model::{Entity, Field, Property};

/// `TableEntity`.
///
/// A field is reached through a trait of the client's `__private`, on the type as the user wrote
/// it: a type that does not fit is then underlined there, with the sentence of that trait. Writing
/// and reading go through the same trait, so the compiler says it once.
pub(super) fn expand(entity: &Entity<'_>) -> TokenStream {
    let ident = entity.ident;
    let (impl_generics, ty_generics, _) = entity.generics.split_for_impl();
    let where_clause = bounds::where_clause(entity);

    let columns = entity.properties.iter().map(|property| &property.name);
    let writes = entity.properties.iter().map(|Property { field, name, .. }| {
        let Field { ident, ty } = field;
        quote!(<#ty as __table::PropertyField>::write(&self.#ident, __writer, #name)?;)
    });
    let reads = reads(entity);
    let Field { ident: partition_key, ty: partition_key_ty } = entity.partition_key;
    let Field { ident: row_key, ty: row_key_ty } = entity.row_key;

    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableEntity for #ident #ty_generics #where_clause {
            const COLUMNS: &'static [&'static __table::str] = &[#(#columns),*];

            fn partition_key(&self) -> __table::KeyText<'_> {
                <#partition_key_ty as __table::KeyField>::text(&self.#partition_key)
            }

            fn row_key(&self) -> __table::KeyText<'_> {
                <#row_key_ty as __table::KeyField>::text(&self.#row_key)
            }

            fn write_properties(
                &self,
                __writer: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                #(#writes)*
                __table::Ok(())
            }

            fn from_row(
                __row: &mut __table::Row<'_>,
            ) -> __table::Result<Self, __table::DecodeError> {
                __table::Ok(Self { #(#reads,)* })
            }
        }
    }
}

/// `field: value` for every field: the keys last, since the errors of the others name them.
fn reads(entity: &Entity<'_>) -> Vec<TokenStream> {
    let mut reads = Vec::new();
    for (index, property) in entity.properties.iter().enumerate() {
        let Field { ident, ty } = property.field;
        let index = Literal::usize_unsuffixed(index);
        reads.push(match &property.default {
            None => quote!(#ident: <#ty as __table::PropertyField>::read(__row, #index)?),
            Some(default) => {
                let default = default.value(ty);
                quote! {
                    #ident: <#ty as __table::PropertyField>::read_or(__row, #index, || #default)?
                }
            }
        });
    }
    for (Field { ident, ty }, default) in &entity.skipped {
        let default = default.value(ty);
        reads.push(quote!(#ident: #default));
    }
    if let Some(Field { ident, ty }) = entity.timestamp {
        reads.push(quote!(#ident: <#ty as __table::TimestampField>::read(__row)?));
    }
    if let Some(Field { ident, ty }) = entity.etag {
        reads.push(quote!(#ident: <#ty as __table::ETagField>::read(__row)?));
    }
    let Field { ident, ty } = entity.partition_key;
    reads.push(quote!(#ident: <#ty as __table::KeyField>::read_partition_key(__row)?));
    let Field { ident, ty } = entity.row_key;
    reads.push(quote!(#ident: <#ty as __table::KeyField>::read_row_key(__row)?));
    reads
}

impl DefaultValue {
    fn value(&self, ty: &Type) -> TokenStream {
        match self {
            Self::Trait => quote!(<#ty as __table::Default>::default()),
            // With its type stated, a function of another one is refused where it is named.
            Self::Function(path) => {
                let function = quote_spanned!(ty.span()=> fn() -> #ty);
                quote!({
                    let __default: #function = #path;
                    __default()
                })
            }
        }
    }
}
