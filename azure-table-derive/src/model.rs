//! The struct, once it is known to keep all the rules.

use std::collections::HashMap;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Fields, FieldsNamed, Generics, LitStr, Type};

use crate::attr::{DefaultValue, FieldAttrs, Item, Role, StructAttrs};
use crate::errors::Errors;
use crate::name;
use crate::rename::RenameRule;

/// Properties of an entity beside its keys and its Timestamp.
const PROPERTIES: usize = 252;

pub(crate) struct Entity<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) table_name: Option<&'a LitStr>,
    pub(crate) partition_key: Field<'a>,
    pub(crate) row_key: Field<'a>,
    pub(crate) timestamp: Option<Field<'a>>,
    pub(crate) etag: Option<Field<'a>>,
    pub(crate) properties: Vec<Property<'a>>,
    pub(crate) skipped: Vec<(Field<'a>, DefaultValue)>,
}

#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
}

pub(crate) struct Property<'a> {
    pub(crate) field: Field<'a>,
    pub(crate) name: String,
    pub(crate) default: Option<DefaultValue>,
}

impl<'a> Entity<'a> {
    /// Reads the struct, or reports everything that is wrong with it.
    pub(crate) fn read(
        input: &'a DeriveInput,
        attrs: &'a StructAttrs,
        mut errors: Errors,
    ) -> syn::Result<Self> {
        let fields = match named_fields(input) {
            Ok(fields) => fields,
            Err(error) => return Err(errors.with(error)),
        };
        if let Some(table) = &attrs.name
            && let Err(message) = name::check_table(&table.value())
        {
            errors.report(table, message);
        }
        for lifetime in input.generics.lifetimes() {
            errors.report(
                lifetime,
                "an entity owns its data, since it outlives the reply that it is read from: \
                 write String instead of &str, and so on",
            );
        }

        let (mut partition_key, mut row_key, mut timestamp, mut etag) = (None, None, None, None);
        let mut properties = Properties::of(attrs.rename_all);
        let mut skipped = Vec::new();
        for field in &fields.named {
            let attrs = FieldAttrs::read(&field.attrs, &mut errors);
            let Some(ident) = &field.ident else { continue };
            let ty = &field.ty;
            let field = Field { ident, ty };
            let Some((role, item)) = &attrs.role else {
                properties.add(field, attrs, &mut errors);
                continue;
            };
            let slot = match role {
                Role::PartitionKey => &mut partition_key,
                Role::RowKey => &mut row_key,
                Role::Timestamp => &mut timestamp,
                Role::ETag => &mut etag,
                Role::Skip => {
                    skipped.push((field, attrs.default.unwrap_or(DefaultValue::Trait)));
                    continue;
                }
            };
            fill(slot, field, item, &mut errors);
        }
        let properties = properties.check(&mut errors);

        let (Some(partition_key), Some(row_key)) = (partition_key, row_key) else {
            let missing = missing_key(&input.ident, partition_key.is_some(), row_key.is_some());
            return Err(errors.with(missing));
        };
        errors.check()?;
        Ok(Self {
            ident: &input.ident,
            generics: &input.generics,
            table_name: attrs.name.as_ref(),
            partition_key,
            row_key,
            timestamp,
            etag,
            properties,
            skipped,
        })
    }
}

fn named_fields(input: &DeriveInput) -> syn::Result<&FieldsNamed> {
    let (found, tokens) = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => return Ok(fields),
            Fields::Unnamed(fields) => ("a tuple struct", fields.to_token_stream()),
            Fields::Unit => ("a unit struct", input.ident.to_token_stream()),
        },
        Data::Enum(data) => ("an enum", data.enum_token.to_token_stream()),
        Data::Union(data) => ("a union", data.union_token.to_token_stream()),
    };
    Err(syn::Error::new_spanned(
        tokens,
        format!(
            "{found} cannot be a table entity: write a struct with named fields, \
             one for each property and two for the keys"
        ),
    ))
}

fn fill<'a>(slot: &mut Option<Field<'a>>, field: Field<'a>, item: &Item, errors: &mut Errors) {
    let Some(first) = slot else {
        *slot = Some(field);
        return;
    };
    let hint = match item.name() {
        "partition_key" | "row_key" => {
            "; a key of two values is one field whose type implements `KeyPart`"
        }
        _ => "",
    };
    let message = format!("`{item}` is on `{}` already: remove one{hint}", first.ident);
    errors.report(item, message);
}

fn missing_key(entity: &Ident, has_partition_key: bool, has_row_key: bool) -> syn::Error {
    let message = match (has_partition_key, has_row_key) {
        (false, true) => {
            "no partition key: write #[table(partition_key)] on the field that holds it"
        }
        (true, _) => "no row key: write #[table(row_key)] on the field that holds it",
        (false, false) => {
            "no keys: write #[table(partition_key)] and #[table(row_key)] \
             on the fields that hold them"
        }
    };
    syn::Error::new_spanned(entity, format!("`{entity}` has {message}"))
}

/// The properties so far.
struct Properties<'a> {
    rename_all: RenameRule,
    list: Vec<Property<'a>>,
    fields_by_name: HashMap<String, &'a Ident>,
}

impl<'a> Properties<'a> {
    fn of(rename_all: RenameRule) -> Self {
        Self { rename_all, list: Vec::new(), fields_by_name: HashMap::new() }
    }

    fn add(&mut self, field: Field<'a>, attrs: FieldAttrs, errors: &mut Errors) {
        let ident = field.ident;
        let (name, named_at) = if let Some(rename) = attrs.rename {
            (rename.value(), rename.into_token_stream())
        } else {
            // A raw identifier is stored without its `r#`.
            let name = self.rename_all.apply(&ident.unraw().to_string());
            (name, ident.into_token_stream())
        };
        if let Err(message) = name::check_property(&name) {
            errors.report(named_at, message);
        } else if let Some(first) = self.fields_by_name.insert(name.clone(), ident) {
            let message = format!(
                "`{first}` and `{ident}` are both stored as `{name}`: \
                 give one of them another name with #[table(rename = \"…\")]"
            );
            errors.report(named_at, message);
        }
        self.list.push(Property { field, name, default: attrs.default });
    }

    fn check(self, errors: &mut Errors) -> Vec<Property<'a>> {
        if let Some(excess) = self.list.get(PROPERTIES) {
            let message = format!(
                "an entity has at most {PROPERTIES} properties and this one would have {}: \
                 mark those that are not to be stored with #[table(skip)]",
                self.list.len()
            );
            errors.report(excess.field.ident, message);
        }
        self.list
    }
}
