//! Requests about one entity.

use std::collections::HashSet;

use http::{StatusCode, header};

use super::MockTableService;
use super::failure::Failure;
use super::order::StoredKey;
use super::reply::Reply;
use super::request::Preference;
use super::respond::Asked;
use super::store::{Condition, StoredEntity, Update, etag};
use crate::edm::EdmValue;
use crate::entity::{RawValue, Row};
use crate::limits::{
    EntitySize, PROPERTIES, check_key, check_property_name, check_table_name, check_value,
};
use crate::wire::json_read;

/// What a body says: its keys, where it has them, and its properties.
struct Body {
    partition_key: Option<String>,
    row_key: Option<String>,
    properties: Vec<(String, EdmValue)>,
}

impl MockTableService {
    pub(super) fn insert(&self, asked: &Asked<'_>, table: &str) -> Result<Reply, Failure> {
        check_table_name(table)?;
        let body = Body::parse(asked.request.body)?;
        let (Some(partition_key), Some(row_key)) = (body.partition_key, body.row_key) else {
            return Err(Failure::properties_need_value());
        };
        check(&partition_key, &row_key, &body.properties)?;
        let key = StoredKey::new(partition_key, row_key);
        let now = self.edm_now();
        let mut store = self.store();
        let table = store.table_mut(table)?;
        let name = table.name().to_owned();
        let entity = table.insert(key.clone(), body.properties, now)?;
        let mut reply = match asked.preference {
            Preference::ReturnNoContent => Reply::no_content(),
            _ => Reply::json(
                StatusCode::CREATED,
                asked.level,
                one(asked, &name, (&key, entity), None),
            ),
        };
        reply.text_header(header::ETAG, &entity.etag());
        reply.preference_applied(asked.preference);
        reply.location(&asked.addresses.entity(&name, &key), asked.preference);
        Ok(reply)
    }

    pub(super) fn get(
        &self,
        asked: &Asked<'_>,
        table: &str,
        (partition_key, row_key): (String, String),
    ) -> Result<Reply, Failure> {
        check_table_name(table)?;
        let key = StoredKey::new(partition_key, row_key);
        let select = Select::of(asked);
        let store = self.store();
        let table = store.table(table).ok_or_else(Failure::table_not_found)?;
        let entity = table.get(&key).ok_or_else(Failure::resource_not_found)?;
        let body = one(asked, table.name(), (&key, entity), select.as_ref());
        let mut reply = Reply::json(StatusCode::OK, asked.level, body);
        reply.text_header(header::ETAG, &entity.etag());
        Ok(reply)
    }

    pub(super) fn update(
        &self,
        asked: &Asked<'_>,
        table: &str,
        (partition_key, row_key): (String, String),
        update: Update,
    ) -> Result<Reply, Failure> {
        check_table_name(table)?;
        let body = Body::parse(asked.request.body)?;
        let agrees = |in_body: &Option<String>, in_path: &str| {
            in_body.as_ref().is_none_or(|key| key == in_path)
        };
        // The path names the entity; a body that names another one is a mistake.
        if !agrees(&body.partition_key, &partition_key) || !agrees(&body.row_key, &row_key) {
            return Err(Failure::invalid_input());
        }
        check(&partition_key, &row_key, &body.properties)?;
        let now = self.edm_now();
        let mut store = self.store();
        let table = store.table_mut(table)?;
        let key = StoredKey::new(partition_key, row_key);
        let timestamp = table.update(key, body.properties, update, asked.condition(), now)?;
        let mut reply = Reply::no_content();
        reply.text_header(header::ETAG, &etag(timestamp));
        Ok(reply)
    }

    pub(super) fn delete(
        &self,
        asked: &Asked<'_>,
        table: &str,
        (partition_key, row_key): (String, String),
    ) -> Result<Reply, Failure> {
        check_table_name(table)?;
        let condition = asked.condition();
        if condition == Condition::None {
            return Err(Failure::missing_header());
        }
        let mut store = self.store();
        store.table_mut(table)?.delete(StoredKey::new(partition_key, row_key), condition)?;
        Ok(Reply::no_content())
    }
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

impl Body {
    fn parse(body: &[u8]) -> Result<Self, Failure> {
        let mut row = json_read::read_row(body, Row::new(&[], true, true))
            .map_err(|_| Failure::invalid_input())?;
        let mut key = |slot: usize| match std::mem::take(&mut row.slot(slot).value) {
            RawValue::Text(text) => Ok(Some(text.into_owned())),
            RawValue::Missing | RawValue::Null => Ok(None),
            _ => Err(Failure::invalid_input()),
        };
        let (partition_key, row_key) = (key(0)?, key(1)?);
        let properties = row.take_others().map_err(|_| Failure::invalid_input())?;
        Ok(Self { partition_key, row_key, properties })
    }
}

/// Every rule about what can be stored.
fn check(
    partition_key: &str,
    row_key: &str,
    properties: &[(String, EdmValue)],
) -> Result<(), Failure> {
    check_key("PartitionKey", partition_key)?;
    check_key("RowKey", row_key)?;
    if properties.len() > PROPERTIES {
        return Err(Failure::too_many_properties());
    }
    let mut size = EntitySize::of_keys(partition_key, row_key);
    for (name, value) in properties {
        check_property_name(name)?;
        let value = value.as_cow();
        check_value(name, &value)?;
        size.add(name, &value);
    }
    Ok(size.check()?)
}
