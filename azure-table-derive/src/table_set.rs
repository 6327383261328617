//! A struct of tables.

use proc_macro2::Ident;
use syn::{DeriveInput, Generics, LitStr, Type};

use crate::attr::TableAttrs;
use crate::errors::Errors;
use crate::model::named_fields;
use crate::name;

pub(crate) struct TableSet<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) tables: Vec<Table<'a>>,
}

pub(crate) struct Table<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) name: Option<LitStr>,
}

impl<'a> TableSet<'a> {
    pub(crate) fn read(input: &'a DeriveInput, mut errors: Errors) -> syn::Result<Self> {
        let fields = match named_fields(input, "a set of tables", "one TableClient for each table")
        {
            Ok(fields) => fields,
            Err(error) => return Err(errors.with(error)),
        };
        let mut tables = Vec::new();
        for field in &fields.named {
            let name = TableAttrs::read(&field.attrs, &mut errors).name;
            if let Some(name) = &name
                && let Err(message) = name::check_table(&name.value())
            {
                errors.report(name, message);
            }
            if let Some(ident) = &field.ident {
                tables.push(Table { ident, ty: &field.ty, name });
            }
        }
        errors.check()?;
        Ok(Self { ident: &input.ident, generics: &input.generics, tables })
    }
}
