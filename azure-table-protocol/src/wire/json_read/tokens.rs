//! The parts of flat JSON without white space.

use serde::de::DeserializeSeed as _;

use super::member::ANNOTATION;
use super::scan;
use super::value::ValueSeed;
use crate::entity::{Annotation, RawValue};

/// A position in a body. The methods that read a part of it return `None` if the part is unusual.
pub(super) struct Tokens<'de> {
    /// The part of the body that is not read yet.
    pub(super) rest: &'de str,
}

impl<'de> Tokens<'de> {
    /// Returns `None` if the body has control characters.
    pub(super) fn new(body: &'de str) -> Option<Self> {
        let rest = body.trim_matches([' ', '\t', '\n', '\r']);
        (!scan::has_control(rest.as_bytes())).then_some(Self { rest })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a name with its quotes and the colon.
    pub(super) fn name(&mut self) -> Option<&'de str> {
        let start = self.rest;
        self.plain_text()?;
        self.skip(':')?;
        Some(&start[..start.len() - self.rest.len()])
    }

    /// Skips the name of the annotation with the type of this property. Skips nothing if anything else is next.
    pub(super) fn skip_annotation_of(&mut self, property: &str) -> Option<()> {
        let rest = self.rest.strip_prefix('"')?.strip_prefix(property)?;
        self.rest = rest.strip_prefix(ANNOTATION)?.strip_prefix("\":")?;
        Some(())
    }

    pub(super) fn annotation(&mut self) -> Option<Annotation> {
        self.plain_text().map(Annotation::from_name)
    }

    pub(super) fn value(&mut self) -> Option<RawValue<'de>> {
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
    pub(super) fn plain_text(&mut self) -> Option<&'de str> {
        let text = self.rest.strip_prefix('"')?;
        let (text, rest) = text.split_at(scan::quote_or_backslash(text.as_bytes())?);
        self.rest = rest.strip_prefix('"')?;
        Some(text)
    }

    /// Reads a text with its quotes and escapes.
    pub(super) fn text(&mut self) -> Option<&'de str> {
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
    pub(super) fn has_next(&mut self, end: char) -> Option<bool> {
        match self.skip(',') {
            Some(()) => Some(true),
            None => self.skip(end).map(|()| false),
        }
    }

    pub(super) fn skip(&mut self, expected: char) -> Option<()> {
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
pub(super) fn unquoted(json: &str) -> &str {
    &json[1..json.len() - 2]
}

/// Reads one value as the general reader does.
fn general(json: &str) -> Option<RawValue<'_>> {
    ValueSeed.deserialize(&mut serde_json::Deserializer::from_str(json)).ok()
}
