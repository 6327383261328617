use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;

use super::optional;
use crate::kinds::{Kind, Kinds};

/// `TableEntity` for an enum of entities.
pub(super) fn expand(kinds: &Kinds<'_>, table: Option<&LitStr>) -> TokenStream {
    let ident = kinds.ident;
    let (impl_generics, ty_generics, where_clause) = kinds.generics.split_for_impl();
    let no_more = TokenStream::new();
    let partition_key = each(kinds, &quote!(partition_key), &no_more);
    let row_key = each(kinds, &quote!(row_key), &no_more);
    let ownership = each(kinds, &quote!(ownership), &no_more);
    let set_etag = each(kinds, &quote!(set_etag), &quote!(__etag));
    let writes = kinds.variants.iter().map(|kind| write(kind, kinds.property.as_deref()));
    let other_write = kinds.other.map(|(ident, ty)| {
        quote! {
            Self::#ident(__entity) => <#ty as __table::KindField>::write(__entity, __writer),
        }
    });
    let numbers: Vec<_> = (0..kinds.variants.len()).map(Literal::usize_unsuffixed).collect();
    let known: Vec<&str> = kinds.variants.iter().map(|kind| kind.name.as_str()).collect();
    let known_list = known.join(", ");
    let property = optional(kinds.property.as_ref());
    let schema = schema(kinds, table);
    let kind = if let Some(property) = &kinds.property {
        // A kind that is not text goes to the variant for other kinds, if the enum has one.
        let found = if kinds.other.is_some() {
            quote!(__table::kind(__row, #property).unwrap_or(__table::None))
        } else {
            quote!(__table::kind(__row, #property)?)
        };
        quote! {
            match #found {
                #(__table::Some(#known) => #numbers,)*
                _ => __table::usize::MAX,
            }
        }
    } else {
        let first = first_by_keys(kinds, &numbers);
        quote!({ let __keys = __table::keys(__row); #first })
    };
    let check_kind = kinds.property.is_none().then(|| check_kind(kinds, &numbers, &known));
    let discriminator = kinds.property.as_ref().map(|property| {
        quote! {
            const DISCRIMINATOR: __table::Option<&'static __table::str> = __table::Some(#property);
        }
    });
    let checks = kinds.variants.iter().map(|Kind { ty, .. }| check_columns(ty, &property));
    let other_check = kinds.other.map(|(_, ty)| check_columns(ty, &quote!(__table::None)));
    let reads = kinds.variants.iter().zip(&numbers).map(|(Kind { ident, ty, .. }, number)| {
        quote!(#number => <#ty as __table::KindField>::read(__row, #property).map(Self::#ident),)
    });
    let other_read = if let Some((ident, ty)) = kinds.other {
        quote!(<#ty as __table::KindField>::read(__row, __table::None).map(Self::#ident))
    } else {
        let property = kinds.property.as_deref().unwrap_or("RowKey");
        quote!(__table::Err(__table::unknown_kind(__row, #property, #known_list)))
    };
    let key_checks = key_checks(kinds);
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableEntity for #ident #ty_generics #where_clause {
            const COLUMNS: &'static [&'static __table::str] = &[];
            const KEEPS_OTHERS: __table::bool = true;
            #discriminator

            #schema

            fn check_columns() -> __table::Result<(), __table::LimitError> {
                #(#checks)*
                #other_check
                __table::Ok(())
            }

            fn partition_key(&self) -> __table::KeyText<'_> {
                #partition_key
            }

            fn row_key(&self) -> __table::KeyText<'_> {
                #row_key
            }

            fn ownership(&self) -> __table::Ownership {
                #ownership
            }

            #key_checks

            fn set_etag(&mut self, __etag: &__table::ETag) {
                #set_etag
            }

            fn write_properties(
                &self,
                __writer: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                #check_kind
                match self {
                    #(#writes)*
                    #other_write
                }
            }

            fn from_row(
                __row: &mut __table::Row<'_>,
            ) -> __table::Result<Self, __table::DecodeError> {
                let __kind: __table::usize = #kind;
                match __kind {
                    #(#reads)*
                    _ => #other_read,
                }
            }
        }
    }
}

/// Delegates a method to the entity in the variant.
fn each(kinds: &Kinds<'_>, method: &TokenStream, argument: &TokenStream) -> TokenStream {
    let all = kinds.variants.iter().map(|kind| (kind.ident, kind.ty)).chain(kinds.other);
    let arms = all.map(|(variant, ty)| {
        quote!(Self::#variant(__entity) => <#ty as __table::KindField>::#method(__entity, #argument),)
    });
    quote!(match self { #(#arms)* })
}

/// Checks the columns of one kind, with the discriminator property.
fn check_columns(ty: &syn::Type, property: &TokenStream) -> TokenStream {
    quote!(<#ty as __table::KindField>::check_columns(#property)?;)
}

/// The checks of keys: an entity of the enum has the keys of one of its kinds.
fn key_checks(kinds: &Kinds<'_>) -> TokenStream {
    let all = kinds.variants.iter().map(|kind| kind.ty).chain(kinds.other.map(|(_, ty)| ty));
    let types: Vec<_> = all.collect();
    quote! {
        fn reads_keys(__partition_key: &__table::str, __row_key: &__table::str) -> __table::bool {
            #(<#types as __table::KindField>::reads_keys(__partition_key, __row_key))||*
        }

        fn reads_partition_key(__partition_key: &__table::str) -> __table::bool {
            #(<#types as __table::KindField>::reads_partition_key(__partition_key))||*
        }

        fn key_types(__names: &mut __table::Vec<&'static __table::str>) {
            #(<#types as __table::KindField>::key_types(__names);)*
        }
    }
}

/// The number of the first kind that has keys of this form.
fn first_by_keys(kinds: &Kinds<'_>, numbers: &[Literal]) -> TokenStream {
    let forms = kinds.variants.iter().zip(numbers).map(|(kind, number)| {
        let ty = kind.ty;
        quote!(if <#ty as __table::KeyedKindField>::recognizes(__keys) { #number } else)
    });
    quote!(#(#forms)* { __table::usize::MAX })
}

/// Refuses an entity whose keys are those of another kind: it would be read as that kind.
fn check_kind(kinds: &Kinds<'_>, numbers: &[Literal], known: &[&str]) -> TokenStream {
    let first = first_by_keys(kinds, numbers);
    let idents = kinds.variants.iter().map(|kind| kind.ident);
    let other = kinds.other.map(|(ident, _)| quote!(Self::#ident(_) => __table::usize::MAX,));
    // The reader decides in the same way: an entity with the keys of another kind would be read as that kind.
    quote! {
        let __partition_key = __table::TableEntity::partition_key(self)?;
        let __row_key = __table::TableEntity::row_key(self)?;
        let __keys = __table::Some((&*__partition_key, &*__row_key));
        let __written: __table::usize = match self {
            #(Self::#idents(_) => #numbers,)*
            #other
        };
        let __read: __table::usize = #first;
        __table::check_kind(__written, __read, &[#(#known),*], (&*__partition_key, &*__row_key))?;
    }
}

/// Writes the entity of one kind, with its discriminator.
fn write(Kind { ident, ty, name }: &Kind<'_>, property: Option<&str>) -> TokenStream {
    let kind = property.map(|property| {
            let message = format!(
                "`{ident}` holds an entity with a property `{property}`, which is the one that tells the kinds apart"
            );
            let check = quote_spanned! {ident.span()=>
                const {
                    ::std::assert!(
                        !__table::has_column(<#ty as __table::KindField>::COLUMNS, #property),
                        #message
                    );
                }
            };
            quote!(#check __writer.property(#property, &#name)?;)
        });
    quote! {
        Self::#ident(__entity) => {
            #kind
            <#ty as __table::KindField>::write(__entity, __writer)
        }
    }
}

/// The function of an enum of entities.
fn schema(kinds: &Kinds<'_>, table: Option<&LitStr>) -> TokenStream {
    let table = optional(table);
    let property = optional(kinds.property.as_ref());
    let list = kinds.variants.iter().map(|kind| {
        let (name, ty) = (&kind.name, kind.ty);
        quote!((#name, <#ty as __table::KindField>::schema()))
    });
    let has_other = kinds.other.is_some();
    quote! {
        fn schema() -> __table::Schema {
            __table::schema_of_kinds(#table, #property, [#(#list),*], #has_other)
        }
    }
}
