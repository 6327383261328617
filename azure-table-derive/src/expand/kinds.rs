use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};

use crate::kinds::{Kind, Kinds};

/// `TableEntity` for an enum of entities.
pub(super) fn expand(kinds: &Kinds<'_>) -> TokenStream {
    let ident = kinds.ident;
    let (impl_generics, ty_generics, where_clause) = kinds.generics.split_for_impl();
    let all = kinds.variants.iter().map(|kind| (kind.ident, kind.ty)).chain(kinds.other);
    let each = |method: TokenStream| {
        let arms = all.clone().map(|(variant, ty)| {
            quote!(Self::#variant(__entity) => <#ty as __table::KindField>::#method(__entity),)
        });
        quote!(match self { #(#arms)* })
    };
    let partition_key = each(quote!(partition_key));
    let row_key = each(quote!(row_key));
    let writes = kinds.variants.iter().map(|Kind { ident, ty, name }| {
        let kind = kinds.property.as_ref().map(|property| {
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
    });
    let other_write = kinds.other.map(|(ident, ty)| {
        quote! {
            Self::#ident(__entity) => <#ty as __table::KindField>::write(__entity, __writer),
        }
    });
    let numbers: Vec<_> = (0..kinds.variants.len()).map(Literal::usize_unsuffixed).collect();
    let known: Vec<&str> = kinds.variants.iter().map(|kind| kind.name.as_str()).collect();
    let known_list = known.join(", ");
    let property = match &kinds.property {
        Some(property) => quote!(__table::Some(#property)),
        None => quote!(__table::None),
    };
    let kind = if let Some(property) = &kinds.property {
        quote! {
            match __table::kind(__row, #property)? {
                #(__table::Some(#known) => #numbers,)*
                _ => __table::usize::MAX,
            }
        }
    } else {
        let forms = kinds.variants.iter().zip(&numbers).map(|(kind, number)| {
            let ty = kind.ty;
            quote!(if <#ty as __table::KeyedKindField>::has_keys_of(__row) { #number } else)
        });
        quote!(#(#forms)* { __table::usize::MAX })
    };
    let reads = kinds.variants.iter().zip(&numbers).map(|(Kind { ident, ty, .. }, number)| {
        quote!(#number => <#ty as __table::KindField>::read(__row, #property).map(Self::#ident),)
    });
    let other_read = if let Some((ident, ty)) = kinds.other {
        quote!(<#ty as __table::KindField>::read(__row, __table::None).map(Self::#ident))
    } else {
        let property = kinds.property.as_deref().unwrap_or("RowKey");
        quote!(__table::Err(__table::unknown_kind(__row, #property, #known_list)))
    };
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableEntity for #ident #ty_generics #where_clause {
            const COLUMNS: &'static [&'static __table::str] = &[];
            const KEEPS_OTHERS: __table::bool = true;

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
