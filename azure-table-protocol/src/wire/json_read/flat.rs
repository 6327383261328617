//! Reads JSON as the service writes it: flat entities without white space, with the same members in nearly the same
//! order in each row. Leaves everything else to the general reader, which also words the errors.

use serde::de::DeserializeSeed as _;

use super::member::{ANNOTATION, Member};
use super::scan;
use super::value::ValueSeed;
use super::{Consumer, ReadError, Step};
use crate::entity::{Annotation, MAX_OTHERS, RawText, RawValue, Row};

/// The most names that are known at a time. Keeps the search among them short on hostile input.
const MAX_NAMES: usize = 1024;

/// The most members of a usual page. Services write two.
const USUAL_PAGE_MEMBERS: usize = 8;

/// The name of the member with the rows, with its quotes and the colon.
const VALUE: &str = "\"value\":";

/// The reason to stop before the end of the body.
pub(super) enum Stop {
    /// The general reader must read the body.
    Unusual,
    /// The consumer refused a row.
    Consumer(ReadError),
}

/// Reads the rows of a page, or one row.
pub(super) fn read<'de>(
    body: &'de str,
    row: Row<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), Stop> {
    let mut reader = FlatReader::new(body, row).ok_or(Stop::Unusual)?;
    if is_page {
        reader.page(consume)?;
    } else {
        reader.row(consume)?;
    }
    if reader.rest.is_empty() { Ok(()) } else { Err(Stop::Unusual) }
}

/// Fills a row with one object. Returns `None` if the object is unusual.
pub(super) fn read_row<'de>(body: &'de str, row: Row<'de>) -> Option<Row<'de>> {
    let mut reader = FlatReader::new(body, row)?;
    reader.members()?;
    reader.rest.is_empty().then_some(reader.row)
}

/// The methods that read a part of the body return `None` if it is unusual.
struct FlatReader<'de> {
    /// The part of the body that is not read yet.
    rest: &'de str,
    row: Row<'de>,
    /// The number of the row that is read, from 1.
    rows: usize,
    /// The slot after that of the last new name.
    next_slot: usize,
    /// The names that rows had until now. The reader expects the names of a row in this order.
    names: Vec<Name<'de>>,
    /// The comparisons left for names that are not the expected ones: enough for the first row, and then as many as the
    /// body has bytes.
    comparisons: usize,
}

#[derive(Clone, Copy)]
struct Name<'de> {
    /// The name with its quotes and the colon.
    json: &'de str,
    member: Member,
    /// The last row with this name.
    row: usize,
}

impl Name<'_> {
    /// Records that the current row has this name. Returns `None` if it was recorded already.
    fn of_row(&mut self, row: usize) -> Option<Self> {
        let is_new = self.row != row;
        self.row = row;
        is_new.then_some(*self)
    }
}

impl<'de> FlatReader<'de> {
    fn new(body: &'de str, row: Row<'de>) -> Option<Self> {
        let body = body.trim_matches([' ', '\t', '\n', '\r']);
        if scan::has_control(body.as_bytes()) {
            return None;
        }
        let names = Vec::with_capacity(32);
        let comparisons = MAX_NAMES * MAX_NAMES / 2 + body.len();
        Some(Self { rest: body, row, rows: 0, next_slot: 0, names, comparisons })
    }

    fn page(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.skip('{').ok_or(Stop::Unusual)?;
        let mut names = Vec::with_capacity(USUAL_PAGE_MEMBERS);
        loop {
            let name = self.name().ok_or(Stop::Unusual)?;
            if names.len() == USUAL_PAGE_MEMBERS || names.contains(&name) {
                return Err(Stop::Unusual);
            }
            names.push(name);
            if name == VALUE {
                self.page_rows(consume)?;
            } else {
                self.value().ok_or(Stop::Unusual)?;
            }
            if !self.has_next('}').ok_or(Stop::Unusual)? {
                break;
            }
        }
        if names.contains(&VALUE) { Ok(()) } else { Err(Stop::Unusual) }
    }

    fn page_rows(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.skip('[').ok_or(Stop::Unusual)?;
        if self.skip(']').is_some() {
            return Ok(());
        }
        loop {
            self.row(consume)?;
            if !self.has_next(']').ok_or(Stop::Unusual)? {
                return Ok(());
            }
        }
    }

    fn row(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.members().ok_or(Stop::Unusual)?;
        consume(Step::Row(&mut self.row)).map_err(Stop::Consumer)
    }

    fn members(&mut self) -> Option<()> {
        self.row.clear();
        self.rows += 1;
        let mut expected = 0;
        self.skip('{')?;
        loop {
            let (index, name) = self.known_name(expected)?;
            expected = index + 1;
            self.member(name)?;
            if !self.has_next('}')? {
                self.row.join_others();
                return Some(());
            }
        }
    }

    /// Reads a name, and returns it with its index among the known names.
    fn known_name(&mut self, expected: usize) -> Option<(usize, Name<'de>)> {
        if let Some(name) = self.names.get_mut(expected)
            && let Some(rest) = self.rest.strip_prefix(name.json)
        {
            self.rest = rest;
            return Some((expected, name.of_row(self.rows)?));
        }
        self.find_name(expected)
    }

    /// Reads a name that is not the expected one.
    fn find_name(&mut self, expected: usize) -> Option<(usize, Name<'de>)> {
        let (json, member) = match self.next_column() {
            Some(column) => column,
            None => {
                let json = self.name()?;
                let (before, after) = self.names.split_at(expected.min(self.names.len()));
                let mut names = after.iter().chain(before);
                let found = names.position(|name| name.json == json);
                let compared = found.map_or(self.names.len(), |found| found + 1);
                self.comparisons = self.comparisons.checked_sub(compared)?;
                if let Some(found) = found {
                    let index = (before.len() + found) % self.names.len();
                    return Some((index, self.names[index].of_row(self.rows)?));
                }
                (json, Member::of(&self.row, unquoted(json)))
            }
        };
        if let Member::Value(slot) = member {
            self.next_slot = slot + 1;
        }
        let (index, name) = (self.names.len(), Name { json, member, row: self.rows });
        self.names.push(name);
        (index < MAX_NAMES).then_some((index, name))
    }

    /// Reads a name of the first row if it is that of the next column. The properties of a row are mostly in the order
    /// of the columns.
    fn next_column(&mut self) -> Option<(&'de str, Member)> {
        // In the first row, an empty slot proves that the name is new.
        if self.rows > 1 || !self.row.is_empty(self.next_slot) {
            return None;
        }
        let name = self.row.name(self.next_slot);
        // A column can have the name of another column or of a system property.
        if self.row.find(name) != Some(self.next_slot) {
            return None;
        }
        let rest = self.rest.strip_prefix('"')?.strip_prefix(name)?.strip_prefix("\":")?;
        let json = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        Some((json, Member::Value(self.next_slot)))
    }

    /// Reads a name with its quotes and the colon.
    fn name(&mut self) -> Option<&'de str> {
        let start = self.rest;
        self.plain_text()?;
        self.skip(':')?;
        Some(&start[..start.len() - self.rest.len()])
    }

    /// Reads a member.
    fn member(&mut self, Name { json, member, .. }: Name<'de>) -> Option<()> {
        match member {
            Member::Value(slot) => self.row.slot(slot).value = self.value()?,
            Member::Annotation(slot) => self.row.slot(slot).annotation = self.annotation()?,
            Member::ETag => self.row.etag = Some(RawText::Json(self.text()?)),
            Member::Ignored => _ = self.value()?,
            Member::Other | Member::OtherAnnotation if self.row.other_count() >= MAX_OTHERS => {
                return None;
            }
            Member::Other => self.row.next_other(unquoted(json).into()).value = self.value()?,
            Member::OtherAnnotation => {
                let property = unquoted(json).strip_suffix(ANNOTATION)?;
                self.row.next_other(property.into()).annotation = self.annotation()?;
            }
        }
        Some(())
    }

    fn annotation(&mut self) -> Option<Annotation> {
        self.plain_text().map(Annotation::from_name)
    }

    fn value(&mut self) -> Option<RawValue<'de>> {
        match self.rest.as_bytes().first()? {
            b'"' => match self.plain_text() {
                Some(text) => Some(RawValue::Text(text.into())),
                None => general(self.text()?),
            },
            b't' => self.word("true", RawValue::Boolean(true)),
            b'f' => self.word("false", RawValue::Boolean(false)),
            b'n' => self.word("null", RawValue::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: RawValue<'de>) -> Option<RawValue<'de>> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(value)
    }

    fn number(&mut self) -> Option<RawValue<'de>> {
        let (len, is_integer) = scan::number(self.rest.as_bytes())?;
        let json = self.take(len);
        if !is_integer {
            return json.parse().ok().filter(|value: &f64| value.is_finite()).map(RawValue::Float);
        }
        match json.parse() {
            // No integer holds the sign of -0.
            Ok(value) if json != "-0" => Some(RawValue::Integer(value)),
            _ => general(json),
        }
    }

    /// Reads a text without escapes. Consumes nothing if the next value is anything else.
    #[inline]
    fn plain_text(&mut self) -> Option<&'de str> {
        let text = self.rest.strip_prefix('"')?;
        let (text, rest) = text.split_at(scan::quote_or_backslash(text.as_bytes())?);
        self.rest = rest.strip_prefix('"')?;
        Some(text)
    }

    /// Reads a text with its quotes and escapes.
    fn text(&mut self) -> Option<&'de str> {
        let bytes = self.rest.strip_prefix('"')?.as_bytes();
        let mut len = 0;
        loop {
            len += scan::quote_or_backslash(&bytes[len..])? + 1;
            if bytes[len - 1] == b'"' {
                return Some(self.take(1 + len));
            }
            len += scan::escape(&bytes[len..])?;
        }
    }

    /// Whether a comma is next. Otherwise it must be the end.
    fn has_next(&mut self, end: char) -> Option<bool> {
        match self.skip(',') {
            Some(()) => Some(true),
            None => self.skip(end).map(|()| false),
        }
    }

    fn skip(&mut self, expected: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    fn take(&mut self, len: usize) -> &'de str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }
}

/// The name in `"name":`.
fn unquoted(json: &str) -> &str {
    &json[1..json.len() - 2]
}

/// Reads one value as the general reader does.
fn general(json: &str) -> Option<RawValue<'_>> {
    ValueSeed.deserialize(&mut serde_json::Deserializer::from_str(json)).ok()
}
