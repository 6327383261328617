//! Entities from JSON, directly into the struct: every value is borrowed from the response until the field
//! takes ownership. No map is built.
//!
//! `reader` reads rows of any JSON, and `properties` the bodies of requests; both read the parts of JSON by `tokens`,
//! whose lengths `scan` finds. `serde_json` only words the errors of bodies that are not JSON; the tests and the fuzz
//! targets compare with it.

mod member;
mod properties;
mod reader;
mod scan;
mod tokens;

use std::fmt::Display;

use serde::de::{Error as _, IgnoredAny};

pub use self::properties::{PropertyReader, ReadProperty};
use self::reader::{RowReader, Stop};
use super::ReadError;
use crate::entity::{Form, ReadRow, Row, RowConsumer};
use crate::limits::PAGE_ENTITIES;

/// Ten times what a page has by the documentation, for servers that ignore the limit. A page of tiny rows could
/// otherwise fill the memory before a limit of the query applies.
const MAX_ROWS: usize = 10 * PAGE_ENTITIES as usize;

/// A [`RowConsumer`] that may stop the reader for another reason.
type Consumer<'c> = dyn FnMut(&mut Row<'_>) -> Result<(), ReadError> + 'c;

/// Reads the rows of a query's reply: `{"value":[{…},…]}`.
pub fn read_page<T>(body: &[u8], form: Form, reader: &dyn ReadRow<T>) -> Result<Vec<T>, ReadError> {
    let mut values = Vec::new();
    let row = Row::with(reader.columns(), reader.keeps_others(), form);
    read_rows(body, row, true, &mut |row| {
        values.push(reader.read_row(row)?);
        Ok(())
    })?;
    Ok(values)
}

/// Reads the reply of a point query: one row.
pub fn read_one<T>(body: &[u8], form: Form, reader: &dyn ReadRow<T>) -> Result<T, ReadError> {
    let mut value = None;
    let row = Row::with(reader.columns(), reader.keeps_others(), form);
    read_rows(body, row, false, &mut |row| {
        value = Some(reader.read_row(row)?);
        Ok(())
    })?;
    value.ok_or_else(|| ReadError::Json(serde_json::Error::custom("no entity")))
}

/// Fills a row from one JSON object, without building an entity. A member that occurs twice sets
/// [`repeated`](Row::repeated).
pub fn read_row<'de>(body: &'de [u8], row: Row<'de>) -> Result<Row<'de>, serde_json::Error> {
    let text = as_text(body)?;
    RowReader::new(text, row).whole_row().map_err(|fault| not_as_expected(body, fault))
}

/// Passes the rows of a page, or the only row of a body, to `consume`.
pub(super) fn read_rows(
    body: &[u8],
    row: Row<'_>,
    is_page: bool,
    consume: &mut RowConsumer<'_>,
) -> Result<(), ReadError> {
    let mut count = 0;
    let consume: &mut Consumer<'_> = &mut |row| {
        if count == MAX_ROWS {
            let error = format!("a page has more than {MAX_ROWS} entities");
            return Err(ReadError::Json(serde_json::Error::custom(error)));
        }
        count += 1;
        consume(row).map_err(ReadError::Decode)
    };
    let text = as_text(body).map_err(ReadError::Json)?;
    // The row borrows from the body, and the lifetime of its argument is longer.
    let reader = RowReader::new(text, row);
    let read = if is_page { reader.whole_page(consume) } else { reader.only_row(consume) };
    read.map_err(|stop| match stop {
        Stop::Consumer(error) => error,
        Stop::Body(fault) => ReadError::Json(not_as_expected(body, fault)),
    })
}

/// One check of the whole body is far cheaper than one of each name and value.
fn as_text(body: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(body).map_err(|error| not_as_expected(body, error))
}

/// The error of a body with a fault: if it is not JSON, that of `serde_json`, which names the place. A body that ends
/// within a character is cut, like one that ends within a text.
fn not_as_expected(body: &[u8], fault: impl Display) -> serde_json::Error {
    match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) => error,
        Ok(_) => serde_json::Error::custom(fault),
    }
}

#[cfg(test)]
mod tests;
