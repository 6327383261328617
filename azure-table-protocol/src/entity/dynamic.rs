use std::borrow::Cow;
use std::{iter, slice, vec};

use chrono::{DateTime, Utc};

use super::decode::{Columns, DecodeError, Form, ReadRow, Row};
use super::write::{PropertyName, PropertySink};
use super::{EncodeError, PropertyWriter, TableEntity};
use crate::dialect::Dialect;
use crate::edm::{ConvertError, EdmCow, EdmDateTime, EdmValue, FromEdm};
use crate::etag::ETag;
use crate::key::{EntityKey, KeyError};

/// An entity without a struct: properties with their Edm types, in order.
///
/// ```
/// use azure_table_client::{DynamicEntity, edm::EdmType};
/// use chrono::{DateTime, Utc};
///
/// let mut blog = DynamicEntity::new("Channel9", "2009-04-14")
///     .with("Text", "Hello")
///     .with("Rating", 3)
///     .with("Views", 3_u32)
///     .with("Posted", DateTime::<Utc>::UNIX_EPOCH)
///     .with("Author", None::<String>);
/// assert_eq!(blog.value("Views").unwrap().edm_type(), EdmType::Int64);
/// assert_eq!(blog.get::<i32>("Rating"), Some(Ok(3)));
/// blog.set("Rating", 4).set("Text", "Hello again");
/// let names: Vec<_> = blog.into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["Text", "Rating", "Views", "Posted"]);
/// ```
#[doc(alias("DynamicTableEntity", "ElasticTableEntity", "dictionary"))]
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicEntity {
    key: EntityKey,
    etag: Option<ETag>,
    timestamp: Option<EdmDateTime>,
    properties: Vec<(String, EdmValue)>,
    /// Values that were set and have no Edm form. Every write reports the first one.
    invalid: Vec<(String, ConvertError)>,
}

/// A value of a property of a [`DynamicEntity`]: an [`EdmValue`] or what converts into one, a
/// `chrono::DateTime<Utc>`, or an `Option`, whose `None` removes the property.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a property",
    label = "not an Edm property type",
    note = "use a text, bool, i32, i64, u32, f32, f64, DateTime<Utc>, EdmDateTime, Uuid, Vec<u8>, bytes::Bytes, EdmValue, or an Option of one"
)]
pub trait IntoProperty {
    #[doc(hidden)]
    fn into_property(self) -> Result<Option<EdmValue>, ConvertError>;
}

#[diagnostic::do_not_recommend]
impl<V: Into<EdmValue>> IntoProperty for V {
    fn into_property(self) -> Result<Option<EdmValue>, ConvertError> {
        Ok(Some(self.into()))
    }
}

impl IntoProperty for DateTime<Utc> {
    fn into_property(self) -> Result<Option<EdmValue>, ConvertError> {
        Ok(Some(EdmDateTime::from_chrono(self)?.into()))
    }
}

impl<V: IntoProperty> IntoProperty for Option<V> {
    fn into_property(self) -> Result<Option<EdmValue>, ConvertError> {
        self.map_or(Ok(None), V::into_property)
    }
}

impl DynamicEntity {
    /// Returns an entity without properties.
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self::of_key(EntityKey::new(partition_key, row_key))
    }

    fn of_key(key: EntityKey) -> Self {
        let (properties, invalid) = (Vec::new(), Vec::new());
        Self { key, etag: None, timestamp: None, properties, invalid }
    }

    /// Returns an entity with the properties that `entity` writes.
    ///
    /// # Errors
    /// A key or a value of `entity` is outside what the service holds.
    pub fn from_entity<T: TableEntity>(entity: &T) -> Result<Self, EncodeError> {
        Self::of(entity, Dialect::default())
    }

    /// The entity as a struct, read as a row of the service would be.
    ///
    /// # Errors
    /// The same errors as [`TableEntity::from_row`].
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

    /// Returns the entity with the property set; see [`set`](Self::set).
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl IntoProperty) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a property, in place if the entity has it, otherwise as the last one. `None` removes the property.
    ///
    /// A time outside the range of the service is an error of the call that writes the entity.
    pub fn set(&mut self, name: impl Into<String>, value: impl IntoProperty) -> &mut Self {
        let name = name.into();
        match value.into_property() {
            Ok(Some(value)) => {
                self.invalid.retain(|(known, _)| *known != name);
                match self.properties.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => *known = value,
                    None => self.properties.push((name, value)),
                }
            }
            Ok(None) => _ = self.remove(&name),
            Err(error) => {
                self.remove(&name);
                self.invalid.push((name, error));
            }
        }
        self
    }

    /// Removes a property; a later replace removes it in the service as well, and so does
    /// [`update_with`](https://docs.rs/azure-table-client/latest/azure_table_client/struct.TableClient.html#method.update_with) (a merge does not).
    pub fn remove(&mut self, name: &str) -> Option<EdmValue> {
        self.invalid.retain(|(known, _)| known != name);
        let at = self.properties.iter().position(|(known, _)| known == name)?;
        Some(self.properties.remove(at).1)
    }

    /// Returns a property with its Edm type.
    pub fn value(&self, name: &str) -> Option<&EdmValue> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns a property as a Rust type; `None` if the entity does not have it.
    pub fn get<T: FromEdm>(&self, name: &str) -> Option<Result<T, ConvertError>> {
        self.value(name).map(EdmValue::get)
    }

    /// Iterates over all properties in order.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&str, &EdmValue)> {
        self.into_iter()
    }
}

#[doc(hidden)]
impl DynamicEntity {
    /// Does the same with the limits of this service.
    pub fn of<T: TableEntity>(entity: &T, dialect: Dialect) -> Result<Self, EncodeError> {
        T::check_columns()?;
        let key = entity.entity_key()?;
        let mut dynamic = Self::of_key(key.clone());
        dynamic.properties.reserve(T::COLUMNS.len());
        let writer = PropertyWriter::new(&mut dynamic, &key.partition_key, &key.row_key);
        let mut writer = writer.dialect(dialect);
        entity.write_properties(&mut writer)?;
        writer.finish()?;
        Ok(dynamic)
    }

    /// An entity as the mock has it.
    pub fn stored(
        key: EntityKey,
        etag: ETag,
        timestamp: EdmDateTime,
        properties: Vec<(String, EdmValue)>,
    ) -> Self {
        let (etag, timestamp) = (Some(etag), Some(timestamp));
        Self { etag, timestamp, properties, ..Self::of_key(key) }
    }

    /// Sets the version; its Timestamp is unknown.
    pub fn set_version(&mut self, etag: Option<ETag>) {
        (self.etag, self.timestamp) = (etag, None);
    }

    /// The key and the properties.
    pub fn into_parts(self) -> (EntityKey, Vec<(String, EdmValue)>) {
        (self.key, self.properties)
    }

    /// Replaces all properties.
    pub fn replace_properties(&mut self, properties: Vec<(String, EdmValue)>) {
        self.properties = properties;
    }
}

/// The properties in order.
impl IntoIterator for DynamicEntity {
    type Item = (String, EdmValue);
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.properties.into_iter()
    }
}

/// The properties in order.
#[expect(clippy::into_iter_without_iter, reason = "`properties` is that method")]
impl<'e> IntoIterator for &'e DynamicEntity {
    type Item = (&'e str, &'e EdmValue);
    type IntoIter = iter::Map<
        slice::Iter<'e, (String, EdmValue)>,
        fn(&'e (String, EdmValue)) -> (&'e str, &'e EdmValue),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.properties.iter().map(|(name, value)| (name, value))
    }
}

impl PropertySink for DynamicEntity {
    fn put(&mut self, name: PropertyName<'_>, value: EdmCow<'_>) {
        self.properties.push((name.text.to_owned(), value.into_value()));
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
        if let Some((name, error)) = self.invalid.first() {
            return Err(writer.refusal(name, error.clone()));
        }
        for (name, value) in self {
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
        let key = EntityKey { partition_key: row.partition_key()?, row_key: row.row_key()? };
        let (timestamp, etag) = (row.timestamp()?, row.etag());
        Ok(Self { etag, timestamp, properties, ..Self::of_key(key) })
    }
}

/// The readable properties of a row, and the errors of the others.
#[derive(Debug)]
#[doc(hidden)]
pub struct Readable {
    pub entity: DynamicEntity,
    pub errors: Vec<DecodeError>,
}

impl Readable {
    /// Refuses a row in which a property of `T` cannot be read.
    pub fn check<T: TableEntity>(&self) -> Result<(), DecodeError> {
        let own = Columns::of::<T>();
        let is_own = |error: &&DecodeError| T::KEEPS_OTHERS || own.has(error.property());
        self.errors.iter().find(is_own).map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// Reads all properties that can be read.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lenient;

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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::edm::EdmType;

    #[test]
    fn properties_have_the_edm_type_of_their_rust_type() {
        let entity = DynamicEntity::new("p", "r")
            .with("Count", u32::MAX)
            .with("Ratio", 0.5_f32)
            .with("Changed", DateTime::<Utc>::UNIX_EPOCH)
            .with("Id", Some(Uuid::nil()))
            .with("Note", None::<&str>);
        let types: Vec<_> = (&entity).into_iter().map(|(name, v)| (name, v.edm_type())).collect();
        let expected = [
            ("Count", EdmType::Int64),
            ("Ratio", EdmType::Double),
            ("Changed", EdmType::DateTime),
            ("Id", EdmType::Guid),
        ];
        assert_eq!(types, expected);
        assert_eq!(entity.get("Count"), Some(Ok(u32::MAX)));
        let values: Vec<_> = entity.clone().into_iter().map(|(_, value)| value).collect();
        assert_eq!(
            values.iter().collect::<Vec<_>>(),
            entity.properties().map(|(_, v)| v).collect::<Vec<_>>()
        );
    }

    #[test]
    fn none_removes_a_property() {
        let mut entity = DynamicEntity::new("p", "r").with("Note", "x");
        entity.set("Note", None::<String>);
        assert_eq!(entity, DynamicEntity::new("p", "r"));
    }

    #[test]
    fn a_time_outside_the_range_of_the_service_is_an_error_of_the_write() {
        let written = |entity: &DynamicEntity| DynamicEntity::from_entity(entity);
        let mut entity =
            DynamicEntity::new("p", "r").with("Due", DateTime::<Utc>::MAX_UTC).with("N", 1);
        let error = written(&entity).unwrap_err().to_string();
        assert!(error.contains("Due"), "{error}");
        assert_eq!(entity.value("Due"), None);
        entity.set("Due", DateTime::<Utc>::UNIX_EPOCH);
        assert!(written(&entity).is_ok());
        entity.set("Due", DateTime::<Utc>::MIN_UTC).remove("Due");
        assert!(written(&entity).is_ok());
    }
}
