use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{WhereClause, parse_quote};

use crate::attr::DefaultValue;
use crate::model::{Entity, Field};

/// The struct's own conditions, and for each field whose type has a type parameter in it that the
/// type does what such a field must do. All other types are checked where the struct is.
///
/// These are the public traits where there are any: the clause shows in the user's documentation.
pub(super) fn where_clause(entity: &Entity<'_>) -> Option<WhereClause> {
    let parameters: Vec<&Ident> = entity.generics.type_params().map(|p| &p.ident).collect();
    let mut clause = entity.generics.where_clause.clone();
    let mut require = |field: &Field<'_>, bounds: TokenStream| {
        let ty = field.ty;
        if mentions(ty.to_token_stream(), &parameters) {
            clause
                .get_or_insert_with(|| parse_quote!(where))
                .predicates
                .push(parse_quote!(#ty: #bounds));
        }
    };
    for property in &entity.properties {
        require(&property.field, quote!(__table::ToEdm + __table::FromEdm));
        if let Some(DefaultValue::Trait) = property.default {
            require(&property.field, quote!(__table::Default));
        }
    }
    for (field, default) in &entity.skipped {
        if let DefaultValue::Trait = default {
            require(field, quote!(__table::Default));
        }
    }
    if let Some(field) = &entity.timestamp {
        require(field, quote!(__table::TimestampField));
    }
    if let Some(field) = &entity.etag {
        require(field, quote!(__table::ETagField));
    }
    require(&entity.partition_key, quote!(__table::KeyPart));
    require(&entity.row_key, quote!(__table::KeyPart));
    clause
}

fn mentions(tokens: TokenStream, parameters: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => parameters.contains(&&ident),
        TokenTree::Group(group) => mentions(group.stream(), parameters),
        _ => false,
    })
}
