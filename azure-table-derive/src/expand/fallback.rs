//! Implementations in name only, for a type that was refused: the mistakes in it are then all that
//! the compiler reports, and not every use of the type as well.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use super::named_table;
use crate::attr::ContainerAttrs;

pub(super) fn entity(input: &DeriveInput, attrs: &ContainerAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let named_table = named_table::expand(input, attrs.name.as_ref(), where_clause);
    let indexes = (!attrs.indexes.is_empty()).then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics __table::HasIndexes for #ident #ty_generics #where_clause {
                const INDEXES: &'static [__table::IndexDefinition] = &[];
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableEntity for #ident #ty_generics #where_clause {
            const COLUMNS: &'static [&'static __table::str] = &[];

            fn partition_key(&self) -> __table::KeyText<'_> {
                loop {}
            }

            fn row_key(&self) -> __table::KeyText<'_> {
                loop {}
            }

            fn write_properties(
                &self,
                _: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                loop {}
            }

            fn from_row(
                _: &mut __table::Row<'_>,
            ) -> __table::Result<Self, __table::DecodeError> {
                loop {}
            }
        }
        #[automatically_derived]
        impl #impl_generics __table::HasColumns for #ident #ty_generics #where_clause {
            type Columns<__E> = ();

            fn typed_columns<__E>(_: &__table::str) {}
        }
        #indexes
        #named_table
    }
}

pub(super) fn group(input: &DeriveInput, _: &ContainerAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::PropertyGroup for #ident #ty_generics #where_clause {
            const FIELDS: &'static [__table::Field] = &[];
            type Columns<__E, __F> = ();

            fn typed_columns<__E, __F>(_: &__table::str, _: __table::ReadGroup<__F>) {}

            fn write_properties(
                &self,
                _: &mut __table::PropertyWriter<'_>,
            ) -> __table::Result<(), __table::EncodeError> {
                loop {}
            }

            fn read_properties(
                _: &mut __table::Row<'_>,
                _: __table::usize,
            ) -> __table::Result<Self, __table::DecodeError> {
                loop {}
            }
        }
    }
}

pub(super) fn choices(input: &DeriveInput, _: &ContainerAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::ToEdm for #ident #ty_generics #where_clause {
            const EDM_TYPE: __table::EdmType = __table::EdmType::String;

            fn to_edm(&self) -> __table::Result<__table::Option<__table::EdmCow<'_>>, __table::ConvertError> {
                loop {}
            }
        }

        #[automatically_derived]
        impl #impl_generics __table::FromEdm for #ident #ty_generics #where_clause {
            const EDM_TYPE: __table::EdmType = __table::EdmType::String;

            fn from_edm(_: __table::EdmCow<'_>) -> __table::Result<Self, __table::ConvertError> {
                loop {}
            }
        }

        #[automatically_derived]
        impl #impl_generics __table::KeyPart for #ident #ty_generics #where_clause {
            fn to_key(&self) -> __table::KeyText<'_> {
                loop {}
            }

            fn from_key(_: __table::Text<'_>) -> __table::Result<Self, __table::KeyError> {
                loop {}
            }
        }
    }
}

pub(super) fn newtype(input: &DeriveInput, _: &ContainerAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableValue for #ident #ty_generics #where_clause {
            type Inner = __table::String;

            fn inner(&self) -> &__table::String {
                loop {}
            }

            fn from_inner(_: __table::String) -> Self {
                loop {}
            }
        }
    }
}

pub(super) fn table_set(input: &DeriveInput, _: &ContainerAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::TableSet for #ident #ty_generics #where_clause {
            fn open(_: &__table::TableServiceClient) -> Self {
                loop {}
            }

            fn tables(&self) -> __table::Vec<__table::TableClient<__table::DynamicEntity>> {
                loop {}
            }
        }
    }
}

pub(super) fn projection(input: &DeriveInput, attrs: &ContainerAttrs) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let Some(of) = &attrs.of else { return TokenStream::new() };
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::ProjectionOf<#of> for #ident #ty_generics #where_clause {
            type Columns = <#of as __table::HasColumns>::Columns<#of>;

            fn projection(_: Self::Columns) -> impl __table::Projection<#of, Output = Self> {
                __table::project((), |()| -> Self { loop {} })
            }
        }
    }
}
