//! The properties of a stored row.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::edm::EdmCow;
use crate::entity::{Annotation, RawValue};

/// The typed properties of a request.
pub(in crate::mock) type Properties<'a> = Vec<(Cow<'a, str>, EdmCow<'a>)>;

/// The properties of a row without its keys and its Timestamp, in the JSON of most responses:
/// `"A":1,"B@odata.type":"Edm.Int64","B":"5",`. A page of rows is a copy of such texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mock) struct StoredProperties<'r>(&'r str);

/// One property in its stored form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mock) struct Member<'r> {
    /// With the escapes of JSON.
    name: &'r str,
    edm_type: Option<&'r str>,
    value: &'r str,
    /// The whole text with its annotation and its comma.
    text: &'r str,
    /// The offset in `text` after the annotation.
    bare: usize,
    /// The offset in the text of all members.
    offset: usize,
}

impl<'r> StoredProperties<'r> {
    pub(super) fn from_text(text: &'r str) -> Self {
        Self(text)
    }

    /// The text of all members with their type annotations, each with its comma.
    pub(in crate::mock) fn text(self) -> &'r str {
        self.0
    }

    pub(in crate::mock) fn members(self) -> Members<'r> {
        Members { all: self.0, rest: self.0 }
    }

    #[cfg(test)]
    pub(in crate::mock) fn member(self, name: &str) -> Option<Member<'r>> {
        self.members().find(|member| member.is(name))
    }

    /// The properties with their types.
    pub(in crate::mock) fn read(self) -> Properties<'r> {
        self.members().filter_map(|member| Some((member.name(), member.read()?))).collect()
    }
}

impl<'r> Member<'r> {
    /// Returns `true` if the property has this name.
    pub(in crate::mock) fn is(&self, name: &str) -> bool {
        self.name == name || (self.name.contains('\\') && self.name() == name)
    }

    pub(in crate::mock) fn name(&self) -> Cow<'r, str> {
        // Only characters outside of ASCII are escaped in a name.
        if self.name.contains('\\') { unescape(self.name) } else { self.name.into() }
    }

    /// The offset of the value in the text of all members.
    pub(super) fn value_offset(&self) -> u32 {
        // The value is before the last comma. A row has at most 1 MiB.
        let offset = self.offset + self.text.len() - 1 - self.value.len();
        u32::try_from(offset).unwrap_or(u32::MAX)
    }

    /// The text of a string with the escapes of JSON, and `None` for other types.
    pub(super) fn escaped_string(&self) -> Option<&'r str> {
        let quoted = self.value.strip_prefix('"')?.strip_suffix('"')?;
        self.edm_type.is_none().then_some(quoted)
    }

    /// The text with or without the type annotation.
    pub(in crate::mock) fn text(&self, typed: bool) -> &'r str {
        if typed { self.text } else { &self.text[self.bare..] }
    }

    /// The value with its type.
    pub(in crate::mock) fn read(&self) -> Option<EdmCow<'r>> {
        let annotation = self.edm_type.map_or(Annotation::None, Annotation::from_name);
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
pub(in crate::mock) struct Members<'r> {
    all: &'r str,
    rest: &'r str,
}

impl<'r> Iterator for Members<'r> {
    type Item = Member<'r>;

    fn next(&mut self) -> Option<Member<'r>> {
        let start = self.rest;
        let (mut name, mut value, mut rest) = split(start)?;
        let (mut edm_type, mut bare) = (None, 0);
        if name.ends_with("@odata.type") {
            edm_type = value.get(1..value.len() - 1);
            bare = start.len() - rest.len();
            (name, value, rest) = split(rest)?;
        }
        self.rest = rest;
        let offset = self.all.len() - start.len();
        Some(Member {
            name,
            edm_type,
            value,
            text: &start[..start.len() - rest.len()],
            bare,
            offset,
        })
    }
}

/// Splits off `"name":value,` at the beginning: the name, the value and the rest.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.strip_prefix('"')?;
    let (name, text) = text.split_at_checked(memchr(b'"', text.as_bytes())?)?;
    let text = text.strip_prefix("\":")?;
    let (value, rest) = text.split_at_checked(end_of_value(text.as_bytes())?)?;
    Some((name, value, rest.strip_prefix(',')?))
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

    use super::super::{RowText, Version};
    use super::*;
    use crate::edm::{EdmDateTime, EdmValue};

    fn row(properties: &Properties<'_>) -> super::super::StoredEntity {
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
        fn no_text_makes_it_panic(text in "[\"\\\\,:@odata.type1]{0,40}") {
            StoredProperties(&text).read();
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
        assert_eq!(b.text(true), r#""B@odata.type":"Edm.Int64","B":"5","#);
        assert_eq!(b.text(false), r#""B":"5","#);
        assert_eq!(b.read().map(EdmCow::into_value), Some(5_i64.into()));
        assert_eq!(stored.member("é").unwrap().read().map(EdmCow::into_value), Some(1.into()));
        assert!(stored.member("C").is_none() && stored.member("B@odata.type").is_none());
    }
}
