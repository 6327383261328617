//! Requests about one entity.

use std::collections::HashSet;

use http::{StatusCode, header};

use super::body::Body;
use super::check::{check_keys, check_properties};
use super::failure::Failure;
use super::order::StoredKey;
use super::query::Scan;
use super::reply::Reply;
use super::request::{Preference, Resource, Target};
use super::respond::{Asked, Note};
use super::store::{StoredEntity, Table};
use super::write::{Change, Condition, Update, Write};
use super::{MockTableService, stamp};
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
        let select = Select::of(asked);
        let store = self.store();
        let table = store.entities_of(&target.table, self.now())?;
        let row = table.get((&target.partition_key, &target.row_key));
        note.scan = Some(Scan { plan: PlanKind::Point, rows: usize::from(row.is_some()) });
        let (key, entity) = row.ok_or_else(Failure::resource_not_found)?;
        let body = one(asked, table.name(), (key, entity), select.as_ref());
        let mut reply = Reply::json(StatusCode::OK, asked.level, body);
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
        let body = Body::parse(asked.request.json_body()?)?;
        let (Some(partition_key), Some(row_key)) = (body.partition_key, body.row_key) else {
            return Err(Failure::properties_need_value());
        };
        let key = StoredKey::new(partition_key, row_key);
        check_keys(&key, self.0.max_key_units)?;
        check_properties(&key, &body.properties)?;
        Ok(Write { key, change: Change::Insert(body.properties) })
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
        let update = match verb {
            "PUT" => Update::Replace,
            "MERGE" | "PATCH" => Update::Merge,
            _ if condition == Condition::None => return Err(Failure::missing_header()),
            _ => return Ok((target.table, Write { key, change: Change::Delete(condition) })),
        };
        let body = Body::parse(asked.request.json_body()?)?;
        // The path names the entity; a body that names another one is a mistake.
        let differs = |in_body: Option<String>, in_path: &str| {
            in_body.is_some_and(|in_body| in_body != in_path)
        };
        if differs(body.partition_key, &key.partition) || differs(body.row_key, &key.row) {
            return Err(Failure::invalid_input());
        }
        check_keys(&key, self.0.max_key_units)?;
        check_properties(&key, &body.properties)?;
        let change = Change::Update(update, body.properties, condition);
        Ok((target.table, Write { key, change }))
    }

    /// Makes a change and answers it.
    pub(super) fn write(
        &self,
        asked: &Asked<'_>,
        table: &str,
        write: Write<'_>,
    ) -> Result<Reply, Failure> {
        let mut store = self.store_mut();
        // Under the lock, so that what is written later has no earlier time.
        let now = self.now();
        let table = store.entities_of_mut(table, now)?;
        let inserted = write.inserts();
        let etag = table.apply(write, stamp(now))?;
        Ok(changed(asked, table, inserted.as_ref(), etag.as_deref()))
    }
}

/// The answer to a change that was made.
pub(super) fn changed(
    asked: &Asked<'_>,
    table: &Table,
    inserted: Option<&StoredKey>,
    etag: Option<&str>,
) -> Reply {
    let mut reply = match inserted {
        Some(key) => posted(asked, table, key),
        None => Reply::no_content(),
    };
    if let Some(etag) = etag {
        reply.text_header(header::ETAG, etag);
    }
    reply
}

/// The answer to an insert that was done.
fn posted(asked: &Asked<'_>, table: &Table, key: &StoredKey) -> Reply {
    let echo = asked.preference != Preference::ReturnNoContent;
    let mut reply = match table.get((&key.partition, &key.row)) {
        Some(row) if echo => {
            Reply::json(StatusCode::CREATED, asked.level, one(asked, table.name(), row, None))
        }
        _ => Reply::no_content(),
    };
    reply.preference_applied(asked.preference);
    reply.location(&asked.addresses.entity(table.name(), key), asked.preference);
    reply
}

/// `$select`: the properties, and the text that the reply repeats.
pub(super) struct Select {
    names: Vec<String>,
    text: String,
}

impl Select {
    pub(super) fn of(asked: &Asked<'_>) -> Option<Self> {
        let text = asked.request.option("$select")?;
        let mut seen = HashSet::new();
        let names: Vec<String> = text
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty() && seen.insert(name.clone()))
            .collect();
        Some(Self { text: names.join(","), names })
    }

    /// The properties; an empty list and `*` select all.
    pub(super) fn names(&self) -> Option<&[String]> {
        let all = self.names.is_empty() || self.names.iter().any(|name| name == "*");
        (!all).then_some(&self.names)
    }

    pub(super) fn suffix(select: Option<&Self>) -> String {
        select.map_or_else(String::new, |select| format!("&$select={}", select.text))
    }
}

/// The body of a reply that is one entity.
fn one(
    asked: &Asked<'_>,
    table: &str,
    entity: (&StoredKey, &StoredEntity),
    select: Option<&Select>,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(512);
    let what = format!("{table}/@Element{}", Select::suffix(select));
    asked.addresses.open(&mut body, asked.level, &what);
    let names = select.and_then(Select::names);
    asked.addresses.entity_members(&mut body, asked.level, table, entity, names);
    body.push(b'}');
    body
}
