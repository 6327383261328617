//! The evidence in a row that a write was applied. No I/O.

use super::properties::{MapEntity, Properties};
use crate::ETag;
use crate::edm::{EdmDateTime, EdmValue};
use crate::entity::{Entities, EntityKey, Form};
use crate::operation::{Effect, Request, Wrote};
use crate::wire::PayloadFormat;

/// A row as the service holds it now.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) etag: ETag,
    pub(crate) timestamp: Option<EdmDateTime>,
    pub(crate) properties: Properties,
}

/// The state of a row compared with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowState {
    /// The row has the id of the write, or of a later write of the same program.
    HasWriteId,
    /// The row is in the state that the write leaves. Another program may have left it.
    Matches,
    /// The row still has the ETag of the write's condition: no attempt has been applied so far.
    Unchanged,
    /// The row is in another state.
    Differs,
}

/// A write with the properties that it sent.
#[derive(Debug)]
pub(crate) struct SentWrite<'w> {
    wrote: &'w Wrote,
    properties: Properties,
}

impl<'w> SentWrite<'w> {
    /// Whether the write is conditional on an ETag.
    pub(super) const fn is_conditional(&self) -> bool {
        self.wrote.fence.is_some()
    }

    pub(super) const fn is_delete(&self) -> bool {
        matches!(self.wrote.effect, Effect::Gone)
    }

    /// The id of the write in the column `write_id`.
    pub(super) fn id(&self, write_id: Option<&str>) -> Option<&EdmValue> {
        self.properties.get(write_id?)
    }

    /// Compares the row with the write. A row that was last written before `since`, by the service's clock, is not
    /// a match.
    pub(super) fn compare(
        &self,
        write_id: Option<&str>,
        since: Option<EdmDateTime>,
        row: Option<&Found>,
    ) -> RowState {
        let Some(row) = row else {
            return if self.is_delete() { RowState::Matches } else { RowState::Differs };
        };
        if let (Some(id), Some(column)) = (self.id(write_id), write_id) {
            if row.properties.get(column) == Some(id) {
                return RowState::HasWriteId;
            }
            let is_unchanged = self.wrote.fence.as_ref() == Some(&row.etag);
            return if is_unchanged { RowState::Unchanged } else { RowState::Differs };
        }
        if self.wrote.fence.as_ref() == Some(&row.etag) {
            return RowState::Unchanged;
        }
        let is_older = row.timestamp.zip(since).is_some_and(|(at, since)| at < since);
        if !is_older && self.is_left_in(row) { RowState::Matches } else { RowState::Differs }
    }

    /// Whether the row has the properties that the write left, the id of the write included.
    pub(crate) fn is_left_in(&self, row: &Found) -> bool {
        match self.wrote.effect {
            Effect::Gone => false,
            Effect::Whole => self.properties == row.properties,
            Effect::Merged => {
                let mut sent = self.properties.iter();
                sent.all(|(name, value)| row.properties.get(name) == Some(value))
            }
        }
    }

    pub(crate) const fn key(&self) -> &'w EntityKey {
        &self.wrote.key
    }

    /// Decodes the writes of a request whose bodies are in this format; `None` if a body cannot be read.
    pub(crate) fn all_of(request: &'w Request, format: PayloadFormat) -> Option<Vec<Self>> {
        let sent = |wrote| Some(Self { wrote, properties: decode(request, wrote, format)? });
        request.writes.iter().map(sent).collect()
    }
}

fn decode(request: &Request, wrote: &Wrote, format: PayloadFormat) -> Option<Properties> {
    if wrote.effect == Effect::Gone {
        return Some(Properties::new());
    }
    let form = Form { typed: true, selected: false };
    let body = request.body.get(wrote.body.clone())?;
    let entity: MapEntity<'_> = format.read_one(body, form, &Entities).ok()?;
    Some(entity.into_parts().1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::IfMatch;
    use crate::entity::DynamicEntity;
    use crate::operation::Target;
    use crate::operation::entity::{self, Update, Write};
    use crate::operation::transaction::Batch;
    use crate::outcome::properties_of;
    use crate::wire::Protocol;

    fn blog(text: &str) -> DynamicEntity {
        let mut blog = DynamicEntity::new("it's 100%", "r,'RowKey='\u{e9}");
        blog.set("Text", text).set("Nan", f64::NAN);
        blog
    }

    #[test]
    fn writes_are_read_from_requests() {
        writes_are_read(Protocol::default());
        writes_are_read(Protocol::default().to(Dialect::CosmosDb).unwrap());
    }

    fn writes_are_read(protocol: Protocol) {
        let (blog, tag) = (blog("mine"), IfMatch::Tag(ETag::from("W/\"1\"")));
        let format = protocol.format();
        let stored = Found {
            etag: ETag::from("W/\"2\""),
            timestamp: None,
            properties: properties_of(&blog, Dialect::default()).unwrap().1,
        };
        let mut batch = Batch::new(Target::of_test(protocol));
        let mut expected = Vec::new();
        for (n, write) in [
            Write::Insert,
            Write::Update(Update::Merge, &tag),
            Write::Update(Update::Replace, &IfMatch::Any),
            Write::Upsert(Update::Merge),
        ]
        .into_iter()
        .enumerate()
        {
            let keys = entity::checked_keys(protocol, "Blogs", &blog).unwrap();
            let target = Target::of_test(protocol);
            let request = entity::write(&target, None, &blog, &keys, write).unwrap();
            let wrote = SentWrite::all_of(&request, format).unwrap().remove(0);
            assert_eq!(wrote.key(), blog.key());
            assert_eq!(wrote.compare(None, None, Some(&stored)), RowState::Matches, "{write:?}");
            assert_eq!(wrote.is_conditional(), n == 1);
            let row_key = format!("{}{n}", blog.key().row_key);
            let mut other = DynamicEntity::new(&*blog.key().partition_key, row_key);
            other.set("Text", n.to_string());
            batch.write(None, &other, write).unwrap();
            expected.push((other.key().clone(), format!("{:?}", wrote.wrote.effect)));
        }
        let delete = entity::delete(protocol, "Blogs", blog.key(), &tag).unwrap();
        let wrote = SentWrite::all_of(&delete, format).unwrap().remove(0);
        assert_eq!((wrote.key(), wrote.compare(None, None, None)), (blog.key(), RowState::Matches));
        batch.delete(blog.key(), &tag).unwrap();
        expected.push((blog.key().clone(), "Gone".to_owned()));
        let request = batch.finish().unwrap();
        let wrote = SentWrite::all_of(&request, format).unwrap();
        let wrote: Vec<_> =
            wrote.iter().map(|w| (w.key().clone(), format!("{:?}", w.wrote.effect))).collect();
        assert_eq!(wrote, expected);
        let read = entity::get(protocol, "Blogs", blog.key()).unwrap();
        assert!(read.writes.is_empty());
    }
}
