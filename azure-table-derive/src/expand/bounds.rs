use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Type, WhereClause, parse_quote};

use crate::attr::{Codec, DefaultValue};
use crate::model::{BlockKind, Body, Entity};

/// The struct's own bounds, and the bounds of each field whose type contains a type parameter. Other
/// field types are checked at the definition of the struct.
///
/// These are the public traits where there are any: the clause shows in the user's documentation.
pub(super) fn of_entity(entity: &Entity<'_>) -> Option<WhereClause> {
    let mut bounds = Bounds::of(entity.body.generics);
    bounds.add_body(&entity.body);
    for part in entity.partition_key.parts().chain(entity.row_key.parts()) {
        bounds.require(part.ty, &quote!(__table::KeyPart));
    }
    let ident = entity.body.ident;
    let (_, ty_generics, _) = entity.body.generics.split_for_impl();
    bounds.require(&parse_quote!(#ident #ty_generics), &quote!(::std::marker::Send));
    bounds.clause
}

pub(super) fn of_body(body: &Body<'_>) -> Option<WhereClause> {
    let mut bounds = Bounds::of(body.generics);
    bounds.add_body(body);
    bounds.clause
}

struct Bounds<'a> {
    parameters: Vec<&'a Ident>,
    clause: Option<WhereClause>,
}

impl<'a> Bounds<'a> {
    fn of(generics: &'a Generics) -> Self {
        let parameters = generics.type_params().map(|parameter| &parameter.ident).collect();
        Self { parameters, clause: generics.where_clause.clone() }
    }

    fn require(&mut self, ty: &Type, bounds: &TokenStream) {
        if mentions(ty.to_token_stream(), &self.parameters) {
            self.clause
                .get_or_insert_with(|| parse_quote!(where))
                .predicates
                .push(parse_quote!(#ty: #bounds));
        }
    }

    fn add_body(&mut self, body: &Body<'_>) {
        for property in &body.properties {
            let ty = property.field.ty;
            match &property.codec {
                None => self.require(ty, &quote!(__table::ToEdm + __table::FromEdm)),
                Some(Codec::BuiltIn(item)) => {
                    let ty = property.inner_of_option().unwrap_or(ty);
                    match item.name() {
                        "as_string" => self.require(ty, &quote!(__table::codec::Textual)),
                        "as_json" => self.require(ty, &quote!(__table::codec::Json)),
                        "on_inexact" => self.require(ty, &quote!(__table::DateTimeValue)),
                        "as_padded" => self.require(ty, &quote!(__table::codec::Padded)),
                        "as_i32" => {
                            self.require(ty, &quote!(__table::codec::Integral<__table::i32>));
                        }
                        _ => self.require(ty, &quote!(__table::codec::Integral<__table::i64>)),
                    }
                }
                // The functions of the user's module determine the types that they accept.
                Some(Codec::Module(_)) => {}
            }
            if property.uses_default_of_type(body.reading) {
                self.require(ty, &quote!(__table::Default));
            }
        }
        for block in &body.blocks {
            self.require(
                block.field.ty,
                &match block.kind {
                    BlockKind::Flatten { .. } => quote!(__table::PropertyGroup),
                    BlockKind::Series { .. } => quote!(__table::SeriesField),
                    BlockKind::Split { .. } => quote!(__table::SplitField),
                },
            );
        }
        for (field, default) in &body.skipped {
            if let DefaultValue::Trait = default {
                self.require(field.ty, &quote!(__table::Default));
            }
        }
        for (field, _) in &body.computed {
            self.require(field.ty, &quote!(__table::Default));
        }
        for (field, bounds) in [
            (&body.timestamp, quote!(__table::TimestampField)),
            (&body.etag, quote!(__table::ETagField)),
            (&body.extra, quote!(__table::ExtraField)),
        ] {
            if let Some(field) = field {
                self.require(field.ty, &bounds);
            }
        }
    }
}

pub(super) fn mentions(tokens: TokenStream, parameters: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => parameters.contains(&&ident),
        TokenTree::Group(group) => mentions(group.stream(), parameters),
        _ => false,
    })
}
