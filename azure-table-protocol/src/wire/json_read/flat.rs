//! Reads JSON as the service writes it: flat entities without white space, with the same members in nearly the same
//! order in each row. Leaves everything else to the general reader, which also words the errors.

use super::member::{ANNOTATION, Member};
use super::tokens::{Tokens, unquoted};
use super::{Consumer, ReadError, Step};
use crate::entity::{MAX_OTHERS, RawText, Row};

/// The most names that are known at a time. Keeps the search among them short on hostile input.
const MAX_NAMES: usize = 1024;

/// The names for which memory is reserved. glibc allocates a block of up to 1 KiB much faster than a larger one.
const USUAL_NAMES: usize = 24;

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
    if reader.tokens.is_empty() { Ok(()) } else { Err(Stop::Unusual) }
}

/// Fills a row with one object. Returns `None` if the object is unusual.
pub(super) fn read_row<'de>(body: &'de str, row: Row<'de>) -> Option<Row<'de>> {
    let mut reader = FlatReader::new(body, row)?;
    reader.members()?;
    reader.tokens.is_empty().then_some(reader.row)
}

/// The methods that read a part of the body return `None` if it is unusual.
struct FlatReader<'de> {
    tokens: Tokens<'de>,
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
        let tokens = Tokens::new(body)?;
        let names = Vec::with_capacity(USUAL_NAMES);
        let comparisons = MAX_NAMES * MAX_NAMES / 2 + body.len();
        Some(Self { tokens, row, rows: 0, next_slot: 0, names, comparisons })
    }

    fn page(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.tokens.skip('{').ok_or(Stop::Unusual)?;
        let mut names = Vec::with_capacity(USUAL_PAGE_MEMBERS);
        loop {
            let name = self.tokens.name().ok_or(Stop::Unusual)?;
            if names.len() == USUAL_PAGE_MEMBERS || names.contains(&name) {
                return Err(Stop::Unusual);
            }
            names.push(name);
            if name == VALUE {
                self.page_rows(consume)?;
            } else {
                self.tokens.value().ok_or(Stop::Unusual)?;
            }
            if !self.tokens.has_next('}').ok_or(Stop::Unusual)? {
                break;
            }
        }
        if names.contains(&VALUE) { Ok(()) } else { Err(Stop::Unusual) }
    }

    fn page_rows(&mut self, consume: &mut Consumer<'_>) -> Result<(), Stop> {
        self.tokens.skip('[').ok_or(Stop::Unusual)?;
        if self.tokens.skip(']').is_some() {
            return Ok(());
        }
        loop {
            self.row(consume)?;
            if !self.tokens.has_next(']').ok_or(Stop::Unusual)? {
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
        self.tokens.skip('{')?;
        loop {
            let (index, name) = self.known_name(expected)?;
            expected = index + 1;
            self.member(name)?;
            if !self.tokens.has_next('}')? {
                self.row.join_others();
                return Some(());
            }
        }
    }

    /// Reads a name, and returns it with its index among the known names.
    fn known_name(&mut self, expected: usize) -> Option<(usize, Name<'de>)> {
        if let Some(name) = self.names.get_mut(expected)
            && let Some(rest) = self.tokens.rest.strip_prefix(name.json)
        {
            self.tokens.rest = rest;
            return Some((expected, name.of_row(self.rows)?));
        }
        self.find_name(expected)
    }

    /// Reads a name that is not the expected one.
    fn find_name(&mut self, expected: usize) -> Option<(usize, Name<'de>)> {
        let (json, member) = match self.next_column() {
            Some(column) => column,
            None => {
                let json = self.tokens.name()?;
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
        let rest = self.tokens.rest.strip_prefix('"')?.strip_prefix(name)?.strip_prefix("\":")?;
        let json = &self.tokens.rest[..self.tokens.rest.len() - rest.len()];
        self.tokens.rest = rest;
        Some((json, Member::Value(self.next_slot)))
    }

    /// Reads a member.
    fn member(&mut self, Name { json, member, .. }: Name<'de>) -> Option<()> {
        match member {
            Member::Value(slot) => self.row.slot(slot).value = self.tokens.value()?,
            Member::Annotation(slot) => {
                self.row.slot(slot).annotation = self.tokens.annotation()?;
            }
            Member::ETag => self.row.etag = Some(RawText::Json(self.tokens.text()?)),
            Member::Ignored => _ = self.tokens.value()?,
            Member::Other | Member::OtherAnnotation if self.row.other_count() >= MAX_OTHERS => {
                return None;
            }
            Member::Other => {
                self.row.next_other(unquoted(json).into()).value = self.tokens.value()?;
            }
            Member::OtherAnnotation => {
                let property = unquoted(json).strip_suffix(ANNOTATION)?;
                self.row.next_other(property.into()).annotation = self.tokens.annotation()?;
            }
        }
        Some(())
    }
}
