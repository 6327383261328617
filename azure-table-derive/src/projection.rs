//! A struct of some columns of an entity.

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, Generics, Token, Type};

use crate::attr::{ContainerAttrs, ProjectedAttrs};
use crate::errors::Errors;
use crate::model::named_fields;

pub(crate) struct Projection<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// The entity with the columns.
    pub(crate) of: &'a Type,
    pub(crate) fields: Vec<ProjectedField<'a>>,
}

pub(crate) struct ProjectedField<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    /// The column, if it is not of the field's name.
    pub(crate) column: Option<Punctuated<Ident, Token![.]>>,
    /// Whether the field receives the version of the row.
    pub(crate) is_etag: bool,
}

impl<'a> Projection<'a> {
    pub(crate) fn read(
        input: &'a DeriveInput,
        attrs: &'a ContainerAttrs,
        mut errors: Errors,
    ) -> syn::Result<Self> {
        let named = named_fields(input, "a projection", "one for each column that is read");
        let named = match named {
            Ok(named) => &named.named,
            Err(error) => return Err(errors.with(error)),
        };
        // An invalid type was reported already.
        if attrs.of.is_none() && errors.is_empty() {
            errors.report(
                &input.ident,
                "no entity: write #[table(of = \"…\")] with the one that has the columns",
            );
        }
        if named.is_empty() {
            errors.report(&input.ident, "no columns: write a field for each column that is read");
        }
        let mut fields = Vec::new();
        for field in named {
            let ProjectedAttrs { column, is_etag } =
                ProjectedAttrs::read(&field.attrs, &mut errors);
            if let Some(ident) = &field.ident {
                fields.push(ProjectedField { ident, ty: &field.ty, column, is_etag });
            }
        }
        errors.check()?;
        match &attrs.of {
            Some(of) => Ok(Self { ident: &input.ident, generics: &input.generics, of, fields }),
            // Only a misspelled type gets here.
            None => Err(syn::Error::new_spanned(&input.ident, "no entity")),
        }
    }
}
