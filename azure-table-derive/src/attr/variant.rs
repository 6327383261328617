use syn::{Attribute, LitStr};

use super::item::{Item, Items, Place};
use crate::errors::Errors;

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
}
