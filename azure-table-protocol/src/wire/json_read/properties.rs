//! The properties of objects, without rows.

use super::member::ANNOTATION;
use super::tokens::Tokens;
use crate::entity::RawProperty;

/// A property of an object.
#[derive(Debug)]
pub struct ReadProperty<'de> {
    /// Any text without escapes.
    pub name: &'de str,
    /// Whether the last object began with the same names in the same order, up to this one.
    pub is_known: bool,
    pub property: RawProperty<'de>,
    /// Its name and its value as sent: `"name":value`.
    pub json: &'de str,
}

/// Reads the properties of one object after the other. Those of a transaction mostly have the same names, so that a name is
/// only read if it differs from the name at its place in the last object.
#[derive(Debug, Default)]
pub struct PropertyReader<'de> {
    /// The names in the last object, each with its quotes and its colon.
    names: Vec<&'de str>,
}

impl<'de> PropertyReader<'de> {
    /// Passes each property of a flat object without white space between its parts to `consume`, in order, with the type
    /// annotation that is next to it. Names may be repeated. Returns `None` if the object is unusual or `consume` does;
    /// [`read_row`](super::read_row) reads such objects, and the next object has no known names.
    pub fn read(
        &mut self,
        body: &'de [u8],
        consume: impl FnMut(ReadProperty<'de>) -> Option<()>,
    ) -> Option<()> {
        let read = self.read_all(body, consume);
        if read.is_none() {
            self.names.clear();
        }
        read
    }

    fn read_all(
        &mut self,
        body: &'de [u8],
        mut consume: impl FnMut(ReadProperty<'de>) -> Option<()>,
    ) -> Option<()> {
        let mut names = ExpectedNames { last: &mut self.names, count: 0, are_known: true };
        let mut tokens = Tokens::dense(std::str::from_utf8(body).ok()?);
        tokens.skip('{').ok()?;
        loop {
            let mut start = tokens.rest;
            let mut name = names.next(&mut tokens)?;
            let mut property = RawProperty::default();
            let typed = name.strip_suffix(ANNOTATION);
            if let Some(typed) = typed {
                property.annotation = tokens.annotation().ok()?;
                tokens.skip(',').ok()?;
                start = tokens.rest;
                name = names.next(&mut tokens)?;
                (name == typed).then_some(())?;
            }
            property.value = tokens.value(1).ok()?;
            let json = &start[..start.len() - tokens.rest.len()];
            let mut has_next = tokens.has_next('}').ok()?;
            if typed.is_none() && has_next && tokens.skip_annotation_of(name).is_some() {
                property.annotation = tokens.annotation().ok()?;
                has_next = tokens.has_next('}').ok()?;
            }
            consume(ReadProperty { name, is_known: names.are_known, property, json })?;
            if !has_next {
                return tokens.end().ok();
            }
        }
    }
}

/// The names of an object, compared with those of the last one.
struct ExpectedNames<'n, 'de> {
    last: &'n mut Vec<&'de str>,
    count: usize,
    /// Whether all names so far are those of the last object.
    are_known: bool,
}

impl<'de> ExpectedNames<'_, 'de> {
    fn next(&mut self, tokens: &mut Tokens<'de>) -> Option<&'de str> {
        let known = self.last.get(self.count).filter(|_| self.are_known);
        let json = match known.filter(|name| tokens.rest.starts_with(**name)) {
            Some(name) => {
                tokens.rest = &tokens.rest[name.len()..];
                name
            }
            None => {
                self.are_known = false;
                self.last.truncate(self.count);
                let name = tokens.name().ok()?;
                name.plain()?;
                self.last.push(name.json);
                self.last[self.count]
            }
        };
        self.count += 1;
        // Between the quotes, before the colon.
        Some(&json[1..json.len() - 2])
    }
}
