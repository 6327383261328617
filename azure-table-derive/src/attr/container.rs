use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, LitStr, Path, Type};

use super::index::IndexOptions;
use super::item::{Item, ItemValue, Items, Place};
use super::policy::Reading;
use crate::errors::Errors;
use crate::rename::RenameRule;
use crate::typo;

/// The attributes of a struct or an enum.
pub(crate) struct ContainerAttrs {
    pub(crate) name: Option<LitStr>,
    /// `None` where it is not written: fields then keep their names.
    pub(crate) rename_all: Option<RenameRule>,
    pub(crate) partition_key: Option<KeyAttr>,
    pub(crate) row_key: Option<KeyAttr>,
    pub(crate) indexes: Vec<IndexOptions>,
    pub(crate) no_constructors: bool,
    pub(crate) deny_unknown: Option<Item>,
    pub(crate) discriminator: Option<Discriminator>,
    pub(crate) as_i32: bool,
    /// The entity whose columns the struct has.
    pub(crate) of: Option<Type>,
    pub(crate) reading: Reading,
    crate_path: Option<Path>,
}

/// A key that is put together of fields.
pub(crate) enum KeyAttr {
    /// `row_key(a, b)`
    Fields(Item, Vec<Ident>),
    /// `row_key = "{a}_{b}"`
    Format(LitStr),
}

/// The part of a row that identifies the entity kind.
pub(crate) enum Discriminator {
    Property(LitStr),
    RowKey,
}

impl ContainerAttrs {
    pub(crate) fn read(attrs: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut items = Items::read(attrs, place, errors);
        let as_i32 = items.take("as_i32");
        let rename_all = items.text("rename_all").and_then(|text| {
            if let Some(as_i32) = &as_i32 {
                let message = format!(
                    "`rename_all` cannot be combined with `{as_i32}`, which stores the numbers of the variants: remove one of them"
                );
                errors.report(&text, message);
            }
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
        let by_property = items.text("discriminator").map(Discriminator::Property);
        let by_row_key = items.take("discriminator_in_row_key");
        if let (Some(_), Some(item)) = (&by_property, &by_row_key) {
            errors.report(
                item,
                format!("`{item}` cannot be combined with `discriminator`: remove one of them"),
            );
        }
        let of = items.text("of").and_then(|text| {
            errors.unless_ok(text.parse(), &text, "write the type of an entity, such as `Blog`")
        });
        Self {
            name: items.text("name"),
            rename_all,
            partition_key: items.take("partition_key").and_then(KeyAttr::of),
            row_key: items.take("row_key").and_then(KeyAttr::of),
            indexes: items.indexes(),
            no_constructors: items.take("no_constructors").is_some(),
            deny_unknown: items.take("deny_unknown"),
            discriminator: by_property.or(by_row_key.map(|_| Discriminator::RowKey)),
            as_i32: as_i32.is_some(),
            of,
            reading: Reading::take(&mut items, errors),
            crate_path,
        }
    }

    /// The path of the items that generated code names.
    pub(crate) fn client(&self) -> TokenStream {
        match &self.crate_path {
            Some(path) => quote_spanned!(path.span()=> #path::__private),
            None => quote!(::azure_table_client::__private),
        }
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

impl KeyAttr {
    fn of(item: Item) -> Option<Self> {
        match &item.value {
            ItemValue::None | ItemValue::Index(_) => None,
            ItemValue::Text(format) => Some(Self::Format(format.clone())),
            ItemValue::Fields(fields) => {
                let fields = fields.clone();
                Some(Self::Fields(item, fields))
            }
        }
    }
}
