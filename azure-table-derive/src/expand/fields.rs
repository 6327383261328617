//! `FIELDS`: the descriptions of the fields that are not keys.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::body::{Policies, local};
use crate::attr::{Accept, Codec, Policy};
use crate::model::{Block, BlockKind, Body, Property, inner_of_option};

impl Body<'_> {
    /// The constant of an entity or a group: the properties that are one field each, then the others.
    pub(super) fn fields(&self) -> Option<TokenStream> {
        let properties = self.properties.iter().map(|property| property.describe(self));
        let blocks = self.blocks.iter().map(|block| self.describe_block(block));
        let fields: Vec<_> = properties.chain(blocks).collect();
        let is_needed = self.is_group || !fields.is_empty();
        is_needed.then(|| quote!(const FIELDS: &'static [__table::Field] = &[#(#fields),*];))
    }

    fn describe_block(&self, block: &Block<'_>) -> TokenStream {
        let (ty, field) = (block.field.ty, block.field_trait());
        let mut accept = Accept::Exact;
        let description = match &block.kind {
            BlockKind::Flatten { prefix } => {
                let name = block.field.ident.unraw().to_string();
                quote!(__table::Field::group(#prefix, #name, #field::FIELDS))
            }
            BlockKind::Series { prefix, digits } => {
                accept = block.accept.or(self.reading.accept).unwrap_or(accept);
                let (text, digits) = (text_of(ty), Literal::usize_unsuffixed(*digits));
                quote!(__table::Field::series(#prefix, #text, #digits, #field::ELEMENTS))
            }
            BlockKind::Split { name } => quote!(__table::Field::split(#name, #field::EDM_TYPE)),
        };
        let reading = Policies::of_block(self.default_of(block).is_some(), accept).call();
        quote!(#description #reading)
    }
}

impl Property<'_> {
    fn describe(&self, body: &Body<'_>) -> TokenStream {
        let (ty, aliases) = (self.field.ty, &self.aliases);
        // The name with all that JSON has before the value. It is an identifier, so that it needs no escapes.
        let member = format!(",\"{}\":", self.name);
        let text = text_of(ty);
        let policies = self.policies(body);
        let uses_default = !matches!(policies.missing, None | Some(Policy::Error));
        let default = self.default_value().filter(|_| uses_default);
        let (property, default) = match &self.codec {
            None => (
                quote!(<#ty as __table::PropertyField>::STORED.field(#member, #text)),
                default.map(|default| quote!(<#ty as __table::PropertyField>::stored(&#default))),
            ),
            Some(codec) => {
                let module = codec.module();
                let value_ty = self.inner_of_option().unwrap_or(ty);
                // The compiler reports an invalid type at the codec, where it also reports it for writing.
                let span = local(module.span());
                let encode = quote_spanned!(span=> |__value: &#value_ty| #module::encode(__value));
                let encoded = quote_spanned!(span=> __table::encoded);
                let default = default.map(|default| {
                    let is_option = self.inner_of_option().is_some();
                    let default = if is_option { default } else { quote!(__table::Some(#default)) };
                    let encoded_default = quote_spanned!(span=> __table::encoded_default);
                    quote!(#encoded_default(#default, #encode))
                });
                (quote!(#encoded(#member, #text, #encode)), default)
            }
        };
        let aliases = (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])));
        let codec = self.codec.as_ref().map(Codec::text).filter(|text| !text.is_empty());
        let codec = codec.map(|text| quote!(.codec(#text)));
        let reading = policies.call();
        let default = default.map(|default| quote!(.default(|| #default)));
        let copy = self.is_copy.then(|| quote!(.copy_of_key()));
        let silent = (self.read_only || self.skip_if.is_some()).then(|| quote!(.silent()));
        quote!(#property #aliases #codec #reading #default #copy #silent)
    }
}

/// A type as it is written, without spaces.
pub(super) fn text_of(ty: &syn::Type) -> String {
    inner_of_option(ty).unwrap_or(ty).to_token_stream().to_string().replace(' ', "")
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
