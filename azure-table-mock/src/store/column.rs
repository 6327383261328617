//! The values of one property in the rows of a chunk, in the form that a comparison needs.

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr;

use super::row::StoredEntity;
use crate::edm::{EdmCow, EdmDateTime, EdmType, EdmValue};
use crate::key::ordinal;
use crate::row::Member;

/// A value reduced to its type and a word. Words of one type have the order of their values. Equal words
/// are equal values for the types of fixed size; for the others the rest of the values decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    word: u64,
    /// The offset of the value in the properties of its row.
    offset: u32,
    /// `None` for a missing value, and for NaN, which equals no value.
    edm_type: Option<EdmType>,
}

/// A literal of a filter, prepared for comparisons with cells.
#[derive(Debug)]
pub(crate) struct ComparedValue<'f> {
    cell: Cell,
    value: &'f EdmValue,
    /// The literal matches values of its own type only.
    is_exact: bool,
}

impl Cell {
    pub(crate) const MISSING: Self = Self { word: 0, offset: 0, edm_type: None };

    pub(crate) fn of(member: &Member<'_>) -> Self {
        let cell = match member.escaped_string() {
            Some(text) => Self::of_type(EdmType::String, word_of_units(units(text))),
            None => member.read().map_or(Self::MISSING, |value| Self::of_value(&value)),
        };
        Self { offset: member.value_offset(), ..cell }
    }

    fn of_value(value: &EdmCow<'_>) -> Self {
        let word = match value {
            EdmCow::String(text) => word_of_units(text.encode_utf16()),
            EdmCow::Boolean(value) => u64::from(*value),
            EdmCow::Int32(value) => signed(i64::from(*value)),
            EdmCow::Int64(value) => signed(*value),
            EdmCow::DateTime(value) => signed(value.ticks()),
            EdmCow::Double(value) => match word_of_double(*value) {
                Some(word) => word,
                None => return Self::MISSING,
            },
            EdmCow::Guid(value) => word_of_bytes(value.as_bytes()),
            EdmCow::Binary(bytes) => word_of_bytes(bytes),
        };
        Self::of_type(value.edm_type(), word)
    }

    const fn of_type(edm_type: EdmType, word: u64) -> Self {
        Self { word, offset: 0, edm_type: Some(edm_type) }
    }

    /// The order of the value and a literal; `None` for a missing value and for NaN.
    pub(crate) fn compare(
        self,
        row: &StoredEntity,
        literal: &ComparedValue<'_>,
    ) -> Option<Ordering> {
        let edm_type = self.edm_type?;
        if self.edm_type != literal.cell.edm_type {
            return literal.order_of_other_type(edm_type, |word| self.word.cmp(&word));
        }
        let order = self.word.cmp(&literal.cell.word);
        let has_rest = matches!(edm_type, EdmType::String | EdmType::Guid | EdmType::Binary);
        if order.is_ne() || !has_rest {
            return Some(order);
        }
        // The value without its first quote, and the rest of the row. A comparison reads no more of it than
        // the literal has.
        let rest = row.properties().text().get(self.offset as usize + 1..)?;
        match literal.value {
            EdmValue::String(text) => Some(units(rest).cmp(text.encode_utf16())),
            EdmValue::Binary(bytes) => Some(bytes_of(rest, bytes.len() + 1)?[..].cmp(bytes)),
            // The texts of two ids have the order of their bytes.
            EdmValue::Guid(id) => Some(rest.get(..36)?.cmp(&id.to_string())),
            _ => None,
        }
    }
}

impl<'f> ComparedValue<'f> {
    pub(crate) fn new(value: &'f EdmValue, is_exact: bool) -> Self {
        Self { cell: Cell::of_value(&value.as_cow()), value, is_exact }
    }

    /// The order of a text and the literal.
    pub(crate) fn order_of_text(&self, text: &str) -> Option<Ordering> {
        match self.value {
            EdmValue::String(literal) => Some(ordinal(text, literal)),
            _ => self.order_of_other_type(EdmType::String, |_| Ordering::Less),
        }
    }

    /// The order of the name of a table and the literal, without case.
    pub(crate) fn order_of_name(&self, name: &str) -> Option<Ordering> {
        match self.value {
            EdmValue::String(literal) => {
                Some(ordinal(&name.to_lowercase(), &literal.to_lowercase()))
            }
            _ => self.order_of_text(name),
        }
    }

    /// The order of the Timestamp of a row and the literal.
    pub(crate) fn order_of_time(&self, time: EdmDateTime) -> Option<Ordering> {
        match self.value {
            EdmValue::DateTime(literal) => Some(time.cmp(literal)),
            _ => self.order_of_other_type(EdmType::DateTime, |_| Ordering::Less),
        }
    }

    /// The order of a value of another type and the literal. An integer literal is widened to the type of the value;
    /// `cmp_word` then compares the value with the literal's word. Any other value is less than the literal.
    fn order_of_other_type(
        &self,
        edm_type: EdmType,
        cmp_word: impl FnOnce(u64) -> Ordering,
    ) -> Option<Ordering> {
        let is_nan = self.cell.edm_type.is_none();
        if self.is_exact || is_nan {
            return None;
        }
        let widened = match (self.value, edm_type) {
            (EdmValue::Int32(number), EdmType::Int64) => Some(signed(i64::from(*number))),
            (EdmValue::Int32(number), EdmType::Double) => word_of_double(f64::from(*number)),
            #[allow(clippy::cast_precision_loss, reason = "as the conversion of .NET")]
            (EdmValue::Int64(number), EdmType::Double) => word_of_double(*number as f64),
            _ => None,
        };
        Some(widened.map_or(Ordering::Less, cmp_word))
    }
}

/// The order of signed numbers as unsigned ones.
const fn signed(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

fn word_of_double(value: f64) -> Option<u64> {
    if value.is_nan() {
        return None;
    }
    // Both zeros are equal.
    let bits = (value + 0.0).to_bits();
    Some(if bits >> 63 == 0 { bits | (1 << 63) } else { !bits })
}

/// The first eight bytes.
fn word_of_bytes(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = bytes.len().min(word.len());
    word[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(word)
}

/// The first four UTF-16 code units.
fn word_of_units(units: impl Iterator<Item = u16>) -> u64 {
    let padded = units.chain(std::iter::repeat(0)).take(4);
    padded.fold(0, |word, unit| word << 16 | u64::from(unit))
}

/// The first bytes of a stored Binary, at least `count` if it has so many.
fn bytes_of(rest: &str, count: usize) -> Option<Vec<u8>> {
    let digits = count.div_ceil(3).checked_mul(4)?.min(rest.len());
    let digits = &rest.as_bytes()[..digits];
    let digits = memchr(b'"', digits).map_or(digits, |end| &digits[..end]);
    STANDARD.decode(digits).ok()
}

/// The UTF-16 code units of a stored JSON string, which is ASCII, up to its quote.
fn units(escaped: &str) -> impl Iterator<Item = u16> {
    let mut rest = escaped.as_bytes();
    std::iter::from_fn(move || {
        let (first, after) = rest.split_first()?;
        if *first == b'"' {
            return None;
        }
        rest = after;
        if *first != b'\\' {
            return Some(u16::from(*first));
        }
        let (letter, after) = rest.split_first()?;
        rest = after;
        Some(match letter {
            b'u' => {
                let (digits, after) = rest.split_at_checked(4)?;
                rest = after;
                u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => 0x0a,
            b'r' => 0x0d,
            b't' => 0x09,
            other => u16::from(*other),
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{RowText, Version};
    use super::*;

    /// Texts that often begin with the same units: a word holds four of them.
    fn text() -> impl Strategy<Value = EdmValue> {
        "(aaaa)?[ab\"\\\\\n\u{1}\u{e000}\u{1f600}]{0,6}".prop_map(EdmValue::from)
    }

    fn value() -> impl Strategy<Value = EdmValue> {
        prop_oneof![
            text(),
            any::<bool>().prop_map(EdmValue::from),
            (-2..3_i32).prop_map(EdmValue::from),
            any::<i32>().prop_map(EdmValue::from),
            any::<i64>().prop_map(EdmValue::from),
            any::<f64>().prop_map(EdmValue::from),
            proptest::sample::select(vec![0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY])
                .prop_map(EdmValue::from),
            (504_911_233_000_000_000..504_911_233_000_000_003_i64)
                .prop_filter_map("in range", |ticks| EdmDateTime::from_ticks(ticks).ok())
                .prop_map(EdmValue::from),
            (0..3_u128).prop_map(|id| uuid::Uuid::from_u128(id).into()),
            proptest::collection::vec(0..2_u8, 0..30).prop_map(EdmValue::from),
        ]
    }

    /// The order of a value and a literal, by the rules that the pages state; `None` for NaN.
    fn compare(value: &EdmCow<'_>, literal: &EdmValue, is_exact: bool) -> Option<Ordering> {
        match (value, literal) {
            (EdmCow::String(a), EdmValue::String(b)) => Some(ordinal(a, b)),
            (EdmCow::Boolean(a), EdmValue::Boolean(b)) => Some(a.cmp(b)),
            (EdmCow::Int32(a), EdmValue::Int32(b)) => Some(a.cmp(b)),
            (EdmCow::Int64(a), EdmValue::Int64(b)) => Some(a.cmp(b)),
            (EdmCow::Double(a), EdmValue::Double(b)) => a.partial_cmp(b),
            (EdmCow::DateTime(a), EdmValue::DateTime(b)) => Some(a.cmp(b)),
            (EdmCow::Guid(a), EdmValue::Guid(b)) => Some(a.cmp(b)),
            (EdmCow::Binary(a), EdmValue::Binary(b)) => Some(a.as_ref().cmp(b.as_ref())),
            _ if is_exact => None,
            (EdmCow::Double(nan), _) if nan.is_nan() => None,
            (_, EdmValue::Double(nan)) if nan.is_nan() => None,
            (EdmCow::Int64(a), EdmValue::Int32(b)) => Some(a.cmp(&i64::from(*b))),
            (EdmCow::Double(a), EdmValue::Int32(b)) => a.partial_cmp(&f64::from(*b)),
            #[allow(clippy::cast_precision_loss, reason = "as the rule")]
            (EdmCow::Double(a), EdmValue::Int64(b)) => a.partial_cmp(&(*b as f64)),
            _ => Some(Ordering::Less),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::tests::sized(1000, 4000)))]

        #[test]
        fn a_cell_compares_like_its_value(
            (stored, literal) in prop_oneof![(value(), value()), (text(), text())],
            is_exact: bool,
        ) {
            let properties = vec![("B".into(), EdmCow::Int32(1)), ("A".into(), stored.as_cow())];
            let row = RowText::new("é", &properties).at(Version::at(EdmDateTime::MIN));
            let cell = Cell::of(&row.properties().member("A").unwrap());
            let found = cell.compare(&row, &ComparedValue::new(&literal, is_exact));
            prop_assert_eq!(found, compare(&stored.as_cow(), &literal, is_exact));
        }
    }

    #[test]
    fn a_missing_value_has_no_order() {
        let row = RowText::new("", &vec![]).at(Version::at(EdmDateTime::MIN));
        for literal in [EdmValue::Int32(0), EdmValue::Double(f64::NAN), EdmValue::from("")] {
            let literal = ComparedValue::new(&literal, false);
            assert_eq!(Cell::MISSING.compare(&row, &literal), None);
        }
    }
}
