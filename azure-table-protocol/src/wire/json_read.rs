//! Entities from JSON, directly into the struct: every value is borrowed from the response until the field
//! takes ownership. No map is built.

mod flat;
mod member;
mod properties;
mod row;
mod scan;
mod tokens;
mod value;

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

pub use self::properties::{PropertyReader, ReadProperty};
use self::row::{RowReader, RowSeed, Texts};
use self::value::TextSeed;
use super::ReadError;
use super::json_tree::MAX_DEPTH;
use crate::entity::{Columns, Form, ReadRow, Row};
use crate::limits::PAGE_ENTITIES;

/// More members than the page of any service has. Keeps the search for repeated ones short on hostile input.
const MAX_PAGE_MEMBERS: usize = 64;

/// Ten times what a page has by the documentation, for servers that ignore the limit. A page of tiny rows could
/// otherwise fill the memory before a limit of the query applies.
const MAX_ROWS: usize = 10 * PAGE_ENTITIES as usize;

/// Reads the rows of a query's reply: `{"value":[{…},…]}`.
pub fn read_page<T>(body: &[u8], form: Form, reader: &dyn ReadRow<T>) -> Result<Vec<T>, ReadError> {
    read_page_by(read, body, form, reader)
}

/// Reads the reply of a point query: one row.
pub fn read_one<T>(body: &[u8], form: Form, reader: &dyn ReadRow<T>) -> Result<T, ReadError> {
    read_one_by(read, body, form, reader)
}

pub fn read_page_by<T>(
    read: Read,
    body: &[u8],
    form: Form,
    reader: &dyn ReadRow<T>,
) -> Result<Vec<T>, ReadError> {
    let mut values = Vec::new();
    let mut consume = |step: Step<'_, '_>| match step {
        Step::Restart => {
            values.clear();
            Ok(())
        }
        Step::Row(_) if values.len() == MAX_ROWS => {
            let error = format!("a page has more than {MAX_ROWS} entities");
            Err(ReadError::Json(serde_json::Error::custom(error)))
        }
        Step::Row(row) => {
            values.push(reader.read_row(row).map_err(ReadError::Decode)?);
            Ok(())
        }
    };
    let row = || Row::with(reader.columns(), reader.keeps_others(), form);
    read(as_text(body)?, &row, true, &mut consume)?;
    Ok(values)
}

pub fn read_one_by<T>(
    read: Read,
    body: &[u8],
    form: Form,
    reader: &dyn ReadRow<T>,
) -> Result<T, ReadError> {
    let mut value = None;
    let mut consume = |step: Step<'_, '_>| match step {
        Step::Restart => Ok(()),
        Step::Row(row) => {
            value = Some(reader.read_row(row).map_err(ReadError::Decode)?);
            Ok(())
        }
    };
    let row = || Row::with(reader.columns(), reader.keeps_others(), form);
    read(as_text(body)?, &row, false, &mut consume)?;
    value.ok_or_else(|| ReadError::Json(serde_json::Error::custom("no entity")))
}

/// Fills a row from one JSON object, without building an entity.
pub fn read_row<'de>(
    body: &'de [u8],
    row: impl Fn() -> Row<'de>,
) -> Result<Row<'de>, serde_json::Error> {
    let body = std::str::from_utf8(body).map_err(serde_json::Error::custom)?;
    if let Some(row) = flat::read_row(body, row()) {
        return Ok(row);
    }
    let mut reader = RowReader::new(row(), Texts::Any);
    let mut json = serde_json::Deserializer::from_str(body);
    RowSeed(&mut reader).deserialize(&mut json)?;
    json.end()?;
    Ok(reader.row)
}

/// One check of the whole body is far cheaper than one of each name and value.
fn as_text(body: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(body).map_err(|error| ReadError::Json(serde_json::Error::custom(error)))
}

/// A step of reading a body.
pub enum Step<'a, 'de> {
    /// The body is read again from the beginning.
    Restart,
    /// A row is complete.
    Row(&'a mut Row<'de>),
}

/// The consumer of the rows. A trait object, so that the reader is compiled once instead of once for each type of
/// entity.
pub type Consumer<'t> = dyn FnMut(Step<'_, '_>) -> Result<(), ReadError> + 't;

/// A function that reads a page or a row, and creates the row that it fills with its argument.
pub type Read = for<'de> fn(
    body: &'de str,
    row: &dyn Fn() -> Row<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), ReadError>;

/// Whether the reader made for the service reads this page.
pub fn is_flat(body: &[u8]) -> bool {
    let row = Row::with(Columns::new(&[]), true, Form::WHOLE);
    as_text(body).is_ok_and(|body| flat::read(body, row, true, &mut |_| Ok(())).is_ok())
}

/// Reads what the service usually writes with the reader made for that, and everything else with `serde_json`.
pub fn read<'de>(
    body: &'de str,
    row: &dyn Fn() -> Row<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), ReadError> {
    match flat::read(body, row(), is_page, consume) {
        Ok(()) => Ok(()),
        Err(flat::Stop::Consumer(error)) => Err(error),
        Err(flat::Stop::Unusual) => {
            consume(Step::Restart)?;
            read_general(body, row, is_page, consume)
        }
    }
}

/// Reads any JSON. If that fails, reads again in a way that limits the damage of a lone surrogate to its property.
pub fn read_general<'de>(
    body: &'de str,
    row: &dyn Fn() -> Row<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), ReadError> {
    if scan::depth(body.as_bytes()) > MAX_DEPTH {
        let error = format!("nested deeper than {MAX_DEPTH} levels");
        return Err(ReadError::Json(serde_json::Error::custom(error)));
    }
    match read_once(body, RowReader::new(row(), Texts::Unicode), is_page, consume) {
        // A surrogate is always escaped.
        Err(ReadError::Json(error)) if body.contains("\\u") => {
            consume(Step::Restart)?;
            match read_once(body, RowReader::new(row(), Texts::Any), is_page, consume) {
                Err(ReadError::Json(_)) => Err(ReadError::Json(error)),
                other => other,
            }
        }
        other => other,
    }
}

fn read_once<'de>(
    body: &'de str,
    mut reader: RowReader<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), ReadError> {
    let mut failure = None;
    let mut json = serde_json::Deserializer::from_str(body);
    let rows = RowsSeed { reader: &mut reader, consume, failure: &mut failure };
    let outcome = if is_page { PageSeed(rows).deserialize(&mut json) } else { rows.one(&mut json) };
    match (failure, outcome.and_then(|()| json.end())) {
        (Some(failure), _) => Err(failure),
        (None, outcome) => outcome.map_err(ReadError::Json),
    }
}

/// `{"value":[…]}`.
struct PageSeed<'a, 't, 'de>(RowsSeed<'a, 't, 'de>);

impl<'de> DeserializeSeed<'de> for PageSeed<'_, '_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageSeed<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the entities in \"value\"")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut names = Vec::new();
        while let Some(name) = map.next_key_seed(TextSeed)? {
            if names.contains(&name) {
                return Err(A::Error::custom("a page has two members with the same name"));
            }
            if names.len() == MAX_PAGE_MEMBERS {
                let error = format!("a page has more than {MAX_PAGE_MEMBERS} members");
                return Err(A::Error::custom(error));
            }
            if name == "value" {
                map.next_value_seed(&mut self.0)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            names.push(name);
        }
        let found = names.iter().any(|name| name == "value");
        if found { Ok(()) } else { Err(A::Error::missing_field("value")) }
    }
}

struct RowsSeed<'a, 't, 'de> {
    reader: &'a mut RowReader<'de>,
    consume: &'a mut Consumer<'t>,
    failure: &'a mut Option<ReadError>,
}

impl<'de> RowsSeed<'_, '_, 'de> {
    /// Passes the row to the consumer. An error of the consumer stops the reading.
    fn take_row<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.reader.row.repeated {
            return Err(E::custom("an entity has two members with the same name"));
        }
        (self.consume)(Step::Row(&mut self.reader.row)).map_err(|error| {
            *self.failure = Some(error);
            E::custom("an entity is not valid")
        })
    }

    fn one<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        RowSeed(self.reader).deserialize(deserializer)?;
        self.take_row()
    }
}

impl<'de> DeserializeSeed<'de> for &mut RowsSeed<'_, '_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut RowsSeed<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of entities")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(RowSeed(self.reader))?.is_some() {
            self.take_row()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
