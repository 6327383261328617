//! The properties of an entity by name: rows are compared, and changes are tracked and sent, in this form.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Dialect;
use crate::ETag;
use crate::edm::EdmValue;
use crate::entity::{
    DecodeError, DynamicEntity, EncodeError, EntityKey, Form, KeyError, PropertyWriter, Row,
    TableEntity,
};

/// Properties by name.
pub(crate) type Properties = BTreeMap<String, EdmValue>;

/// Returns the key of an entity, and the properties that it would be stored with.
pub(crate) fn properties_of<T: TableEntity>(
    entity: &T,
    dialect: Dialect,
) -> Result<(EntityKey, Properties), EncodeError> {
    T::check_columns()?;
    let (key, mut properties) = (entity.entity_key()?, Properties::new());
    let writer = PropertyWriter::new(&mut properties, &key.partition_key, &key.row_key);
    let mut writer = writer.dialect(dialect);
    entity.write_properties(&mut writer)?;
    writer.finish()?;
    Ok((key, properties))
}

/// An entity whose properties are in a map.
#[derive(Debug)]
pub(crate) struct MapEntity<'m> {
    key: Cow<'m, EntityKey>,
    properties: Cow<'m, Properties>,
}

impl<'m> MapEntity<'m> {
    pub(crate) const fn new(key: &'m EntityKey, properties: &'m Properties) -> Self {
        Self { key: Cow::Borrowed(key), properties: Cow::Borrowed(properties) }
    }

    pub(crate) fn into_parts(self) -> (EntityKey, Properties) {
        (self.key.into_owned(), self.properties.into_owned())
    }

    /// Returns the entity as a struct, as if it was read in this version.
    pub(crate) fn to_entity<T: TableEntity>(&self, etag: Option<&ETag>) -> Result<T, DecodeError> {
        let properties = self.properties.iter().map(|(name, value)| (name.as_str(), value));
        let mut row = Row::of::<T>(Form::WHOLE);
        row.fill(&self.key, etag, None, properties);
        T::from_row(&mut row)
    }

    /// Returns a copy that a program may read and change.
    pub(crate) fn to_dynamic(&self) -> DynamicEntity {
        let mut entity = DynamicEntity::new(&*self.key.partition_key, &*self.key.row_key);
        let properties = self.properties.iter().map(|(name, value)| (name.clone(), value.clone()));
        entity.replace_properties(properties.collect());
        entity
    }
}

impl TableEntity for MapEntity<'_> {
    const COLUMNS: &'static [&'static str] = &[];
    const KEEPS_OTHERS: bool = true;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.partition_key))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.row_key))
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        self.properties.iter().try_for_each(|(name, value)| writer.put_named(name, value.as_cow()))
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        let properties = row.take_others()?.into_iter().collect();
        let key = EntityKey { partition_key: row.partition_key()?, row_key: row.row_key()? };
        Ok(Self { key: Cow::Owned(key), properties: Cow::Owned(properties) })
    }
}
