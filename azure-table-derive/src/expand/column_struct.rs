//! The struct of columns. It is next to the user's type, so that messages and documentation can name it.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::{DeriveInput, GenericParam, Generics, Visibility, WhereClause, parse_quote};

use crate::attr::ContainerAttrs;

/// The items next to the user's type, and the items inside the block of implementations.
pub(super) struct Columns {
    pub(super) beside: TokenStream,
    pub(super) within: TokenStream,
    /// The members of the implementation of `PropertyGroup`.
    pub(super) members: TokenStream,
}

pub(super) struct ColumnField {
    pub(super) name: Ident,
    pub(super) vis: Visibility,
    /// `None` for a column that documentation does not show.
    pub(super) doc: Option<String>,
    pub(super) ty: TokenStream,
    pub(super) value: TokenStream,
}

pub(super) struct ColumnStruct<'a> {
    pub(super) input: &'a DeriveInput,
    pub(super) columns: Vec<ColumnField>,
    /// Whether the type of a column contains the entity itself, and not only a type that depends on it.
    pub(super) has_entity: bool,
    /// The constant with the fields, if values are columns of them.
    pub(super) fields: Option<TokenStream>,
    pub(super) methods: TokenStream,
    pub(super) codecs: Vec<(Ident, TokenStream)>,
    /// Whether the columns are those of a group: its parameters have no default, and a projection reads it.
    pub(super) is_group: bool,
    /// Whether the type has a function `columns`.
    pub(super) has_function: bool,
}

impl ColumnStruct<'_> {
    pub(super) fn expand(
        mut self,
        attrs: &ContainerAttrs,
        where_clause: Option<&WhereClause>,
    ) -> Columns {
        let DeriveInput { ident, generics, vis, .. } = self.input;
        let (impl_generics, ty_generics, _) = generics.split_for_impl();
        let client = attrs.client();
        let name = format_ident!("{ident}Columns");
        let own = self.generics(where_clause, &client);
        let (own_impl, own_ty, own_where) = own.split_for_impl();
        // The compiler requires that each parameter is used.
        if !self.has_entity || !generics.params.is_empty() {
            self.columns.push(ColumnField {
                name: format_ident!("__of"),
                vis: Visibility::Inherited,
                doc: None,
                ty: quote!(::std::marker::PhantomData<fn() -> (__E, #ident #ty_generics)>),
                value: quote!(::std::marker::PhantomData),
            });
        }
        let Self { columns, fields, methods, codecs, is_group, has_function, .. } = self;

        let docs = columns.iter().map(|column| match &column.doc {
            Some(doc) => {
                let doc = format!(" {doc}");
                quote!(#[doc = #doc])
            }
            None => quote!(#[doc(hidden)]),
        });
        let names: Vec<_> = columns.iter().map(|column| &column.name).collect();
        let visibilities = columns.iter().map(|column| &column.vis);
        let types = columns.iter().map(|column| at_client(column.ty.clone(), &client));
        let values = columns.iter().map(|column| &column.value);
        let (codec_names, codec_impls): (Vec<_>, Vec<_>) = codecs.into_iter().unzip();
        let doc = format!(" The columns of [`{ident}`], for conditions in queries.");
        let codec_doc = format!(" The codec of a property of [`{ident}`].");
        let beside = quote! {
            #[doc = #doc]
            #[automatically_derived]
            #[allow(dead_code, deprecated, private_interfaces, private_bounds, missing_debug_implementations, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
            #vis struct #name #own #own_where {
                #(
                    #docs
                    #visibilities #names: #types,
                )*
            }
            #(
                #[doc = #codec_doc]
                #[doc(hidden)]
                #[allow(dead_code, missing_debug_implementations)]
                #vis struct #codec_names;
            )*
        };
        let parameters = if is_group { quote!(__E, __F) } else { quote!(__E) };
        let read = is_group.then(|| quote!(__read: __table::ReadGroup<__F>));
        let fields = fields
            .map(|fields| quote!(let __columns = __table::FieldColumns::new(__prefix, #fields);));
        let members = quote! {
            type Columns<#parameters> = #name #own_ty;

            fn typed_columns<#parameters>(__prefix: &__table::str, #read) -> #name #own_ty {
                #fields
                #name { #(#names: #values,)* }
            }
        };
        let inherent = (!methods.is_empty()).then(|| quote! {
            #[automatically_derived]
            #[allow(dead_code, private_interfaces, private_bounds, unreachable_pub, clippy::all, clippy::pedantic)]
            impl #own_impl #name #own_ty #own_where {
                #methods
            }
        });
        let function = has_function.then(|| function(self.input, where_clause));
        // A group has them in its own trait.
        let (members, within) = if is_group {
            (members, projection_of_group(&name, &own))
        } else {
            let has_columns = quote! {
                #[automatically_derived]
                impl #impl_generics __table::HasColumns for #ident #ty_generics #where_clause {
                    #members
                }
                #inherent
                #function
            };
            (TokenStream::new(), has_columns)
        };
        Columns { beside, within: quote!(#within #(#codec_impls)*), members }
    }

    /// The parameters of the struct of columns: those of the type, and the entity that conditions are on.
    fn generics(&self, where_clause: Option<&WhereClause>, client: &TokenStream) -> Generics {
        let DeriveInput { ident, generics, .. } = self.input;
        let (_, ty_generics, _) = generics.split_for_impl();
        let mut own = generics.clone();
        for parameter in &mut own.params {
            match parameter {
                GenericParam::Type(parameter) => parameter.default = None,
                GenericParam::Const(parameter) => parameter.default = None,
                GenericParam::Lifetime(_) => {}
            }
        }
        if self.is_group {
            own.params.push(parse_quote!(__E));
            own.params.push(parse_quote!(__F));
        } else {
            own.params.push(parse_quote!(__E = #ident #ty_generics));
        }
        own.where_clause = where_clause.map(|clause| {
            // `__table` is not in scope next to the type.
            syn::parse2(at_client(clause.to_token_stream(), client))
                .unwrap_or_else(|_| parse_quote!(where))
        });
        own
    }
}

/// The function `columns` of the type.
fn function(input: &DeriveInput, where_clause: Option<&WhereClause>) -> TokenStream {
    let DeriveInput { ident, generics, vis, .. } = input;
    let (impl_generics, ty_generics, _) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(dead_code, private_bounds, private_interfaces, clippy::pedantic)]
        impl #impl_generics #ident #ty_generics #where_clause {
            /// The columns, for conditions that are built outside a query.
            #vis fn columns() -> <Self as __table::HasColumns>::Columns<Self> {
                <Self as __table::HasColumns>::typed_columns("")
            }
        }
    }
}

/// The projection that reads a whole group.
fn projection_of_group(columns: &Ident, generics: &Generics) -> TokenStream {
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let mut bounds: WhereClause =
        parse_quote!(where Self: ::std::marker::Send + ::std::marker::Sync + 'static);
    bounds.predicates.extend(where_clause.map(|own| own.predicates.clone()).into_iter().flatten());
    quote! {
        #[automatically_derived]
        impl #impl_generics __table::Projection<__E> for #columns #ty_generics #bounds {
            type Output = __F;

            fn select(&self, __selection: &mut __table::Selection) {
                __table::Projection::select(&self.__whole, __selection);
            }

            fn read(
                &self,
                __row: &mut __table::Row<'_>,
                __next: &mut __table::usize,
            ) -> __table::Result<__F, __table::DecodeError> {
                __table::Projection::read(&self.__whole, __row, __next)
            }
        }
    }
}

/// The tokens with the path of the client in place of `__table`.
fn at_client(tokens: TokenStream, client: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(ident) if ident == "__table" => client.clone(),
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), at_client(group.stream(), client));
                inner.set_span(group.span());
                TokenTree::Group(inner).into()
            }
            other => other.into(),
        })
        .collect()
}
