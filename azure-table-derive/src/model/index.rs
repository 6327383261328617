//! The secondary indexes of an entity.

use std::collections::HashSet;

use syn::ext::IdentExt as _;

use super::{Body, Field, Property};
use crate::attr::{Codec, IndexOptions};
use crate::errors::Errors;
use crate::typo;

/// An index by a property.
pub(crate) struct Index {
    pub(crate) property: String,
    pub(crate) unique: bool,
    pub(crate) in_partition: bool,
}

impl Index {
    /// Finds the properties of the indexes, and reports the fields that cannot have one.
    pub(super) fn read_all(
        written: &[IndexOptions],
        fields: &[Field<'_>],
        body: &Body<'_>,
        errors: &mut Errors,
    ) -> Vec<Self> {
        let mut indexed = HashSet::new();
        let mut indexes = Vec::new();
        for options in written {
            let Some(by) = &options.by else { continue };
            let name = by.value();
            if !indexed.insert(name.clone()) {
                errors.report(by, format!("`{name}` has an index already: remove one"));
                continue;
            }
            let is_of = |field: &Field<'_>| field.ident.unraw() == name;
            match body.properties.iter().find(|property| is_of(&property.field)) {
                Some(property) => match property.refuses_index() {
                    Some(why) => errors.report(by, format!("`{name}` cannot have an index: {why}")),
                    None => indexes.push(Self {
                        property: property.name.clone(),
                        unique: options.unique,
                        in_partition: options.in_partition,
                    }),
                },
                None if fields.iter().any(is_of) => errors.report(
                    by,
                    format!(
                        "`{name}` cannot have an index: it is not a single property; \
                         a part of a key needs `also_property`"
                    ),
                ),
                None => {
                    let names = fields.iter().map(|field| field.ident.unraw().to_string());
                    let names: Vec<_> = names.collect();
                    let known = names.iter().map(String::as_str);
                    errors.report(by, typo::unknown("field", &name, known));
                }
            }
        }
        indexes
    }
}

impl Property<'_> {
    /// Returns the reason why the property cannot have an index.
    fn refuses_index(&self) -> Option<&'static str> {
        if self.read_only {
            return Some("a `read_only` property is written by other programs");
        }
        match &self.codec {
            Some(Codec::BuiltIn(item)) if item.name() == "as_json" => {
                Some("filters and indexes cannot compare JSON")
            }
            _ => None,
        }
    }
}
