use std::borrow::Cow;

use super::write::PropertySink;
use super::{
    Columns, DecodeError, EncodeError, EntityKey, Form, KeyError, PropertyWriter, ReadRow, Row,
    TableEntity,
};
use crate::dialect::Dialect;
use crate::edm::{ConvertError, EdmCow, EdmDateTime, EdmValue, FromEdm};
use crate::etag::ETag;

/// An entity without a struct: each property with its Edm type, in the order in which it came.
///
/// ```
/// use azure_table_client::{DynamicEntity, edm::EdmType};
///
/// let mut blog = DynamicEntity::new("Channel9", "2009-04-14");
/// blog.set("Text", "Hello").set("Rating", 3).set("Views", 3_i64);
/// assert_eq!(blog.value("Views").unwrap().edm_type(), EdmType::Int64);
/// assert_eq!(blog.get::<i32>("Rating"), Some(Ok(3)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicEntity {
    key: EntityKey,
    etag: Option<ETag>,
    timestamp: Option<EdmDateTime>,
    properties: Vec<(String, EdmValue)>,
}

impl DynamicEntity {
    /// An entity without properties.
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self {
            key: EntityKey::new(partition_key, row_key),
            etag: None,
            timestamp: None,
            properties: Vec::new(),
        }
    }

    /// The same properties as `entity` would be stored with.
    ///
    /// # Errors
    /// A key or a value of `entity` is outside what the service holds.
    pub fn from_entity<T: TableEntity>(entity: &T) -> Result<Self, EncodeError> {
        Self::of(entity, Dialect::default())
    }

    /// The same by the limits of this service.
    pub(crate) fn of<T: TableEntity>(entity: &T, dialect: Dialect) -> Result<Self, EncodeError> {
        T::check_columns()?;
        let mut dynamic = Self {
            key: entity.entity_key()?,
            etag: None,
            timestamp: None,
            properties: Vec::with_capacity(T::COLUMNS.len()),
        };
        let key = dynamic.key.clone();
        let writer = PropertyWriter::new(&mut dynamic, &key.partition_key, &key.row_key);
        let mut writer = writer.dialect(dialect);
        entity.write_properties(&mut writer)?;
        writer.finish()?;
        Ok(dynamic)
    }

    /// The entity as a struct, read as a row of the service would be.
    ///
    /// # Errors
    /// As [`TableEntity::from_row`].
    pub fn to_entity<T: TableEntity>(&self) -> Result<T, DecodeError> {
        let mut row = Row::of::<T>(Form::WHOLE);
        row.fill(&self.key, self.etag.as_ref(), self.timestamp, self.properties());
        T::from_row(&mut row)
    }

    /// Both keys.
    pub fn key(&self) -> &EntityKey {
        &self.key
    }

    /// The version the entity was read with; `None` if it was not read.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }

    /// When the service last wrote the entity; `None` if it was not read.
    pub fn timestamp(&self) -> Option<EdmDateTime> {
        self.timestamp
    }

    /// Sets a property, in place if it is there, else as the last one.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<EdmValue>) -> &mut Self {
        let (name, value) = (name.into(), value.into());
        match self.properties.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.properties.push((name, value)),
        }
        self
    }

    /// An entity as the mock has it.
    #[cfg(feature = "mock")]
    pub(crate) fn stored(
        key: EntityKey,
        etag: ETag,
        timestamp: EdmDateTime,
        properties: Vec<(String, EdmValue)>,
    ) -> Self {
        Self { key, etag: Some(etag), timestamp: Some(timestamp), properties }
    }

    /// Another version, of which it is not known when it was written.
    pub(crate) fn set_version(&mut self, etag: Option<ETag>) {
        (self.etag, self.timestamp) = (etag, None);
    }

    /// The key and the properties.
    pub(crate) fn into_parts(self) -> (EntityKey, Vec<(String, EdmValue)>) {
        (self.key, self.properties)
    }

    /// Other properties in the place of those that are there.
    pub(crate) fn replace_properties(&mut self, properties: Vec<(String, EdmValue)>) {
        self.properties = properties;
    }

    /// Removes a property; a later replace removes it in the service as well, and so does
    /// [`update_with`](crate::TableClient::update_with) (a merge does not).
    pub fn remove(&mut self, name: &str) -> Option<EdmValue> {
        let at = self.properties.iter().position(|(known, _)| known == name)?;
        Some(self.properties.remove(at).1)
    }

    /// A property with its Edm type.
    pub fn value(&self, name: &str) -> Option<&EdmValue> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A property as a Rust type; `None` if it is not there.
    pub fn get<T: FromEdm>(&self, name: &str) -> Option<Result<T, ConvertError>> {
        self.value(name).map(EdmValue::get)
    }

    /// All properties in order.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&str, &EdmValue)> {
        self.properties.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl PropertySink for DynamicEntity {
    fn put(&mut self, name: &str, value: EdmCow<'_>) {
        self.properties.push((name.to_owned(), value.into_value()));
    }
}

impl TableEntity for DynamicEntity {
    const COLUMNS: &'static [&'static str] = &[];
    const KEEPS_OTHERS: bool = true;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.partition_key))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.row_key))
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        for (name, value) in &self.properties {
            writer.put_named(name, value.as_cow())?;
        }
        Ok(())
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        let properties = row.take_others()?;
        Self::of_row(row, properties)
    }

    fn set_etag(&mut self, etag: &ETag) {
        self.set_version(Some(etag.clone()));
    }
}

impl DynamicEntity {
    fn of_row(row: &mut Row<'_>, properties: Vec<(String, EdmValue)>) -> Result<Self, DecodeError> {
        Ok(Self {
            timestamp: row.timestamp()?,
            etag: row.etag(),
            properties,
            key: EntityKey { partition_key: row.partition_key()?, row_key: row.row_key()? },
        })
    }
}

/// What can be read of a row, and the errors of the rest.
#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) entity: DynamicEntity,
    pub(crate) errors: Vec<DecodeError>,
}

/// Reads what can be read.
pub(crate) struct Lenient;

impl ReadRow<Readable> for Lenient {
    fn columns(&self) -> Columns {
        Columns::new(&[])
    }

    fn keeps_others(&self) -> bool {
        true
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<Readable, DecodeError> {
        let (properties, errors) = row.take_readable_others();
        Ok(Readable { entity: DynamicEntity::of_row(row, properties)?, errors })
    }
}
