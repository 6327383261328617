//! The properties of one object, without a row.

use super::member::ANNOTATION;
use super::tokens::{Tokens, unquoted};
use crate::entity::RawProperty;

/// A property of an object.
#[derive(Debug)]
pub struct ReadProperty<'de> {
    /// Any text without escapes.
    pub name: &'de str,
    pub property: RawProperty<'de>,
    /// Its name and its value as sent: `"name":value`.
    pub json: &'de str,
}

/// Passes each property of a flat object without white space between its parts to `consume`, in order, with the type
/// annotation that is next to it. Names may be repeated. Returns `None` if the object is unusual or `consume` does;
/// [`read_row`](super::read_row) reads such objects.
pub fn read_properties<'de>(
    body: &'de [u8],
    mut consume: impl FnMut(ReadProperty<'de>) -> Option<()>,
) -> Option<()> {
    let mut tokens = Tokens::new(std::str::from_utf8(body).ok()?)?;
    tokens.skip('{')?;
    loop {
        let mut start = tokens.rest;
        let mut name = unquoted(tokens.name()?);
        let mut property = RawProperty::default();
        let typed = name.strip_suffix(ANNOTATION);
        if let Some(typed) = typed {
            property.annotation = tokens.annotation()?;
            tokens.skip(',')?;
            start = tokens.rest;
            name = unquoted(tokens.name()?);
            (name == typed).then_some(())?;
        }
        property.value = tokens.value()?;
        let json = &start[..start.len() - tokens.rest.len()];
        let mut has_next = tokens.has_next('}')?;
        if typed.is_none() && has_next && tokens.skip_annotation_of(name).is_some() {
            property.annotation = tokens.annotation()?;
            has_next = tokens.has_next('}')?;
        }
        consume(ReadProperty { name, property, json })?;
        if !has_next {
            return tokens.is_empty().then_some(());
        }
    }
}
