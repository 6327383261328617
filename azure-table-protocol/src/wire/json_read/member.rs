//! The members of an entity's object.

use crate::entity::Row;

pub(super) const ANNOTATION: &str = "@odata.type";

/// The meaning of a member of an entity's object.
#[derive(Debug, Clone, Copy)]
pub(super) enum JsonMember {
    /// The value in this slot.
    Value(usize),
    /// The type of the value in this slot.
    Annotation(usize),
    ETag,
    /// The value of a property without a slot.
    Other,
    /// The type of a property without a slot.
    OtherAnnotation,
    Ignored,
}

impl JsonMember {
    /// Returns the member with this name.
    pub(super) fn of(row: &Row<'_>, name: &str) -> Self {
        if name == "odata.etag" {
            return Self::ETag;
        }
        if let Some(property) = name.strip_suffix(ANNOTATION) {
            return match row.find(property) {
                Some(slot) => Self::Annotation(slot),
                None if row.keeps_others() => Self::OtherAnnotation,
                None => Self::Ignored,
            };
        }
        match row.find(name) {
            Some(slot) => Self::Value(slot),
            None if row.keeps_others() && !is_metadata(name) => Self::Other,
            None => Self::Ignored,
        }
    }
}

/// `odata.id` and the like, and annotations other than of the type.
fn is_metadata(name: &str) -> bool {
    name.starts_with("odata.") || name.contains("@odata.")
}
