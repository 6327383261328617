//! A struct that is stored as its only field.

use quote::ToTokens as _;
use syn::{Data, DeriveInput, Field, Fields, Generics, Ident};

use crate::errors::Errors;

pub(crate) struct Newtype<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) field: &'a Field,
}

impl<'a> Newtype<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: Errors) -> syn::Result<Self> {
        let Data::Struct(data) = &input.data else {
            let message =
                "only a struct can be a newtype; an enum that is a value has #[derive(TableEnum)]";
            return Err(errors.with(syn::Error::new_spanned(&input.ident, message)));
        };
        let mut fields = data.fields.iter();
        let (Some(field), None) = (fields.next(), fields.next()) else {
            let tokens = match &data.fields {
                Fields::Unit => input.ident.to_token_stream(),
                fields => fields.to_token_stream(),
            };
            let message = "a newtype has one field, which is stored: several properties are a struct with #[derive(PropertyGroup)]";
            return Err(errors.with(syn::Error::new_spanned(tokens, message)));
        };
        errors.check()?;
        Ok(Self { ident: &input.ident, generics: &input.generics, field })
    }
}
