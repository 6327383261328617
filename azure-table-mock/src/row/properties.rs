//! The properties of a stored row.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memrchr};

use crate::edm::{EdmCow, EdmType};
use crate::entity::{Annotation, RawValue};
use crate::json::{push_text, push_value};

/// Precedes the code of a type before its value. In JSON this byte has an escape, so it has no other use.
const TYPED: u8 = 1;

/// The typed properties of a request.
pub(crate) type Properties<'a> = Vec<(Cow<'a, str>, EdmCow<'a>)>;

/// The properties of a row without its keys and its Timestamp, nearly in the JSON of responses: `"A":1,"B":~L"5",`.
/// [`TYPED`] (here `~`) and a code stand for a type annotation, since those would be a quarter of many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredProperties<'r>(&'r str);

/// One property in its stored form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member<'r> {
    /// With the escapes of JSON.
    name: &'r str,
    /// The type, if the value does not show it.
    edm_type: Option<EdmType>,
    value: &'r str,
    /// The whole text with its comma.
    text: &'r str,
    /// The offset in the text of all members.
    offset: usize,
}

/// Writes a property in its stored form.
pub(crate) fn push_property(out: &mut Vec<u8>, name: &str, value: &EdmCow<'_>) {
    push_text(out, name);
    out.push(b':');
    if let Some(code) = code(value) {
        out.extend_from_slice(&[TYPED, code]);
    }
    push_value(out, value);
    out.push(b',');
}

/// A type that JSON does not show: its code, and the rest of an annotation after the name of the property.
type Hidden = (u8, EdmType, &'static [u8]);

const HIDDEN: [Hidden; 5] = [
    (b'L', EdmType::Int64, b"@odata.type\":\"Edm.Int64\","),
    (b'T', EdmType::DateTime, b"@odata.type\":\"Edm.DateTime\","),
    (b'G', EdmType::Guid, b"@odata.type\":\"Edm.Guid\","),
    (b'B', EdmType::Binary, b"@odata.type\":\"Edm.Binary\","),
    // NaN and the infinities.
    (b'D', EdmType::Double, b"@odata.type\":\"Edm.Double\","),
];

/// The code of the type if the JSON of the value does not show it.
fn code(value: &EdmCow<'_>) -> Option<u8> {
    let shows_type = match value {
        EdmCow::String(_) | EdmCow::Boolean(_) | EdmCow::Int32(_) => true,
        EdmCow::Double(value) => value.is_finite(),
        _ => false,
    };
    if shows_type {
        return None;
    }
    let edm_type = value.edm_type();
    HIDDEN.iter().find(|(_, hidden, _)| *hidden == edm_type).map(|(code, ..)| *code)
}

fn hidden(code: u8) -> Option<&'static Hidden> {
    HIDDEN.iter().find(|(known, ..)| *known == code)
}

impl<'r> StoredProperties<'r> {
    pub(crate) fn from_text(text: &'r str) -> Self {
        Self(text)
    }

    /// The stored form.
    pub(crate) fn text(self) -> &'r str {
        self.0
    }

    /// Writes the JSON of all members, each with its comma: `"A":1,"B@odata.type":"Edm.Int64","B":"5",`, or without
    /// the type annotations.
    pub(crate) fn push_to(self, out: &mut Vec<u8>, with_types: bool) {
        let mut rest = self.0.as_bytes();
        while let Some(at) = memchr(TYPED, rest) {
            let (before, typed) = rest.split_at(at);
            let (code, value) = typed[1..].split_first().unwrap_or((&0, &[]));
            rest = value;
            let annotation = hidden(*code).filter(|_| with_types);
            if let (Some((.., annotation)), Some(start)) = (annotation, start_of_name(before)) {
                out.extend_from_slice(&before[..before.len() - 2]);
                out.extend_from_slice(annotation);
                out.extend_from_slice(&before[start..]);
            } else {
                out.extend_from_slice(before);
            }
        }
        out.extend_from_slice(rest);
    }

    pub(crate) fn members(self) -> Members<'r> {
        Members { all: self.0, rest: self.0 }
    }

    #[cfg(test)]
    pub(crate) fn member(self, name: &str) -> Option<Member<'r>> {
        self.members().find(|member| member.is(name))
    }

    /// The properties with their types.
    pub(crate) fn read(self) -> Properties<'r> {
        self.members().filter_map(|member| Some((member.name(), member.read()?))).collect()
    }
}

impl<'r> Member<'r> {
    /// Returns `true` if the property has this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name || (self.name.contains('\\') && self.name() == name)
    }

    pub(crate) fn name(&self) -> Cow<'r, str> {
        // Only characters outside of ASCII are escaped in a name.
        if self.name.contains('\\') { unescape(self.name) } else { self.name.into() }
    }

    /// The offset of the value in the text of all members.
    pub(crate) fn value_offset(&self) -> u32 {
        // The value is before the last comma. A row has at most 1 MiB.
        let offset = self.offset + self.text.len() - 1 - self.value.len();
        u32::try_from(offset).unwrap_or(u32::MAX)
    }

    /// The text of a string with the escapes of JSON, and `None` for other types.
    pub(crate) fn escaped_string(&self) -> Option<&'r str> {
        let quoted = self.value.strip_prefix('"')?.strip_suffix('"')?;
        self.edm_type.is_none().then_some(quoted)
    }

    /// Writes its JSON and a comma, with or without the type annotation.
    pub(crate) fn push_to(&self, out: &mut Vec<u8>, with_type: bool) {
        StoredProperties(self.text).push_to(out, with_type);
    }

    /// The value with its type.
    pub(crate) fn read(&self) -> Option<EdmCow<'r>> {
        let annotation = self.edm_type.map_or(Annotation::None, Annotation::Edm);
        let quoted = self.value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let value = match (quoted, self.value) {
            (Some(text), _) if text.contains('\\') => RawValue::Text(unescape(text)),
            (Some(text), _) => RawValue::Text(text.into()),
            (None, "true") => RawValue::Boolean(true),
            (None, "false") => RawValue::Boolean(false),
            (None, number) => match number.parse() {
                Ok(integer) => RawValue::Integer(integer),
                Err(_) => RawValue::Float(number.parse().ok()?),
            },
        };
        annotation.resolve(value, true, None).ok()
    }
}

/// The text of a JSON string without its quotes.
fn unescape(text: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(&format!("\"{text}\"")).unwrap_or_default().into()
}

/// An iterator over stored properties.
pub(crate) struct Members<'r> {
    all: &'r str,
    rest: &'r str,
}

impl<'r> Iterator for Members<'r> {
    type Item = Member<'r>;

    fn next(&mut self) -> Option<Member<'r>> {
        let start = self.rest;
        let text = start.strip_prefix('"')?;
        let (name, text) = text.split_at_checked(memchr(b'"', text.as_bytes())?)?;
        let text = text.strip_prefix("\":")?;
        let (edm_type, text) = match text.as_bytes() {
            [TYPED, code, ..] => (Some(hidden(*code)?.1), text.get(2..)?),
            _ => (None, text),
        };
        let (value, rest) = text.split_at_checked(end_of_value(text.as_bytes())?)?;
        self.rest = rest.strip_prefix(',')?;
        let offset = self.all.len() - start.len();
        let text = &start[..start.len() - self.rest.len()];
        Some(Member { name, edm_type, value, text, offset })
    }
}

/// The start of the last name in a text that ends with `"Name":`.
fn start_of_name(text: &[u8]) -> Option<usize> {
    memrchr(b'"', text.strip_suffix(b"\":")?)
}

fn end_of_value(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return memchr(b',', text);
    }
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        // Skip the escaped character.
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edm::{EdmDateTime, EdmValue};
    use crate::store::{RowText, StoredEntity, Version};

    fn row(properties: &Properties<'_>) -> StoredEntity {
        RowText::new("key", properties).at(Version::at(EdmDateTime::MIN))
    }

    fn value() -> impl Strategy<Value = EdmValue> {
        prop_oneof![
            any::<String>().prop_map(EdmValue::from),
            "[\"\\\\,:{}a@]{0,8}".prop_map(EdmValue::from),
            any::<bool>().prop_map(EdmValue::from),
            any::<i32>().prop_map(EdmValue::from),
            any::<i64>().prop_map(EdmValue::from),
            any::<f64>().prop_map(EdmValue::from),
            prop_oneof![Just(0.0), Just(-0.0), Just(5.0), Just(1e16), Just(f64::NAN)]
                .prop_map(EdmValue::from),
            (0..3_155_378_975_999_999_999_i64)
                .prop_filter_map("in range", |ticks| EdmDateTime::from_ticks(ticks).ok())
                .prop_map(EdmValue::from),
            any::<u128>().prop_map(|id| uuid::Uuid::from_u128(id).into()),
            any::<Vec<u8>>().prop_map(EdmValue::from),
        ]
    }

    proptest! {
        #[test]
        fn stored_properties_round_trip(
            values in proptest::collection::vec(("[a-zA-Zé\u{4e2d}_][a-z0-9]{0,3}", value()), 0..8),
        ) {
            let properties: Properties<'_> =
                values.iter().map(|(name, value)| (name.as_str().into(), value.as_cow())).collect();
            let row = row(&properties);
            let stored = row.properties();
            prop_assert_eq!(row.row_key(), "key");
            let read = stored.read();
            prop_assert_eq!(read.len(), properties.len());
            for ((name, value), (read_name, read)) in values.iter().zip(read) {
                prop_assert_eq!(name, &read_name);
                prop_assert_eq!(value.edm_type(), read.edm_type());
                prop_assert_eq!(value, &read.into_value());
                prop_assert!(stored.member(name).is_some());
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\"\\\\,:\u{1}LGé1]{0,40}") {
            let stored = StoredProperties(&text);
            stored.read();
            stored.push_to(&mut Vec::new(), true);
        }
    }

    #[test]
    fn a_member_is_found_by_its_name_and_shown_with_its_type_or_without() {
        let row = row(&vec![
            ("A".into(), EdmCow::String("x\",\"B\":1,".into())),
            ("B".into(), EdmCow::Int64(5)),
            ("é".into(), EdmCow::Int32(1)),
        ]);
        let stored = row.properties();
        for member in stored.members() {
            let rest = &stored.text()[member.value_offset() as usize..];
            assert!(rest.starts_with(member.value), "{rest}");
        }
        let b = stored.member("B").unwrap();
        let json = |types| {
            let mut out = Vec::new();
            b.push_to(&mut out, types);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(json(true), r#""B@odata.type":"Edm.Int64","B":"5","#);
        assert_eq!(json(false), r#""B":"5","#);
        assert_eq!(b.read().map(EdmCow::into_value), Some(5_i64.into()));
        assert_eq!(stored.member("é").unwrap().read().map(EdmCow::into_value), Some(1.into()));
        assert!(stored.member("C").is_none() && stored.member("B@odata.type").is_none());
        let mut all = Vec::new();
        stored.push_to(&mut all, true);
        let expected = r#""A":"x\",\"B\":1,","B@odata.type":"Edm.Int64","B":"5","\u00e9":1,"#;
        assert_eq!(String::from_utf8(all).unwrap(), expected);
    }
}
