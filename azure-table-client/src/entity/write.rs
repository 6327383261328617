use std::fmt;

use super::KeyError;
use crate::edm::{ConvertError, EdmCow, ToEdm};
use crate::limits::{self, EntitySize, LimitError};

/// Receives the properties of an entity, one by one, and checks them against the service's limits.
pub struct PropertyWriter<'a> {
    sink: &'a mut dyn PropertySink,
    size: EntitySize,
    count: usize,
}

/// Where the properties go: a JSON body, or a dynamic entity.
pub(crate) trait PropertySink {
    fn put(&mut self, name: &str, value: EdmCow<'_>);
}

impl fmt::Debug for PropertyWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PropertyWriter").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<'a> PropertyWriter<'a> {
    pub(crate) fn new(sink: &'a mut dyn PropertySink, partition_key: &str, row_key: &str) -> Self {
        Self { sink, size: EntitySize::of_keys(partition_key, row_key), count: 0 }
    }

    /// Writes a property; a value of `None` writes nothing.
    ///
    /// The name is not checked: the derive does that when it is compiled, and
    /// [`check_property_name`](crate::limits::check_property_name) at run time.
    ///
    /// # Errors
    /// The value is outside what the service holds, or the 253rd.
    pub fn property<T: ToEdm + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), EncodeError> {
        match value.to_edm() {
            Ok(Some(value)) => self.value(name, value),
            Ok(None) => Ok(()),
            Err(reason) => Err(EncodeError::Convert { property: name.to_owned(), reason }),
        }
    }

    /// Writes a property whose Edm form is at hand.
    ///
    /// # Errors
    /// The value is outside what the service holds, or the 253rd.
    pub fn value(&mut self, name: &str, value: EdmCow<'_>) -> Result<(), EncodeError> {
        limits::check_value(name, &value)?;
        self.count += 1;
        if self.count > limits::PROPERTIES {
            return Err(LimitError::TooManyProperties {
                property: name.to_owned(),
                count: self.count,
            }
            .into());
        }
        self.size.add(name, &value);
        self.sink.put(name, value);
        Ok(())
    }

    /// Checks what only the whole entity shows.
    pub(crate) fn finish(self) -> Result<(), EncodeError> {
        Ok(self.size.check()?)
    }
}

/// An entity that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value has no Edm form.
    Convert {
        /// The property.
        property: String,
        /// What is wrong with it.
        reason: ConvertError,
    },
    /// A limit of the service is exceeded.
    Limit(LimitError),
    /// A key field's value has no form as a key.
    Key(KeyError),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Convert { property, reason } => write!(f, "property {property:?}: {reason}"),
            Self::Limit(error) => error.fmt(f),
            Self::Key(error) => error.fmt(f),
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
