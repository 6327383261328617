//! Reads rows. Those of a page mostly have the same members in the same order, so that the reader expects the names of a
//! row in the order of the row before it, and reads only the names that differ.

use std::borrow::Cow;
use std::collections::HashMap;

use super::member::{ANNOTATION, JsonMember};
use super::tokens::{Fault, Tokens};
use super::{Consumer, ReadError};
use crate::entity::{MAX_OTHERS, RawText, Row};

/// More members than the page of any service has. Keeps the search for repeated ones short on hostile input.
const MAX_PAGE_MEMBERS: usize = 64;

/// More members than the entity of any service has: values, their types and metadata.
pub(super) const MAX_MEMBERS: usize = 4 * MAX_OTHERS;

/// The names for which memory is reserved. glibc allocates a block of up to 1 KiB much faster than a larger one.
const USUAL_NAMES: usize = 16;

/// The most names that are searched one by one: those of usual rows.
const FEW_NAMES: usize = 64;

/// The reason to stop before the end of the body.
pub(super) enum Stop {
    /// The body has a fault.
    Body(Fault),
    /// The consumer refused a row.
    Consumer(ReadError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Body(fault)
    }
}

pub(super) struct RowReader<'de> {
    tokens: Tokens<'de>,
    row: Row<'de>,
    /// The objects and arrays around the members of a row, the row's own among them.
    levels: u8,
    /// The number of the row that is read, from 1.
    rows: usize,
    /// The slot after that of the last new name.
    next_slot: usize,
    /// The names that rows had until now. The reader expects the names of a row in this order.
    names: Vec<ColumnName<'de>>,
    /// The places of the names, once there are more than a few.
    places: HashMap<Cow<'de, str>, usize>,
}

struct ColumnName<'de> {
    /// The name as it is in the body, with its quotes and the colon.
    json: &'de str,
    /// The name without its escapes.
    text: Cow<'de, str>,
    member: JsonMember,
    /// The last row with this name.
    row: usize,
}

impl<'de> RowReader<'de> {
    pub(super) fn new(body: &'de str, row: Row<'de>) -> Self {
        Self {
            tokens: Tokens::new(body),
            row,
            levels: 1,
            rows: 0,
            next_slot: 0,
            names: Vec::with_capacity(USUAL_NAMES),
            places: HashMap::new(),
        }
    }

    /// Reads a body that is a page.
    pub(super) fn whole_page(mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.levels = 3;
        self.page(consume)?;
        Ok(self.tokens.end()?)
    }

    /// Reads a body that is a row, and passes it on.
    pub(super) fn only_row(mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.row(consume)?;
        Ok(self.tokens.end()?)
    }

    /// Reads a body that is a row.
    pub(super) fn whole_row(mut self) -> Result<Row<'de>, Fault> {
        self.members()?;
        self.tokens.end()?;
        Ok(self.row)
    }

    fn page(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        const NO_PAGE: Fault = "expected an object with the entities in \"value\"";
        self.tokens.skip('{').map_err(|_| NO_PAGE)?;
        let mut names: Vec<Cow<'de, str>> = Vec::new();
        loop {
            let name = self.tokens.name().map_err(|_| NO_PAGE)?.decode()?;
            if names.contains(&name) {
                return Err(Stop::Body("a page has two members with the same name"));
            }
            if names.len() == MAX_PAGE_MEMBERS {
                return Err(Stop::Body("a page has more than 64 members"));
            }
            if name == "value" {
                self.page_rows(consume)?;
            } else {
                self.tokens.skip_value(1)?;
            }
            names.push(name);
            if !self.tokens.has_next('}')? {
                break;
            }
        }
        if names.iter().any(|name| name == "value") { Ok(()) } else { Err(Stop::Body(NO_PAGE)) }
    }

    fn page_rows(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.tokens.skip('[').map_err(|_| "expected an array of entities")?;
        if self.tokens.skip(']').is_ok() {
            return Ok(());
        }
        loop {
            self.row(consume)?;
            if !self.tokens.has_next(']')? {
                return Ok(());
            }
        }
    }

    fn row(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.members()?;
        if self.row.repeated {
            return Err(Stop::Body("an entity has two members with the same name"));
        }
        consume(&mut self.row).map_err(Stop::Consumer)
    }

    fn members(&mut self) -> Result<(), Fault> {
        self.row.clear();
        self.rows += 1;
        // Rows without a common name do not fill the memory.
        if self.names.len() > MAX_MEMBERS {
            self.names.clear();
            self.places.clear();
        }
        self.tokens.skip('{').map_err(|_| "expected an entity as an object")?;
        if self.tokens.skip('}').is_ok() {
            return Ok(());
        }
        let (mut expected, mut count) = (0, 0);
        loop {
            if count == MAX_MEMBERS {
                return Err("an entity has too many properties");
            }
            count += 1;
            let at = self.known_name(expected)?;
            expected = at + 1;
            self.member(at)?;
            if !self.tokens.has_next('}')? {
                self.row.join_others();
                return Ok(());
            }
        }
    }

    /// Reads a name, and returns its place among the known names.
    fn known_name(&mut self, expected: usize) -> Result<usize, Fault> {
        self.tokens.skip_space();
        let at = match self.names.get(expected) {
            Some(name) if self.tokens.rest.starts_with(name.json) => {
                self.tokens.rest = &self.tokens.rest[name.json.len()..];
                expected
            }
            _ => self.find_name(expected)?,
        };
        let name = &mut self.names[at];
        self.row.repeated |= name.row == self.rows;
        name.row = self.rows;
        Ok(at)
    }

    /// Reads a name that is not the expected one.
    fn find_name(&mut self, expected: usize) -> Result<usize, Fault> {
        if let Some(name) = self.next_column() {
            return Ok(self.add(name));
        }
        let token = self.tokens.name()?;
        let name = token.decode()?;
        let found = if self.names.len() > FEW_NAMES {
            self.places.get(&name).copied()
        } else {
            let (before, after) = self.names.split_at(expected.min(self.names.len()));
            let mut names = after.iter().chain(before);
            let found = names.position(|known| known.text == name);
            found.map(|found| (before.len() + found) % self.names.len())
        };
        Ok(found.unwrap_or_else(|| {
            let member = JsonMember::of(&self.row, &name);
            self.add(ColumnName { json: token.json, text: name, member, row: 0 })
        }))
    }

    /// Adds a new name, and returns its place.
    fn add(&mut self, name: ColumnName<'de>) -> usize {
        if let JsonMember::Value(slot) = name.member {
            self.next_slot = slot + 1;
        }
        let at = self.names.len();
        self.names.push(name);
        if at >= FEW_NAMES {
            for (at, name) in self.names.iter().enumerate().skip(self.places.len()) {
                self.places.insert(name.text.clone(), at);
            }
        }
        at
    }

    /// Reads a name of the first row if it is that of the next column. The properties of a row are mostly in the order
    /// of the columns.
    fn next_column(&mut self) -> Option<ColumnName<'de>> {
        // In the first row, an empty slot proves that the name is new.
        if self.rows > 1 || !self.row.is_empty(self.next_slot) {
            return None;
        }
        let name = self.row.name(self.next_slot);
        // A column can have the name of another column or of a system property.
        if self.row.find(name) != Some(self.next_slot) {
            return None;
        }
        let rest = self.tokens.rest.strip_prefix('"')?.strip_prefix(name)?.strip_prefix("\":")?;
        let json = &self.tokens.rest[..self.tokens.rest.len() - rest.len()];
        self.tokens.rest = rest;
        let text = Cow::Borrowed(&json[1..json.len() - 2]);
        Some(ColumnName { json, text, member: JsonMember::Value(self.next_slot), row: 0 })
    }

    /// Reads the member whose name is at this place.
    fn member(&mut self, at: usize) -> Result<(), Fault> {
        let Self { tokens, row, levels, .. } = self;
        let ColumnName { text, member, .. } = &self.names[at];
        match *member {
            JsonMember::Value(slot) => row.slot(slot).value = tokens.value(*levels)?,
            JsonMember::Annotation(slot) => row.slot(slot).annotation = tokens.annotation()?,
            JsonMember::ETag => row.etag = Some(RawText::Json(tokens.skip_value(*levels)?)),
            JsonMember::Ignored => _ = tokens.skip_value(*levels)?,
            JsonMember::Other | JsonMember::OtherAnnotation if row.other_count() >= MAX_OTHERS => {
                return Err("an entity has too many properties");
            }
            JsonMember::Other => row.next_other(text.clone()).value = tokens.value(*levels)?,
            JsonMember::OtherAnnotation => {
                let property = row.next_other(without_annotation(text));
                property.annotation = tokens.annotation()?;
            }
        }
        Ok(())
    }
}

/// The name of the property that this annotation is about.
fn without_annotation<'de>(name: &Cow<'de, str>) -> Cow<'de, str> {
    let property = |name: &str| name.len() - ANNOTATION.len();
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(&name[..property(name)]),
        Cow::Owned(name) => Cow::Owned(name[..property(name)].to_owned()),
    }
}
