//! Writing and reading the fields that are not keys, for entities and groups.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use crate::attr::{Accept, Codec, DefaultValue, Policy};
use crate::model::{Block, BlockKind, Body, Field, Property};

impl Body<'_> {
    /// The names of the properties that are one field each.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.properties.iter().map(|property| &property.name)
    }

    /// Adds the columns that `names` lacks: the properties of the blocks, the aliases, and properties that are not always
    /// written.
    pub(super) fn further_columns(&self) -> Vec<TokenStream> {
        let blocks =
            self.blocks.iter().map(|Block { field: Field { ty, .. }, kind, .. }| match kind {
                BlockKind::Flatten { prefix } => quote! {
                    __columns.group(#prefix, <#ty as __table::PropertyGroup>::columns);
                },
                BlockKind::Series { .. } => {
                    let name = kind.series_name();
                    quote!(<#ty as __table::SeriesField>::columns(__columns, #name);)
                }
                BlockKind::Split { name } => {
                    quote!(<#ty as __table::SplitField>::columns(__columns, #name);)
                }
            });
        let aliases = self.properties.iter().enumerate().flat_map(|(index, property)| {
            let index = Literal::usize_unsuffixed(index);
            property.aliases.iter().map(move |alias| quote!(__columns.alias(#alias, #index);))
        });
        let silent = self.properties.iter().enumerate();
        let silent =
            silent.filter(|(_, property)| property.read_only || property.skip_if.is_some());
        let silent = silent.map(|(index, _)| {
            let index = Literal::usize_unsuffixed(index);
            quote!(__columns.silent(#index);)
        });
        blocks.chain(aliases).chain(silent).collect()
    }

    /// A statement for each field that writes it.
    pub(super) fn writes(&self) -> Vec<TokenStream> {
        let properties = self.properties.iter().filter(|property| !property.read_only);
        let properties = properties.map(|property| {
            let check = property.is_copy.then(|| property.check_held());
            let write = property.write();
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
        let blocks =
            self.blocks.iter().map(|Block { field: Field { ident, ty }, kind, .. }| match kind {
                BlockKind::Flatten { prefix } => quote! {
                    __writer.group(#prefix, |__writer| {
                        <#ty as __table::PropertyGroup>::write_properties(&self.#ident, __writer)
                    })?;
                },
                BlockKind::Series { .. } => {
                    let name = kind.series_name();
                    quote!(<#ty as __table::SeriesField>::write(&self.#ident, __writer, #name)?;)
                }
                BlockKind::Split { name } => {
                    quote!(<#ty as __table::SplitField>::write(&self.#ident, __writer, #name)?;)
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
            let index = Literal::usize_unsuffixed(index);
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
            let value = property.read(self, &column(index));
            let ident = property.field.ident;
            reads.push(quote!(#ident: #value?));
        }
        let mut at = column(self.properties.len());
        for block in &self.blocks {
            let ident = block.field.ident;
            let value = self.read_block(block, &at);
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
    pub(super) fn read_block(&self, block: &Block<'_>, first: &TokenStream) -> TokenStream {
        let field = block.field_trait();
        let read = |row: TokenStream, first: &TokenStream| match block.kind {
            BlockKind::Flatten { .. } => quote!(#field::read_properties(#row, #first)),
            BlockKind::Series { .. } => {
                let accept = block.accept.or(self.reading.accept).unwrap_or(Accept::Exact);
                let accept = accept.tokens();
                quote!(#field::read(#row, #first, #accept))
            }
            BlockKind::Split { .. } => quote!(#field::read(#row, #first)),
        };
        let shared = self.takes_default(&block.kind).then_some(&DefaultValue::Trait);
        match block.default.as_ref().or(shared) {
            None => read(quote!(__row), first),
            Some(default) => {
                let default = default.value(block.field.ty);
                let read = read(quote!(__row), &quote!(__first));
                quote! {
                    __table::read_block_or(
                        __row,
                        #first..#first + #field::SIZE,
                        |__row, __first| #read,
                        || #default,
                    )
                }
            }
        }
    }

    /// Whether the struct's policy gives a default to a field of several properties.
    pub(super) fn takes_default(&self, kind: &BlockKind) -> bool {
        let policy = self.reading.missing.as_ref();
        let takes_default = policy.is_some_and(|(policy, _)| *policy == Policy::Default);
        takes_default && !matches!(kind, BlockKind::Flatten { .. })
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

impl BlockKind {
    pub(super) fn series_name(&self) -> TokenStream {
        let Self::Series { prefix, digits } = self else { return TokenStream::new() };
        quote!(__table::SeriesName { prefix: #prefix, digits: #digits })
    }
}

/// The settings of a property that is not read by the rules of its type.
#[derive(Default)]
pub(super) struct Policies {
    pub(super) missing: Option<Policy>,
    null: Option<Policy>,
    pub(super) mistyped: Option<Policy>,
    pub(super) accept: Option<Accept>,
}

impl Property<'_> {
    fn write(&self) -> TokenStream {
        let Self { field: Field { ident, ty }, name, codec, .. } = self;
        let member = member(name);
        let Some(codec) = codec else {
            return quote!(<#ty as __table::PropertyField>::write(&self.#ident, __writer, #member)?;);
        };
        let encode = |value: TokenStream| {
            let module = codec.module();
            let encoded = quote_spanned! {local(module.span())=>
                let __encoded: __table::Result<_, __table::ConvertError> = #module::encode(#value);
            };
            let write = quote_spanned!(local(module.span())=> __table::write_encoded(__writer, #member, __encoded)?;);
            quote!({ #encoded #write })
        };
        if self.inner_of_option().is_none() {
            return encode(quote_spanned!(local(codec.module().span())=> &self.#ident));
        }
        let write = encode(quote!(__value));
        quote!(if let __table::Some(__value) = &self.#ident { #write })
    }

    /// A function that reads the column of a row.
    pub(super) fn read_column(&self, body: &Body<'_>) -> TokenStream {
        let is_plain = self.codec.is_none() && self.default.is_none();
        if is_plain && self.policies(body).is_none() {
            let ty = self.field.ty;
            return quote!(<#ty as __table::PropertyField>::read);
        }
        let read = self.read(body, &quote!(__column));
        quote!(|__row, __column| #read)
    }

    /// Returns the policies of the field and the struct; `None` if neither has any.
    pub(super) fn policies(&self, body: &Body<'_>) -> Option<Policies> {
        let (own, shared) = (&self.reading, body.reading);
        let is_settled = self.default.is_some() || self.inner_of_option().is_some();
        let policy = |own: &Option<(Policy, _)>, shared: &Option<(Policy, _)>| {
            let shared = shared.as_ref().filter(|_| !is_settled);
            own.as_ref().or(shared).map(|(policy, _)| *policy)
        };
        let policies = Policies {
            missing: policy(&own.missing, &shared.missing),
            null: policy(&own.null, &shared.null),
            mistyped: own.mistyped.as_ref().or(shared.mistyped.as_ref()).map(|(policy, _)| *policy),
            accept: own.accept.or(shared.accept),
        };
        let Policies { missing, null, mistyped, accept } = &policies;
        let is_silent = [missing, null, mistyped].iter().all(|policy| policy.is_none());
        (!is_silent || accept.is_some()).then_some(policies)
    }

    fn read(&self, body: &Body<'_>, column: &TokenStream) -> TokenStream {
        let Field { ty, .. } = self.field;
        let is_option = self.inner_of_option().is_some();
        let absent = (self.default.is_some() || is_option && self.codec.is_some())
            .then_some(Policy::Default);
        let policies = self.policies(body);
        if policies.is_none() && self.codec.is_none() {
            return match &self.default {
                None => quote!(<#ty as __table::PropertyField>::read(__row, #column)),
                Some(default) => {
                    let default = default.value(ty);
                    quote!(<#ty as __table::PropertyField>::read_or(__row, #column, || #default))
                }
            };
        }

        let Policies { missing, null, mistyped, accept } = policies.unwrap_or_default();
        let (missing, null) = (missing.or(absent), null.or(absent));
        let uses_default = [missing, null, mistyped]
            .iter()
            .any(|policy| !matches!(policy, None | Some(Policy::Error)));
        let default = match &self.default {
            _ if !uses_default => quote!(__table::None),
            Some(default) => {
                let default = default.value(ty);
                quote!(__table::Some(#default))
            }
            None if is_option => quote!(__table::Some(__table::None)),
            None => {
                let default = DefaultValue::Trait.value(ty);
                quote!(__table::Some(#default))
            }
        };
        let policy = |policy: Option<Policy>| match policy {
            Some(policy) => policy.tokens(),
            None => quote!(__table::Policy::OfType),
        };
        let (missing, null, mistyped) = (policy(missing), policy(null), policy(mistyped));
        let accept = accept.unwrap_or(Accept::Exact).tokens();
        let reading = quote! {
            __table::Reading {
                missing: #missing,
                null: #null,
                mistyped: #mistyped,
                accept: #accept,
            }
        };
        let Some(codec) = &self.codec else {
            return quote! {
                <#ty as __table::PropertyField>::read_by(__row, #column, #reading, || #default)
            };
        };
        let module = codec.module();
        let value_ty = self.inner_of_option().unwrap_or(ty);
        // With its type stated, a function of another one is refused where it is named.
        let decoded = quote_spanned! {local(module.span())=>
            let __decoded: __table::Result<#value_ty, __table::ConvertError> = #module::decode(__stored);
        };
        let value =
            if is_option { quote!(__decoded.map(__table::Some)) } else { quote!(__decoded) };
        let read = quote_spanned!(local(module.span())=> __table::read_decoded);
        quote! {
            #read(__row, #column, #reading, |__stored| { #decoded #value }, || #default)
        }
    }
}

/// The span for errors, with the local names of the generated function: an attribute may come from another macro.
pub(super) fn local(span: Span) -> Span {
    span.resolved_at(Span::call_site())
}

/// The name of a property with all that JSON has before the value.
fn member(name: &str) -> String {
    // A property name is an identifier, so that it needs no escapes.
    format!(",\"{name}\":")
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
