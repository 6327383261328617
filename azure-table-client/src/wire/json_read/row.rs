//! One entity's object into a row.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue as RawJson;

use super::value::{TextSeed, ValueSeed};
use crate::entity::{Annotation, MAX_OTHERS, RawProperty, RawText, RawValue, Row};

const ANNOTATION: &str = "@odata.type";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// Text that is not Unicode fails the whole body.
    Unicode,
    /// Text that is not Unicode becomes [`RawValue::NoUnicode`].
    Any,
}

pub(super) struct RowReader<'de> {
    pub(super) row: Row<'de>,
    texts: Texts,
    /// The member at each position of the previous row. Rows of a page mostly have the same members in the same
    /// order, so the reader compares with that member first.
    plan: Vec<Member>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Value(usize),
    Annotation(usize),
    ETag,
    Other,
    OtherAnnotation,
    Ignored,
}

impl<'de> RowReader<'de> {
    pub(super) fn new(row: Row<'de>, texts: Texts) -> Self {
        Self { row, texts, plan: Vec::new() }
    }

    fn member(&mut self, at: usize, name: &str) -> Member {
        match self.plan.get(at) {
            Some(&Member::Value(slot)) if self.row.name(slot) == name => Member::Value(slot),
            Some(&Member::Annotation(slot)) if annotates(name, self.row.name(slot)) => {
                Member::Annotation(slot)
            }
            _ => {
                let member = self.look_up(name);
                if at < self.plan.len() {
                    self.plan[at] = member;
                } else {
                    self.plan.push(member);
                }
                member
            }
        }
    }

    fn look_up(&self, name: &str) -> Member {
        if name == "odata.etag" {
            return Member::ETag;
        }
        if let Some(property) = name.strip_suffix(ANNOTATION) {
            return match self.row.find(property) {
                Some(slot) => Member::Annotation(slot),
                None if self.row.keeps_others() => Member::OtherAnnotation,
                None => Member::Ignored,
            };
        }
        match self.row.find(name) {
            Some(slot) => Member::Value(slot),
            None if self.row.keeps_others() && !is_metadata(name) => Member::Other,
            None => Member::Ignored,
        }
    }
}

/// `odata.id` and the like, and annotations other than of the type.
fn is_metadata(name: &str) -> bool {
    name.starts_with("odata.") || name.contains("@odata.")
}

fn annotates(name: &str, property: &str) -> bool {
    name.len() == property.len() + ANNOTATION.len()
        && name.starts_with(property)
        && name.ends_with(ANNOTATION)
}

pub(super) struct RowSeed<'a, 'de>(pub(super) &'a mut RowReader<'de>);

impl<'de> DeserializeSeed<'de> for RowSeed<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.row.clear();
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entity as an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reader = self.0;
        let texts = reader.texts;
        let mut at = 0;
        while let Some((member, name)) = map.next_key_seed(MemberSeed { reader, at })? {
            at += 1;
            let row = &mut reader.row;
            let property: &mut RawProperty<'de> = match member {
                Member::Value(slot) | Member::Annotation(slot) => row.slot(slot),
                Member::Other | Member::OtherAnnotation => {
                    if row.other_count() >= MAX_OTHERS {
                        return Err(A::Error::custom("an entity has too many properties"));
                    }
                    row.other(name)
                }
                Member::ETag => {
                    let etag: &'de RawJson = map.next_value()?;
                    row.etag = Some(RawText::Json(etag.get()));
                    continue;
                }
                Member::Ignored => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            match member {
                Member::Annotation(_) | Member::OtherAnnotation => {
                    property.annotation = Annotation::from_name(&map.next_value_seed(TextSeed)?);
                }
                _ => {
                    let repeated = !matches!(property.value, RawValue::Missing);
                    property.value = read_value(&mut map, texts)?;
                    row.repeated |= repeated;
                }
            }
        }
        Ok(())
    }
}

fn read_value<'de, A: MapAccess<'de>>(
    map: &mut A,
    texts: Texts,
) -> Result<RawValue<'de>, A::Error> {
    match texts {
        Texts::Unicode => map.next_value_seed(ValueSeed),
        Texts::Any => {
            let raw: &'de RawJson = map.next_value()?;
            let mut json = serde_json::Deserializer::from_str(raw.get());
            Ok(ValueSeed
                .deserialize(&mut json)
                .unwrap_or_else(|error| RawValue::NoUnicode { offset: error.column() }))
        }
    }
}

/// Reads the kind of a member, and its name if the row does not know the member.
struct MemberSeed<'a, 'de> {
    reader: &'a mut RowReader<'de>,
    at: usize,
}

impl<'de> MemberSeed<'_, 'de> {
    fn member(self, name: Cow<'de, str>) -> (Member, Cow<'de, str>) {
        let member = self.reader.member(self.at, &name);
        let name = match (member, name) {
            (Member::OtherAnnotation, Cow::Borrowed(name)) => {
                Cow::Borrowed(name.strip_suffix(ANNOTATION).unwrap_or(name))
            }
            (Member::OtherAnnotation, Cow::Owned(mut name)) => {
                name.truncate(name.len() - ANNOTATION.len());
                Cow::Owned(name)
            }
            (_, name) => name,
        };
        (member, name)
    }
}

impl<'de> DeserializeSeed<'de> for MemberSeed<'_, 'de> {
    type Value = (Member, Cow<'de, str>);
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de> Visitor<'de> for MemberSeed<'_, 'de> {
    type Value = (Member, Cow<'de, str>);
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property name")
    }
    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(self.member(Cow::Borrowed(name)))
    }
    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.member(Cow::Owned(name.to_owned())))
    }
}
