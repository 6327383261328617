//! Operations on one entity.
//!
//! Sources: [Insert Entity](https://learn.microsoft.com/rest/api/storageservices/insert-entity),
//! [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2),
//! [Merge Entity](https://learn.microsoft.com/rest/api/storageservices/merge-entity),
//! [Delete Entity](https://learn.microsoft.com/rest/api/storageservices/delete-entity1).

use std::borrow::Cow;

use bytes::Bytes;
use http::Method;
use uuid::Uuid;

use super::{
    Asked, Committed, Effect, Header, Reply, Request, Stored, Success, Target, Wrote, done_unless,
    if_match, unsupported,
};
use crate::IfMatch;
use crate::entity::{
    DynamicEntity, Entities, EntityKey, Form, KeysOnly, Lenient, Readable, TableEntity,
};
use crate::error::{Error, ErrorCode};
use crate::wire::encoding::{self, TextBuffer};
use crate::wire::{Operation, PayloadFormat, Protocol, ReadError, headers};

/// The two ways to update an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Update {
    Merge,
    Replace,
}

impl Update {
    fn method(self) -> Method {
        match self {
            Self::Replace => Method::PUT,
            // Eight bytes or fewer are always a valid method of http.
            Self::Merge => Method::from_bytes(b"MERGE").unwrap_or(Method::PATCH),
        }
    }
}

/// A write of an entity.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Write<'c> {
    /// The entity must not exist.
    Insert,
    /// The entity must exist, in a version that satisfies the condition.
    Update(Update, &'c IfMatch),
    /// The entity need not exist.
    Upsert(Update),
}

impl Write<'_> {
    pub(crate) fn operation(self) -> Operation {
        match self {
            Self::Insert => Operation::Insert,
            Self::Update(Update::Merge, _) => Operation::Merge,
            Self::Update(Update::Replace, _) => Operation::Replace,
            Self::Upsert(Update::Merge) => Operation::InsertOrMerge,
            Self::Upsert(Update::Replace) => Operation::InsertOrReplace,
        }
    }

    fn success(self) -> Success {
        match self {
            Self::Insert => Success::Created,
            Self::Update(..) | Self::Upsert(_) => Success::Updated,
        }
    }

    pub(super) fn method(self) -> Method {
        match self {
            Self::Insert => Method::POST,
            Self::Update(update, _) | Self::Upsert(update) => update.method(),
        }
    }

    /// Returns the record of the write, before its entity is encoded.
    pub(super) fn wrote(self, key: EntityKey) -> Wrote {
        match self {
            Self::Update(Update::Merge, condition) => {
                Wrote::new(key, Some(condition), Effect::Merged)
            }
            Self::Update(Update::Replace, condition) => {
                Wrote::new(key, Some(condition), Effect::Whole)
            }
            Self::Upsert(Update::Merge) => Wrote::new(key, None, Effect::Merged),
            Self::Insert | Self::Upsert(Update::Replace) => Wrote::new(key, None, Effect::Whole),
        }
    }

    /// Returns the header with the condition or the preference; an error for an upsert in a version without upserts.
    pub(super) fn header(self, protocol: Protocol) -> Result<Option<Header>, Error> {
        match self {
            Self::Insert if !protocol.has_preferences() => Ok(None),
            Self::Insert => Ok(Some((&headers::PREFER, headers::RETURN_NO_CONTENT.clone()))),
            Self::Update(_, condition) => if_match(condition).map(Some),
            Self::Upsert(_) => {
                protocol.check(self.operation()).map_err(unsupported)?;
                Ok(None)
            }
        }
    }

    /// Appends the path to `out`.
    pub(super) fn path(
        self,
        out: &mut impl TextBuffer,
        table: &str,
        partition_key: &str,
        row_key: &str,
    ) {
        match self {
            Self::Insert => encoding::push_table_path(out, table),
            Self::Update(..) | Self::Upsert(_) => {
                encoding::push_entity_path(out, table, partition_key, row_key);
            }
        }
    }
}

/// A write of an entity.
pub(crate) fn checked_write<T: TableEntity>(
    target: &Target,
    id: Option<Uuid>,
    entity: &T,
    write: Write<'_>,
) -> Result<Request, Error> {
    let keys = checked_keys(target.protocol, &target.table, entity)?;
    self::write(target, id, entity, &keys, write)
}

/// A write of the entity with these keys, which are checked. If the target has a column for write ids,
/// the write gets `id`, or a random one.
pub(crate) fn write<T: TableEntity>(
    target: &Target,
    id: Option<Uuid>,
    entity: &T,
    (partition_key, row_key): &(Cow<'_, str>, Cow<'_, str>),
    write: Write<'_>,
) -> Result<Request, Error> {
    let Target { table, protocol, .. } = target;
    let mut body = Vec::with_capacity(512);
    let keys = (&**partition_key, &**row_key);
    let new_id =
        |column| Ok::<_, Error>((column, id.map_or_else(|| target.clock.random_id(), Ok)?));
    let write_id = target.write_id.as_deref().map(new_id).transpose()?;
    let write_id =
        protocol.format().write_entity(&mut body, entity, keys, write_id, protocol.dialect())?;
    let mut path = String::with_capacity(32 + table.len() + keys.0.len() + keys.1.len());
    write.path(&mut path, table, partition_key, row_key);
    let request = Request::new(write.operation(), table, write.method(), path);
    let wrote = write.wrote(EntityKey::new(keys.0, keys.1)).at(0..body.len(), write_id);
    let (header, writes) = (write.header(*protocol)?, vec![wrote]);
    let success = write.success();
    Ok(Request { header, success, writes, ..request.payload(*protocol, body) })
}

pub(crate) fn delete(
    protocol: Protocol,
    table: &str,
    key: &EntityKey,
    condition: &IfMatch,
) -> Result<Request, Error> {
    let path = checked_path(protocol, table, key)?;
    let request = Request::new(Operation::Delete, table, Method::DELETE, path);
    let writes = vec![Wrote::delete(key.clone(), condition)];
    Ok(Request { success: Success::Done, writes, ..request.if_match(condition)? })
}

pub(crate) fn get(protocol: Protocol, table: &str, key: &EntityKey) -> Result<Request, Error> {
    let path = checked_path(protocol, table, key)?;
    let request = Request::new(Operation::Get, table, Method::GET, path);
    Ok(Request { asked: Asked::Row(key.clone()), ..request })
}

fn checked_path(protocol: Protocol, table: &str, key: &EntityKey) -> Result<String, Error> {
    protocol.dialect().check_table_name(table)?;
    protocol.dialect().check_keys(&key.partition_key, &key.row_key)?;
    Ok(encoding::entity_path(table, &key.partition_key, &key.row_key))
}

/// The keys of an entity, if the service accepts them and the name of the table.
pub(crate) fn checked_keys<'e, T: TableEntity>(
    protocol: Protocol,
    table: &str,
    entity: &'e T,
) -> Result<(Cow<'e, str>, Cow<'e, str>), Error> {
    protocol.dialect().check_table_name(table)?;
    valid_keys(protocol, entity)
}

/// The keys of an entity, if the service accepts them.
pub(super) fn valid_keys<T: TableEntity>(
    protocol: Protocol,
    entity: &T,
) -> Result<(Cow<'_, str>, Cow<'_, str>), Error> {
    let (partition_key, row_key) = (entity.partition_key()?, entity.row_key()?);
    protocol.dialect().check_keys(&partition_key, &row_key)?;
    Ok((partition_key, row_key))
}

/// The row that an entity was read from: it may have more than the entity holds.
pub(crate) struct RowSource {
    body: Bytes,
    format: PayloadFormat,
    form: Form,
}

impl RowSource {
    /// Reads all properties of the row.
    pub(crate) fn read(&self) -> Result<DynamicEntity, ReadError> {
        self.format.read_one(&self.body, self.form, &Entities)
    }
}

pub(crate) fn fetched<T: TableEntity>(reply: Reply, request: &Request) -> Result<Stored<T>, Error> {
    fetched_with_source(reply, request).map(|(fetched, _)| fetched)
}

pub(crate) fn fetched_with_source<T: TableEntity>(
    reply: Reply,
    request: &Request,
) -> Result<(Stored<T>, RowSource), Error> {
    let reply = reply.ok(request)?;
    let (format, form) = reply.format(request)?;
    let entity = reply.row(request, (format, form), &Entities)?;
    let fetched = Stored::read(entity, reply.etag(request)?, reply.info(), reply.location);
    Ok((fetched, RowSource { body: reply.answer.body, format, form }))
}

/// Returns `None` if the entity does not exist.
pub(crate) fn fetched_if_exists<T: TableEntity>(
    reply: Reply,
    request: &Request,
) -> Result<Option<Stored<T>>, Error> {
    reply.if_exists(request, fetched)
}

/// Returns whether the row exists.
pub(crate) fn exists(reply: Reply, request: &Request) -> Result<bool, Error> {
    let row = reply.if_exists(request, |reply, request| {
        let reply = reply.ok(request)?;
        let format = reply.format(request)?;
        reply.row(request, format, &KeysOnly)
    })?;
    Ok(row.is_some())
}

/// Returns the readable part of the row; `None` if the entity does not exist.
pub(crate) fn row_if_exists(reply: Reply, request: &Request) -> Result<Option<Readable>, Error> {
    reply.if_exists(request, |reply, request| {
        let reply = reply.ok(request)?;
        let format = reply.format(request)?;
        let mut row: Readable = reply.row(request, format, &Lenient)?;
        let etag = reply.etag(request)?;
        if row.entity.etag() != Some(&etag) {
            row.entity.set_etag(&etag);
        }
        Ok(row)
    })
}

/// Returns `false` if the entity did not exist.
pub(crate) fn deleted_if_exists(result: Result<Committed, Error>) -> Result<bool, Error> {
    done_unless(result, ErrorCode::is_missing_entity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ETag;
    use crate::entity::DynamicEntity;
    use crate::error::ErrorKind;

    fn target(table: &str) -> Target {
        Target { table: table.into(), ..Target::of_test(Protocol::default()) }
    }

    fn insert(table: &str, entity: &DynamicEntity) -> Result<Request, Error> {
        checked_write(&target(table), None, entity, Write::Insert)
    }

    fn update(way: Update, condition: &IfMatch) -> Result<Request, Error> {
        checked_write(&target("Blogs"), None, &blog(), Write::Update(way, condition))
    }

    fn upsert(way: Update) -> Result<Request, Error> {
        checked_write(&target("Blogs"), None, &blog(), Write::Upsert(way))
    }

    fn blog() -> DynamicEntity {
        let mut blog = DynamicEntity::new("it's", "a b");
        blog.set("Text", "Hello");
        blog
    }

    #[test]
    fn quotes_are_doubled_in_the_path_and_not_in_the_body() {
        let request = update(Update::Replace, &IfMatch::Any).unwrap();
        assert_eq!(request.path, "/Blogs(PartitionKey='it%27%27s',RowKey='a%20b')");
        assert_eq!(
            request.body,
            r#"{"PartitionKey":"it's","RowKey":"a b","Text":"Hello"}"#.as_bytes()
        );
    }

    #[test]
    fn only_an_upsert_has_no_condition() {
        let condition = |request: &Request| {
            let header = request.header.as_ref();
            let header = header.filter(|(name, _)| **name == http::header::IF_MATCH);
            header.map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        for way in [Update::Merge, Update::Replace] {
            let tag = IfMatch::Tag(ETag::from("W/\"x\""));
            assert_eq!(condition(&update(way, &tag).unwrap()).unwrap(), "W/\"x\"");
            assert_eq!(condition(&upsert(way).unwrap()), None);
        }
        assert_eq!(
            condition(&delete(Protocol::default(), "Blogs", blog().key(), &IfMatch::Any).unwrap())
                .unwrap(),
            "*"
        );
        assert_eq!(upsert(Update::Merge).unwrap().method.as_str(), "MERGE");
    }

    #[test]
    fn bad_input_is_refused_before_anything_is_sent() {
        let kind = |result: Result<Request, Error>| result.unwrap_err().kind();
        let bad_key = DynamicEntity::new("a/b", "r");
        assert_eq!(kind(insert("Blogs", &bad_key)), ErrorKind::InvalidInput);
        assert_eq!(kind(insert("my-blogs", &blog())), ErrorKind::InvalidInput);
        assert_eq!(
            kind(get(Protocol::default(), "Blogs", &EntityKey::new("p", "r?"))),
            ErrorKind::InvalidInput
        );
        let injected = IfMatch::Tag(ETag::from("x\r\nA: b"));
        assert_eq!(
            kind(delete(Protocol::default(), "Blogs", blog().key(), &injected)),
            ErrorKind::InvalidInput
        );
        for no_tag in ["", " ", "*"] {
            let tag = IfMatch::Tag(ETag::from(no_tag));
            assert_eq!(
                kind(delete(Protocol::default(), "Blogs", blog().key(), &tag)),
                ErrorKind::InvalidInput
            );
        }
        let mut reserved = blog();
        reserved.set("Timestamp", 1);
        assert_eq!(kind(insert("Blogs", &reserved)), ErrorKind::InvalidInput);
    }
}
