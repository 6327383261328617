//! Requests about one entity.

use std::borrow::Cow;
use std::sync::Arc;

use http::{StatusCode, header};

use super::MockTableService;
use super::body::{Body, Sent};
use super::check::{check_keys, check_properties};
use super::failure::Failure;
use super::payload::Item;
use super::query::Scan;
use super::reply::Reply;
use super::request::{Preference, Resource, Target};
use super::respond::{Asked, Note};
use super::select::Select;
use super::store::{
    Change, Condition, Entry, Properties, StoredEntity, StoredKey, StoredProperties, Table, Update,
    Write, Written,
};
use crate::filter::PlanKind;
use crate::limits::check_table_name;

impl MockTableService {
    pub(super) fn get(
        &self,
        asked: &Asked<'_>,
        target: &Target,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        check_table_name(&target.table)?;
        let select = Select::of(asked)?;
        let store = self.store_at(asked.grant.place);
        let table = store.entities_of(&target.table, self.now())?;
        let key = (&*target.partition_key, &*target.row_key);
        // What is out of reach is not found, as it is with queries.
        let row = table.get(key).filter(|_| asked.grant.keys().contains(key));
        note.scan = Some(Scan { plan: PlanKind::Point, rows: usize::from(row.is_some()) });
        let entity = row.ok_or_else(Failure::resource_not_found)?;
        let payload = asked.payload(table.name(), select.as_ref());
        let body = payload.one(Item::Entity(key, &entity));
        let mut reply = Reply::with_body(StatusCode::OK, asked.format, body);
        reply.text_header(header::ETAG, &entity.version.etag());
        Ok(reply)
    }

    /// The change that a request asks for, and its table; nothing is done yet.
    pub(super) fn change<'a>(
        &self,
        asked: &Asked<'a>,
        verb: &str,
        resource: Resource,
    ) -> Result<(String, Write<'a>), Failure> {
        match (resource, verb) {
            (_, "PATCH") if !asked.protocol.has_patch() => Err(Failure::unsupported_verb()),
            (Resource::Entities(table), "POST") => {
                let write = self.insertion(asked, &table)?;
                Ok((table, write))
            }
            (Resource::Entity(target), "PUT" | "MERGE" | "PATCH" | "DELETE") => {
                self.change_of_one(asked, verb, target)
            }
            _ => Err(Failure::unsupported_verb()),
        }
    }

    fn insertion<'a>(&self, asked: &Asked<'a>, table: &str) -> Result<Write<'a>, Failure> {
        check_table_name(table)?;
        let (key, properties) = self.whole(asked.body()?)?;
        Ok(Write { key, change: Change::Insert(StoredProperties::new(&properties)) })
    }

    /// An entity that says its keys itself, and can be stored.
    pub(super) fn whole<'a>(&self, sent: Sent<'a>) -> Result<(StoredKey, Properties<'a>), Failure> {
        let Body { partition_key, row_key, properties } = Body::parse(sent)?;
        let (Some(partition_key), Some(row_key)) = (partition_key, row_key) else {
            return Err(Failure::properties_need_value());
        };
        let key = StoredKey::new(partition_key, row_key);
        check_keys(&key, self.0.max_key_units)?;
        check_properties(&key, &properties)?;
        Ok((key, properties))
    }

    fn change_of_one<'a>(
        &self,
        asked: &Asked<'a>,
        verb: &str,
        target: Target,
    ) -> Result<(String, Write<'a>), Failure> {
        check_table_name(&target.table)?;
        let condition = asked.request.condition()?;
        let key = StoredKey::new(target.partition_key, target.row_key);
        if verb == "DELETE" {
            if condition == Condition::None {
                return Err(Failure::missing_header());
            }
            return Ok((target.table, Write { key, change: Change::Delete(condition) }));
        }
        if condition == Condition::None && !asked.protocol.has_upserts() {
            return Err(Failure::invalid_input());
        }
        let body = Body::parse(asked.body()?)?;
        // The path names the entity; a body that names another one is a mistake.
        let differs = |in_body: Option<Cow<'_, str>>, in_path: &str| {
            in_body.is_some_and(|in_body| in_body != in_path)
        };
        if differs(body.partition_key, &key.partition) || differs(body.row_key, &key.row) {
            return Err(Failure::invalid_input());
        }
        check_keys(&key, self.0.max_key_units)?;
        check_properties(&key, &body.properties)?;
        let update = match verb {
            "PUT" => Update::replace(body.properties),
            _ => Update::Merge(body.properties),
        };
        Ok((target.table, Write { key, change: Change::Update(update, condition) }))
    }

    /// Makes a change and answers it.
    pub(super) fn write(
        &self,
        asked: &Asked<'_>,
        table: &str,
        write: Write<'_>,
    ) -> Result<Reply, Failure> {
        let inserts = write.inserts();
        let store = self.store();
        let table = store.entities_of(table, self.now())?;
        // One write, one outcome.
        let written = self.apply(table, vec![write]).map_err(|(_, failure)| failure)?;
        let written = written.first().ok_or_else(Failure::internal_error)?;
        Ok(changed(asked, table.name(), inserts, written))
    }

    /// Makes changes of one partition in one step, or none.
    pub(super) fn apply(
        &self,
        table: &Table,
        writes: Vec<Write<'_>>,
    ) -> Result<Vec<Written>, (usize, Failure)> {
        // The clock is asked under the lock, so that what is written later has no earlier time.
        table.apply(
            writes,
            || self.edm_now(),
            |written| {
                let entry =
                    || Entry::Written { table: Arc::clone(table.name()), rows: written.to_vec() };
                self.note(entry);
            },
        )
    }
}

/// The answer to a change that was made.
pub(super) fn changed(asked: &Asked<'_>, table: &str, inserts: bool, written: &Written) -> Reply {
    let Some(row) = &written.row else {
        return Reply::no_content();
    };
    let mut reply =
        if inserts { posted(asked, table, &written.key, row) } else { Reply::no_content() };
    reply.text_header(header::ETAG, &row.version.etag());
    reply
}

/// The answer to an insert that was done.
fn posted(asked: &Asked<'_>, table: &str, key: &StoredKey, row: &StoredEntity) -> Reply {
    let mut reply = match asked.preference {
        Preference::ReturnNoContent => Reply::no_content(),
        _ => {
            let item = Item::Entity((&key.partition, &key.row), row);
            let body = asked.payload(table, None).one(item);
            Reply::with_body(StatusCode::CREATED, asked.format, body)
        }
    };
    reply.preference_applied(asked.preference);
    reply.location(&asked.addresses.entity(table, key), asked.preference);
    reply
}
