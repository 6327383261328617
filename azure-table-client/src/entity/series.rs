//! Fields that are stored as several properties: numbered series, and values over 64 KiB.

use std::array;
use std::borrow::Cow;

use bytes::Bytes;

use azure_table_protocol::entity::{Elements, PARTS};

use super::{EncodeError, Field, PropertyWriter, StoredType};
use crate::edm::{EdmCow, EdmType, FromEdm, ToEdm};
use crate::entity::{Accept, DecodeError, DecodeReason, Reading, Row};
use crate::limits::{BINARY_BYTES, PROPERTIES, STRING_UTF16_UNITS};

/// A field that is a numbered series of properties, by `#[table(series)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a series of properties",
    label = "not a series",
    note = "use an array such as [f64; 24], or a Vec, of a type that can be stored as a property, or of Options of one"
)]
pub trait SeriesField: Sized {
    /// The value of each property.
    type Element;

    /// The properties.
    const ELEMENTS: Elements;

    /// The number of columns.
    const SIZE: usize = Self::ELEMENTS.size;

    /// Writes the elements.
    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError>;

    /// Reads the elements, whose first column is `first`.
    fn read(row: &mut Row<'_>, first: usize, field: &Field) -> Result<Self, DecodeError>;
}

fn write_each<T: ToEdm>(
    elements: &[T],
    writer: &mut PropertyWriter<'_>,
    field: &Field,
) -> Result<(), EncodeError> {
    elements
        .iter()
        .enumerate()
        .try_for_each(|(index, element)| writer.property(&field.element(index), element))
}

#[diagnostic::do_not_recommend]
impl<T: ToEdm + FromEdm, const N: usize> SeriesField for [T; N] {
    type Element = T;
    const ELEMENTS: Elements = Elements { stored: StoredType::of::<T>(), size: N, is_fixed: true };

    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError> {
        write_each(self, writer, field)
    }

    fn read(row: &mut Row<'_>, first: usize, field: &Field) -> Result<Self, DecodeError> {
        let accept = field.reading.accept;
        let mut failure = None;
        let elements = array::from_fn(|index| {
            if failure.is_some() {
                return None;
            }
            read_one(row, first + index, accept).map_err(|error| failure = Some(error)).ok()
        });
        match (failure, all(elements)) {
            (Some(error), _) => Err(error),
            (None, Some(elements)) => Ok(elements),
            (None, None) => Err(row.column_error(first, DecodeReason::Missing)),
        }
    }
}

fn read_one<T: FromEdm>(
    row: &mut Row<'_>,
    column: usize,
    accept: Accept,
) -> Result<T, DecodeError> {
    row.read(column, Reading { accept, ..Reading::default() }, Ok, || None)
}

fn all<T, const N: usize>(elements: [Option<T>; N]) -> Option<[T; N]> {
    elements.into_iter().collect::<Option<Vec<T>>>()?.try_into().ok()
}

/// As many elements as the row has; a gap between them is an error unless they are Options.
#[diagnostic::do_not_recommend]
impl<T: ToEdm + FromEdm> SeriesField for Vec<T> {
    type Element = T;
    const ELEMENTS: Elements =
        Elements { stored: StoredType::of::<T>(), size: PROPERTIES, is_fixed: false };

    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError> {
        write_each(self, writer, field)
    }

    fn read(row: &mut Row<'_>, first: usize, field: &Field) -> Result<Self, DecodeError> {
        let accept = field.reading.accept;
        let count =
            (0..Self::SIZE).rev().find(|index| row.has(first + index)).map_or(0, |at| at + 1);
        (first..first + count).map(|column| read_one(row, column, accept)).collect()
    }
}

/// A field that is stored over several properties where it is too large for one, by
/// `#[table(split)]`.
///
/// The first part has the name of the property, the others have `_1`, `_2` and so on after it, and
/// `_Parts` holds their number as an Int32. Without the latter there is one part, so that a table
/// which was written before the field was split is read as well.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be split over several properties",
    label = "not text or bytes",
    note = "use String, Vec<u8> or bytes::Bytes"
)]
pub trait SplitField: Sized {
    /// The type of each part.
    const EDM_TYPE: EdmType;

    /// The number of columns: one for each part, and one for their number.
    const SIZE: usize = PARTS + 1;

    /// Writes the parts and their number.
    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError>;

    /// Reads the parts, from the column `first` on.
    fn read(row: &mut Row<'_>, first: usize) -> Result<Self, DecodeError>;
}

fn write_parts<'v>(
    parts: impl Iterator<Item = EdmCow<'v>>,
    writer: &mut PropertyWriter<'_>,
    field: &Field,
) -> Result<(), EncodeError> {
    let mut count = 0;
    for (part, value) in parts.enumerate() {
        writer.value(&field.element(part), value)?;
        count += 1;
    }
    // More parts than columns are more than an entity holds, which the writer refuses.
    writer.value(&field.number_of_parts(), EdmCow::Int32(count))
}

/// Reads the parts in order and passes each to `add`. All except the last must be `full`; otherwise a program that
/// does not know the parts has written the first one.
fn read_parts<T: FromEdm>(
    row: &mut Row<'_>,
    first: usize,
    full: impl Fn(&T) -> bool,
    mut add: impl FnMut(T),
) -> Result<(), DecodeError> {
    let at = first + PARTS;
    let count = row.optional::<i32>(at)?.unwrap_or(1);
    let Some(count @ 1..=PARTS) = usize::try_from(count).ok() else {
        let text = format!("{count} is not a number of parts from 1 to {PARTS}");
        return Err(row.column_error(at, DecodeReason::Other(text)));
    };
    for part in 0..count {
        let value = row.property(first + part)?;
        if part + 1 < count && !full(&value) {
            let text =
                format!("part {part} of {count} is not full: another program has written it");
            return Err(row.column_error(first + part, DecodeReason::Other(text)));
        }
        add(value);
    }
    Ok(())
}

#[diagnostic::do_not_recommend]
impl SplitField for String {
    const EDM_TYPE: EdmType = EdmType::String;

    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError> {
        let parts = Texts { rest: Some(self) }.map(|part| EdmCow::String(Cow::Borrowed(part)));
        write_parts(parts, writer, field)
    }

    fn read(row: &mut Row<'_>, first: usize) -> Result<Self, DecodeError> {
        let mut text = Self::new();
        // A part may be one unit short, if the next character had two units.
        let full = |part: &Self| part.encode_utf16().count() + 1 >= STRING_UTF16_UNITS;
        read_parts(row, first, full, |part: Self| {
            if text.is_empty() {
                text = part;
            } else {
                text.push_str(&part);
            }
        })?;
        Ok(text)
    }
}

macro_rules! split_bytes {
    ($($type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl SplitField for $type {
            const EDM_TYPE: EdmType = EdmType::Binary;

            fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError> {
                // No bytes are one empty part.
                let first = &self[..self.len().min(BINARY_BYTES)];
                let others = self[first.len()..].chunks(BINARY_BYTES);
                let parts = std::iter::once(first).chain(others);
                write_parts(parts.map(|part| EdmCow::Binary(Cow::Borrowed(part))), writer, field)
            }

            fn read(row: &mut Row<'_>, first: usize) -> Result<Self, DecodeError> {
                let mut bytes = Vec::new();
                let full = |part: &Vec<u8>| part.len() == BINARY_BYTES;
                read_parts(row, first, full, |part: Vec<u8>| {
                    if bytes.is_empty() { bytes = part } else { bytes.extend_from_slice(&part) }
                })?;
                Ok(bytes.into())
            }
        }
    )*};
}

split_bytes!(Vec<u8>, Bytes);

/// The parts of a text, each as large as a property can be; an empty text is one empty part.
struct Texts<'a> {
    rest: Option<&'a str>,
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let mut units = 0;
        let end = rest.char_indices().find_map(|(at, c)| {
            units += c.len_utf16();
            (units > STRING_UTF16_UNITS).then_some(at)
        });
        let (part, rest) = match end {
            Some(end) => (&rest[..end], Some(&rest[end..])),
            None => (rest, None),
        };
        self.rest = rest;
        Some(part)
    }
}
