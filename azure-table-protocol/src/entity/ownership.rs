use super::TableEntity;
use super::decode::Columns;

/// The properties that an entity writes whenever it has them.
#[derive(Debug)]
pub struct Ownership {
    columns: Columns,
    /// Whether it keeps properties without a field, and writes them back.
    keeps_others: bool,
}

impl Ownership {
    /// The properties of a type whose entities all write the same properties.
    pub(crate) fn of<T: TableEntity>() -> Self {
        Self { columns: Columns::of::<T>(), keeps_others: T::KEEPS_OTHERS }
    }
}

#[doc(hidden)]
impl Ownership {
    /// Returns the first property that is missing. The parts of series and of split values do not count, since
    /// their number varies.
    pub fn first_without(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        self.columns.spoken_for().find(|name| !is_there(name)).map(str::to_owned)
    }

    /// Whether the entity writes a property with this name if it has a value.
    pub fn is_written(&self, name: &str) -> bool {
        self.columns.is_written(name) || (self.keeps_others && !self.columns.has(name))
    }

    /// The former names of a property.
    pub fn former_names(&self, name: &str) -> impl Iterator<Item = &str> {
        self.columns.former_names(name)
    }
}
