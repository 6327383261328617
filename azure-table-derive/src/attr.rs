//! What the user writes in `#[table(...)]`.

mod item;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, ExprPath, LitStr, Path};

use self::item::{Items, Place};
use crate::errors::Errors;
use crate::rename::RenameRule;
use crate::typo;

pub(crate) use self::item::Item;

/// What `#[table(...)]` says on the struct.
#[derive(Default)]
pub(crate) struct StructAttrs {
    pub(crate) name: Option<LitStr>,
    pub(crate) rename_all: RenameRule,
    crate_path: Option<Path>,
}

impl StructAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut items = Items::read(attrs, Place::Struct, errors);
        let rename_all = items.text("rename_all").and_then(|text| {
            let rule = RenameRule::from_spelling(&text.value());
            if rule.is_none() {
                let message = typo::unknown("case", &text.value(), RenameRule::spellings());
                errors.report(&text, message);
            }
            rule
        });
        let crate_path = items.text("crate").and_then(|text| {
            let path = text.parse_with(Path::parse_mod_style);
            errors.unless_ok(path, &text, "write a path, such as `crate::azure_table_client`")
        });
        Self { name: items.text("name"), rename_all: rename_all.unwrap_or_default(), crate_path }
    }

    /// Imports what generated code names, as `__table`.
    pub(crate) fn import(&self) -> TokenStream {
        match &self.crate_path {
            Some(path) => quote_spanned!(path.span()=> use #path::__private as __table;),
            None => quote! {
                use ::azure_table_client::__private as __table;
            },
        }
    }
}

/// What `#[table(...)]` says on a field.
pub(crate) struct FieldAttrs {
    /// The part that the field plays, and where that is said; `None` makes it a property.
    pub(crate) role: Option<(Role, Item)>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) default: Option<DefaultValue>,
}

/// The part that a field plays if it is no property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    PartitionKey,
    RowKey,
    Timestamp,
    ETag,
    Skip,
}

/// Where the value of a field comes from that the row does not have.
pub(crate) enum DefaultValue {
    /// `Default::default()`
    Trait,
    /// A function of the user's.
    Function(ExprPath),
}

const ROLES: [(&str, Role); 5] = [
    ("partition_key", Role::PartitionKey),
    ("row_key", Role::RowKey),
    ("timestamp", Role::Timestamp),
    ("etag", Role::ETag),
    ("skip", Role::Skip),
];

impl FieldAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut items = Items::read(attrs, Place::Field, errors);
        let mut role: Option<(Role, Item)> = None;
        for (name, found) in ROLES {
            let Some(item) = items.take(name) else {
                continue;
            };
            match &role {
                Some((_, first)) => errors.report(
                    &item,
                    format!("`{item}` cannot be combined with `{first}`: remove one of them"),
                ),
                None => role = Some((found, item)),
            }
        }
        let rename = items.take("rename");
        let default = items.take("default");
        if let Some((role, item)) = &role {
            for extra in [&rename, &default].into_iter().flatten() {
                if let Some(why) = role.refuses(extra) {
                    let message = format!("`{extra}` cannot be combined with `{item}`: {why}");
                    errors.report(extra, message);
                }
            }
        }
        Self {
            role,
            rename: rename.and_then(|item| item.value),
            default: default.and_then(|item| DefaultValue::read(item, errors)),
        }
    }
}

impl Role {
    /// Why a field of this role cannot have `extra`, which is about properties.
    fn refuses(self, extra: &Item) -> Option<&'static str> {
        match (self, extra.name()) {
            (Self::PartitionKey | Self::RowKey, "rename") => Some("a key has no property name"),
            (Self::PartitionKey | Self::RowKey, _) => Some("every row has its keys"),
            (Self::Timestamp | Self::ETag, "rename") => Some("the service names it"),
            (Self::Timestamp | Self::ETag, _) => {
                Some("make the field an Option if the value may be missing")
            }
            (Self::Skip, "rename") => Some("a skipped field has no property name"),
            (Self::Skip, _) if extra.value.is_none() => {
                Some("a skipped field is read as Default::default() anyway")
            }
            (Self::Skip, _) => None,
        }
    }
}

impl DefaultValue {
    fn read(item: Item, errors: &mut Errors) -> Option<Self> {
        let Some(text) = item.value else { return Some(Self::Trait) };
        let function = text.parse().map(Self::Function);
        errors.unless_ok(function, &text, "write the path of a function, such as `Vec::new`")
    }
}
