use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
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
    let (partition_arguments, partition_names) = entity.arguments(&entity.partition_key);
    let (row_arguments, row_names) = entity.arguments(&entity.row_key);
    let shared = entity.row_key.parts().map(|field| entity.is_shared(field));
    let row_arguments = row_arguments.into_iter().zip(shared);
    let row_arguments =
        row_arguments.filter(|(_, is_shared)| !is_shared).map(|(argument, _)| argument);
    let partition_prefix = entity.prefix(
        &entity.partition_key,
        "partition_prefix",
        " The PartitionKeys that begin with a text, or with these leading parts.",
        &quote!(PARTITION_KEY),
    );
    let row_prefix = entity.prefix(
        &entity.row_key,
        "row_prefix",
        " The RowKeys that begin with a text, or with these leading parts.",
        &quote!(ROW_KEY),
    );
    let parse_key = parse_key(entity);
    let parse_partition_key = entity.partition_key.parse(
        vis,
        "parse_partition_key",
        "PartitionKey",
        &quote!(PARTITION_KEY),
    );
    let parse_row_key = entity.row_key.parse(vis, "parse_row_key", "RowKey", &quote!(ROW_KEY));
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
            #parse_key
            #parse_partition_key
            #parse_row_key
        }
    }
}

/// The function that reads the parts of both keys, in the order of the arguments of `key`.
fn parse_key(entity: &Entity<'_>) -> TokenStream {
    let vis = entity.vis;
    let in_partition = entity.partition_key.values("partition");
    let in_row = entity.row_key.values("row");
    let value_of = |key: &Key<'_>, values: &[Ident], field: &Field<'_>| {
        key.parts().position(|part| part.ident == field.ident).map(|at| values[at].clone())
    };
    let shared = entity.partition_key.parts().filter(|field| entity.is_shared(field));
    let checks = shared.filter_map(|field| {
        let name = field.ident.unraw().to_string();
        let in_partition_key = value_of(&entity.partition_key, &in_partition, field)?;
        let in_row_key = value_of(&entity.row_key, &in_row, field)?;
        Some(quote!(__table::check_shared_part(#name, &#in_partition_key, &#in_row_key)?;))
    });
    let of_row = entity.row_key.parts().zip(&in_row);
    let of_row = of_row.filter(|(field, _)| !entity.is_shared(field));
    let parts = entity.partition_key.parts().zip(&in_partition).chain(of_row);
    let types = one_or_tuple(parts.clone().map(|(field, _)| field.ty));
    let values = one_or_tuple(parts.map(|(_, value)| value));
    let (in_partition, in_row) = (one_or_tuple(&in_partition), one_or_tuple(&in_row));
    quote! {
        /// The parts of a key, in the order of the arguments of `key`.
        #vis fn parse_key(
            __key: impl __table::IntoKey,
        ) -> __table::Result<#types, __table::KeyError> {
            let __key = __table::IntoKey::into_key(__key)?;
            let #in_partition = Self::parse_partition_key(&__key.partition_key)?;
            let #in_row = Self::parse_row_key(&__key.row_key)?;
            #(#checks)*
            __table::Ok(#values)
        }
    }
}

/// One item as it is, and several as a tuple.
fn one_or_tuple<T: ToTokens>(items: impl IntoIterator<Item = T>) -> TokenStream {
    let items: Vec<_> = items.into_iter().collect();
    match &items[..] {
        [item] => item.to_token_stream(),
        items => quote!((#(#items),*)),
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

    /// Names for the values of the parts.
    fn values(&self, key: &str) -> Vec<Ident> {
        (0..self.parts().count()).map(|at| format_ident!("__{key}_{at}")).collect()
    }

    /// The function that reads the parts of this key.
    fn parse(
        &self,
        vis: &syn::Visibility,
        name: &str,
        key: &str,
        layout: &TokenStream,
    ) -> TokenStream {
        let function = format_ident!("{name}");
        let doc = format!(" The parts of the text of a {key}.");
        let texts = self.values("text");
        let types = one_or_tuple(self.parts().map(|field| field.ty));
        let results: Vec<_> = self
            .parts()
            .zip(&texts)
            .map(|(Field { ty, .. }, text)| quote!(<#ty as __table::KeyField>::parse(#key, #text)))
            .collect();
        let result = match &results[..] {
            [result] => result.clone(),
            results => quote!(__table::Ok((#(#results?),*))),
        };
        quote! {
            #[doc = #doc]
            #vis fn #function(
                __key: &__table::str,
            ) -> __table::Result<#types, __table::KeyError> {
                let [#(#texts),*] =
                    __table::key_parts(<Self as __table::TypedKeys>::#layout, #key, __key)?;
                #result
            }
        }
    }
}

impl Entity<'_> {
    /// The type of a part of a key, as arguments and columns are checked against it.
    pub(super) fn part_type(&self, field: &Field<'_>) -> TokenStream {
        let ty = field.ty;
        let is_exact = self.exact.iter().any(|exact| exact.ident == field.ident);
        if is_exact { quote!(__table::ExactTime<#ty>) } else { quote!(#ty) }
    }

    /// The parameters for the parts of a key, and their names.
    fn arguments<'k>(&self, key: &'k Key<'_>) -> (Vec<TokenStream>, Vec<&'k Ident>) {
        key.parts()
            .map(|field| {
                let (ident, ty) = (field.ident, self.part_type(field));
                (quote!(#ident: impl __table::KeyArgument<#ty>), ident)
            })
            .unzip()
    }

    fn prefix(
        &self,
        key: &Key<'_>,
        name: &str,
        doc: &str,
        layout: &TokenStream,
    ) -> Option<TokenStream> {
        key.parts().next()?;
        let parts = key.parts().map(|field| self.part_type(field));
        let (vis, name) = (self.vis, format_ident!("{name}"));
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
