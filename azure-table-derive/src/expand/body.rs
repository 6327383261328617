//! Writing and reading the fields that are not keys, for entities and groups.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use crate::attr::{Accept, Codec, DefaultValue, Policy};
use crate::model::{Block, BlockKind, Body, Field, Property};

impl Body<'_> {
    /// The constant with the descriptions of the fields.
    pub(super) fn constant(&self) -> TokenStream {
        if self.is_group {
            quote!(<Self as __table::PropertyGroup>::FIELDS)
        } else {
            quote!(<Self as __table::TableEntity>::FIELDS)
        }
    }

    /// The statement before code that names fields as `__fields`.
    pub(super) fn local(&self) -> Option<TokenStream> {
        let constant = self.constant();
        self.has_fields().then(|| quote!(let __fields = #constant;))
    }

    pub(super) fn has_fields(&self) -> bool {
        !self.properties.is_empty() || !self.blocks.is_empty()
    }

    /// The blocks, each with the number of its field.
    pub(super) fn numbered_blocks(&self) -> impl Iterator<Item = (Literal, &Block<'_>)> {
        let first = self.properties.len();
        self.blocks.iter().enumerate().map(move |(at, block)| (number(first + at), block))
    }

    /// A statement for each field that writes it.
    pub(super) fn writes(&self) -> Vec<TokenStream> {
        let properties = self.properties.iter().enumerate();
        let properties = properties.filter(|(_, property)| !property.read_only);
        let properties = properties.map(|(at, property)| {
            let check = property.is_copy.then(|| property.check_held());
            let write = property.write(&number(at));
            let write = quote!(#check #write);
            let Field { ident, .. } = property.field;
            match &property.skip_if {
                None => write,
                Some(function) => {
                    let skip = quote_spanned!(local(function.span())=> let __skip: __table::bool = #function(&self.#ident););
                    quote!({ #skip if !__skip { #write } })
                }
            }
        });
        let blocks = self.numbered_blocks().map(|(at, block)| {
            let (ident, field) = (block.field.ident, block.field_trait());
            match &block.kind {
                BlockKind::Flatten { prefix } => quote! {
                    __writer.group(#prefix, |__writer| {
                        #field::write_properties(&self.#ident, __writer)
                    })?;
                },
                _ => quote!(#field::write(&self.#ident, __writer, &__fields[#at])?;),
            }
        });
        let extra = self.extra.iter().map(|Field { ident, ty }| {
            quote!(<#ty as __table::ExtraField>::write(&self.#ident, __writer)?;)
        });
        properties.chain(blocks).chain(extra).collect()
    }

    /// Returns `field: value` for every field that is not a key. The number of the first column is `first`.
    pub(super) fn reads(&self, first: Option<&TokenStream>) -> Vec<TokenStream> {
        let column = |index: usize| {
            let index = number(index);
            match first {
                None => quote!(#index),
                Some(first) => quote!(#first + #index),
            }
        };
        let mut reads = Vec::new();
        for (index, property) in self.properties.iter().enumerate() {
            if property.is_copy {
                continue;
            }
            let value = property.read(self, index, &column(index));
            let ident = property.field.ident;
            reads.push(quote!(#ident: #value?));
        }
        let mut at = column(self.properties.len());
        for (number, block) in self.numbered_blocks() {
            let ident = block.field.ident;
            let value = self.read_block(&number, block, &at);
            let field = block.field_trait();
            reads.push(quote!(#ident: #value?));
            at = quote!(#at + #field::SIZE);
        }
        for (Field { ident, ty }, default) in &self.skipped {
            let default = default.value(ty);
            reads.push(quote!(#ident: #default));
        }
        for (Field { ident, ty }, _) in &self.computed {
            let default = DefaultValue::Trait.value(ty);
            reads.push(quote!(#ident: #default));
        }
        if let Some(Field { ident, ty }) = self.timestamp {
            reads.push(quote!(#ident: <#ty as __table::TimestampField>::read(__row)?));
        }
        if let Some(Field { ident, ty }) = self.etag {
            reads.push(quote!(#ident: <#ty as __table::ETagField>::read(__row)?));
        }
        if let Some(Field { ident, ty }) = self.extra {
            reads.push(quote! {
                #ident: <#ty as __table::ExtraField>::from_properties(__row.take_others()?)
            });
        }
        if let Some(Field { ident, ty }) = self.errors {
            reads.push(quote!(#ident: <#ty as __table::ErrorsField>::read(__row)));
        }
        reads
    }

    /// Reads a field that is several properties. The number of its first column is `first`.
    pub(super) fn read_block(
        &self,
        number: &Literal,
        block: &Block<'_>,
        first: &TokenStream,
    ) -> TokenStream {
        let (field, fields) = (block.field_trait(), self.constant());
        let read = |first: &TokenStream| match block.kind {
            BlockKind::Flatten { .. } => quote!(#field::read_properties(__row, #first)),
            BlockKind::Series { .. } => quote!(#field::read(__row, #first, &#fields[#number])),
            BlockKind::Split { .. } => quote!(#field::read(__row, #first)),
        };
        match self.default_of(block) {
            None => read(first),
            Some(default) => {
                let default = default.value(block.field.ty);
                let read = read(&quote!(__first));
                quote! {
                    __table::read_block_or(
                        __row,
                        #first,
                        &#fields[#number],
                        |__row, __first| #read,
                        || #default,
                    )
                }
            }
        }
    }

    /// The default of a field of several properties: its own, or that of the struct's policy.
    pub(super) fn default_of<'b>(&self, block: &'b Block<'_>) -> Option<&'b DefaultValue> {
        let policy = self.reading.missing.as_ref();
        let is_shared = policy.is_some_and(|(policy, _)| *policy == Policy::Default)
            && !matches!(block.kind, BlockKind::Flatten { .. });
        block.default.as_ref().or(is_shared.then_some(&DefaultValue::Trait))
    }

    /// The struct of these fields, the computed ones included. The copies of keys are compared with them.
    pub(super) fn build(&self, reads: &[TokenStream]) -> TokenStream {
        let copies = self.properties.iter().enumerate().filter(|(_, property)| property.is_copy);
        let copies: Vec<_> = copies.map(|(index, property)| property.check_copy(index)).collect();
        if self.computed.is_empty() && copies.is_empty() {
            return quote!(__table::Ok(Self { #(#reads,)* }));
        }
        let computed = self.computed.iter().map(|(Field { ident, ty }, function)| {
            let value =
                quote_spanned!(local(function.span())=> let __value: #ty = #function(&__entity););
            quote!(#value __entity.#ident = __value;)
        });
        let mutable = (!self.computed.is_empty()).then(|| quote!(mut));
        quote! {
            let #mutable __entity = Self { #(#reads,)* };
            #(#copies)*
            #(#computed)*
            __table::Ok(__entity)
        }
    }
}

impl Block<'_> {
    /// The field's type as an implementation of the trait of its kind.
    pub(super) fn field_trait(&self) -> TokenStream {
        let ty = self.field.ty;
        match self.kind {
            BlockKind::Flatten { .. } => quote!(<#ty as __table::PropertyGroup>),
            BlockKind::Series { .. } => quote!(<#ty as __table::SeriesField>),
            BlockKind::Split { .. } => quote!(<#ty as __table::SplitField>),
        }
    }
}

/// The policies of reading a property; `None` is the rule of its type.
#[derive(Clone, Copy)]
pub(super) struct Policies {
    pub(super) missing: Option<Policy>,
    null: Option<Policy>,
    mistyped: Option<Policy>,
    accept: Accept,
}

impl Policies {
    /// The policies of a field of several properties.
    pub(super) fn of_block(has_default: bool, accept: Accept) -> Self {
        let missing = has_default.then_some(Policy::Default);
        Self { missing, null: None, mistyped: None, accept }
    }

    /// The call that adds them to a description.
    pub(super) fn call(self) -> Option<TokenStream> {
        let Self { missing, null, mistyped, accept } = self;
        if [missing, null, mistyped] == [None; 3] && accept == Accept::Exact {
            return None;
        }
        let [missing, null, mistyped] = [missing, null, mistyped].map(|policy| match policy {
            Some(policy) => policy.tokens(),
            None => quote!(__table::Policy::OfType),
        });
        let accept = accept.tokens();
        Some(quote!(.reading(#missing, #null, #mistyped, #accept)))
    }
}

impl Property<'_> {
    fn write(&self, at: &Literal) -> TokenStream {
        let Self { field: Field { ident, ty }, codec, .. } = self;
        let Some(codec) = codec else {
            return quote!(<#ty as __table::PropertyField>::write(&self.#ident, __writer, &__fields[#at])?;);
        };
        let encode = |value: TokenStream| {
            let module = codec.module();
            let encoded = quote_spanned! {local(module.span())=>
                let __encoded: __table::Result<_, __table::ConvertError> = #module::encode(#value);
            };
            let write = quote_spanned!(local(module.span())=> __table::write_encoded(__writer, &__fields[#at], __encoded)?;);
            quote!({ #encoded #write })
        };
        if self.inner_of_option().is_none() {
            return encode(quote_spanned!(local(codec.module().span())=> &self.#ident));
        }
        let write = encode(quote!(__value));
        quote!(if let __table::Some(__value) = &self.#ident { #write })
    }

    /// A function that reads the column of a row.
    pub(super) fn read_column(&self, body: &Body<'_>, at: usize) -> TokenStream {
        if self.codec.is_none() && self.policies(body).call().is_none() {
            let ty = self.field.ty;
            return quote!(<#ty as __table::PropertyField>::read);
        }
        let read = self.read(body, at, &quote!(__column));
        quote!(|__row, __column| #read)
    }

    /// Returns the policies of the field, or else of the struct.
    pub(super) fn policies(&self, body: &Body<'_>) -> Policies {
        let (own, shared) = (&self.reading, body.reading);
        let is_option = self.inner_of_option().is_some();
        let is_settled = self.default.is_some() || is_option;
        let absent = (self.default.is_some() || is_option && self.codec.is_some())
            .then_some(Policy::Default);
        let policy = |own: &Option<(Policy, _)>, shared: &Option<(Policy, _)>| {
            let shared = shared.as_ref().filter(|_| !is_settled);
            own.as_ref().or(shared).map(|(policy, _)| *policy)
        };
        Policies {
            missing: policy(&own.missing, &shared.missing).or(absent),
            null: policy(&own.null, &shared.null).or(absent),
            mistyped: own.mistyped.as_ref().or(shared.mistyped.as_ref()).map(|(policy, _)| *policy),
            accept: own.accept.or(shared.accept).unwrap_or(Accept::Exact),
        }
    }

    /// Returns the value in place of one that is not read; `None` is the `None` of an `Option`.
    pub(super) fn default_value(&self) -> Option<TokenStream> {
        let is_option = self.inner_of_option().is_some();
        let default = self.default.as_ref().or((!is_option).then_some(&DefaultValue::Trait));
        default.map(|default| default.value(self.field.ty))
    }

    fn read(&self, body: &Body<'_>, at: usize, column: &TokenStream) -> TokenStream {
        let ty = self.field.ty;
        let policies @ Policies { missing, null, mistyped, accept } = self.policies(body);
        let is_policy = |policy| !matches!(policy, None | Some(Policy::Error));
        let uses_default = [missing, null, mistyped].into_iter().any(is_policy);
        let default = match self.default_value() {
            _ if !uses_default => quote!(__table::None),
            Some(default) => quote!(__table::Some(#default)),
            None => quote!(__table::Some(__table::None)),
        };
        let (fields, at) = (body.constant(), number(at));
        let reading = quote!(#fields[#at].reading);
        let Some(codec) = &self.codec else {
            let absent = Some(Policy::Default);
            return match &self.default {
                _ if policies.call().is_none() => {
                    quote!(<#ty as __table::PropertyField>::read(__row, #column))
                }
                Some(default)
                    if (missing, null, mistyped, accept)
                        == (absent, absent, None, Accept::Exact) =>
                {
                    let default = default.value(ty);
                    quote!(<#ty as __table::PropertyField>::read_or(__row, #column, || #default))
                }
                _ => quote! {
                    <#ty as __table::PropertyField>::read_by(__row, #column, #reading, || #default)
                },
            };
        };
        let module = codec.module();
        let value_ty = self.inner_of_option().unwrap_or(ty);
        // With its type stated, a function of another one is refused where it is named.
        let decoded = quote_spanned! {local(module.span())=>
            let __decoded: __table::Result<#value_ty, __table::ConvertError> = #module::decode(__stored);
        };
        let is_option = self.inner_of_option().is_some();
        let value =
            if is_option { quote!(__decoded.map(__table::Some)) } else { quote!(__decoded) };
        let read = quote_spanned!(local(module.span())=> __table::read_decoded);
        quote! {
            #read(__row, #column, #reading, |__stored| { #decoded #value }, || #default)
        }
    }
}

/// A number without its type.
pub(super) fn number(number: usize) -> Literal {
    Literal::usize_unsuffixed(number)
}

/// The span for errors, with the local names of the generated function: an attribute may come from another macro.
pub(super) fn local(span: Span) -> Span {
    span.resolved_at(Span::call_site())
}

impl Codec {
    pub(super) fn module(&self) -> TokenStream {
        match self {
            Self::Module(path) => quote!(#path),
            Self::BuiltIn(item) => {
                let name = if item.name() == "on_inexact" { "exact" } else { item.name() };
                let name = proc_macro2::Ident::new(name, item.span());
                quote_spanned!(item.span()=> __table::codec::#name)
            }
        }
    }
}

impl Policy {
    pub(super) fn tokens(self) -> TokenStream {
        match self {
            Self::Error => quote!(__table::Policy::Error),
            Self::Default | Self::None => quote!(__table::Policy::UseDefault),
            Self::Collect => quote!(__table::Policy::Collect),
        }
    }
}

impl DefaultValue {
    pub(super) fn value(&self, ty: &Type) -> TokenStream {
        match self {
            Self::Trait => quote!(<#ty as __table::Default>::default()),
            // With its type stated, a function of another one is refused where it is named.
            Self::Function(path) => {
                let function = quote_spanned!(ty.span()=> fn() -> #ty);
                quote!({
                    let __default: #function = #path;
                    __default()
                })
            }
        }
    }
}
