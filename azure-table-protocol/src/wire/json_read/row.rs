//! One entity's object into a row.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue as RawJson;

use super::member::{ANNOTATION, Member};
use super::value::{TextSeed, ValueSeed};
use crate::entity::{Annotation, MAX_OTHERS, RawProperty, RawText, RawValue, Row};

/// More members than the entity of any service has: values, their types and metadata.
pub(super) const MAX_MEMBERS: usize = 4 * MAX_OTHERS;

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
    /// The names of the row's members.
    names: Vec<Cow<'de, str>>,
}

impl<'de> RowReader<'de> {
    pub(super) fn new(row: Row<'de>, texts: Texts) -> Self {
        Self { row, texts, names: Vec::new() }
    }
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
        let RowReader { row, texts, names } = self.0;
        names.clear();
        while let Some(name) = map.next_key_seed(TextSeed)? {
            if names.len() == MAX_MEMBERS {
                return Err(A::Error::custom("an entity has too many properties"));
            }
            names.push(name.clone());
            let member = Member::of(row, &name);
            let property: &mut RawProperty<'de> = match member {
                Member::Value(slot) | Member::Annotation(slot) => row.slot(slot),
                Member::Other | Member::OtherAnnotation => {
                    if row.other_count() >= MAX_OTHERS {
                        return Err(A::Error::custom("an entity has too many properties"));
                    }
                    row.next_other(without_annotation(name))
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
            if member.is_annotation() {
                property.annotation = Annotation::from_name(&map.next_value_seed(TextSeed)?);
            } else {
                property.value = read_value(&mut map, *texts)?;
            }
        }
        row.join_others();
        names.sort_unstable();
        row.repeated = names.windows(2).any(|pair| pair[0] == pair[1]);
        Ok(())
    }
}

/// The name of the property that this member is about.
fn without_annotation(name: Cow<'_, str>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_suffix(ANNOTATION).unwrap_or(name)),
        Cow::Owned(mut name) => {
            if name.ends_with(ANNOTATION) {
                name.truncate(name.len() - ANNOTATION.len());
            }
            Cow::Owned(name)
        }
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
