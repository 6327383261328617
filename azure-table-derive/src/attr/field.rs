use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, ExprPath, LitStr, Path, Token};

use super::item::{Item, Items, Place};
use super::policy::Reading;
use crate::errors::Errors;

/// The attributes of a field of an entity or of a group.
pub(crate) struct FieldAttrs {
    /// The role of the field, and the attribute that declares it; `None` for a property.
    pub(crate) role: Option<(Role, Item)>,
    /// `row_key`, on a field that is the PartitionKey too.
    pub(crate) row_key_too: Option<Item>,
    /// The field is part of a key, and stored as a property too.
    pub(crate) also_property: Option<Item>,
    /// A value that would be stored inexactly is an error.
    pub(crate) exact: Option<Item>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) skip_if: Option<ExprPath>,
    pub(crate) codec: Option<Codec>,
    pub(crate) read_only: bool,
    pub(crate) reading: Reading,
    /// The attributes that only a property can have, in their order.
    of_property: Vec<Item>,
}

/// The role of a field that is not a plain property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    PartitionKey,
    RowKey,
    Timestamp,
    ETag,
    Skip,
    Extra,
    Errors,
    Flatten,
    Series,
    Split,
    Computed,
}

/// The value of a field that the row does not have.
pub(crate) enum DefaultValue {
    /// `Default::default()`
    Trait,
    /// A function of the user's.
    Function(ExprPath),
}

/// The codec of a field that is not stored in its native type.
pub(crate) enum Codec {
    /// `with = "path"`
    Module(Path),
    /// `as_string` and the like: a module of the client.
    BuiltIn(Item),
}

/// The attributes of a field that is a table.
pub(crate) struct TableAttrs {
    pub(crate) name: Option<LitStr>,
}

/// The attributes of a field that is a column of another struct.
pub(crate) struct ProjectedAttrs {
    /// The column, if it is not of the field's name.
    pub(crate) column: Option<Punctuated<Ident, Token![.]>>,
    /// Whether the field receives the version of the row.
    pub(crate) is_etag: bool,
}

const ROLES: [(&str, Role); 11] = [
    ("partition_key", Role::PartitionKey),
    ("row_key", Role::RowKey),
    ("timestamp", Role::Timestamp),
    ("etag", Role::ETag),
    ("skip", Role::Skip),
    ("extra", Role::Extra),
    ("errors", Role::Errors),
    ("flatten", Role::Flatten),
    ("series", Role::Series),
    ("split", Role::Split),
    ("computed", Role::Computed),
];
const CODECS: [&str; 5] = ["as_string", "as_padded", "as_json", "as_i64", "as_i32"];
/// The attributes for properties, besides `rename`, `default` and the codecs.
const OF_PROPERTIES: [&str; 7] =
    ["alias", "skip_if", "read_only", "on_missing", "on_null", "on_mistyped", "accept"];

impl FieldAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut items = Items::read(attrs, Place::Field, errors);
        let mut role: Option<(Role, Item)> = None;
        let mut row_key_too = None;
        for (name, found) in ROLES {
            let Some(item) = items.take(name) else {
                continue;
            };
            match &role {
                Some((Role::PartitionKey, _)) if found == Role::RowKey => row_key_too = Some(item),
                Some((_, first)) => errors.report(
                    &item,
                    format!("`{item}` cannot be combined with `{first}`: remove one of them"),
                ),
                None => role = Some((found, item)),
            }
        }
        let of_property = items.like(|name| {
            OF_PROPERTIES.contains(&name)
                || CODECS.contains(&name)
                || matches!(name, "rename" | "default" | "with")
        });
        let also_property = items.take("also_property");
        let exact = items.take("on_inexact");
        if let Some(item) = &exact
            && let Some(text) = item.text()
            && text.value() != "error"
        {
            errors.report(
                text,
                "write `error`: without `on_inexact`, the digits below 100 ns are dropped",
            );
        }
        if let (Some(item), Some((role, of))) = (&exact, &role)
            && !role.is_key()
        {
            errors.report(item, format!("`{item}` cannot be combined with `{of}`: it is for a property or a key that is a time"));
        }
        if let Some((role, item)) = &role {
            for extra in &of_property {
                // The key is stored twice: as the text of a key, and as a property.
                if role.is_key() && also_property.is_some() {
                    continue;
                }
                if let Some(why) = role.refuses(extra) {
                    let message = format!("`{extra}` cannot be combined with `{item}`: {why}");
                    errors.report(extra, message);
                }
            }
        }
        let with = items.text("with").and_then(|text| {
            let path = text.parse_with(Path::parse_mod_style);
            errors.unless_ok(path, &text, "write the path of a module with `encode` and `decode`")
        });
        let mut codec = with.map(Codec::Module);
        for name in CODECS {
            let Some(item) = items.take(name) else { continue };
            if codec.is_some() {
                errors.report(&item, format!("`{item}` is one way to store the field: write one"));
            } else {
                codec = Some(Codec::BuiltIn(item));
            }
        }
        if let (Some(item), None) = (&exact, &role)
            && also_property.is_none()
        {
            if codec.is_some() {
                errors.report(item, format!("`{item}` is for a time that is stored as a DateTime: remove it, or the other way to store the field"));
            } else {
                codec = Some(Codec::BuiltIn(item.clone()));
            }
        }
        let default = items.take("default").and_then(|item| DefaultValue::read(&item, errors));
        let skip_if = items.text("skip_if").and_then(|text| {
            let function = text.parse();
            errors.unless_ok(
                function,
                &text,
                "write the path of a function, such as `Vec::is_empty`",
            )
        });
        Self {
            role,
            row_key_too,
            also_property,
            exact,
            rename: items.text("rename"),
            aliases: items.texts("alias"),
            default,
            skip_if,
            codec,
            read_only: items.take("read_only").is_some(),
            reading: Reading::take(&mut items, errors),
            of_property,
        }
    }

    /// Refuses attributes that a key which is a property too cannot have: the property is not read.
    pub(crate) fn refuse_reading(&self, also_property: &Item, errors: &mut Errors) {
        let is_of_writing = |item: &&Item| {
            item.name() == "rename" || item.name() == "with" || CODECS.contains(&item.name())
        };
        for item in self.of_property.iter().filter(|item| !is_of_writing(item)) {
            errors.report(
                item,
                format!("`{item}` cannot be combined with `{also_property}`: the field is read from the key"),
            );
        }
    }

    /// Refuses attributes that only a property can have; `why` explains the role of the field.
    pub(crate) fn refuse_property(&self, why: &str, errors: &mut Errors) {
        for item in &self.of_property {
            errors.report(item, format!("`{item}` is for a property: {why}"));
        }
    }
}

impl Role {
    pub(crate) const fn is_key(&self) -> bool {
        matches!(self, Self::PartitionKey | Self::RowKey)
    }

    /// Returns the reason why a field of this role cannot have `extra`, an attribute for properties.
    fn refuses(&self, extra: &Item) -> Option<&'static str> {
        match (self, extra.name()) {
            (Self::PartitionKey | Self::RowKey, "rename") => Some("a key has no property name"),
            (Self::PartitionKey | Self::RowKey, "default") => Some("every row has its keys"),
            (Self::PartitionKey | Self::RowKey, name)
                if name == "with" || CODECS.contains(&name) =>
            {
                Some(
                    "a key is always text in the form of its type; for another form, implement `KeyPart` for a type of your own",
                )
            }
            (Self::PartitionKey | Self::RowKey, _) => {
                Some("a key is always text in the form of its type")
            }
            (Self::Timestamp | Self::ETag, "rename") => Some("the service names it"),
            (Self::Timestamp | Self::ETag, "default") => {
                Some("make the field an Option if the value may be missing")
            }
            (Self::Timestamp | Self::ETag, _) => Some("the service sets it"),
            (Self::Skip, "rename") => Some("a skipped field has no property name"),
            (Self::Skip, "default") if extra.text().is_none() => {
                Some("a skipped field is read as Default::default() anyway")
            }
            (Self::Extra, _) => Some("the other properties are kept unchanged"),
            (Self::Errors, _) => Some("the errors are not stored"),
            (Self::Flatten | Self::Series | Self::Split, "default") | (Self::Series, "accept") => {
                None
            }
            (Self::Flatten, "rename") => {
                Some("write `flatten = \"…\"` to put a prefix before the names of its properties")
            }
            (Self::Flatten, _) => Some("write it on the fields of the flattened struct"),
            (Self::Skip, "default") | (Self::Series | Self::Split, "rename") => None,
            (Self::Skip, _) => Some("a skipped field is not stored"),
            (Self::Series, "skip_if") => Some("make the elements Options to leave some out"),
            (Self::Series | Self::Split, _) => {
                Some("the field is several properties, each of which is read without conversion")
            }
            (Self::Computed, _) => Some("a computed field is not stored"),
        }
    }
}

impl DefaultValue {
    fn read(item: &Item, errors: &mut Errors) -> Option<Self> {
        let Some(text) = item.text() else { return Some(Self::Trait) };
        let function = text.parse().map(Self::Function);
        errors.unless_ok(function, text, "write the path of a function, such as `Vec::new`")
    }
}

/// A name; one that is a word of the language as well.
fn raw_ident(input: ParseStream<'_>) -> syn::Result<Ident> {
    let ident = input.call(Ident::parse_any)?;
    let text = ident.to_string();
    Ok(match syn::parse_str::<Ident>(&text) {
        Ok(_) => ident,
        Err(_) => Ident::new_raw(&text, ident.span()),
    })
}

impl ProjectedAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut items = Items::read(attrs, Place::ProjectedField, errors);
        let etag = items.take("etag");
        let column = items.text("column");
        if let (Some(etag), Some(column)) = (&etag, &column) {
            errors.report(
                column,
                format!("`{etag}` is the version of the row, and not a column: remove one of them"),
            );
        }
        let column = column.and_then(|text| {
            let path = text.parse_with(|input: ParseStream<'_>| {
                Punctuated::parse_separated_nonempty_with(input, raw_ident)
            });
            errors.unless_ok(path, &text, "write a column, such as `text` or `home.city`")
        });
        Self { column, is_etag: etag.is_some() }
    }
}

impl TableAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        Self { name: Items::read(attrs, Place::Table, errors).text("name") }
    }
}
