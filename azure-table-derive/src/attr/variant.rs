use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::{Attribute, Fields, LitStr, Type};

use super::item::{Item, Items, Place};
use crate::errors::Errors;
use crate::rename::RenameRule;

/// The attributes of a variant.
pub(crate) struct VariantAttrs {
    pub(crate) rename: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    /// The variant for all other values.
    pub(crate) other: Option<Item>,
}

impl VariantAttrs {
    pub(crate) fn read(attrs: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut items = Items::read(attrs, place, errors);
        let (rename, aliases) = (items.text("rename"), items.texts("alias"));
        let other = items.take("other");
        if let Some(other) = &other
            && let Some(name) = rename.iter().chain(&aliases).next()
        {
            errors.report(
                name,
                format!("`{other}` is for all other names: it cannot have a name of its own"),
            );
        }
        Self { rename, aliases, other }
    }

    /// The stored name of the variant.
    pub(crate) fn name(&self, ident: &Ident, rename_all: Option<RenameRule>) -> String {
        self.rename.as_ref().map_or_else(
            || rename_all.unwrap_or_default().apply_to_variant(&ident.unraw().to_string()),
            LitStr::value,
        )
    }
}

/// The type of the only field, which has no name.
pub(crate) fn held_type(fields: &Fields) -> Option<&Type> {
    match fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(&fields.unnamed[0].ty),
        _ => None,
    }
}
