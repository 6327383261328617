use super::{Columns, TableEntity};

/// For which properties an entity speaks: where it does not write one of them, it has none. The others
/// are those of other programs, or are read only.
#[derive(Debug)]
pub struct Ownership {
    columns: Columns,
    others: bool,
}

impl Ownership {
    /// That of a type whose entities all speak for the same properties.
    pub(crate) fn of<T: TableEntity>() -> Self {
        Self { columns: Columns::of::<T>(), others: T::KEEPS_OTHERS }
    }

    /// Whether the entity has no such property if it does not write it.
    pub(crate) fn includes(&self, name: &str) -> bool {
        if self.columns.has(name) { self.columns.speak_for(name) } else { self.others }
    }

    /// The first property that it speaks for by name and that is not there.
    pub(crate) fn first_without(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let mut names = self.columns.names();
        let lacking = names.find(|name| !is_there(name) && self.columns.speak_for(name));
        lacking.map(str::to_owned)
    }
}
