//! The struct of columns, for conditions on their values. It is next to the user's type, so that
//! messages and documentation can name it.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{GenericParam, Generics, Visibility, WhereClause, parse_quote};

use crate::attr::{Accept, Codec, ContainerAttrs};
use crate::key_format::Form;
use crate::kinds::Kinds;
use crate::model::{BlockKind, Body, Entity, Field, Key, KeyPiece, Property};
use crate::rename::RenameRule;

/// The items next to the user's type, and the items inside the block of implementations.
pub(super) struct Columns {
    pub(super) beside: TokenStream,
    pub(super) within: TokenStream,
    /// The members of the implementation of `PropertyGroup`.
    pub(super) members: TokenStream,
}

struct Column {
    name: Ident,
    doc: String,
    ty: TokenStream,
    value: TokenStream,
}

pub(super) fn of_entity(entity: &Entity<'_>, attrs: &ContainerAttrs) -> Columns {
    let mut columns = Vec::new();
    columns.extend(key(&entity.partition_key, "partition_key", "PartitionKey", "PARTITION_KEY"));
    columns.extend(key(&entity.row_key, "row_key", "RowKey", "ROW_KEY"));
    of_body(&entity.body, &mut columns);
    Struct {
        ident: entity.body.ident,
        generics: entity.body.generics,
        vis: entity.vis,
        columns,
        codecs: codecs(&entity.body),
        has_default: true,
        has_function: entity.has_constructors,
    }
    .expand(attrs, super::bounds::of_entity(entity).as_ref())
}

pub(super) fn of_group(body: &Body<'_>, vis: &Visibility, attrs: &ContainerAttrs) -> Columns {
    let mut columns = Vec::new();
    of_body(body, &mut columns);
    Struct {
        ident: body.ident,
        generics: body.generics,
        vis,
        columns,
        codecs: codecs(body),
        has_default: false,
        has_function: false,
    }
    .expand(attrs, super::bounds::of_body(body).as_ref())
}

pub(super) fn of_kinds(kinds: &Kinds<'_>, vis: &Visibility, attrs: &ContainerAttrs) -> Columns {
    let columns = kinds.variants.iter().map(|kind| {
        let ty = kind.ty;
        let name = RenameRule::Snake.apply_to_variant(&kind.ident.unraw().to_string());
        Column {
            name: syn::parse_str(&name).unwrap_or_else(|_| format_ident!("{name}_")),
            doc: format!("The columns of `{}`.", kind.ident),
            ty: quote_spanned!(ty.span()=> <#ty as __table::HasColumns>::Columns<__E>),
            value: quote_spanned!(ty.span()=> <#ty as __table::HasColumns>::typed_columns::<__E>(__prefix)),
        }
    });
    let columns = columns.collect();
    let (ident, generics) = (kinds.ident, kinds.generics);
    let where_clause = generics.where_clause.as_ref();
    let codecs = Vec::new();
    Struct { ident, generics, vis, columns, codecs, has_default: true, has_function: true }
        .expand(attrs, where_clause)
}

fn key(key: &Key<'_>, name: &str, property: &str, layout: &str) -> Option<Column> {
    let parts: Vec<_> = key.parts().collect();
    let first = parts.first()?;
    let name = if key.is_single { first.ident.clone() } else { format_ident!("{name}") };
    let layout = format_ident!("{layout}");
    let types = key.pieces.iter().filter_map(|piece| match piece {
        KeyPiece::Part(Field { ty, .. }, Form::Digits { minuend: Some(_), .. }) => {
            Some(quote!(__table::Inverse<#ty>))
        }
        KeyPiece::Part(Field { ty, .. }, _) => Some(ty.to_token_stream()),
        KeyPiece::Literal(_) => None,
    });
    Some(Column {
        name,
        doc: format!("The {property}."),
        ty: quote!(__table::KeyColumn<__E, (#(#types,)*)>),
        value: quote!(__table::KeyColumn::new(#property, <Self as __table::TypedKeys>::#layout)),
    })
}

fn of_body(body: &Body<'_>, columns: &mut Vec<Column>) {
    for property in &body.properties {
        if is_unnamed(body, property) {
            continue;
        }
        let codec = codec(body, property);
        let name = &property.name;
        let read = property.read_column(body);
        let aliases = &property.aliases;
        let accept = accepting(property.reading.accept.or(body.reading.accept));
        columns.push(Column {
            name: property.field.ident.clone(),
            doc: format!("The property `{name}`."),
            ty: column_type(property, codec),
            value: quote!(__table::Column::new(__prefix, #name, #read) #(.or(__prefix, #aliases))* #accept),
        });
    }
    for block in &body.blocks {
        let ty = block.field.ty;
        let (doc, ty, value) = match &block.kind {
            BlockKind::Flatten { prefix } => (
                "A group of properties.",
                quote_spanned!(ty.span()=> <#ty as __table::PropertyGroup>::Columns<__E>),
                quote_spanned! {ty.span()=>
                    <#ty as __table::PropertyGroup>::typed_columns::<__E>(
                        &__table::String::from_iter([__prefix, #prefix])
                    )
                },
            ),
            BlockKind::Series { .. } => {
                let name = block.kind.series_name();
                let accept = block.accept.or(body.reading.accept).unwrap_or(Accept::Exact);
                let accept = accept.tokens();
                (
                    "A series of properties.",
                    quote_spanned!(ty.span()=> __table::SeriesColumns<__E, <#ty as __table::SeriesField>::Element>),
                    quote_spanned!(ty.span()=> __table::SeriesColumns::new(__prefix, #name, #accept)),
                )
            }
            BlockKind::Split { .. } => continue,
        };
        columns.push(Column { name: block.field.ident.clone(), doc: doc.to_owned(), ty, value });
    }
    if let Some(field) = &body.timestamp {
        let ty = field.ty;
        let compared = crate::model::inner_of_option(ty).unwrap_or(ty);
        columns.push(Column {
            name: field.ident.clone(),
            doc: "The Timestamp.".to_owned(),
            ty: quote!(__table::Column<__E, #compared, __table::AsIs, #ty>),
            value: quote! {
                __table::Column::timestamp(|__row, _| <#ty as __table::TimestampField>::read(__row))
            },
        });
    }
}

/// Returns the call that sets the other types that a column accepts.
fn accepting(accept: Option<Accept>) -> Option<TokenStream> {
    let accept = accept.filter(|accept| *accept != Accept::Exact)?.tokens();
    Some(quote!(.accepting(#accept)))
}

/// Returns the type of a property's column. It is the type of the compared values, which can differ from the field's.
fn column_type(property: &Property<'_>, codec: Option<TokenStream>) -> TokenStream {
    let ty = property.field.ty;
    match (property.inner_of_option(), codec) {
        (Some(inner), codec) => {
            let codec = codec.unwrap_or_else(|| quote!(__table::AsIs));
            quote!(__table::Column<__E, #inner, #codec, #ty>)
        }
        (None, Some(codec)) => quote!(__table::Column<__E, #ty, #codec>),
        (None, None) => quote!(__table::Column<__E, #ty>),
    }
}

/// Returns the type that represents a property's codec; `None` if the property has no codec.
fn codec(body: &Body<'_>, property: &Property<'_>) -> Option<TokenStream> {
    Some(match property.codec.as_ref()? {
        Codec::BuiltIn(item) => match item.name() {
            "as_string" => quote!(__table::codec::AsString),
            "as_padded" => quote!(__table::codec::AsPadded),
            "as_i32" => quote!(__table::codec::AsI32),
            _ => quote!(__table::codec::AsI64),
        },
        Codec::Module(_) => codec_name(body, property).to_token_stream(),
    })
}

/// Whether the property's codec cannot be named: its type would need the parameters of the struct.
fn is_unnamed(body: &Body<'_>, property: &Property<'_>) -> bool {
    matches!(property.codec, Some(Codec::Module(_))) && !body.generics.params.is_empty()
}

fn codec_name(body: &Body<'_>, property: &Property<'_>) -> Ident {
    let field = RenameRule::Pascal.apply(&property.field.ident.unraw().to_string());
    format_ident!("{}{}Codec", body.ident, field)
}

/// Returns a type for each codec that is a module of the user's, with its implementation.
fn codecs(body: &Body<'_>) -> Vec<(Ident, TokenStream)> {
    let of_modules = body.properties.iter().filter_map(|property| match &property.codec {
        Some(Codec::Module(module)) if !is_unnamed(body, property) => Some((property, module)),
        _ => None,
    });
    of_modules
        .map(|(property, module)| {
            let name = codec_name(body, property);
            let ty = property.inner_of_option().unwrap_or(property.field.ty);
            let encode = quote_spanned! {module.span()=>
                let __encoded: __table::Result<_, __table::ConvertError> = #module::encode(__value);
                __table::stored_of(__encoded)
            };
            let implementation = quote! {
                #[automatically_derived]
                impl __table::ColumnCodec<#ty> for #name {
                    fn encode(
                        __value: &#ty,
                    ) -> __table::Result<__table::Option<__table::EdmValue>, __table::ConvertError> {
                        #encode
                    }
                }
            };
            (name, implementation)
        })
        .collect()
}

struct Struct<'a> {
    ident: &'a Ident,
    generics: &'a Generics,
    vis: &'a Visibility,
    columns: Vec<Column>,
    codecs: Vec<(Ident, TokenStream)>,
    /// Whether conditions are on the type itself by default.
    has_default: bool,
    /// Whether the type has a function `columns`.
    has_function: bool,
}

impl Struct<'_> {
    fn expand(self, attrs: &ContainerAttrs, where_clause: Option<&WhereClause>) -> Columns {
        let Self { ident, generics, vis, columns, codecs, has_default, has_function } = self;
        let client = attrs.client();
        let name = format_ident!("{ident}Columns");
        let (impl_generics, ty_generics, _) = generics.split_for_impl();

        let mut own = generics.clone();
        for parameter in &mut own.params {
            match parameter {
                GenericParam::Type(parameter) => parameter.default = None,
                GenericParam::Const(parameter) => parameter.default = None,
                GenericParam::Lifetime(_) => {}
            }
        }
        let entity: syn::TypeParam =
            if has_default { parse_quote!(__E = #ident #ty_generics) } else { parse_quote!(__E) };
        own.params.push(GenericParam::Type(entity));
        own.where_clause = where_clause.map(|clause| {
            // `__table` is not in scope next to the type.
            syn::parse2(at_client(clause.to_token_stream(), &client))
                .unwrap_or_else(|_| parse_quote!(where))
        });
        let arguments = generics.params.iter().map(|parameter| match parameter {
            GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
            GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
            GenericParam::Lifetime(parameter) => parameter.lifetime.to_token_stream(),
        });
        let arguments: Vec<_> = arguments.collect();
        let own_arguments = quote!(<#(#arguments,)* Self>);
        let arguments = quote!(<#(#arguments,)* __E>);

        let docs = columns.iter().map(|column| format!(" {}", column.doc));
        let names: Vec<_> = columns.iter().map(|column| &column.name).collect();
        let types = columns.iter().map(|column| at_client(column.ty.clone(), &client));
        let values = columns.iter().map(|column| &column.value);
        let (codec_names, codec_impls): (Vec<_>, Vec<_>) = codecs.into_iter().unzip();
        let doc = format!(" The columns of [`{ident}`], for conditions in queries.");
        let codec_doc = format!(" The codec of a property of [`{ident}`].");
        let where_of_own = &own.where_clause;
        let beside = quote! {
            #[doc = #doc]
            #[automatically_derived]
            #[allow(dead_code, deprecated, private_interfaces, private_bounds, missing_debug_implementations, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
            #vis struct #name #own #where_of_own {
                #(
                    #[doc = #docs]
                    pub #names: #types,
                )*
                #[doc(hidden)]
                pub __of: ::std::marker::PhantomData<fn() -> (__E, #ident #ty_generics)>,
            }
            #(
                #[doc = #codec_doc]
                #[doc(hidden)]
                #[allow(dead_code, missing_debug_implementations)]
                #vis struct #codec_names;
            )*
        };
        let members = quote! {
            type Columns<__E> = #name #arguments;

            fn typed_columns<__E>(__prefix: &__table::str) -> #name #arguments {
                #name {
                    #(#names: #values,)*
                    __of: ::std::marker::PhantomData,
                }
            }
        };
        let function = has_function.then(|| {
            quote! {
                #[automatically_derived]
                #[allow(dead_code, private_bounds, private_interfaces, clippy::pedantic)]
                impl #impl_generics #ident #ty_generics #where_clause {
                    /// The columns, for conditions that are built outside a query.
                    #vis fn columns() -> #name #own_arguments {
                        <Self as __table::HasColumns>::typed_columns("")
                    }
                }
            }
        });
        // A group has them in its own trait.
        let (members, has_columns) = if has_default {
            let has_columns = quote! {
                #[automatically_derived]
                impl #impl_generics __table::HasColumns for #ident #ty_generics #where_clause {
                    #members
                }
                #function
            };
            (TokenStream::new(), has_columns)
        } else {
            (members, TokenStream::new())
        };
        Columns { beside, within: quote!(#has_columns #(#codec_impls)*), members }
    }
}

/// The tokens with the path of the client in place of `__table`.
fn at_client(tokens: TokenStream, client: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            proc_macro2::TokenTree::Ident(ident) if ident == "__table" => client.clone(),
            proc_macro2::TokenTree::Group(group) => {
                let mut inner =
                    proc_macro2::Group::new(group.delimiter(), at_client(group.stream(), client));
                inner.set_span(group.span());
                proc_macro2::TokenTree::Group(inner).into()
            }
            other => other.into(),
        })
        .collect()
}
