use std::collections::HashSet;

use super::field::{Field, FieldKind, PARTS};
use crate::limits::{self, LimitError};

/// The columns of an entity: the names of its properties in a row.
///
/// The columns in [`COLUMNS`](crate::entity::TableEntity::COLUMNS) come first; an entity adds the others in
/// [`TableEntity::columns`](crate::entity::TableEntity::columns). [`Row`](super::Row) numbers them in this
/// order.
#[derive(Debug)]
pub struct Columns {
    fixed: &'static [&'static str],
    further: Vec<String>,
    /// Other names of columns, each with the index of its column.
    aliases: Vec<(String, usize)>,
    /// The columns that an entity does not always write.
    silent: Vec<usize>,
}

impl Columns {
    /// Appends a column.
    pub fn property(&mut self, name: &str) {
        self.add(name.to_owned());
    }

    /// Adds another name for the column at `index`. It is read if the row lacks the column itself.
    pub fn alias(&mut self, name: &str, index: usize) {
        self.aliases.push((name.to_owned(), index));
    }

    /// Marks the column at `index` as not always written: the row can have a column that the entity does not write.
    pub fn silent(&mut self, index: usize) {
        self.silent.push(index);
    }

    /// Does the same as [`fields`](Self::fields) if the last `known` columns are those of the first fields.
    pub(crate) fn fields_after(&mut self, known: usize, prefix: &str, fields: &[Field]) {
        let first = self.len() - known;
        for field in fields.iter().skip(known) {
            match field.kind {
                FieldKind::Group { fields, .. } => {
                    self.fields(&format!("{prefix}{}", field.name), fields);
                }
                FieldKind::Optional(fields) => self.fields(prefix, fields),
                FieldKind::Split(_) => {
                    self.elements(prefix, field, PARTS);
                    self.add(format!("{prefix}{}", field.number_of_parts()));
                }
                FieldKind::One(_) | FieldKind::Series { .. } => {
                    self.elements(prefix, field, field.size());
                }
            }
        }
        // The fields that are one property come first.
        for (at, field) in fields.iter().enumerate() {
            for alias in field.aliases {
                self.aliases.push((format!("{prefix}{alias}"), first + at));
            }
            if field.is_silent {
                self.silent(first + at);
            }
        }
    }

    fn elements(&mut self, prefix: &str, field: &Field, count: usize) {
        self.further.extend((0..count).map(|at| format!("{prefix}{}", field.element(at))));
    }

    /// The number of columns, without aliases.
    pub(super) const fn len(&self) -> usize {
        self.fixed.len() + self.further.len()
    }

    /// The number of columns and aliases.
    pub(super) const fn len_with_aliases(&self) -> usize {
        self.len() + self.aliases.len()
    }

    /// The name of a column or of an alias. The aliases follow the columns.
    pub(super) fn name(&self, at: usize) -> &str {
        if let Some(name) = self.fixed.get(at) {
            return name;
        }
        let at = at - self.fixed.len();
        match self.further.get(at) {
            Some(name) => name,
            None => self.aliases.get(at - self.further.len()).map_or("?", |(alias, _)| alias),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let fixed = self.fixed.iter().position(|column| *column == name);
        if fixed.is_some() || self.further.is_empty() && self.aliases.is_empty() {
            return fixed;
        }
        let further = self.further.iter().map(String::as_str);
        let aliases = self.aliases.iter().map(|(alias, _)| alias.as_str());
        further.chain(aliases).position(|column| column == name).map(|at| at + self.fixed.len())
    }

    /// The indexes of the aliases of a column, in the order in which they were added.
    pub(super) fn aliases_of(&self, column: usize) -> impl Iterator<Item = usize> {
        let first = self.len();
        (self.aliases.iter().enumerate())
            .filter(move |(_, (_, of))| *of == column)
            .map(move |(at, _)| first + at)
    }
}

#[doc(hidden)]
impl Columns {
    /// Returns only these columns.
    pub const fn new(fixed: &'static [&'static str]) -> Self {
        Self { fixed, further: Vec::new(), aliases: Vec::new(), silent: Vec::new() }
    }

    /// Appends a column, and returns its index.
    pub fn add(&mut self, name: String) -> usize {
        self.further.push(name);
        self.len() - 1
    }

    /// Adds the columns of fields, `prefix` before the name of each.
    pub fn fields(&mut self, prefix: &str, fields: &[Field]) {
        self.fields_after(0, prefix, fields);
    }

    /// The names of all columns, and of their aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.aliases.iter().map(|(alias, _)| alias);
        let fixed = self.fixed.iter().copied();
        fixed.chain(self.further.iter().chain(aliases).map(String::as_str))
    }

    /// The names of the columns, without their aliases.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.fixed.iter().copied().chain(self.further.iter().map(String::as_str))
    }

    /// The properties that are one field each and always written where they have a value.
    pub fn spoken_for(&self) -> impl Iterator<Item = &str> {
        let fixed = self.fixed.iter().enumerate();
        fixed.filter(|(at, _)| !self.silent.contains(at)).map(|(_, name)| *name)
    }

    /// The other names of a column.
    pub fn former_names(&self, name: &str) -> impl Iterator<Item = &str> {
        let column = self.find(name);
        let aliases = self.aliases.iter().filter(move |(_, of)| Some(*of) == column);
        aliases.map(|(alias, _)| alias.as_str())
    }

    /// Whether a column or an alias has this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether a column has this name. Aliases do not count.
    pub fn is_written(&self, name: &str) -> bool {
        self.find(name).is_some_and(|at| at < self.len())
    }

    /// Refuses a name that occurs twice or is reserved. The derive has checked the names in
    /// [`COLUMNS`](crate::entity::TableEntity::COLUMNS) among themselves.
    pub fn check(&self) -> Result<(), LimitError> {
        if self.further.is_empty() && self.aliases.is_empty() {
            return Ok(());
        }
        let mut known: HashSet<&str> = self.fixed.iter().copied().collect();
        let further = self.further.iter();
        for name in further.chain(self.aliases.iter().map(|(alias, _)| alias)) {
            limits::check_property_name(name)?;
            if !known.insert(name) {
                return Err(LimitError::DuplicateProperty { property: name.clone() });
            }
        }
        Ok(())
    }
}
