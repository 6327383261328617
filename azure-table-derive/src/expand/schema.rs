//! `schema`: the description of the stored form.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::body::{Policies, local};
use crate::attr::{Accept, Codec, DefaultValue, Policy};
use crate::choices::Choices;
use crate::key_format::Form;
use crate::kinds::Kinds;
use crate::model::{
    Block, BlockKind, Body, Entity, Field, Key, KeyPiece, Property, inner_of_option,
};

/// The function of an entity.
pub(super) fn of_entity(entity: &Entity<'_>) -> TokenStream {
    let table = optional(entity.table_name);
    let partition_key = elements(&entity.partition_key);
    let row_key = elements(&entity.row_key);
    let properties = entity.body.descriptions();
    let others = if entity.deny_unknown {
        Some(quote!(__schema.others = __table::Others::Refused;))
    } else {
        entity.body.extra.is_some().then(|| quote!(__schema.others = __table::Others::Kept;))
    };
    quote! {
        fn schema() -> __table::Schema {
            #[allow(unused_mut)]
            let mut __schema = __table::schema(#table, #partition_key, #row_key);
            #(#properties)*
            #others
            __schema
        }
    }
}

/// The function of a group.
pub(super) fn of_group(body: &Body<'_>) -> TokenStream {
    let properties = body.descriptions();
    quote! {
        fn schema() -> __table::Schema {
            #[allow(unused_mut)]
            let mut __schema = __table::schema(__table::None, [], []);
            #(#properties)*
            __schema
        }
    }
}

/// The function of an enum of entities.
pub(super) fn of_kinds(kinds: &Kinds<'_>, table: Option<&syn::LitStr>) -> TokenStream {
    let table = optional(table);
    let property = optional(kinds.property.as_ref());
    let list = kinds.variants.iter().map(|kind| {
        let (name, ty) = (&kind.name, kind.ty);
        quote!((#name, <#ty as __table::KindField>::schema()))
    });
    let has_other = kinds.other.is_some();
    quote! {
        fn schema() -> __table::Schema {
            __table::schema_of_kinds(#table, #property, [#(#list),*], #has_other)
        }
    }
}

/// A value that may be missing, as an expression.
fn optional(value: Option<&impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(__table::Some(#value)),
        None => quote!(__table::None),
    }
}

/// The form of an enum that is a value, whose stored values have these tokens.
pub(super) fn of_choices(choices: &Choices<'_>, stored: &[TokenStream]) -> TokenStream {
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

/// The pieces of a key.
fn elements(key: &Key<'_>) -> TokenStream {
    // No elements would mean that the key is not described.
    if key.pieces.is_empty() {
        return quote!([__table::constant("")]);
    }
    let elements = key.pieces.iter().map(|piece| match piece {
        KeyPiece::Literal(text) => {
            quote!(__table::constant(#text))
        }
        KeyPiece::Part(Field { ident, ty }, form) => {
            let format = match form {
                Form::Plain => String::new(),
                Form::Escaped => "escaped".to_owned(),
                Form::Digits { width, minuend: None } => format!("0{width}"),
                Form::Digits { width, minuend: Some(minuend) } => format!("inv{width}({minuend})"),
            };
            let (name, ty_text) = (ident.unraw().to_string(), text_of(ty));
            quote!(<#ty as __table::KeyField>::element(#name, #format, #ty_text))
        }
    });
    quote!([#(#elements),*])
}

/// A type as it is written, without spaces.
fn text_of(ty: &syn::Type) -> String {
    inner_of_option(ty).unwrap_or(ty).to_token_stream().to_string().replace(' ', "")
}

impl Body<'_> {
    /// A statement for each field that describes its properties.
    fn descriptions(&self) -> Vec<TokenStream> {
        let properties = self.properties.iter().map(|property| property.describe(self));
        properties.chain(self.blocks.iter().map(|block| self.describe_block(block))).collect()
    }

    fn describe_block(&self, block: &Block<'_>) -> TokenStream {
        let Block { field: Field { ident, ty }, kind, default, accept } = block;
        let has_default = default.is_some() || self.takes_default(kind);
        match kind {
            BlockKind::Flatten { prefix } => {
                let name = ident.unraw().to_string();
                quote! {
                    __table::describe_group(
                        &mut __schema,
                        <#ty as __table::PropertyGroup>::schema(),
                        #prefix,
                        #name,
                        #has_default,
                    );
                }
            }
            BlockKind::Series { .. } => {
                let name = kind.series_name();
                let accept = accept.or(self.reading.accept).unwrap_or(Accept::Exact).tokens();
                let text = text_of(ty);
                quote! {
                    __table::describe_series(
                        &mut __schema,
                        <#ty as __table::SeriesField>::describe,
                        #name,
                        #text,
                        #accept,
                        #has_default,
                    );
                }
            }
            BlockKind::Split { name } => {
                quote! {
                    __table::describe_split(
                        &mut __schema,
                        <#ty as __table::SplitField>::EDM_TYPE,
                        #name,
                        #has_default,
                    );
                }
            }
        }
    }
}

impl Property<'_> {
    fn describe(&self, body: &Body<'_>) -> TokenStream {
        let Self { field: Field { ty, .. }, name, aliases, is_copy, .. } = self;
        let is_option = self.inner_of_option().is_some();
        let policies = self.policies(body);
        let has_policies = policies.is_some();
        let Policies { missing, mistyped, accept, .. } = policies.unwrap_or_default();
        let absent = (self.default.is_some() || is_option && self.codec.is_some())
            .then_some(Policy::Default);
        let missing = missing.or(absent);
        let default = match (&self.default, missing) {
            (_, None | Some(Policy::Error)) => quote!(__table::None),
            (Some(default), _) => {
                let default = default.value(ty);
                quote!(__table::Some(#default))
            }
            (None, _) if is_option => quote!(__table::Some(__table::None)),
            (None, _) => {
                let default = DefaultValue::Trait.value(ty);
                quote!(__table::Some(#default))
            }
        };
        let codec = self.codec.as_ref().map_or_else(String::new, Codec::text);
        let text = text_of(ty);
        let policy = |policy: Option<Policy>| match policy {
            Some(policy) => policy.tokens(),
            None => quote!(__table::Policy::OfType),
        };
        let (missing, mistyped) = (policy(missing), policy(mistyped));
        let accept = accept.unwrap_or(Accept::Exact).tokens();
        let aliases = (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])));
        let codec_text = (!codec.is_empty()).then(|| quote!(.codec(#codec)));
        let policies = (has_policies || absent.is_some())
            .then(|| quote!(.policies(#missing, #mistyped, #accept)));
        let copy = is_copy.then(|| quote!(.copy_of_key()));
        let settings = quote!(#aliases #codec_text #policies #copy);
        if settings.is_empty() && self.codec.is_none() {
            return quote! {
                <#ty as __table::PropertyField>::describe(&mut __schema, #name, #text);
            };
        }
        let field = quote!(&__table::FieldSchema::new(#name, #text)#settings);
        let Some(codec) = &self.codec else {
            return quote! {
                <#ty as __table::PropertyField>::describe_by(&mut __schema, #field, || #default);
            };
        };
        let module = codec.module();
        let value_ty = self.inner_of_option().unwrap_or(ty);
        let default = if is_option { default } else { quote!(#default.map(__table::Some)) };
        let default = if default.is_empty() { quote!(__table::None) } else { default };
        // The compiler reports an invalid type at the codec, where it also reports it for writing.
        let span = local(module.span());
        let encode = quote_spanned!(span=> |__value: &#value_ty| #module::encode(__value));
        let describe = quote_spanned!(span=> __table::describe_encoded);
        quote!(#describe(&mut __schema, #field, #encode, || #default);)
    }
}

impl Codec {
    /// The codec as the field names it.
    fn text(&self) -> String {
        match self {
            Self::Module(path) => {
                format!("with {}", path.to_token_stream().to_string().replace(' ', ""))
            }
            // The value is stored in its native type, and only checked.
            Self::BuiltIn(item) if item.name() == "on_inexact" => String::new(),
            Self::BuiltIn(item) => item.name().to_owned(),
        }
    }
}
