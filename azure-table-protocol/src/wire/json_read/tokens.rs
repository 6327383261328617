//! The parts of JSON.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::member::ANNOTATION;
use super::scan;
use crate::entity::{Annotation, RawValue};
use crate::wire::json_tree::MAX_DEPTH;

/// What is wrong with a body, for bodies that are JSON.
pub(super) type Fault = &'static str;

/// The fault of a part that no message describes better.
const UNEXPECTED: Fault = "the body has another form than the table service writes";

/// A position in a body. White space before a part is skipped.
pub(super) struct Tokens<'de> {
    /// The part of the body that is not read yet.
    pub(super) rest: &'de str,
    /// Whether there may be white space between the parts.
    has_space: bool,
    /// Whether the body has control characters. JSON allows them between its parts, and not in texts.
    has_control: bool,
}

/// A name with its colon.
#[derive(Clone, Copy)]
pub(super) struct NameToken<'de> {
    /// As it is in the body, with the colon.
    pub(super) json: &'de str,
    /// What is between the quotes.
    quoted: &'de str,
}

impl<'de> NameToken<'de> {
    /// Returns the name without escapes.
    pub(super) fn decode(self) -> Result<Cow<'de, str>, Fault> {
        match self.plain() {
            Some(name) => Ok(Cow::Borrowed(name)),
            None => unescape(&self.json[..self.quoted.len() + 2])
                .map(Cow::Owned)
                .map_err(|_| "a name is not Unicode"),
        }
    }

    /// Returns the name if it has no escapes.
    pub(super) fn plain(self) -> Option<&'de str> {
        (!self.quoted.contains('\\')).then_some(self.quoted)
    }
}

impl<'de> Tokens<'de> {
    pub(super) fn new(body: &'de str) -> Self {
        let rest = body.trim_matches(is_space);
        Self { rest, has_space: true, has_control: scan::has_control(rest.as_bytes()) }
    }

    /// Without white space between the parts.
    pub(super) fn dense(body: &'de str) -> Self {
        Self { has_space: false, ..Self::new(body) }
    }

    /// Ends the body.
    pub(super) fn end(&self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(UNEXPECTED) }
    }

    #[inline]
    pub(super) fn skip_space(&mut self) {
        if self.has_space && self.rest.as_bytes().first().is_some_and(|byte| *byte <= b' ') {
            self.rest = self.rest.trim_start_matches(is_space);
        }
    }

    /// Reads a name with its colon.
    pub(super) fn name(&mut self) -> Result<NameToken<'de>, Fault> {
        self.skip_space();
        let start = self.rest;
        let text = self.json_text()?;
        self.skip(':')?;
        let json = &start[..start.len() - self.rest.len()];
        Ok(NameToken { json, quoted: &text[1..text.len() - 1] })
    }

    /// Skips the name of the annotation with the type of this property. Skips nothing if anything else is next.
    pub(super) fn skip_annotation_of(&mut self, property: &str) -> Option<()> {
        let rest = self.rest.strip_prefix('"')?.strip_prefix(property)?;
        self.rest = rest.strip_prefix(ANNOTATION)?.strip_prefix("\":")?;
        Some(())
    }

    pub(super) fn annotation(&mut self) -> Result<Annotation, Fault> {
        self.skip_space();
        match self.text()? {
            RawValue::Text(name) => Ok(Annotation::from_name(&name)),
            _ => Err("the name of a type is not Unicode"),
        }
    }

    /// Reads a value that `levels` objects and arrays contain.
    pub(super) fn value(&mut self, levels: u8) -> Result<RawValue<'de>, Fault> {
        self.skip_space();
        match self.rest.as_bytes().first() {
            Some(b'"') => self.text(),
            Some(b't') => self.word("true", RawValue::Boolean(true)),
            Some(b'f') => self.word("false", RawValue::Boolean(false)),
            Some(b'n') => self.word("null", RawValue::Null),
            Some(b'{' | b'[') => self.nested(levels).map(|()| RawValue::NoScalar),
            _ => self.number(),
        }
    }

    /// Skips a value that `levels` objects and arrays contain. Returns it as it is in the body.
    pub(super) fn skip_value(&mut self, levels: u8) -> Result<&'de str, Fault> {
        self.skip_space();
        let start = self.rest;
        match start.as_bytes().first() {
            Some(b'"') => _ = self.json_text()?,
            Some(b'{' | b'[') => self.nested(levels)?,
            Some(b't' | b'f' | b'n') => _ = self.value(levels)?,
            _ => _ = self.digits()?,
        }
        Ok(&start[..start.len() - self.rest.len()])
    }

    fn word(&mut self, word: &str, value: RawValue<'de>) -> Result<RawValue<'de>, Fault> {
        self.rest = self.rest.strip_prefix(word).ok_or(UNEXPECTED)?;
        Ok(value)
    }

    /// Skips an object or an array.
    fn nested(&mut self, levels: u8) -> Result<(), Fault> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return Err(UNEXPECTED) };
        let json = self.take(values.byte_offset());
        if scan::depth(json.as_bytes()).saturating_add(levels) > MAX_DEPTH {
            return Err("nested deeper than 64 levels");
        }
        Ok(())
    }

    /// Skips a number. Returns it, and whether it has neither a fraction nor an exponent.
    fn digits(&mut self) -> Result<(&'de str, bool), Fault> {
        let (len, is_integer) = scan::number(self.rest.as_bytes()).ok_or(UNEXPECTED)?;
        Ok((self.take(len), is_integer))
    }

    fn number(&mut self) -> Result<RawValue<'de>, Fault> {
        let (json, is_integer) = self.digits()?;
        // No integer holds the sign of -0.
        if is_integer
            && json != "-0"
            && let Ok(value) = json.parse()
        {
            return Ok(RawValue::Integer(value));
        }
        match json.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(RawValue::Float(value)),
            _ => Err("a number is out of range"),
        }
    }

    /// Reads a text, borrowed if it has no escapes.
    #[inline]
    fn text(&mut self) -> Result<RawValue<'de>, Fault> {
        if let Some(text) = self.plain_text() {
            return Ok(RawValue::Text(Cow::Borrowed(text)));
        }
        Ok(match unescape(self.json_text()?) {
            Ok(text) => RawValue::Text(Cow::Owned(text)),
            Err(offset) => RawValue::NoUnicode { offset },
        })
    }

    /// Reads a text without escapes. Consumes nothing if the next value is anything else.
    #[inline]
    fn plain_text(&mut self) -> Option<&'de str> {
        let text = self.rest.strip_prefix('"')?;
        let (text, rest) = text.split_at(scan::quote_or_backslash(text.as_bytes())?);
        if self.has_control && scan::has_control(text.as_bytes()) {
            return None;
        }
        self.rest = rest.strip_prefix('"')?;
        Some(text)
    }

    /// Reads a text with its quotes and escapes.
    pub(super) fn json_text(&mut self) -> Result<&'de str, Fault> {
        let bytes = self.rest.strip_prefix('"').ok_or(UNEXPECTED)?.as_bytes();
        let mut len = 0;
        loop {
            len += scan::quote_or_backslash(&bytes[len..]).ok_or(UNEXPECTED)? + 1;
            if bytes[len - 1] == b'"' {
                break;
            }
            len += scan::escape(&bytes[len..]).ok_or(UNEXPECTED)?;
        }
        let text = self.take(1 + len);
        if self.has_control && scan::has_control(text.as_bytes()) {
            return Err(UNEXPECTED);
        }
        Ok(text)
    }

    /// Whether a comma is next. Otherwise it must be the end.
    pub(super) fn has_next(&mut self, end: char) -> Result<bool, Fault> {
        if self.skip(',').is_ok() { Ok(true) } else { self.skip(end).map(|()| false) }
    }

    pub(super) fn skip(&mut self, expected: char) -> Result<(), Fault> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(expected).ok_or(UNEXPECTED)?;
        Ok(())
    }

    fn take(&mut self, len: usize) -> &'de str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }
}

const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Decodes a text with its quotes and escapes. Otherwise returns the offset at which it is not Unicode.
fn unescape(json: &str) -> Result<String, usize> {
    serde_json::from_str(json).map_err(|error| error.column())
}
