//! The struct, after all rules were checked.

mod index;
mod keys;
mod property;

use std::collections::HashSet;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, ExprPath, Fields, FieldsNamed, Generics, LitStr, Type, Visibility};

use self::keys::KeySource;
use self::property::Properties;
use crate::attr::{ContainerAttrs, DefaultValue, FieldAttrs, Item, Policy, Reading, Role};
use crate::errors::Errors;
use crate::name;

pub(crate) use self::index::Index;
pub(crate) use self::keys::{Key, KeyName, KeyPiece};
pub(crate) use self::property::{Block, BlockKind, Property, inner_of_option};

/// An entity.
pub(crate) struct Entity<'a> {
    pub(crate) vis: &'a Visibility,
    pub(crate) table_name: Option<&'a LitStr>,
    pub(crate) partition_key: Key<'a>,
    pub(crate) row_key: Key<'a>,
    /// Fields of keys whose text would not hold all of their digits, which is an error.
    pub(crate) exact: Vec<Field<'a>>,
    pub(crate) has_constructors: bool,
    pub(crate) deny_unknown: bool,
    pub(crate) indexes: Vec<Index>,
    pub(crate) body: Body<'a>,
}

/// The common part of entities and groups: the fields that are not keys.
pub(crate) struct Body<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) is_group: bool,
    /// The struct's settings for all properties.
    pub(crate) reading: &'a Reading,
    pub(crate) properties: Vec<Property<'a>>,
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) timestamp: Option<Field<'a>>,
    pub(crate) etag: Option<Field<'a>>,
    pub(crate) extra: Option<Field<'a>>,
    pub(crate) errors: Option<Field<'a>>,
    pub(crate) skipped: Vec<(Field<'a>, DefaultValue)>,
    pub(crate) computed: Vec<(Field<'a>, ExprPath)>,
}

#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
}

impl<'a> Entity<'a> {
    /// Whether a field is in both keys.
    pub(crate) fn is_shared(&self, field: &Field<'_>) -> bool {
        self.partition_key.has(field) && self.row_key.has(field)
    }

    /// Reads the struct, or reports everything that is wrong with it.
    pub(crate) fn read(
        input: &'a DeriveInput,
        attrs: &'a ContainerAttrs,
        mut errors: Errors,
    ) -> syn::Result<Self> {
        let what = "a table entity";
        let fields = match named_fields(input, what, "one for each property and two for the keys") {
            Ok(fields) => fields,
            Err(error) => return Err(errors.with(error)),
        };
        if let Some(table) = &attrs.name
            && let Err(message) = name::check_table(&table.value())
        {
            errors.report(table, message);
        }
        refuse_lifetimes(&input.generics, &mut errors);

        let all: Vec<Field<'a>> = all_fields(fields).collect();
        let mut partition_key = KeySource::new(KeyName::Partition, attrs.partition_key.as_ref());
        let mut row_key = KeySource::new(KeyName::Row, attrs.row_key.as_ref());
        let in_partition_key: HashSet<String> = partition_key.named_fields().into_iter().collect();
        let in_row_key: HashSet<String> = row_key.named_fields().into_iter().collect();
        let mut exact = Vec::new();
        let mut body = BodyReader::new(input, attrs);
        for (field, syntax) in all.iter().zip(&fields.named) {
            let attrs = FieldAttrs::read(&syntax.attrs, &mut errors);
            let name = field.ident.unraw().to_string();
            let (in_partition, in_row) =
                (in_partition_key.contains(&name), in_row_key.contains(&name));
            let mut is_whole_key = false;
            let roles = attrs.role.iter().map(|(role, item)| (role, item));
            for (role, item) in
                roles.chain(attrs.row_key_too.iter().map(|item| (&Role::RowKey, item)))
            {
                match role {
                    Role::PartitionKey if !in_partition => {
                        partition_key.set(*field, item, &mut errors);
                        is_whole_key = true;
                    }
                    Role::RowKey if !in_row => {
                        row_key.set(*field, item, &mut errors);
                        is_whole_key = true;
                    }
                    _ if in_partition || in_row => errors.report(
                        item,
                        format!("`{}` is a part of a key: remove `{item}`", field.ident),
                    ),
                    _ => {}
                }
            }
            if !in_partition && !in_row && !is_whole_key {
                if let Some(item) = &attrs.also_property {
                    errors.report(item, format!("`{item}` is for a field that is a key or a part of one: remove it, a field is a property anyway"));
                }
                body.add(*field, attrs, &mut errors);
                continue;
            }
            if attrs.exact.is_some() {
                exact.push(*field);
            }
            match attrs.also_property.clone() {
                Some(item) => {
                    attrs.refuse_reading(&item, &mut errors);
                    body.properties.add_copy(*field, attrs, is_whole_key, &mut errors);
                }
                None if is_whole_key => {}
                None => attrs.refuse_property(
                    "the field is a part of a key; write `also_property` to store it as a property too",
                    &mut errors,
                ),
            }
        }
        let has_keys = (!partition_key.is_missing(), !row_key.is_missing());
        let keys = (partition_key.resolve(&all, &mut errors), row_key.resolve(&all, &mut errors));
        body.check_collected(&mut errors);
        if let (Some(deny), Some((_, extra))) = (&attrs.deny_unknown, &body.extra) {
            errors.report(
                deny,
                format!(
                    "`{deny}` cannot be combined with `{extra}`, which keeps unknown properties"
                ),
            );
        }
        if has_keys != (true, true) {
            return Err(errors.with(missing_key(&input.ident, has_keys.0, has_keys.1)));
        }
        let body = body.finish(&mut errors);
        let indexes = Index::read_all(&attrs.indexes, &all, &body, &mut errors);
        errors.check()?;
        let (Some(partition_key), Some(row_key)) = keys else {
            return Err(syn::Error::new_spanned(&input.ident, "the keys could not be read"));
        };
        Ok(Self {
            vis: &input.vis,
            table_name: attrs.name.as_ref(),
            partition_key,
            row_key,
            exact,
            has_constructors: !attrs.no_constructors,
            deny_unknown: attrs.deny_unknown.is_some(),
            indexes,
            body,
        })
    }
}

impl<'a> Body<'a> {
    /// Reads a struct that is a group of properties.
    pub(crate) fn read_group(
        input: &'a DeriveInput,
        attrs: &'a ContainerAttrs,
        mut errors: Errors,
    ) -> syn::Result<Self> {
        let fields = match named_fields(input, "a group of properties", "one for each property") {
            Ok(fields) => fields,
            Err(error) => return Err(errors.with(error)),
        };
        refuse_lifetimes(&input.generics, &mut errors);
        let mut body = BodyReader::new(input, attrs);
        for (field, syntax) in all_fields(fields).zip(&fields.named) {
            let attrs = FieldAttrs::read(&syntax.attrs, &mut errors);
            if let Some(item) = &attrs.also_property {
                errors.report(
                    item,
                    format!("`{item}` is for a key, which a group does not have: remove it"),
                );
            }
            if let Some((role, item)) = &attrs.role
                && matches!(
                    role,
                    Role::PartitionKey
                        | Role::RowKey
                        | Role::Timestamp
                        | Role::ETag
                        | Role::Extra
                        | Role::Errors
                )
            {
                errors.report(item, format!("`{item}` is for the entity itself: move it to the struct that the group is flattened into"));
                continue;
            }
            body.add(field, attrs, &mut errors);
        }
        if let Some(text) = body.collected() {
            errors.report(
                text,
                "`collect` is for the fields of the entity itself, which has the list of errors",
            );
        }
        let body = body.finish(&mut errors);
        errors.check()?;
        Ok(Self { is_group: true, ..body })
    }
}

/// A body whose fields are being added.
struct BodyReader<'a> {
    ident: &'a Ident,
    generics: &'a Generics,
    reading: &'a Reading,
    properties: Properties<'a>,
    timestamp: Option<(Field<'a>, Item)>,
    etag: Option<(Field<'a>, Item)>,
    extra: Option<(Field<'a>, Item)>,
    errors: Option<(Field<'a>, Item)>,
    skipped: Vec<(Field<'a>, DefaultValue)>,
    computed: Vec<(Field<'a>, ExprPath)>,
}

impl<'a> BodyReader<'a> {
    fn new(input: &'a DeriveInput, attrs: &'a ContainerAttrs) -> Self {
        Self {
            ident: &input.ident,
            generics: &input.generics,
            reading: &attrs.reading,
            properties: Properties::of(attrs.rename_all.unwrap_or_default()),
            timestamp: None,
            etag: None,
            extra: None,
            errors: None,
            skipped: Vec::new(),
            computed: Vec::new(),
        }
    }

    fn add(&mut self, field: Field<'a>, mut attrs: FieldAttrs, errors: &mut Errors) {
        let Some((role, item)) = attrs.role.take() else {
            self.properties.add(field, attrs, errors);
            return;
        };
        let slot = match role {
            Role::Timestamp => &mut self.timestamp,
            Role::ETag => &mut self.etag,
            Role::Extra => &mut self.extra,
            Role::Errors => &mut self.errors,
            Role::Skip => {
                self.skipped.push((field, attrs.default.unwrap_or(DefaultValue::Trait)));
                return;
            }
            Role::Computed => {
                let Some(text) = item.text() else { return };
                let function = text.parse();
                let message =
                    "write the path of a function that takes the entity, such as `Self::summary`";
                if let Some(function) = errors.unless_ok(function, text, message) {
                    self.computed.push((field, function));
                }
                return;
            }
            Role::Flatten | Role::Series | Role::Split => {
                self.properties.add_block(field, attrs, &role, &item, errors);
                return;
            }
            // Taken out before.
            Role::PartitionKey | Role::RowKey => return,
        };
        match slot {
            None => *slot = Some((field, item)),
            Some((first, _)) => errors
                .report(&item, format!("`{item}` is on `{}` already: remove one", first.ident)),
        }
    }

    /// The first policy by which an error is collected.
    fn collected(&self) -> Option<&LitStr> {
        let of_fields = self.properties.list.iter().map(|property| &property.reading);
        of_fields
            .chain([self.reading])
            .flat_map(Reading::policies)
            .find(|(policy, _)| *policy == Policy::Collect)
            .map(|(_, text)| text)
    }

    fn check_collected(&self, errors: &mut Errors) {
        match (self.collected(), &self.errors) {
            (Some(text), None) => errors.report(
                text,
                "`collect` needs a list: add a field `#[table(errors)] errors: Vec<DecodeError>`",
            ),
            (None, Some((_, item))) => errors.report(
                item,
                "nothing is collected here: write `collect` for on_missing, on_null or on_mistyped",
            ),
            _ => {}
        }
    }

    fn finish(self, errors: &mut Errors) -> Body<'a> {
        if let Some((_, text)) = self.reading.policies().find(|(policy, _)| *policy == Policy::None)
        {
            errors.report(
                text,
                "`none` is for a field that is an Option: write `default` on the struct",
            );
        }
        self.properties.check(errors);
        let field = |found: Option<(Field<'a>, Item)>| found.map(|(field, _)| field);
        Body {
            ident: self.ident,
            generics: self.generics,
            is_group: false,
            reading: self.reading,
            properties: self.properties.list,
            blocks: self.properties.blocks,
            timestamp: field(self.timestamp),
            etag: field(self.etag),
            extra: field(self.extra),
            errors: field(self.errors),
            skipped: self.skipped,
            computed: self.computed,
        }
    }
}

fn all_fields(fields: &FieldsNamed) -> impl Iterator<Item = Field<'_>> {
    fields
        .named
        .iter()
        .filter_map(|field| Some(Field { ident: field.ident.as_ref()?, ty: &field.ty }))
}

pub(crate) fn refuse_lifetimes(generics: &Generics, errors: &mut Errors) {
    for lifetime in generics.lifetimes() {
        errors.report(
            lifetime,
            "an entity owns its data, since it outlives the reply that it is read from: \
             write String instead of &str, and so on",
        );
    }
}

/// Returns the fields of a struct with named fields; `what` describes the expected struct for the error.
pub(crate) fn named_fields<'a>(
    input: &'a DeriveInput,
    what: &str,
    of: &str,
) -> syn::Result<&'a FieldsNamed> {
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
        format!("{found} cannot be {what}: write a struct with named fields, {of}"),
    ))
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
