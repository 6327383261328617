use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;

use super::body::number;
use super::fields::text_of;
use super::{bounds, optional};
use crate::key_format::KeyForm;
use crate::model::{Entity, Field, Key, KeyName, KeyPiece};

/// `TypedKeys`, and the constructors of keys.
pub(super) fn expand(entity: &Entity<'_>) -> TokenStream {
    let ident = entity.body.ident;
    let (impl_generics, ty_generics, _) = entity.body.generics.split_for_impl();
    let where_clause = bounds::of_entity(entity);
    let constructors = entity.has_constructors.then(|| constructors(entity));
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TypedKeys for #ident #ty_generics #where_clause {}
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
    let (partition_key, row_key) = (&entity.partition_key, &entity.row_key);
    let (partition_prefix, row_prefix) = (entity.prefix(partition_key), entity.prefix(row_key));
    let parse_key = parse_key(entity);
    let (parse_partition_key, parse_row_key) = (partition_key.parse(vis), row_key.parse(vis));
    let (partition_key, row_key) = (partition_key.constant(), row_key.constant());
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
                        #partition_key,
                        &[#(__table::KeyArgument::key_text(&#partition_names)?),*],
                    )?,
                    row_key: __table::key(
                        #row_key,
                        &[#(__table::KeyArgument::key_text(&#row_names)?),*],
                    )?,
                })
            }

            /// The PartitionKey of these parts.
            #vis fn partition(
                #(#partition_arguments,)*
            ) -> __table::Result<__table::String, __table::KeyError> {
                __table::key(
                    #partition_key,
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
    let (partition_key, row_key) = (&entity.partition_key, &entity.row_key);
    let (in_partition, in_row) = (partition_key.values(), row_key.values());
    let shared = partition_key.parts().filter(|field| entity.is_shared(field));
    let checks = shared.map(|field| {
        let name = field.ident.unraw().to_string();
        let values = [partition_key, row_key].into_iter();
        let values = values.filter_map(|key| key.value_of(field));
        quote!(__table::check_shared_part(#name, #(&#values),*)?;)
    });
    let of_row = row_key.parts().zip(&in_row);
    let of_row = of_row.filter(|(field, _)| !entity.is_shared(field));
    let parts = partition_key.parts().zip(&in_partition).chain(of_row);
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

impl KeyName {
    /// The name of the property.
    pub(super) fn property(self) -> &'static str {
        match self {
            Self::Partition => "PartitionKey",
            Self::Row => "RowKey",
        }
    }

    fn short(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::Row => "row",
        }
    }
}

impl Key<'_> {
    /// The constant with the layout.
    pub(super) fn constant(&self) -> TokenStream {
        let at = number((self.name == KeyName::Row).into());
        quote!(<Self as __table::TableEntity>::KEYS[#at])
    }

    /// The name of an item that is about the key.
    pub(super) fn ident(&self, before: &str, after: &str) -> Ident {
        format_ident!("{before}{}_key{after}", self.name.short())
    }

    pub(super) fn layout(&self) -> TokenStream {
        let pieces = self.pieces.iter().map(|piece| match piece {
            KeyPiece::Literal(text) => quote!(__table::KeyPiece::Literal(#text)),
            KeyPiece::Part(Field { ident, ty }, form) => {
                let (name, text) = (ident.unraw().to_string(), text_of(ty));
                match form {
                    KeyForm::Plain => {
                        quote!(<#ty as __table::KeyField>::TEXTS.plain(#name, #text))
                    }
                    KeyForm::Escaped => {
                        quote!(<#ty as __table::KeyField>::TEXTS.escaped(#name, #text))
                    }
                    KeyForm::Digits { width, minuend } => {
                        let minuend = optional(minuend.as_ref());
                        quote! {
                            <#ty as __table::NumberField>::TEXTS.digits(#name, #text, #width, #minuend)
                        }
                    }
                }
            }
        });
        // A layout without pieces is that of any key.
        let no_text = self.pieces.is_empty().then(|| quote!(__table::KeyPiece::Literal("")));
        // The compiler reports an invalid layout at the attribute.
        quote_spanned!(self.span=> __table::KeyLayout::new(&[#(#pieces,)* #no_text]))
    }

    /// Names for the values of the parts.
    pub(super) fn values(&self) -> Vec<Ident> {
        let key = self.name.short();
        (0..self.parts().count()).map(|at| format_ident!("__{key}_{at}")).collect()
    }

    /// The name for the value of a part.
    pub(super) fn value_of(&self, field: &Field<'_>) -> Option<Ident> {
        let at = self.parts().position(|part| part.ident == field.ident)?;
        self.values().into_iter().nth(at)
    }

    /// The function that reads the parts of this key.
    fn parse(&self, vis: &syn::Visibility) -> TokenStream {
        let (function, key, layout) =
            (self.ident("parse_", ""), self.name.property(), self.constant());
        let doc = format!(" The parts of the text of a {key}.");
        let texts = self.values();
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
                let [#(#texts),*] = __table::key_parts(#layout, #key, __key)?;
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

    /// The function that returns the range of keys with leading parts.
    fn prefix(&self, key: &Key<'_>) -> Option<TokenStream> {
        key.parts().next()?;
        let parts = key.parts().map(|field| self.part_type(field));
        let doc = format!(
            " The {}s that begin with a text, or with these leading parts.",
            key.name.property()
        );
        let name = format_ident!("{}_prefix", key.name.short());
        let (vis, layout) = (self.vis, key.constant());
        Some(quote! {
            #[doc = #doc]
            #vis fn #name(
                prefix: impl __table::KeyParts<(#(#parts,)*)>,
            ) -> __table::Result<__table::KeyRange, __table::KeyError> {
                __table::KeyParts::range(&prefix, #layout)
            }
        })
    }
}
