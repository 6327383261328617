//! The evidence in a row that a write was applied. No I/O.

use http::{HeaderMap, Method, header};

use super::properties::{MapEntity, Properties};
use crate::ETag;
use crate::edm::{EdmDateTime, EdmValue};
use crate::entity::{Entities, EntityKey, Form};
use crate::operation::Request;
use crate::wire::multipart::{Message, MultipartError, Part, Parts};
use crate::wire::{Operation, PayloadFormat, encoding, headers};

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

/// A write as it was sent.
#[derive(Debug)]
pub(crate) struct Wrote {
    pub(crate) key: EntityKey,
    /// The ETag of its condition.
    fence: Option<ETag>,
    effect: Effect,
    properties: Properties,
}

/// The row that a write leaves.
#[derive(Debug, Clone, Copy)]
enum Effect {
    /// No row.
    Gone,
    /// Exactly the properties of the write.
    Whole,
    /// The properties of the write, and possibly others.
    Some,
}

impl Wrote {
    /// Whether the write is conditional on an ETag.
    pub(super) const fn is_conditional(&self) -> bool {
        self.fence.is_some()
    }

    pub(super) const fn is_delete(&self) -> bool {
        matches!(self.effect, Effect::Gone)
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
            let is_unchanged = self.fence.as_ref() == Some(&row.etag);
            return if is_unchanged { RowState::Unchanged } else { RowState::Differs };
        }
        if self.fence.as_ref() == Some(&row.etag) {
            return RowState::Unchanged;
        }
        let is_older = row.timestamp.zip(since).is_some_and(|(at, since)| at < since);
        let matches = !is_older
            && match self.effect {
                Effect::Gone => false,
                Effect::Whole => self.properties == row.properties,
                Effect::Some => self
                    .properties
                    .iter()
                    .all(|(name, value)| row.properties.get(name) == Some(value)),
            };
        if matches { RowState::Matches } else { RowState::Differs }
    }

    /// Whether the row exists in the state that the write left.
    pub(crate) fn is_left_in(&self, write_id: Option<&str>, row: Option<&Found>) -> bool {
        let state = self.compare(write_id, None, row);
        row.is_some() && matches!(state, RowState::HasWriteId | RowState::Matches)
    }

    /// Returns the entity writes of a request, in their order; `None` if it has no such writes.
    pub(crate) fn all_of(request: &Request) -> Option<Vec<Self>> {
        if request.operation == Operation::Transaction {
            let kind = request.content_type.to_str().ok()?;
            return Self::of_batch(kind, &request.body).ok();
        }
        if !request.operation.is_entity_write() {
            return None;
        }
        let mut headers = HeaderMap::new();
        headers.extend(request.header.iter().map(|(name, value)| ((*name).clone(), value.clone())));
        headers.insert(header::CONTENT_TYPE, request.content_type.clone());
        let wrote = Self::new(&request.method, &request.path, &headers, &request.body)?;
        Some(vec![wrote])
    }

    fn of_batch(kind: &str, body: &[u8]) -> Result<Vec<Self>, MultipartError> {
        let of = |message: &Message<'_>| {
            let (method, target) = message.request()?;
            let path = target.rfind('/').map_or(target, |at| &target[at..]);
            let own = message.headers()?;
            let tunnelled = own.get(&headers::X_HTTP_METHOD);
            let tunnelled = tunnelled.and_then(|verb| Method::from_bytes(verb.as_bytes()).ok());
            let method = tunnelled.unwrap_or(method);
            let wrote = Self::new(&method, path, &own, message.body);
            wrote.ok_or(MultipartError::Head)
        };
        let mut all = Vec::new();
        for part in Parts::read(kind, body)? {
            let Part::Parts(changeset) = part? else { return Err(MultipartError::MediaType) };
            for part in changeset {
                let Part::Message(message) = part? else { return Err(MultipartError::Depth) };
                all.push(of(&message)?);
            }
        }
        Ok(all)
    }

    fn new(method: &Method, path: &str, headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let fence = headers.get(header::IF_MATCH).and_then(|tag| tag.to_str().ok());
        let fence = fence.filter(|tag| *tag != "*").map(ETag::from);
        if *method == Method::DELETE {
            let (partition_key, row_key) = encoding::keys_of_path(path)?;
            let key = EntityKey::new(partition_key, row_key);
            return Some(Self { key, fence, effect: Effect::Gone, properties: Properties::new() });
        }
        let form = Form { typed: true, selected: false };
        let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let format = PayloadFormat::of_media_type(kind)?;
        let entity: MapEntity<'_> = format.read_one(body, form, &Entities).ok()?;
        let effect = if method.as_str() == "MERGE" { Effect::Some } else { Effect::Whole };
        let (key, properties) = entity.into_parts();
        Some(Self { key, fence, effect, properties })
    }
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
            let wrote = Wrote::all_of(&request).unwrap().remove(0);
            assert_eq!(wrote.key, *blog.key());
            assert_eq!(wrote.compare(None, None, Some(&stored)), RowState::Matches, "{write:?}");
            assert_eq!(wrote.fence.is_some(), n == 1);
            let row_key = format!("{}{n}", blog.key().row_key);
            let mut other = DynamicEntity::new(&*blog.key().partition_key, row_key);
            other.set("Text", n.to_string());
            batch.write(&other, write).unwrap();
            expected.push((other.key().clone(), format!("{:?}", wrote.effect)));
        }
        let delete = entity::delete(protocol, "Blogs", blog.key(), &tag).unwrap();
        let wrote = Wrote::all_of(&delete).unwrap().remove(0);
        assert_eq!((&wrote.key, wrote.compare(None, None, None)), (blog.key(), RowState::Matches));
        batch.delete(blog.key(), &tag).unwrap();
        expected.push((blog.key().clone(), "Gone".to_owned()));
        let (request, _) = batch.finish().unwrap();
        let wrote = Wrote::all_of(&request).unwrap();
        let wrote: Vec<_> =
            wrote.iter().map(|w| (w.key.clone(), format!("{:?}", w.effect))).collect();
        assert_eq!(wrote, expected);
        let read = entity::get(protocol, "Blogs", blog.key()).unwrap();
        assert!(Wrote::all_of(&read).is_none());
    }
}
