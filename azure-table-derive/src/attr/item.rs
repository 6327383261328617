use std::fmt;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Attribute, Lit, LitStr, Meta, Token, parenthesized, token};

use super::index::IndexOptions;
use crate::errors::{Errors, take_rest};
use crate::typo;

/// The item that has the `#[table(...)]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A struct that is an entity.
    Entity,
    /// An enum whose variants are entities.
    Kinds,
    /// A struct that is a part of entities.
    Group,
    /// An enum that is a value.
    Choices,
    /// A struct of tables.
    Set,
    /// A field of an entity or a group.
    Field,
    /// A variant that is an entity.
    Kind,
    /// A variant that is a value.
    Choice,
    /// A field that is a table.
    Table,
    /// A struct of some columns of an entity.
    Projection,
    /// A field that is a column of another struct.
    ProjectedField,
    /// A struct that is stored as its only field.
    Newtype,
}

/// A word that is valid in `#[table(...)]`.
struct AttributeKey {
    name: &'static str,
    value: Value,
    places: &'static [Place],
    /// The advice for other places.
    elsewhere: &'static str,
}

#[derive(Clone, Copy)]
enum Value {
    Never,
    Always,
    Optional,
    /// A format in quotes, or a list of fields in parentheses.
    Fields,
    /// The field of an index and its options, in parentheses.
    Index,
}

#[rustfmt::skip]
const KEYS: [AttributeKey; 41] = {
    use Place::{Choice, Choices, Entity, Field, Group, Kind, Kinds, Newtype, ProjectedField, Projection, Set, Table};
    use Value::{Always, Fields, Index, Never, Optional};
    const fn key(name: &'static str, value: Value, places: &'static [Place], elsewhere: &'static str) -> AttributeKey {
        AttributeKey { name, value, places, elsewhere }
    }
    const PROPERTY: &str = "is for a field that is a property: move it there";
    const VARIANT: &str = "is for a variant: move it there";
    [
        key("name", Always, &[Entity, Kinds, Table], "names the table: move it to the struct that is the entity, or write `rename` to name a property"),
        key("rename_all", Always, &[Entity, Kinds, Group, Choices], "is for all fields: move it to the struct, or write `rename` to name a property"),
        key("crate", Always, &[Entity, Kinds, Group, Choices, Set, Projection, Newtype], "is for the whole struct: move it there"),
        key("partition_key", Never, &[Field], "marks a field of a struct: move it to the one that holds the key"),
        key("row_key", Never, &[Field], "marks a field of a struct: move it to the one that holds the key"),
        key("partition_key", Fields, &[Entity], "is for a struct with #[derive(TableEntity)]"),
        key("row_key", Fields, &[Entity], "is for a struct with #[derive(TableEntity)]"),
        key("also_property", Never, &[Field], "marks a field that is a key or a part of one: move it there"),
        key("no_constructors", Never, &[Entity], "is for a struct with #[derive(TableEntity)]"),
        key("index", Index, &[Entity], "is for a struct with #[derive(TableEntity)], and names the field: `index(by = \"field\")`"),
        key("deny_unknown", Never, &[Entity], "is for a struct with #[derive(TableEntity)]"),
        key("discriminator", Always, &[Kinds], "is for an enum with #[derive(TableEntity)], whose variants are kinds of entities"),
        key("discriminator_in_row_key", Never, &[Kinds], "is for an enum with #[derive(TableEntity)], whose variants are kinds of entities"),
        key("timestamp", Never, &[Field], "marks a field: move it to the one that receives the Timestamp"),
        key("etag", Never, &[Field, ProjectedField], "marks a field: move it to the one that receives the ETag"),
        key("skip", Never, &[Field], "marks a field: move it to the one that is not stored"),
        key("extra", Never, &[Field], "marks a field: move it to the one that keeps the other properties"),
        key("errors", Never, &[Field], "marks a field: move it to the one that receives the errors"),
        key("flatten", Optional, &[Field], "marks a field: move it to the one that is a group of properties"),
        key("series", Optional, &[Field], "marks a field: move it to the one that is an array or a Vec"),
        key("split", Never, &[Field], "marks a field: move it to the one that may be too large for a property"),
        key("computed", Always, &[Field], "marks a field: move it to the one that is computed from the others"),
        key("rename", Always, &[Field, Kind, Choice], "names a property: move it to the field, or write `name` to name the table"),
        key("default", Optional, &[Field], "is for a field: move it to the one that a row may lack"),
        key("alias", Always, &[Field, Choice], "is another name of a property or a variant: move it there"),
        key("skip_if", Always, &[Field], PROPERTY),
        key("with", Always, &[Field], PROPERTY),
        key("as_string", Never, &[Field], PROPERTY),
        key("as_padded", Never, &[Field], PROPERTY),
        key("as_json", Never, &[Field], PROPERTY),
        key("as_i64", Never, &[Field], "is for a field that is a property: move it there; an enum is stored as a number by `as_i32`"),
        key("as_i32", Never, &[Field, Choices], PROPERTY),
        key("read_only", Never, &[Field], PROPERTY),
        key("on_missing", Always, &[Entity, Group, Field], "is for properties: move it to a field or to the struct"),
        key("on_null", Always, &[Entity, Group, Field], "is for properties: move it to a field or to the struct"),
        key("on_mistyped", Always, &[Entity, Group, Field], "is for properties: move it to a field or to the struct"),
        key("on_inexact", Always, &[Field], "is for a field that is a time: move it there"),
        key("accept", Always, &[Entity, Group, Field], "is for properties: move it to a field or to the struct"),
        key("of", Always, &[Projection], "is for a struct with #[derive(Projection)], and names the entity"),
        key("column", Always, &[ProjectedField], "is for a field of a struct with #[derive(Projection)]"),
        key("other", Never, &[Kind, Choice], VARIANT),
    ]
};

impl AttributeKey {
    /// The key that `ident` is.
    ///
    /// A misspelled key counts as the corrected one, so that the mistake is not reported
    /// again as something missing.
    fn of(ident: &Ident, place: Place, errors: &mut Errors) -> Option<&'static Self> {
        let written = ident.to_string();
        if let Some(key) = Self::find(&written, place) {
            return Some(key);
        }
        if KEYS.iter().any(|key| key.name == written)
            && matches!(place, Place::Projection | Place::ProjectedField)
        {
            let message = format!(
                "`{written}` is not for a projection: its entity says how properties are stored and read"
            );
            errors.report(ident, message);
            return None;
        }
        if let Some(key) = KEYS.iter().find(|key| key.name == written) {
            errors.report(ident, format!("`{written}` {}", key.elsewhere));
            return None;
        }
        let known = KEYS.iter().filter(|key| key.places.contains(&place)).map(|key| key.name);
        errors.report(ident, typo::unknown("attribute", &written, known.clone()));
        typo::correct(&written, known).and_then(|name| Self::find(name, place))
    }

    fn find(name: &str, place: Place) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name && key.places.contains(&place))
    }

    /// The syntax of the key.
    fn usage(&self) -> String {
        match self.value {
            Value::Never => format!("`{}` alone", self.name),
            Value::Always => format!("`{} = \"…\"`", self.name),
            Value::Optional => format!("`{0}` or `{0} = \"…\"`", self.name),
            Value::Fields => format!("`{0}(field, …)` or `{0} = \"{{field}}…\"`", self.name),
            Value::Index => format!("`{}(by = \"field\")`", self.name),
        }
    }

    /// Reads the value after `ident`, and refuses a missing or a superfluous one.
    fn value(
        &self,
        ident: &Ident,
        input: ParseStream<'_>,
        errors: &mut Errors,
    ) -> syn::Result<ItemValue> {
        let is_bare = input.is_empty() || input.peek(Token![,]);
        if is_bare && matches!(self.value, Value::Never | Value::Optional) {
            return Ok(ItemValue::None);
        }
        if matches!(self.value, Value::Fields) && input.peek(token::Paren) {
            let fields;
            parenthesized!(fields in input);
            let fields = fields.parse_terminated(Ident::parse_any, Token![,])?;
            return Ok(ItemValue::Fields(fields.into_iter().collect()));
        }
        if matches!(self.value, Value::Index) && input.peek(token::Paren) {
            let options;
            parenthesized!(options in input);
            return IndexOptions::read(ident, &options, errors).map(ItemValue::Index);
        }
        if input.parse::<Option<Token![=]>>()?.is_some()
            && !matches!(self.value, Value::Never | Value::Index)
            && let Ok(text) = input.parse()
        {
            return Ok(ItemValue::Text(text));
        }
        let problem = match self.value {
            Value::Never => "takes no value",
            Value::Always | Value::Optional => "takes text in quotes",
            Value::Fields => "takes the fields of the key, or a format",
            Value::Index => "takes its field and its options",
        };
        let rest = take_rest(input)?;
        errors.report(
            quote!(#ident #rest),
            format!("`{}` {problem}: write {}", self.name, self.usage()),
        );
        Ok(ItemValue::None)
    }
}

/// The value after a key.
#[derive(Clone)]
pub(crate) enum ItemValue {
    None,
    Text(LitStr),
    Fields(Vec<Ident>),
    Index(IndexOptions),
}

/// A key, and its value if it has one.
#[derive(Clone)]
pub(crate) struct Item {
    key: &'static AttributeKey,
    ident: Ident,
    pub(crate) value: ItemValue,
}

impl Item {
    pub(crate) fn name(&self) -> &'static str {
        self.key.name
    }

    pub(crate) fn text(&self) -> Option<&LitStr> {
        match &self.value {
            ItemValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key.name)
    }
}

/// For the span only.
impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.ident.to_tokens(tokens);
        self.text().to_tokens(tokens);
    }
}

/// The items of all `#[table(...)]` in one place, each key at most once.
pub(super) struct Items(Vec<Item>);

impl Items {
    pub(super) fn read(attrs: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut items = Self(Vec::new());
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("table")) {
            let Meta::List(list) = &attr.meta else {
                errors.report(&attr.meta, "parentheses are missing: write #[table(…)]");
                continue;
            };
            let parsed = list.parse_args_with(|input: ParseStream<'_>| {
                while !input.is_empty() {
                    if let Err(error) = items.read_one(input, place, errors) {
                        errors.push(error);
                    }
                    take_rest(input)?;
                    input.parse::<Option<Token![,]>>()?;
                }
                Ok(())
            });
            if let Err(error) = parsed {
                errors.push(error);
            }
        }
        items
    }

    /// Reads one item. Part of a faulty item may remain unread.
    fn read_one(
        &mut self,
        input: ParseStream<'_>,
        place: Place,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        if input.peek(Lit) {
            let literal: Lit = input.parse()?;
            let key = match place {
                Place::Entity | Place::Kinds | Place::Table => "name",
                Place::Group | Place::Choices | Place::Set => "rename_all",
                Place::Field | Place::Kind | Place::Choice => "rename",
                Place::Projection => "of",
                Place::ProjectedField => "column",
                Place::Newtype => "crate",
            };
            let message = format!("`{key}` is missing: write `{key} = {}`", quote!(#literal));
            return Err(syn::Error::new_spanned(literal, message));
        }
        let ident = input.call(Ident::parse_any)?;
        let Some(key) = AttributeKey::of(&ident, place, errors) else {
            return Ok(());
        };
        let value = key.value(&ident, input, errors)?;
        if !input.is_empty() && !input.peek(Token![,]) {
            errors.push(input.error("a comma is missing before this"));
        }
        let item = Item { key, ident, value };
        // A property can have several former names, and an entity several indexes.
        let is_repeatable = matches!(item.name(), "alias" | "index");
        if !is_repeatable && self.0.iter().any(|known| known.name() == item.name()) {
            errors.report(&item, format!("`{item}` occurs twice: remove one"));
        } else {
            self.0.push(item);
        }
        Ok(())
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Item> {
        let at = self.0.iter().position(|item| item.name() == name)?;
        Some(self.0.remove(at))
    }

    pub(super) fn text(&mut self, name: &str) -> Option<LitStr> {
        self.take(name)?.text().cloned()
    }

    /// The items with such names, which stay to be taken.
    pub(super) fn like(&self, matches: impl Fn(&str) -> bool) -> Vec<Item> {
        self.0.iter().filter(|item| matches(item.name())).cloned().collect()
    }

    /// The indexes of an entity that name a field.
    pub(super) fn indexes(&mut self) -> Vec<IndexOptions> {
        let indexes = std::iter::from_fn(|| self.take("index"));
        indexes
            .filter_map(|item| match item.value {
                ItemValue::Index(options) if options.by.is_some() => Some(options),
                _ => None,
            })
            .collect()
    }

    /// The texts of an item that can be repeated.
    pub(super) fn texts(&mut self, name: &str) -> Vec<LitStr> {
        std::iter::from_fn(|| self.take(name)).filter_map(|item| item.text().cloned()).collect()
    }
}
