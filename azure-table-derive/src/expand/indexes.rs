use proc_macro2::TokenStream;
use quote::quote;

use super::bounds;
use crate::model::{Entity, Index};

/// `HasIndexes`, if the entity has indexes.
pub(super) fn expand(entity: &Entity<'_>) -> Option<TokenStream> {
    if entity.indexes.is_empty() {
        return None;
    }
    let ident = entity.body.ident;
    let (impl_generics, ty_generics, _) = entity.body.generics.split_for_impl();
    let where_clause = bounds::of_entity(entity);
    let definitions = entity.indexes.iter().map(|Index { property, unique, in_partition }| {
        quote!(__table::IndexDefinition::new(#property, #unique, #in_partition))
    });
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics __table::HasIndexes for #ident #ty_generics #where_clause {
            const INDEXES: &'static [__table::IndexDefinition] = &[#(#definitions),*];
        }
    })
}
