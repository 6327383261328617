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

    use crate::{BatchBuilder, ColumnType, SchemaOptions, TableSchema, Timestamps};

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

    #[derive(TableEntity)]
    struct Photo {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        width: i64,
    }

    #[derive(TableEntity)]
    struct Note {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        width: Option<i64>,
        text: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        Photo(Photo),
        Note(Note),
    }

    #[test]
    fn the_rows_of_an_enum_fit_its_columns() {
        let schema = TableSchema::of::<Item>(&SchemaOptions::new()).unwrap();
        let names: Vec<_> = schema.columns()[2..].iter().map(crate::Column::name).collect();
        assert_eq!(names, ["Kind", "width", "text"]);
        let (channel, text) = (String::from("c"), String::from("x"));
        let items = [
            Item::Photo(Photo { channel: channel.clone(), id: 1, width: 640 }),
            Item::Note(Note { channel, id: 2, width: None, text }),
        ];
        let mut builder = BatchBuilder::new(&schema);
        for item in &items {
            builder.append(&DynamicEntity::from_entity(item).unwrap()).unwrap();
        }
        assert_eq!(builder.finish().unwrap().column(3).null_count(), 1);
    }

    #[derive(TableEntity)]
    struct Wrong {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        width: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Mixed {
        Photo(Photo),
        Wrong(Wrong),
    }

    #[test]
    fn a_property_of_two_types_in_an_enum_is_refused() {
        let error = TableSchema::of::<Mixed>(&SchemaOptions::new()).unwrap_err().to_string();
        assert!(error.contains("has two types (Edm.Int64, Edm.String)"), "{error}");
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
