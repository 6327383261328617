use super::TableEntity;
use crate::decode::Columns;

/// The properties that an entity writes whenever it has them.
#[derive(Debug)]
pub struct Ownership(Columns);

impl Ownership {
    /// The properties of a type whose entities all write the same properties.
    pub(crate) fn of<T: TableEntity>() -> Self {
        Self(Columns::of::<T>())
    }

    /// Returns the first property that is missing. The parts of series and of split values do not count, since
    /// their number varies.
    pub(crate) fn first_without(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        self.0.spoken_for().find(|name| !is_there(name)).map(str::to_owned)
    }

    /// Whether the entity has a column with this name, and writes it if it has a value.
    pub(crate) fn is_written(&self, name: &str) -> bool {
        self.0.is_written(name)
    }

    /// The former names of a property.
    pub(crate) fn former_names(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.former_names(name)
    }
}
