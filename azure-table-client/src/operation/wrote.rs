//! The record of the rows that a request writes. It is filled while the request is built.

use std::ops::Range;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::entity::EntityKey;
use crate::{ETag, IfMatch};

/// A write of one row in a request.
#[derive(Debug, Clone)]
pub(crate) struct Wrote {
    pub(crate) key: EntityKey,
    /// The ETag of its condition.
    pub(crate) fence: Option<ETag>,
    pub(crate) effect: Effect,
    /// The position of the entity in the body of the request; empty for a delete.
    pub(crate) body: Range<usize>,
    /// The offset of the write id in the entity.
    pub(crate) write_id: Option<usize>,
}

/// The row that a write leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No row.
    Gone,
    /// Exactly the properties of the write.
    Whole,
    /// The properties of the write, and possibly others.
    Merged,
}

impl Wrote {
    /// A write without an entity.
    pub(super) fn new(key: EntityKey, condition: Option<&IfMatch>, effect: Effect) -> Self {
        let fence = match condition {
            Some(IfMatch::Tag(etag)) => Some(etag.clone()),
            Some(IfMatch::Any) | None => None,
        };
        Self { key, fence, effect, body: 0..0, write_id: None }
    }

    /// The write of the entity at this position.
    pub(super) fn at(self, body: Range<usize>, write_id: Option<usize>) -> Self {
        Self { body, write_id, ..self }
    }

    pub(super) fn delete(key: EntityKey, condition: &IfMatch) -> Self {
        Self::new(key, Some(condition), Effect::Gone)
    }

    /// Replaces the id of the write in the body of the request.
    pub(super) fn set_write_id(&self, body: &mut [u8], id: Uuid) {
        if let Some(offset) = self.write_id {
            let start = self.body.start + offset;
            id.as_hyphenated().encode_lower(&mut body[start..start + Hyphenated::LENGTH]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::entity::DynamicEntity;
    use crate::operation::Request;
    use crate::operation::Target;
    use crate::operation::entity::{self, Update, Write};
    use crate::operation::transaction::Batch;
    use crate::wire::{Protocol, ServiceVersion};

    fn text(request: &Request) -> String {
        String::from_utf8(request.body.to_vec()).unwrap()
    }

    #[test]
    fn only_the_write_ids_are_replaced() {
        let atom = Protocol::new(ServiceVersion::V2012_02_12, None).unwrap();
        for protocol in [Protocol::default(), atom] {
            let target = Target { write_id: Some(Arc::from("Id")), ..Target::of_test(protocol) };
            let (old, new) = (Uuid::from_u128(1), Uuid::from_u128(2));
            let row = |key: &str, bytes| {
                let text = format!("{old}{}", "é".repeat(bytes));
                DynamicEntity::new("p", key).with("Text", text)
            };
            let single = |entity: &DynamicEntity| {
                entity::checked_write(&target, Some(old), entity, Write::Insert).unwrap()
            };
            let mut request = single(&row("1", 0));
            let expected = text(&request);
            request.set_write_id(new).unwrap();
            let (before, after) = expected.rsplit_once(&old.to_string()).unwrap();
            assert_eq!(text(&request), format!("{before}{new}{after}"));
            // Bodies of two, three and four digits of length.
            let mut batch = Batch::new(target.clone());
            for (at, bytes) in [0, 100, 2000].into_iter().enumerate() {
                batch.push(&single(&row(&at.to_string(), bytes))).unwrap();
                let other = row(&format!("x{at}"), bytes);
                batch.write(Some(old), &other, Write::Upsert(Update::Merge)).unwrap();
            }
            let mut request = batch.finish().unwrap();
            request.set_write_id(new).unwrap();
            assert_eq!(text(&request).matches(&new.to_string()).count(), 6);
            assert_eq!(text(&request).matches(&old.to_string()).count(), 6);
        }
    }
}
