//! Entities from JSON by `serde_json`, with which the client's own reader is compared. It shares only the row and the
//! decoding of values with that reader.

use std::collections::HashSet;
use std::fmt;

use azure_table_client::TableEntity;
use azure_table_protocol::entity::{
    Annotation, DecodeError, Entities, Form, MAX_OTHERS, RawText, RawValue, ReadRow, Row,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue as RawJson;

const ANNOTATION: &str = "@odata.type";
const MAX_LEVELS: usize = 64;
const MAX_ROWS: usize = 10_000;

/// The reason why a body is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not JSON, or has another form.
    Body,
    /// An entity does not match the struct.
    Entity(Box<DecodeError>),
}

/// Reads the rows of a page.
pub(super) fn page<T: TableEntity>(body: &[u8], form: Form) -> Result<Vec<T>, Refusal> {
    let members: Members<'_> = document(body)?;
    let rows = members.0.iter().find(|(name, _)| name == "value").ok_or(Refusal::Body)?.1;
    let rows: Vec<&RawJson> = read(rows.get())?;
    if members.has_repeated() || members.0.len() > 64 {
        return Err(Refusal::Body);
    }
    let too_many = rows.len() > MAX_ROWS;
    let read: Result<Vec<T>, _> = rows.iter().take(MAX_ROWS).map(|row| entity(row, form)).collect();
    if too_many { read.and(Err(Refusal::Body)) } else { read }
}

/// Reads a row.
pub(super) fn one<T: TableEntity>(body: &[u8], form: Form) -> Result<T, Refusal> {
    entity(document(body)?, form)
}

/// Reads a whole body, which is nested up to the limit.
fn document<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Refusal> {
    let document = read(std::str::from_utf8(body).map_err(|_| Refusal::Body)?)?;
    let (mut level, mut is_text, mut bytes) = (0, false, body.iter());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' => _ = bytes.next(),
            b'{' | b'[' if !is_text => level += 1,
            b'}' | b']' if !is_text => level -= 1,
            _ => {}
        }
        if level > MAX_LEVELS {
            return Err(Refusal::Body);
        }
    }
    Ok(document)
}

fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, Refusal> {
    serde_json::from_str(json).map_err(|_| Refusal::Body)
}

/// The members of an object in their order, also repeated ones.
struct Members<'de>(Vec<(String, &'de RawJson)>);

impl Members<'_> {
    fn has_repeated(&self) -> bool {
        let mut names = HashSet::new();
        !self.0.iter().all(|(name, _)| names.insert(name))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn entity<T: TableEntity>(json: &RawJson, form: Form) -> Result<T, Refusal> {
    let members: Members<'_> = read(json.get())?;
    let reader: &dyn ReadRow<T> = &Entities;
    let mut row = Row::with(reader.columns(), reader.keeps_others(), form);
    for (name, json) in &members.0 {
        let (property, is_type) = match name.strip_suffix(ANNOTATION) {
            Some(property) => (property, true),
            None => (name.as_str(), false),
        };
        let is_metadata = !is_type && (name.starts_with("odata.") || name.contains("@odata."));
        let place = match row.find(property) {
            _ if name == "odata.etag" => {
                row.etag = Some(RawText::Json(json.get()));
                continue;
            }
            Some(slot) => row.slot(slot),
            None if !row.keeps_others() || is_metadata => continue,
            None if row.other_count() >= MAX_OTHERS => return Err(Refusal::Body),
            None => row.next_other(property.to_owned().into()),
        };
        if is_type {
            place.annotation = Annotation::from_name(&read::<String>(json.get())?);
        } else {
            place.value = value(json.get())?;
        }
    }
    row.join_others();
    if members.has_repeated() || members.0.len() > 4 * MAX_OTHERS {
        return Err(Refusal::Body);
    }
    reader.read_row(&mut row).map_err(|error| Refusal::Entity(Box::new(error)))
}

fn value(json: &str) -> Result<RawValue<'static>, Refusal> {
    if json.starts_with('"') {
        return Ok(match serde_json::from_str(json) {
            Ok(text) => RawValue::Text(text),
            Err(error) => RawValue::NoUnicode { offset: error.column() },
        });
    }
    if json.starts_with(['{', '[']) {
        return Ok(RawValue::NoScalar);
    }
    Ok(match read(json)? {
        Value::Null => RawValue::Null,
        Value::Bool(value) => RawValue::Boolean(value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => RawValue::Integer(value),
            None => RawValue::Float(number.as_f64().ok_or(Refusal::Body)?),
        },
        other => panic!("{other:?} begins like another value"),
    })
}
