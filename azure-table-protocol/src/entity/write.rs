use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::decode::{Columns, Field};
use crate::dialect::Dialect;
use crate::edm::{ConvertError, EdmCow, EdmValue, ToEdm};
use crate::key::KeyError;
use crate::limits::{self, EntitySize, LimitError};

/// Receives the properties of an entity, one by one, and checks them against the service's limits.
pub struct PropertyWriter<'a> {
    sink: &'a mut dyn PropertySink,
    size: EntitySize,
    count: usize,
    /// Put before every name of the group that is being written.
    prefix: String,
    /// How many groups deep that is.
    depth: usize,
    /// The names that were written; each may occur only once.
    names: HashSet<String>,
    /// The entity's columns, whose names its bag of other properties must not use.
    columns: Option<Columns>,
    /// The column for the write id, which replaces a value of the entity.
    write_id: Option<(&'a str, uuid::Uuid)>,
    /// The service with these limits.
    dialect: Dialect,
}

/// A destination of properties: a JSON body, or a dynamic entity.
#[doc(hidden)]
pub trait PropertySink {
    fn put(&mut self, name: PropertyName<'_>, value: EdmCow<'_>);
}

/// Properties by name.
impl PropertySink for BTreeMap<String, EdmValue> {
    fn put(&mut self, name: PropertyName<'_>, value: EdmCow<'_>) {
        self.insert(name.text.to_owned(), value.into_value());
    }
}

/// The name of a property that is written.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct PropertyName<'n> {
    /// The name.
    pub text: &'n str,
    /// Its length in UTF-16 code units.
    units: usize,
    /// The text before the value in JSON, `,"Name":`, if the derive has prepared it.
    pub member: Option<&'n str>,
}

impl From<&Field> for PropertyName<'static> {
    fn from(field: &Field) -> Self {
        Self { text: field.name, units: field.name_units, member: Some(field.member) }
    }
}

impl<'n> From<&'n str> for PropertyName<'n> {
    fn from(text: &'n str) -> Self {
        Self { text, units: limits::utf16_units(text), member: None }
    }
}

impl fmt::Debug for PropertyWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PropertyWriter").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<'a> PropertyWriter<'a> {
    /// Writes a new id into this column.
    pub(crate) fn write_id(self, write_id: Option<(&'a str, uuid::Uuid)>) -> Self {
        Self { write_id, ..self }
    }

    /// Writes a property; a value of `None` writes nothing.
    ///
    /// # Errors
    /// The name is not valid or was written before; the value is outside the limits of the service, or is the
    /// 253rd.
    pub fn property<T: ToEdm + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), EncodeError> {
        match self.convert(name, value)? {
            Some(value) => self.value(name, value),
            None => Ok(()),
        }
    }

    /// Writes a property whose Edm form is at hand.
    ///
    /// # Errors
    /// The same errors as [`property`](Self::property).
    pub fn value(&mut self, name: &str, value: EdmCow<'_>) -> Result<(), EncodeError> {
        let name = [&*self.prefix, name].concat();
        if self.names.contains(&name) {
            return Err(LimitError::DuplicateProperty { property: name }.into());
        }
        self.put_named(&name, value)?;
        self.names.insert(name);
        Ok(())
    }

    /// Writes the properties of a group, `prefix` before the name of each.
    ///
    /// # Errors
    /// The same errors as [`property`](Self::property), for each property.
    pub fn group(
        &mut self,
        prefix: &str,
        write: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let outer = self.prefix.len();
        self.prefix.push_str(prefix);
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        self.prefix.truncate(outer);
        written
    }

    fn convert<'v, T: ToEdm + ?Sized>(
        &self,
        name: &str,
        value: &'v T,
    ) -> Result<Option<EdmCow<'v>>, EncodeError> {
        value.to_edm().map_err(|reason| self.refusal(name, reason))
    }

    fn put(&mut self, name: PropertyName<'_>, value: EdmCow<'_>) -> Result<(), EncodeError> {
        if self.write_id.is_some_and(|(column, _)| column == name.text) {
            return Ok(());
        }
        self.dialect.check_property(name.text)?;
        limits::check_value(name.text, &value)?;
        self.count += 1;
        if self.count > limits::PROPERTIES {
            return Err(too_many(name.text, self.count));
        }
        self.size.add_named(name.units, &value);
        self.sink.put(name, value);
        Ok(())
    }
}

#[doc(hidden)]
impl<'a> PropertyWriter<'a> {
    pub fn new(sink: &'a mut dyn PropertySink, partition_key: &str, row_key: &str) -> Self {
        Self {
            sink,
            size: EntitySize::of_keys(partition_key, row_key),
            count: 0,
            prefix: String::new(),
            depth: 0,
            names: HashSet::new(),
            columns: None,
            write_id: None,
            dialect: Dialect::default(),
        }
    }

    /// Checks against the limits of this service.
    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Keeps the names of the entity's own columns from being used by
    /// [`other`](Self::other) properties, whether they are written or not.
    pub fn reserve(&mut self, columns: Columns) {
        self.columns = Some(columns);
    }

    /// Writes a property that no column has.
    pub fn other(&mut self, name: &str, value: EdmCow<'_>) -> Result<(), EncodeError> {
        if self.columns.as_ref().is_some_and(|columns| columns.has(name)) {
            return Err(LimitError::DuplicateProperty { property: name.to_owned() }.into());
        }
        self.value(name, value)
    }

    /// The error of a property that has no Edm form.
    pub fn refusal(&self, name: &str, reason: ConvertError) -> EncodeError {
        EncodeError::Convert { property: format!("{}{name}", self.prefix), reason }
    }

    /// Writes a property whose name the derive has checked.
    pub fn column<T: ToEdm + ?Sized>(
        &mut self,
        name: PropertyName<'_>,
        value: &T,
    ) -> Result<(), EncodeError> {
        if self.depth > 0 {
            return self.property(name.text, value);
        }
        match self.convert(name.text, value)? {
            Some(value) => self.put(name, value),
            None => Ok(()),
        }
    }

    /// Writes a property whose name was not written before.
    pub fn put_named(&mut self, name: &str, value: EdmCow<'_>) -> Result<(), EncodeError> {
        limits::check_property_name(name)?;
        self.put(name.into(), value)
    }

    /// Ends the entity: adds the id of the write, and checks the size of the entity.
    pub fn finish(mut self) -> Result<(), EncodeError> {
        if let Some((column, id)) = self.write_id.take() {
            self.put_named(column, EdmCow::Guid(id))?;
        }
        Ok(self.dialect.check_size(self.size)?)
    }
}

#[cold]
fn too_many(name: &str, count: usize) -> EncodeError {
    LimitError::TooManyProperties { property: name.to_owned(), count }.into()
}

/// An entity that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value has no Edm form.
    Convert {
        /// The property.
        property: String,
        /// The error in the value.
        reason: ConvertError,
    },
    /// A limit of the service is exceeded.
    Limit(LimitError),
    /// A key field's value cannot be stored as a key.
    Key(KeyError),
    /// The message of a hand-written entity.
    Other(String),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Convert { property, reason } => write!(f, "property {property:?}: {reason}"),
            Self::Limit(error) => error.fmt(f),
            Self::Key(error) => error.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for EncodeError {}

impl From<LimitError> for EncodeError {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}

impl From<KeyError> for EncodeError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}
