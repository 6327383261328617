use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Expr;
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
    let aliases = aliases(choices);
    let other = choices.other.as_ref().map(|other| {
        let (ident, ty) = (other.ident, other.ty);
        (ident, quote!(<#ty as __table::OtherValue<__table::String>>))
    });
    let other_text = other
        .as_ref()
        .map(|(other, value)| quote!(Self::#other(__text) => #value::as_value(__text),));
    let names_again = choices.variants.iter().map(|choice| {
        let name = &choice.name;
        // Both branches have one type: the text in the other variant is a `String`.
        if choices.other.is_some() { quote!(__table::String::from(#name)) } else { quote!(#name) }
    });
    let owned_text = other
        .as_ref()
        .map(|(other, value)| quote!(#ident::#other(__text) => #value::into_value(__text),));
    let stored: Vec<_> = (choices.variants.iter())
        .map(|choice| &choice.name)
        .map(|name| quote!(__table::String::from(#name)))
        .collect();
    let form = form(choices, &stored);
    let known = known(choices);
    let of_other = other
        .as_ref()
        .map(|(other, value)| quote!(_ => __table::Ok(Self::#other(#value::from_value(__text.into_owned()))),));
    let no_variant = match &of_other {
        Some(of_other) => quote!(#of_other),
        None => quote!(_ => __table::Err(__table::no_variant(__text, #known)),),
    };
    let no_key = match &of_other {
        Some(of_other) => quote!(#of_other),
        None => quote!(_ => __table::Err(__table::no_key(&__text, #known)),),
    };
    quote! {
        #[automatically_derived]
        impl __table::ToEdm for #ident {
            const EDM_TYPE: __table::EdmType = __table::EdmType::String;

            #form

            fn to_edm(&self) -> __table::Result<__table::Option<__table::EdmCow<'_>>, __table::ConvertError> {
                let __text: &__table::str = match self {
                    #(Self::#idents => #names,)*
                    #other_text
                };
                __table::Ok(__table::Some(__table::EdmCow::String(__table::Text::Borrowed(__text))))
            }
            #aliases
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
            fn form() -> __table::ValueForm {
                __table::key_choices::<Self>()
            }

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

/// Returns the method with the aliases of each variant, if there are any.
fn aliases(choices: &Choices<'_>) -> Option<TokenStream> {
    let with_alias: Vec<_> =
        choices.variants.iter().filter(|choice| !choice.aliases.is_empty()).collect();
    let idents = with_alias.iter().map(|choice| choice.ident);
    let aliases = with_alias.iter().map(|choice| &choice.aliases);
    (!with_alias.is_empty()).then(|| {
        quote! {
            #[allow(unreachable_patterns)]
            fn aliases(&self) -> __table::Vec<__table::Text<'static>> {
                match self {
                    #(Self::#idents => __table::Vec::from([#(__table::Text::Borrowed(#aliases)),*]),)*
                    _ => __table::Vec::new(),
                }
            }
        }
    })
}

fn as_number(choices: &Choices<'_>) -> TokenStream {
    let ident = choices.ident;
    let idents: Vec<_> = choices.variants.iter().map(|choice| choice.ident).collect();
    let numbers: Vec<_> = (0..idents.len()).map(|at| format_ident!("__{at}")).collect();
    // The numbers that Rust assigns: 0, then one more than the number of the previous variant.
    let constant = |name: &Ident, number: Option<&Expr>, before: Option<&Ident>| {
        let value = match (number, before) {
            (Some(number), _) => quote_spanned!(number.span()=> (#number) as __table::i128),
            (None, None) => quote!(0),
            (None, Some(before)) => quote!(#before as __table::i128 + 1),
        };
        quote!(const #name: __table::i32 = __table::variant_number(#value);)
    };
    let mut values = Vec::new();
    let mut before: Option<Ident> = None;
    for at in 0..=choices.variants.len() {
        if let Some(other) = choices.other.as_ref().filter(|other| other.at == at) {
            let name = format_ident!("__other");
            values.push(constant(&name, other.number, before.as_ref()));
            before = Some(name);
        }
        if let (Some(choice), Some(name)) = (choices.variants.get(at), numbers.get(at)) {
            values.push(constant(name, choice.number, before.as_ref()));
            before = Some(name.clone());
        }
    }
    let other = choices.other.as_ref().map(|other| {
        let (ident, ty) = (other.ident, other.ty);
        (ident, quote!(<#ty as __table::OtherValue<__table::i32>>))
    });
    let owned_number = other
        .as_ref()
        .map(|(other, value)| quote!(#ident::#other(__number) => #value::into_value(__number),));
    let other_number = other
        .as_ref()
        .map(|(other, value)| quote!(Self::#other(__number) => *#value::as_value(__number),));
    // Rust sorts a variant for all other values as a whole, and the service by each value.
    let ordered = choices.other.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl __table::OrderedEdm for #ident {}
        }
    });
    let stored: Vec<_> =
        numbers.iter().map(|number| quote!(__table::number_text(#number))).collect();
    let form = form(choices, &stored);
    let known = known(choices);
    let no_variant = match &other {
        Some((other, value)) => quote!(__table::Ok(Self::#other(#value::from_value(__number)))),
        None => quote!(__table::Err(__table::no_variant(__number, #known))),
    };
    quote! {
        #(#[allow(dead_code, non_upper_case_globals, clippy::unnecessary_cast, clippy::pedantic)] #values)*

        #[automatically_derived]
        impl __table::ToEdm for #ident {
            const EDM_TYPE: __table::EdmType = __table::EdmType::Int32;

            #form

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

        #ordered

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

            fn form() -> __table::ValueForm {
                __table::key_choices::<Self>()
            }

            fn to_key(&self) -> __table::KeyText<'_> {
                __table::number_key(self)
            }

            fn from_key(__text: __table::Text<'_>) -> __table::Result<Self, __table::KeyError> {
                __table::from_number_key(__text)
            }
        }
    }
}

/// The form of an enum that is a value, whose stored values have these tokens.
fn form(choices: &Choices<'_>, stored: &[TokenStream]) -> TokenStream {
    let list = choices.variants.iter().zip(stored).map(|(choice, stored)| {
        let variant = choice.ident.to_string();
        let aliases = &choice.aliases;
        quote!((#variant, #stored, &[#(#aliases),*]))
    });
    let has_other = choices.other.is_some();
    quote! {
        fn form() -> __table::ValueForm {
            __table::choices(&[#(#list),*], #has_other)
        }
    }
}
