use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::choices::Choices;

/// `ToEdm`, `FromEdm` and `KeyPart` for an enum.
pub(super) fn expand(choices: &Choices<'_>) -> TokenStream {
    if choices.as_i32 { as_number(choices) } else { as_text(choices) }
}

fn known(choices: &Choices<'_>) -> String {
    let names: Vec<String> =
        choices.variants.iter().map(|choice| choice.ident.to_string()).collect();
    names.join(", ")
}

fn as_text(choices: &Choices<'_>) -> TokenStream {
    let ident = choices.ident;
    let idents: Vec<_> = choices.variants.iter().map(|choice| choice.ident).collect();
    let names = choices.variants.iter().map(|choice| &choice.name);
    let spellings = choices.variants.iter().map(|choice| {
        let aliases = &choice.aliases;
        let name = &choice.name;
        quote!(#name #(| #aliases)*)
    });
    // A key is read only as it is written: an alias would be another key.
    let keys = choices.variants.iter().map(|choice| &choice.name);
    let keys_of = idents.iter();
    let other_text = choices.other.map(|other| quote!(Self::#other(__text) => __text,));
    let names_again = choices.variants.iter().map(|choice| {
        let name = &choice.name;
        // Of one type with the text that the other variant holds.
        if choices.other.is_some() { quote!(__table::String::from(#name)) } else { quote!(#name) }
    });
    let owned_text = choices.other.map(|other| quote!(#ident::#other(__text) => __text,));
    let known = known(choices);
    let no_variant = match choices.other {
        Some(other) => quote!(_ => __table::Ok(Self::#other(__text.into_owned())),),
        None => quote!(_ => __table::Err(__table::no_variant(__text, #known)),),
    };
    let no_key = match choices.other {
        Some(other) => quote!(_ => __table::Ok(Self::#other(__text.into_owned())),),
        None => quote!(_ => __table::Err(__table::no_key(&__text, #known)),),
    };
    quote! {
        #[automatically_derived]
        impl __table::ToEdm for #ident {
            const EDM_TYPE: __table::EdmType = __table::EdmType::String;

            fn to_edm(&self) -> __table::Result<__table::Option<__table::EdmCow<'_>>, __table::ConvertError> {
                let __text: &__table::str = match self {
                    #(Self::#idents => #names,)*
                    #other_text
                };
                __table::Ok(__table::Some(__table::EdmCow::String(__table::Text::Borrowed(__text))))
            }
        }

        #[automatically_derived]
        impl __table::FromEdm for #ident {
            const EDM_TYPE: __table::EdmType = __table::EdmType::String;

            fn from_edm(__value: __table::EdmCow<'_>) -> __table::Result<Self, __table::ConvertError> {
                let __text = __table::text_of(__value)?;
                match &*__text {
                    #(#spellings => __table::Ok(Self::#idents),)*
                    #no_variant
                }
            }
        }

        #[automatically_derived]
        impl __table::From<#ident> for __table::EdmValue {
            fn from(__value: #ident) -> Self {
                __table::EdmValue::String(__table::Into::into(match __value {
                    #(#ident::#idents => #names_again,)*
                    #owned_text
                }))
            }
        }

        #[automatically_derived]
        impl __table::KeyPart for #ident {
            fn to_key(&self) -> __table::KeyText<'_> {
                __table::text_key(self)
            }

            fn from_key(__text: __table::Text<'_>) -> __table::Result<Self, __table::KeyError> {
                match &*__text {
                    #(#keys => __table::Ok(Self::#keys_of),)*
                    #no_key
                }
            }
        }
    }
}

fn as_number(choices: &Choices<'_>) -> TokenStream {
    let ident = choices.ident;
    let idents: Vec<_> = choices.variants.iter().map(|choice| choice.ident).collect();
    let numbers: Vec<_> = (0..idents.len()).map(|at| format_ident!("__{at}")).collect();
    // As Rust counts them: from 0, and each one more than the one before.
    let values = choices.variants.iter().enumerate().map(|(at, choice)| {
        let number = &numbers[at];
        let value = match (choice.number, at) {
            (Some(value), _) => quote_spanned!(value.span()=> #value),
            (None, 0) => quote!(0),
            (None, _) => {
                let before = &numbers[at - 1];
                quote!(#before + 1)
            }
        };
        quote!(const #number: __table::i32 = #value;)
    });
    let owned_number = choices.other.map(|other| quote!(#ident::#other(__number) => __number,));
    let other_number = choices.other.map(|other| quote!(Self::#other(__number) => *__number,));
    let known = known(choices);
    let no_variant = match choices.other {
        Some(other) => quote!(__table::Ok(Self::#other(__number))),
        None => quote!(__table::Err(__table::no_variant(__number, #known))),
    };
    quote! {
        #(#[allow(non_upper_case_globals)] #values)*

        #[automatically_derived]
        impl __table::ToEdm for #ident {
            const EDM_TYPE: __table::EdmType = __table::EdmType::Int32;

            fn to_edm(&self) -> __table::Result<__table::Option<__table::EdmCow<'_>>, __table::ConvertError> {
                let __number = match self {
                    #(Self::#idents => #numbers,)*
                    #other_number
                };
                __table::Ok(__table::Some(__table::EdmCow::Int32(__number)))
            }
        }

        #[automatically_derived]
        impl __table::FromEdm for #ident {
            const EDM_TYPE: __table::EdmType = __table::EdmType::Int32;

            fn from_edm(__value: __table::EdmCow<'_>) -> __table::Result<Self, __table::ConvertError> {
                let __number = <__table::i32 as __table::FromEdm>::from_edm(__value)?;
                #(if __number == #numbers { return __table::Ok(Self::#idents); })*
                #no_variant
            }
        }

        #[automatically_derived]
        impl __table::From<#ident> for __table::EdmValue {
            fn from(__value: #ident) -> Self {
                __table::EdmValue::Int32(match __value {
                    #(#ident::#idents => #numbers,)*
                    #owned_number
                })
            }
        }

        #[automatically_derived]
        impl __table::KeyPart for #ident {
            const WIDTH: __table::Option<__table::usize> = <__table::i32 as __table::KeyPart>::WIDTH;

            fn to_key(&self) -> __table::KeyText<'_> {
                __table::number_key(self)
            }

            fn from_key(__text: __table::Text<'_>) -> __table::Result<Self, __table::KeyError> {
                __table::from_number_key(__text)
            }
        }
    }
}
