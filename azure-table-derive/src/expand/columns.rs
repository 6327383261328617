//! The columns of entities, groups and enums of entities, for conditions on their values.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Type, Visibility, parse_quote};

use super::body::{local, number};
use super::column_struct::{ColumnField, ColumnStruct, Columns};
use crate::attr::{Codec, ContainerAttrs};
use crate::key_format::KeyForm;
use crate::kinds::Kinds;
use crate::model::{Block, BlockKind, Body, Entity, Field, Key, KeyPiece, Property};
use crate::rename::RenameRule;

pub(super) fn of_entity(
    entity: &Entity<'_>,
    input: &DeriveInput,
    attrs: &ContainerAttrs,
) -> Columns {
    let mut columns = Vec::new();
    // One name cannot be that of both columns.
    let are_same = entity.partition_key.is_single
        && entity.row_key.is_single
        && entity.partition_key.parts().any(|field| entity.is_shared(field));
    let keys = [&entity.partition_key, &entity.row_key];
    columns.extend(keys.iter().filter_map(|key| of_key(entity, key, input, are_same)));
    of_body(&entity.body, input, &mut columns);
    // The compiler lists both columns if the name of one shared field is used.
    if !are_same {
        for key in keys {
            of_parts(key, input, &mut columns);
        }
    }
    let has_entity = !columns.is_empty();
    let etag =
        entity.body.etag.as_ref().map_or_else(|| format_ident!("etag"), |etag| etag.ident.clone());
    of_etag(etag, &mut columns);
    ColumnStruct {
        input,
        has_entity,
        columns,
        fields: entity.body.has_fields().then(|| entity.body.constant()),
        methods: TokenStream::new(),
        codecs: codecs(&entity.body),
        is_group: false,
        has_function: entity.has_constructors,
    }
    .expand(attrs, super::bounds::of_entity(entity).as_ref())
}

pub(super) fn of_group(body: &Body<'_>, input: &DeriveInput, attrs: &ContainerAttrs) -> Columns {
    let mut columns = Vec::new();
    of_body(body, input, &mut columns);
    columns.push(ColumnField {
        name: format_ident!("__whole"),
        vis: Visibility::Inherited,
        doc: None,
        ty: quote!(__table::MultiColumn<__E, __F>),
        value: quote!(__columns.whole(__read)),
    });
    ColumnStruct {
        input,
        has_entity: true,
        columns,
        fields: Some(body.constant()),
        methods: TokenStream::new(),
        codecs: codecs(body),
        is_group: true,
        has_function: false,
    }
    .expand(attrs, super::bounds::of_body(body).as_ref())
}

pub(super) fn of_kinds(kinds: &Kinds<'_>, input: &DeriveInput, attrs: &ContainerAttrs) -> Columns {
    let columns = kinds.variants.iter().map(|kind| {
        let ty = kind.ty;
        let name = RenameRule::Snake.apply_to_variant(&kind.ident.unraw().to_string());
        ColumnField {
            name: syn::parse_str(&name).unwrap_or_else(|_| format_ident!("{name}_")),
            vis: parse_quote!(pub),
            doc: Some(format!("The columns of `{}`.", kind.ident)),
            ty: quote_spanned!(ty.span()=> <#ty as __table::HasColumns>::Columns<__E>),
            value: quote_spanned!(ty.span()=> <#ty as __table::HasColumns>::typed_columns::<__E>(__prefix)),
        }
    });
    let mut columns: Vec<_> = columns.collect();
    let kind = kinds.property.as_ref().map(|property| {
        let kind = super::kind_enum::name(kinds);
        let read = match kinds.other {
            None => quote!(<#kind as __table::PropertyField>::read),
            Some((other, _)) => quote! {
                |__row, __column| __table::read_kind(__row, __column, #kind::#other)
            },
        };
        let column = quote!(__table::Column::discriminator(#property, #read));
        (quote!(__table::Column<__E, #kind>), column)
    });
    let kind_method = kind.as_ref().map(|(ty, column)| {
        quote! {
            /// The kind of the entity: the column `kind`, also if a variant has that name.
            ///
            /// A condition compares the text of the discriminator property. Rows without the property, and rows in which it
            /// is not text, meet no condition on the kind, not even `ne`. They are read as the variant with `other`, and
            /// the column is read as `other` with an empty name.
            pub fn kind(&self) -> #ty {
                #column
            }
        }
    });
    let name = format_ident!("kind");
    let kind = kind.filter(|_| columns.iter().all(|column| column.name != name));
    let has_entity = kind.is_some();
    columns.extend(kind.map(|(ty, value)| ColumnField {
        name,
        vis: parse_quote!(pub),
        doc: Some("The kind of the entity, which the discriminator property holds.".to_owned()),
        ty,
        value,
    }));
    of_etag(format_ident!("etag"), &mut columns);
    ColumnStruct {
        input,
        has_entity,
        columns,
        fields: None,
        methods: quote!(#kind_method),
        codecs: Vec::new(),
        is_group: false,
        has_function: true,
    }
    .expand(attrs, kinds.generics.where_clause.as_ref())
}

/// Adds the version, unless a property has the name.
fn of_etag(name: Ident, columns: &mut Vec<ColumnField>) {
    if columns.iter().all(|column| column.name != name) {
        columns.push(ColumnField {
            name,
            vis: parse_quote!(pub),
            doc: Some("The version of the row, for projections.".to_owned()),
            ty: quote!(__table::ETagColumn),
            value: quote!(__table::ETagColumn),
        });
    }
}

/// Returns the visibility of a field: its column is not more public.
fn visibility(input: &DeriveInput, field: &Ident) -> Visibility {
    let Data::Struct(data) = &input.data else { return Visibility::Inherited };
    let field = data.fields.iter().find(|known| known.ident.as_ref() == Some(field));
    field.map_or(Visibility::Inherited, |field| field.vis.clone())
}

fn of_key(
    entity: &Entity<'_>,
    key: &Key<'_>,
    input: &DeriveInput,
    are_same: bool,
) -> Option<ColumnField> {
    let parts: Vec<_> = key.parts().collect();
    let first = parts.first()?;
    let is_named = key.is_single && !are_same;
    let name = if is_named { first.ident.clone() } else { key.ident("", "") };
    let (property, layout) = (key.name.property(), key.constant());
    let types = key.pieces.iter().filter_map(|piece| match piece {
        KeyPiece::Part(Field { ty, .. }, KeyForm::Digits { minuend: Some(_), .. }) => {
            Some(quote!(__table::Inverse<#ty>))
        }
        KeyPiece::Part(field, _) => Some(entity.part_type(field)),
        KeyPiece::Literal(_) => None,
    });
    let narrowest =
        parts.iter().map(|field| visibility(input, field.ident)).max_by_key(|vis| match vis {
            Visibility::Public(_) => 0,
            Visibility::Restricted(_) => 1,
            Visibility::Inherited => 2,
        });
    Some(ColumnField {
        name,
        vis: narrowest.unwrap_or(Visibility::Inherited),
        doc: Some(format!("The {property}.")),
        ty: quote!(__table::KeyColumn<__E, (#(#types,)*)>),
        value: quote!(__table::KeyColumn::new(#property, #layout)),
    })
}

/// Adds a field for each part of a key that is not a column by itself. The compiler's message about its use names the
/// column of the whole key.
fn of_parts(key: &Key<'_>, input: &DeriveInput, columns: &mut Vec<ColumnField>) {
    let ty = format_ident!("{}Part", key.name.property());
    for part in key.parts() {
        if columns.iter().any(|column| column.name == *part.ident) {
            continue;
        }
        columns.push(ColumnField {
            name: part.ident.clone(),
            vis: visibility(input, part.ident),
            doc: None,
            ty: quote!(__table::#ty<__E>),
            value: quote!(__table::#ty::new()),
        });
    }
}

fn of_body(body: &Body<'_>, input: &DeriveInput, columns: &mut Vec<ColumnField>) {
    for (at, property) in body.properties.iter().enumerate() {
        if is_unnamed(body, property) {
            continue;
        }
        let codec = codec(body, property);
        let name = &property.name;
        let (read, at) = (property.read_column(body, at), number(at));
        columns.push(ColumnField {
            name: property.column.as_ref().unwrap_or(property.field.ident).clone(),
            vis: visibility(input, property.field.ident),
            doc: Some(format!("The property `{name}`.")),
            ty: column_type(property, codec),
            value: quote!(__columns.property(#at, #read)),
        });
    }
    for (at, block) in body.numbered_blocks() {
        let (doc, ty, value) = of_block(body, &at, block);
        let name = block.field.ident.clone();
        let vis = visibility(input, &name);
        columns.push(ColumnField { name, vis, doc: Some(doc.to_owned()), ty, value });
    }
    if let Some(field) = &body.timestamp {
        let ty = field.ty;
        let compared = crate::model::inner_of_option(ty).unwrap_or(ty);
        columns.push(ColumnField {
            name: field.ident.clone(),
            vis: visibility(input, field.ident),
            doc: Some("The Timestamp.".to_owned()),
            ty: quote!(__table::Column<__E, #compared, __table::AsIs, #ty>),
            value: quote! {
                __table::Column::timestamp(|__row, _| <#ty as __table::TimestampField>::read(__row))
            },
        });
    }
}

/// The documentation, the type and the value of the column of a field that is several properties.
fn of_block(
    body: &Body<'_>,
    at: &Literal,
    block: &Block<'_>,
) -> (&'static str, TokenStream, TokenStream) {
    let ty: &Type = block.field.ty;
    let read = body.read_block(at, block, &quote!(__first));
    let read = quote!(|__row, __first| #read);
    match &block.kind {
        BlockKind::Flatten { .. } => (
            "A group of properties.",
            quote_spanned!(ty.span()=> <#ty as __table::PropertyGroup>::Columns<__E, #ty>),
            quote_spanned! {ty.span()=>
                <#ty as __table::PropertyGroup>::typed_columns::<__E, #ty>(
                    &__columns.prefix(#at),
                    #read,
                )
            },
        ),
        BlockKind::Series { .. } => (
            "A series of properties.",
            quote_spanned!(ty.span()=> __table::SeriesColumns<__E, #ty>),
            quote!(__columns.series(#at, #read)),
        ),
        BlockKind::Split { .. } => (
            "A value in several properties.",
            quote_spanned!(ty.span()=> __table::MultiColumn<__E, #ty>),
            quote!(__columns.split(#at, #read)),
        ),
    }
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
            "as_json" => quote!(__table::codec::AsJson),
            "on_inexact" => quote!(__table::codec::Exact),
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
            let encode = quote_spanned! {local(module.span())=>
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
