use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;

use super::bounds;
use crate::key_format::Form;
use crate::model::{Entity, Field, Key, KeyPiece};

/// `TypedKeys`, and the constructors of keys.
pub(super) fn expand(entity: &Entity<'_>) -> TokenStream {
    let ident = entity.body.ident;
    let (impl_generics, ty_generics, _) = entity.body.generics.split_for_impl();
    let where_clause = bounds::of_entity(entity);
    let partition_key = entity.partition_key.layout();
    let row_key = entity.row_key.layout();
    let row_parts = entity.row_key.parts().map(|field| field.ty);
    let constructors = entity.has_constructors.then(|| constructors(entity));
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TypedKeys for #ident #ty_generics #where_clause {
            const PARTITION_KEY: __table::KeyLayout = #partition_key;
            const ROW_KEY: __table::KeyLayout = #row_key;

            fn recognizes(__partition_key: &__table::str, __row_key: &__table::str) -> __table::bool {
                <Self as __table::TableEntity>::reads_partition_key(__partition_key)
                    && __table::is_key(
                        <Self as __table::TypedKeys>::ROW_KEY,
                        __row_key,
                        [#(<#row_parts as __table::KeyField>::is_part),*],
                    )
            }
        }
        #constructors
    }
}

fn constructors(entity: &Entity<'_>) -> TokenStream {
    let ident = entity.body.ident;
    let vis = entity.vis;
    let (impl_generics, ty_generics, _) = entity.body.generics.split_for_impl();
    let where_clause = bounds::of_entity(entity);
    let (partition_arguments, partition_names) = entity.partition_key.arguments();
    let (row_arguments, row_names) = entity.row_key.arguments();
    let shared = entity.row_key.parts().map(|field| entity.is_shared(field));
    let row_arguments = row_arguments.into_iter().zip(shared);
    let row_arguments =
        row_arguments.filter(|(_, is_shared)| !is_shared).map(|(argument, _)| argument);
    let partition_prefix = entity.partition_key.prefix(
        vis,
        "partition_prefix",
        " The PartitionKeys that begin with a text, or with these leading parts.",
        &quote!(PARTITION_KEY),
    );
    let row_prefix = entity.row_key.prefix(
        vis,
        "row_prefix",
        " The RowKeys that begin with a text, or with these leading parts.",
        &quote!(ROW_KEY),
    );
    quote! {
        #[automatically_derived]
        #[allow(
            dead_code,
            private_bounds,
            private_interfaces,
            clippy::impl_trait_in_params,
            clippy::pedantic
        )]
        impl #impl_generics #ident #ty_generics #where_clause {
            /// The key of the entity with these parts.
            #vis fn key(
                #(#partition_arguments,)*
                #(#row_arguments,)*
            ) -> __table::Result<__table::EntityKey, __table::KeyError> {
                __table::Ok(__table::EntityKey {
                    partition_key: __table::key(
                        <Self as __table::TypedKeys>::PARTITION_KEY,
                        &[#(__table::KeyArgument::key_text(&#partition_names)?),*],
                    )?,
                    row_key: __table::key(
                        <Self as __table::TypedKeys>::ROW_KEY,
                        &[#(__table::KeyArgument::key_text(&#row_names)?),*],
                    )?,
                })
            }

            /// The PartitionKey of these parts.
            #vis fn partition(
                #(#partition_arguments,)*
            ) -> __table::Result<__table::String, __table::KeyError> {
                __table::key(
                    <Self as __table::TypedKeys>::PARTITION_KEY,
                    &[#(__table::KeyArgument::key_text(&#partition_names)?),*],
                )
            }
            #partition_prefix
            #row_prefix
        }
    }
}

impl Key<'_> {
    fn layout(&self) -> TokenStream {
        let pieces = self.pieces.iter().map(|piece| match piece {
            KeyPiece::Literal(text) => quote!(__table::KeyPiece::Literal(#text)),
            KeyPiece::Part(Field { ident, ty }, form) => {
                let name = ident.unraw().to_string();
                match form {
                    Form::Plain => quote! {
                        __table::part(#name, <#ty as __table::KeyField>::WIDTH, __table::KeyForm::Plain)
                    },
                    Form::Escaped => quote! {
                        __table::part(#name, <#ty as __table::KeyField>::WIDTH, __table::KeyForm::Escaped)
                    },
                    Form::Digits { width, minuend } => {
                        let minuend = match minuend {
                            Some(minuend) => quote!(__table::Some(#minuend)),
                            None => quote!(__table::None),
                        };
                        quote! {
                            __table::part(
                                #name,
                                <#ty as __table::NumberField>::WIDTH,
                                __table::KeyForm::Digits { width: #width, minuend: #minuend },
                            )
                        }
                    }
                }
            }
        });
        // The compiler reports an invalid layout at the attribute.
        quote_spanned!(self.span=> __table::KeyLayout::new(&[#(#pieces),*]))
    }

    /// The parameters for the parts, and their names.
    fn arguments(&self) -> (Vec<TokenStream>, Vec<&proc_macro2::Ident>) {
        self.parts()
            .map(|Field { ident, ty }| (quote!(#ident: impl __table::KeyArgument<#ty>), *ident))
            .unzip()
    }

    fn prefix(
        &self,
        vis: &syn::Visibility,
        name: &str,
        doc: &str,
        layout: &TokenStream,
    ) -> Option<TokenStream> {
        self.parts().next()?;
        let parts = self.parts().map(|field| field.ty);
        let name = quote::format_ident!("{name}");
        Some(quote! {
            #[doc = #doc]
            #vis fn #name(
                prefix: impl __table::KeyParts<(#(#parts,)*)>,
            ) -> __table::Result<__table::KeyRange, __table::KeyError> {
                __table::KeyParts::range(&prefix, <Self as __table::TypedKeys>::#layout)
            }
        })
    }
}
