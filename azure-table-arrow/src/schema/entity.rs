//! The properties that entity types declare.

use azure_table_client::entity::schema::{Layout, PropertySchema, Schema};

use crate::{ColumnType, Error, Timestamps};

/// Returns the properties of a type with the types of their columns.
pub(super) fn properties(
    schema: &Schema,
    timestamps: Timestamps,
) -> Result<Vec<(String, ColumnType)>, Error> {
    let mut columns = Vec::new();
    if let Some(kinds) = &schema.kinds {
        if let Some(name) = &kinds.property {
            columns.push((name.clone(), ColumnType::String));
        }
        for (_, kind) in &kinds.list {
            for (name, column_type) in properties(kind, timestamps)? {
                add(&mut columns, name, column_type)?;
            }
        }
    }
    for property in &schema.properties {
        let column_type = column_type(property, timestamps)?;
        add(&mut columns, property.name.clone(), column_type)?;
    }
    Ok(columns)
}

fn add(
    columns: &mut Vec<(String, ColumnType)>,
    name: String,
    column_type: ColumnType,
) -> Result<(), Error> {
    match columns.iter().find(|(known, _)| *known == name) {
        None => columns.push((name, column_type)),
        Some((_, known)) if *known == column_type => {}
        Some((_, known)) => {
            let (one, other) = (known.edm_type(), column_type.edm_type());
            return Err(Error::Schema(format!(
                "the property {name:?} has two types ({one}, {other})"
            )));
        }
    }
    Ok(())
}

fn column_type(property: &PropertySchema, timestamps: Timestamps) -> Result<ColumnType, Error> {
    let name = &property.name;
    match (property.edm_type, &property.layout) {
        (Some(edm_type), Layout::One) => Ok(ColumnType::new(edm_type, timestamps)),
        (None, _) => Err(Error::Schema(format!(
            "the type does not describe the property {name:?}: declare the columns"
        ))),
        _ => Err(Error::Schema(format!(
            "the field {name:?} is stored in several properties: declare the columns"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use azure_table_client::{DynamicEntity, TableEntity};

    use crate::{ColumnType, SchemaOptions, TableSchema, Timestamps};

    #[derive(TableEntity)]
    #[table(rename_all = "PascalCase")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
        posted: azure_table_client::edm::EdmDateTime,
    }

    #[derive(TableEntity)]
    #[table(rename_all = "PascalCase")]
    struct Tagged {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        #[table(series)]
        tags: Vec<String>,
    }

    #[test]
    fn the_columns_are_those_of_the_struct() {
        let options = SchemaOptions::new().timestamps(Timestamps::Micros);
        let schema = TableSchema::of::<Blog>(&options).unwrap();
        let columns: Vec<_> =
            schema.columns()[2..].iter().map(|c| (c.name(), c.column_type())).collect();
        assert_eq!(
            columns,
            [
                ("Text", ColumnType::String),
                ("Rating", ColumnType::Int32),
                ("Posted", ColumnType::DateTime(Timestamps::Micros)),
            ]
        );
    }

    #[test]
    fn several_properties_of_one_field_are_refused() {
        let error = TableSchema::of::<Tagged>(&SchemaOptions::new()).unwrap_err();
        assert!(error.to_string().contains("several properties"), "{error}");
    }

    #[test]
    fn an_entity_without_fields_has_only_the_keys() {
        let schema = TableSchema::of::<DynamicEntity>(&SchemaOptions::new()).unwrap();
        assert_eq!(schema.columns().len(), 2);
    }
}
