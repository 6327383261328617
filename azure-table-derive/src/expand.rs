//! Code generation: one file for each output.

mod body;
mod bounds;
mod choices;
mod column_struct;
mod columns;
mod copies;
mod entity;
mod fallback;
mod fields;
mod group;
mod indexes;
mod keys;
mod kind_enum;
mod kinds;
mod named_table;
mod newtype;
mod projection;
mod table_set;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput};

use crate::attr::{ContainerAttrs, Place};
use crate::choices::Choices;
use crate::errors::Errors;
use crate::kinds::Kinds;
use crate::model::{Body, Entity};
use crate::newtype::Newtype;
use crate::projection::Projection;
use crate::table_set::TableSet;

/// The output of `#[derive(TableEntity)]`.
pub(crate) fn table_entity(input: &DeriveInput) -> TokenStream {
    let is_enum = matches!(input.data, Data::Enum(_));
    let place = if is_enum { Place::Kinds } else { Place::Entity };
    output(input, place, fallback::entity, |attrs, errors| {
        if is_enum {
            let kinds = Kinds::read(input, attrs, errors)?;
            let table_entity = kinds::expand(&kinds, attrs.name.as_ref());
            let named_table = named_table::expand(input, attrs.name.as_ref(), None);
            let kind_enum = kind_enum::expand(&kinds, input);
            let columns = columns::of_kinds(&kinds, input, attrs);
            let mut output = Output::new(quote!(#table_entity #named_table), columns);
            output.extend(kind_enum);
            Ok(output)
        } else {
            let entity = Entity::read(input, attrs, errors)?;
            let table_entity = entity::expand(&entity);
            let keys = keys::expand(&entity);
            let indexes = indexes::expand(&entity);
            let where_clause = bounds::of_entity(&entity);
            let named_table = named_table::expand(input, entity.table_name, where_clause.as_ref());
            let columns = columns::of_entity(&entity, input, attrs);
            Ok(Output::new(quote!(#table_entity #keys #indexes #named_table), columns))
        }
    })
}

/// The output of `#[derive(PropertyGroup)]`.
pub(crate) fn property_group(input: &DeriveInput) -> TokenStream {
    output(input, Place::Group, fallback::group, |attrs, errors| {
        let body = Body::read_group(input, attrs, errors)?;
        let columns = columns::of_group(&body, input, attrs);
        Ok(Output::new(group::expand(&body, &columns.members), columns))
    })
}

/// The output of `#[derive(TableEnum)]`.
pub(crate) fn table_enum(input: &DeriveInput) -> TokenStream {
    output(input, Place::Choices, fallback::choices, |attrs, errors| {
        Choices::read(input, attrs, errors).map(|choices| choices::expand(&choices).into())
    })
}

/// The output of `#[derive(TableValue)]`.
pub(crate) fn table_value(input: &DeriveInput) -> TokenStream {
    output(input, Place::Newtype, fallback::newtype, |_, errors| {
        Newtype::read(input, errors).map(|newtype| newtype::expand(&newtype).into())
    })
}

/// The output of `#[derive(TableSet)]`.
pub(crate) fn table_set(input: &DeriveInput) -> TokenStream {
    output(input, Place::Set, fallback::table_set, |_, errors| {
        TableSet::read(input, errors).map(|set| table_set::expand(&set).into())
    })
}

/// The output of `#[derive(Projection)]`.
pub(crate) fn projection(input: &DeriveInput) -> TokenStream {
    output(input, Place::Projection, fallback::projection, |attrs, errors| {
        Projection::read(input, attrs, errors)
            .map(|projection| projection::expand(&projection).into())
    })
}

/// The generated code: implementations, and items next to the user's type.
struct Output {
    within: TokenStream,
    beside: TokenStream,
}

impl Output {
    fn new(mut within: TokenStream, columns: column_struct::Columns) -> Self {
        within.extend(columns.within);
        Self { within, beside: columns.beside }
    }

    fn extend(&mut self, other: Self) {
        self.within.extend(other.within);
        self.beside.extend(other.beside);
    }
}

impl From<TokenStream> for Output {
    fn from(within: TokenStream) -> Self {
        Self { within, beside: TokenStream::new() }
    }
}

fn output(
    input: &DeriveInput,
    place: Place,
    fallback: impl FnOnce(&DeriveInput, &ContainerAttrs) -> TokenStream,
    expand: impl FnOnce(&ContainerAttrs, Errors) -> syn::Result<Output>,
) -> TokenStream {
    let mut errors = Errors::default();
    let attrs = ContainerAttrs::read(&input.attrs, place, &mut errors);
    let (error, output) = match expand(&attrs, errors) {
        Ok(output) => (None, output),
        Err(error) => (Some(error.to_compile_error()), fallback(input, &attrs).into()),
    };
    let Output { within, beside } = output;
    let import = attrs.import();
    // Generated code repeats the fields' types and functions. Lints about them apply where the user wrote
    // them.
    quote! {
        #error
        #[allow(deprecated, unused_qualifications, clippy::absolute_paths)]
        const _: () = {
            #import
            #within
        };
        #beside
    }
}

/// A value that may be missing, as an expression.
fn optional(value: Option<&impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(__table::Some(#value)),
        None => quote!(__table::None),
    }
}
