use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use super::{EncodeError, PropertyWriter};
use crate::edm::EdmValue;

/// A field that keeps the properties that the struct does not know, by `#[table(extra)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot keep the other properties",
    label = "not a collection of properties",
    note = "use BTreeMap<String, EdmValue>, HashMap<String, EdmValue> or Vec<(String, EdmValue)>; the last one keeps their order"
)]
pub trait ExtraField: Sized {
    /// Takes the properties over.
    fn from_properties(properties: Vec<(String, EdmValue)>) -> Self;

    /// Writes them.
    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError>;
}

fn write<'a>(
    properties: impl IntoIterator<Item = (&'a String, &'a EdmValue)>,
    writer: &mut PropertyWriter<'_>,
) -> Result<(), EncodeError> {
    properties.into_iter().try_for_each(|(name, value)| writer.other(name, value.as_cow()))
}

#[diagnostic::do_not_recommend]
impl ExtraField for Vec<(String, EdmValue)> {
    fn from_properties(properties: Vec<(String, EdmValue)>) -> Self {
        properties
    }

    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        write(self.iter().map(|(name, value)| (name, value)), writer)
    }
}

#[diagnostic::do_not_recommend]
impl ExtraField for BTreeMap<String, EdmValue> {
    fn from_properties(properties: Vec<(String, EdmValue)>) -> Self {
        properties.into_iter().collect()
    }

    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        write(self, writer)
    }
}

#[diagnostic::do_not_recommend]
impl<S: BuildHasher + Default> ExtraField for HashMap<String, EdmValue, S> {
    fn from_properties(properties: Vec<(String, EdmValue)>) -> Self {
        properties.into_iter().collect()
    }

    /// In the order of the names, so that a run can repeat itself.
    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        write(sorted, writer)
    }
}
