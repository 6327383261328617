//! The columns of some rows, with the types of their values.

use std::collections::HashMap;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};

use crate::output::shortened;

/// The most columns that are kept. A table may have more, since each row has its own.
const MAX_COLUMNS: usize = 1_000;
const MAX_EXAMPLES: usize = 3;
/// The width of an example on the terminal.
const EXAMPLE_WIDTH: usize = 24;
/// The number of values of a column in which examples are searched.
const EXAMPLE_ROWS: u64 = 1_000;

/// The columns of some rows, in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub(super) struct Profile {
    pub(super) rows: u64,
    columns: Vec<Column>,
    by_name: HashMap<String, usize>,
    /// Whether the rows have more columns than are kept.
    pub(super) has_more: bool,
}

/// A column of some rows.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// The number of values of each type, in the order in which they were found.
    pub(super) types: Vec<(EdmType, u64)>,
    /// Different values, cut and without control characters.
    pub(super) examples: Vec<String>,
}

impl Profile {
    pub(super) fn add(&mut self, row: &DynamicEntity) {
        self.rows += 1;
        for (name, key) in
            [("PartitionKey", &row.key().partition_key), ("RowKey", &row.key().row_key)]
        {
            if let Some(column) = self.column_mut(name) {
                column.add(EdmType::String, || format!("{key:?}"));
            }
        }
        for (name, value) in row.properties() {
            if let Some(column) = self.column_mut(name) {
                column.add(value.edm_type(), || text_of(value));
            }
        }
    }

    /// All columns, the keys first.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns without the keys.
    pub(super) fn properties(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().skip(2)
    }

    /// The number of rows that have the column.
    pub(super) fn rows_with(&self, name: &str) -> u64 {
        self.by_name.get(name).map_or(0, |at| self.columns[*at].rows())
    }

    fn column_mut(&mut self, name: &str) -> Option<&mut Column> {
        if let Some(at) = self.by_name.get(name) {
            return self.columns.get_mut(*at);
        }
        if self.columns.len() == MAX_COLUMNS {
            self.has_more = true;
            return None;
        }
        self.by_name.insert(name.to_owned(), self.columns.len());
        self.columns.push(Column {
            name: name.to_owned(),
            types: Vec::new(),
            examples: Vec::new(),
        });
        self.columns.last_mut()
    }
}

impl Column {
    /// The number of rows that have the column.
    pub(super) fn rows(&self) -> u64 {
        self.types.iter().map(|(_, values)| values).sum()
    }

    /// The type of all values, unless they have several.
    pub(super) fn single_type(&self) -> Option<EdmType> {
        match self.types[..] {
            [(edm_type, _)] => Some(edm_type),
            _ => None,
        }
    }

    fn add(&mut self, edm_type: EdmType, text: impl FnOnce() -> String) {
        if self.examples.len() < MAX_EXAMPLES && self.rows() < EXAMPLE_ROWS {
            let example = shortened(text(), EXAMPLE_WIDTH);
            if !self.examples.contains(&example) {
                self.examples.push(example);
            }
        }
        match self.types.iter_mut().find(|(known, _)| *known == edm_type) {
            Some((_, values)) => *values += 1,
            None => self.types.push((edm_type, 1)),
        }
    }
}

/// The text of a value, in quotes if it is text.
fn text_of(value: &EdmValue) -> String {
    match value {
        // The rest of a large value would be cut.
        EdmValue::String(text) => {
            format!("{:?}", text.chars().take(EXAMPLE_WIDTH + 1).collect::<String>())
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_by_their_type() {
        let mut profile = Profile::default();
        for n in 0..5 {
            let row = DynamicEntity::new("p", n.to_string()).with("N", n);
            profile.add(&if n == 3 { row.with("N", "three\n") } else { row.with("Text", "a") });
        }
        let names: Vec<_> = profile.columns().iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["PartitionKey", "RowKey", "N", "Text"]);
        let [n, text] = profile.properties().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!(n.types, [(EdmType::Int32, 4), (EdmType::String, 1)]);
        assert_eq!((n.single_type(), text.single_type()), (None, Some(EdmType::String)));
        assert_eq!((n.rows(), text.rows(), profile.rows_with("Text")), (5, 4, 4));
        assert_eq!(
            (&n.examples[..], &text.examples[..]),
            (&["0", "1", "2"].map(str::to_owned)[..], &["\"a\"".to_owned()][..])
        );
    }

    #[test]
    fn a_table_may_have_any_number_of_columns() {
        let mut profile = Profile::default();
        for n in 0..2 * MAX_COLUMNS {
            profile.add(&DynamicEntity::new("p", n.to_string()).with(format!("C{n}"), 1));
        }
        assert_eq!((profile.columns().len(), profile.has_more), (MAX_COLUMNS, true));
    }

    #[test]
    fn examples_are_short_and_without_control_characters() {
        let mut profile = Profile::default();
        profile.add(
            &DynamicEntity::new("p", "r")
                .with("Text", "\u{1b}[2J".repeat(99))
                .with("Data", vec![7; 999]),
        );
        for example in profile.properties().flat_map(|column| &column.examples) {
            assert!(
                example.chars().count() <= EXAMPLE_WIDTH && !example.contains('\u{1b}'),
                "{example}"
            );
        }
    }
}
