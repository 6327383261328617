//! The layout of a key: formatting its parts as one text, and parsing it.

use std::borrow::Cow;

use super::escape::{SEPARATOR, escape, unescape};
use super::{KeyError, KeyPart, KeyRange, LeadingKeys};
use crate::edm::ValueForm;

/// The pieces of a key in their order; the derive writes it.
#[derive(Debug, Clone, Copy)]
pub struct KeyLayout(pub(crate) &'static [KeyPiece]);

/// A piece of a key.
#[derive(Debug, Clone, Copy)]
pub enum KeyPiece {
    /// The same text in every key.
    Literal(&'static str),
    /// A field.
    Part {
        /// The field's name, for errors.
        field: &'static str,
        /// The texts of its type.
        texts: PartTexts,
        /// Its Rust type, as the field names it.
        rust_type: &'static str,
        /// The format of its text.
        form: KeyForm,
    },
}

/// The texts of a type that can be a part of a key.
#[derive(Debug, Clone, Copy)]
pub struct PartTexts {
    /// [`KeyPart::WIDTH`] of the type.
    pub(crate) width: Option<usize>,
    /// [`KeyPart::form`] of the type.
    pub(crate) form: fn() -> ValueForm,
    /// Whether the type reads a text.
    is_read: fn(&str) -> bool,
}

impl PartTexts {
    /// Returns the texts of `T`.
    pub const fn of<T: KeyPart>() -> Self {
        Self {
            width: T::WIDTH,
            form: T::form,
            is_read: |text| T::from_key(Cow::Borrowed(text)).is_ok(),
        }
    }

    /// Returns a part with an unchanged text.
    pub const fn plain(self, field: &'static str, rust_type: &'static str) -> KeyPiece {
        KeyPiece::Part { field, texts: self, rust_type, form: KeyForm::Plain }
    }

    /// Returns a part with an escaped text.
    pub const fn escaped(self, field: &'static str, rust_type: &'static str) -> KeyPiece {
        KeyPiece::Part { field, texts: self, rust_type, form: KeyForm::Escaped }
    }

    /// Returns a part with a number of `width` digits.
    pub const fn digits(
        self,
        field: &'static str,
        rust_type: &'static str,
        width: usize,
        minuend: Option<u128>,
    ) -> KeyPiece {
        KeyPiece::Part { field, texts: self, rust_type, form: KeyForm::Digits { width, minuend } }
    }
}

/// The text format of a key part.
#[derive(Debug, Clone, Copy)]
pub enum KeyForm {
    /// Unchanged.
    Plain,
    /// Escaped, unless all texts have the same width.
    Escaped,
    /// A number of `width` digits, subtracted from `minuend` if there is one.
    Digits {
        /// The number of digits.
        width: usize,
        /// The number is subtracted from this one.
        minuend: Option<u128>,
    },
}

impl KeyForm {
    /// Returns the width in the key of a text of this width.
    const fn width(self, text: Option<usize>) -> Option<usize> {
        match self {
            Self::Plain | Self::Escaped => text,
            Self::Digits { width, .. } => Some(width),
        }
    }

    fn write<'a>(
        self,
        text: Cow<'a, str>,
        width: Option<usize>,
        field: &str,
    ) -> Result<Cow<'a, str>, KeyError> {
        match (self, width) {
            (Self::Plain, None) => Ok(text),
            (Self::Escaped, None) => match escape(&text) {
                Cow::Owned(escaped) => Ok(Cow::Owned(escaped)),
                Cow::Borrowed(_) => Ok(text),
            },
            (Self::Plain | Self::Escaped, Some(width)) => {
                if text.chars().count() == width {
                    return Ok(text);
                }
                Err(KeyError(format!("`{field}` has {text:?} instead of {width} characters")))
            }
            (Self::Digits { width, minuend }, _) => {
                let beyond = || {
                    KeyError(format!("`{field}` is {text}, which has no form of {width} digits"))
                };
                let number = number(&text).ok_or_else(beyond)?;
                let number = match minuend {
                    Some(minuend) => minuend.checked_sub(number).ok_or_else(beyond)?,
                    None => number,
                };
                let digits = format!("{number:0width$}");
                if digits.len() == width { Ok(Cow::Owned(digits)) } else { Err(beyond()) }
            }
        }
    }

    fn read<'a>(
        self,
        text: &'a str,
        width: Option<usize>,
        field: &str,
    ) -> Result<Cow<'a, str>, KeyError> {
        match (self, width) {
            (Self::Escaped, None) => unescape(Cow::Borrowed(text)),
            (Self::Plain | Self::Escaped, _) => Ok(Cow::Borrowed(text)),
            (Self::Digits { minuend, .. }, width) => {
                let malformed = || KeyError(format!("`{field}` cannot be {text:?}"));
                let number = number(text).ok_or_else(malformed)?;
                let number = match minuend {
                    Some(minuend) => minuend.checked_sub(number).ok_or_else(malformed)?,
                    None => number,
                };
                Ok(Cow::Owned(format!("{number:0width$}", width = width.unwrap_or(1))))
            }
        }
    }
}

fn number(text: &str) -> Option<u128> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl KeyLayout {
    /// The layout of keys without typed parts: any text.
    pub const ANY: Self = Self(&[]);

    /// The key of these pieces.
    ///
    /// # Panics
    /// If a reader could not separate the parts. The derive evaluates this at compile time.
    pub const fn new(pieces: &'static [KeyPiece]) -> Self {
        let mut at = 0;
        while at + 1 < pieces.len() {
            if is_variable(pieces[at]) && !matches!(pieces[at + 1], KeyPiece::Literal(_)) {
                assert!(
                    width_of(pieces, at + 1).is_some(),
                    "the parts of a key cannot be told apart: put a separator between them"
                );
            }
            at += 1;
        }
        Self(pieces)
    }

    /// The key of an entity from the texts of all its parts.
    ///
    /// # Errors
    /// A text does not have the format of its part, or a reader could not separate the parts.
    pub fn write<const N: usize>(self, texts: &[Cow<'_, str>; N]) -> Result<String, KeyError> {
        self.write_leading(texts, None).map(|(key, _)| key)
    }

    /// The keys that begin with these parts, and with `prefix` in the part after them.
    ///
    /// # Errors
    /// A text does not have the format of its part.
    pub fn range(self, texts: &[Cow<'_, str>], prefix: Option<&str>) -> Result<KeyRange, KeyError> {
        let (key, is_whole) = self.write_leading(texts, prefix)?;
        Ok(if is_whole { KeyRange::of_key(key) } else { KeyRange::of_prefix(key) })
    }

    /// The keys that begin with these parts.
    ///
    /// # Errors
    /// A text does not have the format of its part.
    pub fn leading(self, texts: &[Cow<'_, str>]) -> Result<LeadingKeys, KeyError> {
        let (key, is_whole) = self.write_leading(texts, None)?;
        Ok(if is_whole {
            LeadingKeys::One(key)
        } else {
            LeadingKeys::Range(KeyRange::of_prefix(key))
        })
    }

    /// Returns the range of keys that begin with the layout's leading literal; `None` if the layout begins with a part.
    #[doc(hidden)]
    pub fn all_keys(self) -> Option<KeyRange> {
        let literal = |piece: &KeyPiece| match *piece {
            KeyPiece::Literal(text) => Some(text),
            KeyPiece::Part { .. } => None,
        };
        let prefix: String = self.0.iter().map_while(literal).collect();
        (!prefix.is_empty()).then(|| KeyRange::of_prefix(prefix))
    }

    /// Writes as far as there are texts; also whether that is the whole key.
    fn write_leading(
        self,
        texts: &[Cow<'_, str>],
        prefix: Option<&str>,
    ) -> Result<(String, bool), KeyError> {
        let mut key = String::new();
        let mut texts = texts.iter();
        for (at, piece) in self.0.iter().enumerate() {
            match *piece {
                KeyPiece::Literal(text) => key.push_str(text),
                KeyPiece::Part { field, texts: ty, form, .. } => match (texts.next(), prefix) {
                    (Some(text), _) => {
                        let start = key.len();
                        key.push_str(&form.write(Cow::Borrowed(text), ty.width, field)?);
                        self.check_end(at, &mut key, start, field)?;
                    }
                    (None, Some(prefix)) => {
                        match (form, ty.width) {
                            (KeyForm::Escaped, None) => key.push_str(&escape(prefix)),
                            _ => key.push_str(prefix),
                        }
                        return Ok((key, false));
                    }
                    (None, None) => return Ok((key, false)),
                },
            }
        }
        Ok((key, true))
    }

    /// Refuses a part whose end a reader would find too early: it contains the text that follows it
    /// in the key, or ends with the beginning of that text.
    fn check_end(
        self,
        at: usize,
        key: &mut String,
        start: usize,
        field: &str,
    ) -> Result<(), KeyError> {
        let End::Before(next) = self.end_of(at) else { return Ok(()) };
        let end = key.len();
        key.push_str(next);
        let found = key[start..].find(next);
        key.truncate(end);
        if found == Some(end - start) {
            return Ok(());
        }
        Err(KeyError(format!(
            "`{field}` is {:?}, and could not be told apart again from {next:?} behind it",
            &key[start..]
        )))
    }

    /// Returns the end of a part.
    fn end_of(self, at: usize) -> End {
        let KeyPiece::Part { texts, form, .. } = self.0[at] else { return End::Chars(0) };
        if let Some(width) = form.width(texts.width) {
            return End::Chars(width);
        }
        match (self.0.get(at + 1), width_of(self.0, at + 1)) {
            (Some(KeyPiece::Literal(next)), _)
                if matches!(form, KeyForm::Escaped) && next.starts_with(SEPARATOR) =>
            {
                End::Separator
            }
            (_, Some(behind)) => End::Behind(behind),
            (Some(KeyPiece::Literal(next)), None) => End::Before(next),
            // Refused by the compiler.
            (_, None) => End::Behind(0),
        }
    }

    /// The texts of the parts of a stored key.
    ///
    /// # Errors
    /// The key is not of this layout.
    pub fn read<const N: usize>(self, key: &str) -> Result<[Cow<'_, str>; N], KeyError> {
        let mut parts = [const { Cow::Borrowed("") }; N];
        let mut filled = parts.iter_mut();
        self.read_each(key, |_, text| {
            if let Some(part) = filled.next() {
                *part = text;
            }
        })?;
        Ok(parts)
    }

    /// Whether a key has this layout, and the type of each part reads its text.
    pub fn recognizes(self, key: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let mut is_read = true;
        let read = self.read_each(key, |texts, text| is_read = is_read && (texts.is_read)(&text));
        read.is_ok() && is_read
    }

    /// Passes the type and the text of each part of a stored key to `each`.
    fn read_each<'k>(
        self,
        key: &'k str,
        mut each: impl FnMut(&PartTexts, Cow<'k, str>),
    ) -> Result<(), KeyError> {
        let mut rest = key;
        for (at, piece) in self.0.iter().enumerate() {
            let Some((text, tail)) = self.split(at, rest) else {
                return Err(KeyError(format!("{key:?} is not of the form {self}")));
            };
            if let KeyPiece::Part { field, texts, form, .. } = piece {
                each(texts, form.read(text, texts.width, field)?);
            }
            rest = tail;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(KeyError(format!("{key:?} is not of the form {self}")))
        }
    }

    /// Splits `rest` into the text of the piece at `at` and the remaining text.
    fn split(self, at: usize, rest: &str) -> Option<(&str, &str)> {
        let end = match self.0[at] {
            KeyPiece::Literal(text) => rest.starts_with(text).then_some(text.len())?,
            KeyPiece::Part { .. } => match self.end_of(at) {
                End::Chars(width) => after_chars(rest, width)?,
                End::Separator => rest.find(SEPARATOR)?,
                End::Behind(0) => rest.len(),
                End::Behind(behind) => {
                    let all = rest.chars().count();
                    after_chars(rest, all.checked_sub(behind)?)?
                }
                End::Before(next) => rest.find(next)?,
            },
        };
        rest.split_at_checked(end)
    }
}

/// The end of a part.
enum End {
    /// After this number of characters.
    Chars(usize),
    /// At the [`SEPARATOR`], which no escaped text contains.
    Separator,
    /// Before this number of characters, which are the rest of the key.
    Behind(usize),
    /// Before the first occurrence of this text, which the part must not contain.
    Before(&'static str),
}

/// For messages: as a format.
impl std::fmt::Display for KeyLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"")?;
        for piece in self.0 {
            match piece {
                KeyPiece::Literal(text) => f.write_str(text)?,
                KeyPiece::Part { field, form, .. } => match form {
                    KeyForm::Plain | KeyForm::Escaped => write!(f, "{{{field}}}")?,
                    KeyForm::Digits { width, minuend: None } => write!(f, "{{{field}:0{width}}}")?,
                    KeyForm::Digits { width, minuend: Some(minuend) } => {
                        write!(f, "{{{field}:inv{width}({minuend})}}")?;
                    }
                },
            }
        }
        f.write_str("\"")
    }
}

/// The byte position after `count` characters.
fn after_chars(text: &str, count: usize) -> Option<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(count)
}

const fn is_variable(piece: KeyPiece) -> bool {
    match piece {
        KeyPiece::Literal(_) => false,
        KeyPiece::Part { texts, form, .. } => form.width(texts.width).is_none(),
    }
}

/// The number of characters of the pieces from `at` on, if it is the same for every key.
const fn width_of(pieces: &[KeyPiece], mut at: usize) -> Option<usize> {
    let mut sum = 0;
    while at < pieces.len() {
        sum += match pieces[at] {
            KeyPiece::Literal(text) => chars(text),
            KeyPiece::Part { texts, form, .. } => match form.width(texts.width) {
                Some(width) => width,
                None => return None,
            },
        };
        at += 1;
    }
    Some(sum)
}

/// `text.chars().count()` for the compiler.
const fn chars(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        // Every character has one byte that does not continue another.
        if bytes[at] & 0b1100_0000 != 0b1000_0000 {
            count += 1;
        }
        at += 1;
    }
    count
}
