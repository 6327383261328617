//! Schemas that rows imply.

use std::collections::HashMap;

use azure_table_client::edm::EdmType;
use azure_table_client::{DynamicEntity, EntityKey};

use super::{TableSchema, is_reserved};
use crate::{ColumnType, Error, Mixed, SchemaOptions};

/// Infers a schema from rows that are added one by one. Memory grows with the number of properties, not of rows.
///
/// ```
/// use azure_table_arrow::{SchemaInference, SchemaOptions};
/// use azure_table_client::DynamicEntity;
///
/// let mut inference = SchemaInference::new();
/// inference.add(&DynamicEntity::new("p", "1").with("Rating", 3));
/// inference.add(&DynamicEntity::new("p", "2").with("Text", "Hello"));
/// let schema = inference.finish(&SchemaOptions::new())?;
/// assert_eq!(schema.columns().len(), 4);
/// # Ok::<(), azure_table_arrow::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SchemaInference {
    /// The properties in the order of their first rows.
    properties: Vec<Property>,
    positions: HashMap<String, usize>,
}

#[derive(Debug, Clone)]
struct Property {
    name: String,
    /// The types, each with the first row that has it.
    found: Vec<(EdmType, EntityKey)>,
}

impl SchemaInference {
    /// Returns an inference without rows, whose schema has only the keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the properties of a row.
    pub fn add(&mut self, row: &DynamicEntity) {
        for (name, value) in row.properties() {
            let edm_type = value.edm_type();
            let at = self.positions.get(name).copied().unwrap_or_else(|| {
                self.positions.insert(name.to_owned(), self.properties.len());
                self.properties.push(Property { name: name.to_owned(), found: Vec::new() });
                self.properties.len() - 1
            });
            let found = &mut self.properties[at].found;
            if !found.iter().any(|(known, _)| *known == edm_type) {
                found.push((edm_type, row.key().clone()));
            }
        }
    }

    /// Returns the names of the properties with values of several types.
    pub fn mixed(&self) -> impl Iterator<Item = &str> {
        let mixed = self.properties.iter().filter(|property| property.found.len() > 1);
        mixed.map(|property| property.name.as_str())
    }

    /// Returns the schema of the rows so far.
    ///
    /// # Errors
    /// A property has values of several types, and the options do not allow it; see [`Mixed`].
    pub fn finish(&self, options: &SchemaOptions) -> Result<TableSchema, Error> {
        let mut columns = Vec::with_capacity(self.properties.len());
        for Property { name, found } in &self.properties {
            match (&found[..], &options.mixed) {
                // Batches refuse the rows with such a property, which the service cannot store.
                _ if is_reserved(name) => {}
                (_, Mixed::Rest(rest)) if rest == name => {}
                ([(edm_type, _)], _) => {
                    columns.push((name, ColumnType::new(*edm_type, options.timestamps)));
                }
                (_, Mixed::Error) => {
                    let (property, found) = (name.clone(), found.clone());
                    return Err(Error::MixedTypes { property, found });
                }
                _ => {}
            }
        }
        TableSchema::declared(columns, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnKind, Timestamps};

    fn rows() -> [DynamicEntity; 3] {
        [
            DynamicEntity::new("p", "1").with("Value", 3).with("rest", "x"),
            DynamicEntity::new("p", "2").with("Text", "Hello").with("Value", "three"),
            DynamicEntity::new("p", "3").with("Value", 4),
        ]
    }

    fn properties(schema: &TableSchema) -> Vec<&str> {
        let columns = schema.columns().iter();
        columns.filter(|c| c.kind() == ColumnKind::Property).map(crate::Column::name).collect()
    }

    #[test]
    fn a_property_of_two_types_is_an_error_that_names_the_rows() {
        let error = TableSchema::infer(&rows(), &SchemaOptions::new()).unwrap_err().to_string();
        assert!(error.contains(r#"Edm.Int32 in row ("p", "1"), Edm.String in row ("p", "2")"#));
        assert!(error.contains("\"Value\""), "{error}");
    }

    #[test]
    fn a_property_of_two_types_goes_to_the_rest_column_or_is_left_out() {
        let options = SchemaOptions::new().mixed(Mixed::rest());
        let schema = TableSchema::infer(&rows(), &options).unwrap();
        assert_eq!(properties(&schema), ["Text"]);
        assert_eq!(schema.columns().last().map(crate::Column::kind), Some(ColumnKind::Rest));
        let options = options.mixed(Mixed::Rest("others".into()));
        assert_eq!(properties(&TableSchema::infer(&rows(), &options).unwrap()), ["rest", "Text"]);
        let options = options.mixed(Mixed::Omit);
        assert_eq!(properties(&TableSchema::infer(&rows(), &options).unwrap()), ["rest", "Text"]);
    }

    #[test]
    fn options_choose_the_form_of_times() {
        let row =
            DynamicEntity::new("p", "1").with("At", azure_table_client::edm::EdmDateTime::MIN);
        let options = SchemaOptions::new().timestamps(Timestamps::Ticks).with_timestamp(true);
        let schema = TableSchema::infer([&row], &options).unwrap();
        for name in ["At", "Timestamp"] {
            let column = schema.column(name).unwrap();
            assert_eq!(column.column_type(), ColumnType::DateTime(Timestamps::Ticks));
        }
    }
}
