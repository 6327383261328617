use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::body::{local, number};
use super::bounds;
use crate::model::{Entity, Field, Key};

/// `TableEntity`.
///
/// A field is reached through a trait of the client's `__private`, on the type as the user wrote
/// it: the compiler underlines an invalid type there, with the message of that trait. Writing
/// and reading use the same trait, so the compiler reports it once.
pub(super) fn expand(entity: &Entity<'_>) -> TokenStream {
    let body = &entity.body;
    let ident = body.ident;
    let (impl_generics, ty_generics, _) = body.generics.split_for_impl();
    let where_clause = bounds::of_entity(entity);

    let (fields, local) = (body.fields(), body.local());
    let columns = match body.properties.len() {
        0 => quote!(&[]),
        size => {
            let (size, fields) = (number(size), body.constant());
            quote!(&__table::Field::names::<#size>(#fields))
        }
    };
    let (partition_layout, row_layout) = (entity.partition_key.layout(), entity.row_key.layout());
    let table = entity.table_name.map(
        |name| quote!(const TABLE: __table::Option<&'static __table::str> = __table::Some(#name);),
    );
    let keeps_others = (body.extra.is_some() || entity.deny_unknown).then(|| {
        quote!(
            const KEEPS_OTHERS: __table::bool = true;
        )
    });
    let others = entity.deny_unknown.then(|| {
        quote!(
            const OTHERS: __table::Others = __table::Others::Refused;
        )
    });
    // The bag of others must not use the names of the columns.
    let reserve = body.extra.is_some().then(|| quote!(__table::reserve::<Self>(__writer);));
    let writes = body.writes();
    let refuse_others = entity.deny_unknown.then(|| quote!(__table::refuse_others(__row)?;));
    let mut reads = body.reads(None);
    // The keys last, since the errors of the others name them.
    let partition_key_parts = entity.partition_key.read(|_| false, &mut reads);
    let row_key_parts = entity.row_key.read(|field| entity.is_shared(field), &mut reads);
    let same_parts = same_parts(entity);
    let build = body.build(&reads);
    let set_etag = body.etag.as_ref().map(set_etag);
    let partition_key = entity.key_text(&entity.partition_key);
    let row_key = entity.key_text(&entity.row_key);
    let key_types = entity.has_constructors.then(|| {
        let name = ident.unraw().to_string();
        quote! {
            fn key_types(__names: &mut __table::Vec<&'static __table::str>) {
                __names.push(#name);
            }
        }
    });

    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableEntity for #ident #ty_generics #where_clause {
            const COLUMNS: &'static [&'static __table::str] = #columns;
            #keeps_others
            #others
            #table
            const KEYS: [__table::KeyLayout; 2] = [#partition_layout, #row_layout];
            #fields

            fn partition_key(&self) -> __table::KeyText<'_> {
                #partition_key
            }

            fn row_key(&self) -> __table::KeyText<'_> {
                #row_key
            }

            fn write_properties(
                &self,
                __writer: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                #reserve
                #local
                #(#writes)*
                __table::Ok(())
            }

            fn from_row(
                __row: &mut __table::Row<'_>,
            ) -> __table::Result<Self, __table::DecodeError> {
                #refuse_others
                #partition_key_parts
                #row_key_parts
                #same_parts
                #build
            }

            #key_types

            #set_etag
        }
    }
}

fn set_etag(Field { ident, ty }: &Field<'_>) -> TokenStream {
    quote! {
        fn set_etag(&mut self, __etag: &__table::ETag) {
            self.#ident = <#ty as __table::ETagField>::of(__etag);
        }
    }
}

/// The comparison of the fields that are in both keys. They are read from the PartitionKey.
fn same_parts(entity: &Entity<'_>) -> TokenStream {
    let text = |key: &Key<'_>, field: &Field<'_>| match key.value_of(field) {
        Some(text) if !key.is_single => quote!(__table::Some(&*#text)),
        _ => quote!(__table::None),
    };
    let shared = entity.partition_key.parts().filter(|field| entity.is_shared(field));
    shared
        .map(|field| {
            let name = field.ident.unraw().to_string();
            let in_partition_key = text(&entity.partition_key, field);
            let in_row_key = text(&entity.row_key, field);
            quote!(__table::check_both_keys(__row, #name, #in_partition_key, #in_row_key)?;)
        })
        .collect()
}

impl Entity<'_> {
    /// The text of a key of `self`, after the checks of its parts.
    fn key_text(&self, key: &Key<'_>) -> TokenStream {
        let text = key.text();
        let exact = self.exact.iter().filter(|field| key.has(field));
        let checks = exact.map(|Field { ident, ty }| {
            let name = ident.unraw().to_string();
            quote_spanned!(local(ty.span())=> __table::check_ticks::<#ty>(#name, &self.#ident)?;)
        });
        quote!(#(#checks)* #text)
    }
}

impl Key<'_> {
    /// The text of the key of `self`.
    fn text(&self) -> TokenStream {
        if self.is_single
            && let Some(Field { ident, ty }) = self.parts().next()
        {
            return quote!(<#ty as __table::KeyField>::text(&self.#ident));
        }
        let texts = self
            .parts()
            .map(|Field { ident, ty }| quote!(<#ty as __table::KeyField>::text(&self.#ident)?));
        let layout = self.constant();
        quote!(__table::write_key(#layout, &[#(#texts),*]))
    }

    /// Adds the code that reads the fields of the key, except those that are read from the other key; returns the
    /// statements before it.
    fn read(
        &self,
        is_read: impl Fn(&Field<'_>) -> bool,
        reads: &mut Vec<TokenStream>,
    ) -> Option<TokenStream> {
        if self.is_single {
            let whole = self.ident("read_", "");
            for Field { ident, ty } in self.parts().filter(|field| !is_read(field)) {
                reads.push(quote!(#ident: <#ty as __table::KeyField>::#whole(__row)?));
            }
            return None;
        }
        let texts = self.values();
        let (part, parts) = (self.ident("read_", "_part"), self.ident("", "_parts"));
        let layout = self.constant();
        for (Field { ident, ty }, text) in
            self.parts().zip(&texts).filter(|(field, _)| !is_read(field))
        {
            reads.push(quote!(#ident: <#ty as __table::KeyField>::#part(__row, &#text)?));
        }
        Some(quote! {
            let [#(#texts),*] = __table::#parts(__row, #layout)?;
        })
    }
}
