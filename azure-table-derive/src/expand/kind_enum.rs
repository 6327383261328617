//! The enum of the kinds of an enum of entities, for conditions on the kind.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::{DeriveInput, Type, parse_quote};

use super::Output;
use super::bounds::mentions;
use crate::choices::{Choice, Choices, Other};
use crate::kinds::{Kind, Kinds};

/// `ItemKind` for `Item`.
pub(super) fn name(kinds: &Kinds<'_>) -> Ident {
    format_ident!("{}Kind", kinds.ident)
}

/// The enum with its conversions, and `HasKind` for each struct in a variant. Without a discriminator property, a filter
/// cannot state the kind.
pub(super) fn expand(kinds: &Kinds<'_>, input: &DeriveInput) -> Output {
    if kinds.property.is_none() {
        return TokenStream::new().into();
    }
    let name = name(kinds);
    let text: Type = parse_quote!(__table::String);
    let choices = Choices {
        ident: &name,
        as_i32: false,
        variants: kinds.variants.iter().map(choice).collect(),
        other: kinds.other.map(|(ident, _)| Other {
            ident,
            ty: &text,
            at: kinds.variants.len(),
            number: None,
        }),
    };
    let conversions = super::choices::expand(&choices);
    let has_kind = has_kind(kinds);

    let vis = &input.vis;
    let doc = format!(" The kinds of [`{}`], for conditions.", kinds.ident);
    let docs = kinds.variants.iter().map(|kind| format!(" The kind `{}`.", kind.name));
    let idents = kinds.variants.iter().map(|kind| kind.ident);
    let copy = kinds.other.is_none().then(|| quote!(::std::marker::Copy,));
    let other = kinds.other.map(|(ident, _)| {
        quote! {
            /// The kind with this name.
            #ident(::std::string::String),
        }
    });
    let beside = quote! {
        #[doc = #doc]
        #[derive(
            ::std::fmt::Debug,
            ::std::clone::Clone,
            #copy
            ::std::cmp::PartialEq,
            ::std::cmp::Eq,
            ::std::hash::Hash,
        )]
        #[allow(dead_code, unreachable_pub, clippy::pedantic)]
        #vis enum #name {
            #(
                #[doc = #docs]
                #idents,
            )*
            #other
        }
    };
    Output { within: quote!(#conversions #has_kind), beside }
}

fn choice<'a>(kind: &Kind<'a>) -> Choice<'a> {
    Choice { ident: kind.ident, name: kind.name.clone(), aliases: Vec::new(), number: None }
}

/// `HasKind` for each type, with the names of all its variants. A type that is a parameter could be the same as another.
fn has_kind(kinds: &Kinds<'_>) -> TokenStream {
    let ident = kinds.ident;
    let (impl_generics, ty_generics, where_clause) = kinds.generics.split_for_impl();
    let parameters: Vec<_> = kinds.generics.type_params().map(|it| &it.ident).collect();
    let mut by_type: Vec<(String, &Type, Vec<&str>)> = Vec::new();
    for kind in &kinds.variants {
        let tokens = kind.ty.to_token_stream();
        let text = tokens.to_string();
        if mentions(tokens, &parameters) {
            continue;
        }
        match by_type.iter_mut().find(|(known, ..)| *known == text) {
            Some((.., names)) => names.push(&kind.name),
            None => by_type.push((text, kind.ty, vec![&kind.name])),
        }
    }
    let implementations = by_type.iter().map(|(_, ty, names)| {
        quote! {
            #[automatically_derived]
            impl #impl_generics __table::HasKind<#ty> for #ident #ty_generics #where_clause {
                const KINDS: &'static [&'static __table::str] = &[#(#names),*];
            }
        }
    });
    quote!(#(#implementations)*)
}
