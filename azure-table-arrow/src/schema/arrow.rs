//! Schemas of Arrow, also from other programs.

use arrow_schema::extension::{ExtensionType as _, Uuid};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use azure_table_client::edm::EdmType;

use crate::column::{COLUMN_KIND, EDM_TYPE, ETAG, PARTITION_KEY, REST, ROW_KEY, TIMESTAMP};
use crate::{Column, ColumnKind, ColumnType, Error, Timestamps};

/// Returns the columns of the fields.
pub(super) fn columns(schema: &Schema) -> Result<Vec<Column>, Error> {
    schema.fields().iter().map(|field| column(field)).collect()
}

fn column(field: &Field) -> Result<Column, Error> {
    let is_rest = field.metadata().get(COLUMN_KIND).is_some_and(|kind| kind == REST);
    let kind = match field.name().as_str() {
        PARTITION_KEY => ColumnKind::PartitionKey,
        ROW_KEY => ColumnKind::RowKey,
        TIMESTAMP => ColumnKind::Timestamp,
        ETAG => ColumnKind::ETag,
        _ if is_rest => ColumnKind::Rest,
        _ => ColumnKind::Property,
    };
    let column_type = column_type(field)?;
    let is_valid = match kind {
        ColumnKind::Property => true,
        ColumnKind::Timestamp => column_type.edm_type() == EdmType::DateTime,
        _ => column_type == ColumnType::String,
    };
    if !is_valid {
        return Err(unsupported(field, "for this column"));
    }
    Ok(Column::new(field.name(), kind, column_type))
}

fn column_type(field: &Field) -> Result<ColumnType, Error> {
    let stated = match field.metadata().get(EDM_TYPE) {
        Some(name) => Some(EdmType::from_name(name).ok_or_else(|| {
            Error::batch(field.name(), None, format!("has an unknown Edm type ({name:?})"))
        })?),
        None => None,
    };
    let column_type = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::String,
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 if stated == Some(EdmType::DateTime) => {
            ColumnType::DateTime(Timestamps::Ticks)
        }
        DataType::Int64 => ColumnType::Int64,
        DataType::Float64 => ColumnType::Double,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => {
            ColumnType::DateTime(Timestamps::Nanos)
        }
        DataType::Timestamp(_, Some(_)) => ColumnType::DateTime(Timestamps::Micros),
        DataType::Timestamp(_, None) => {
            return Err(unsupported(field, "because it has no time zone"));
        }
        DataType::FixedSizeBinary(16)
            if stated == Some(EdmType::Guid) || field.extension_type_name() == Some(Uuid::NAME) =>
        {
            ColumnType::Guid
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => ColumnType::Binary,
        _ => return Err(unsupported(field, "for a property")),
    };
    if let Some(stated) = stated.filter(|stated| *stated != column_type.edm_type()) {
        return Err(unsupported(field, &format!("for {stated}")));
    }
    Ok(column_type)
}

fn unsupported(field: &Field, purpose: &str) -> Error {
    let reason = format!("has a type that is not supported {purpose} ({})", field.data_type());
    Error::batch(field.name(), None, reason)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{Mixed, SchemaOptions, TableSchema};

    const TYPES: [(&str, ColumnType); 10] = [
        ("String", ColumnType::String),
        ("Boolean", ColumnType::Boolean),
        ("Int32", ColumnType::Int32),
        ("Int64", ColumnType::Int64),
        ("Double", ColumnType::Double),
        ("Nanos", ColumnType::DateTime(Timestamps::Nanos)),
        ("Micros", ColumnType::DateTime(Timestamps::Micros)),
        ("Ticks", ColumnType::DateTime(Timestamps::Ticks)),
        ("Guid", ColumnType::Guid),
        ("Binary", ColumnType::Binary),
    ];

    fn with(field: Field) -> Result<TableSchema, Error> {
        let keys = [PARTITION_KEY, ROW_KEY].map(|key| Field::new(key, DataType::Utf8, false));
        TableSchema::from_arrow(&Schema::new([keys.to_vec(), vec![field]].concat()))
    }

    #[test]
    fn every_schema_survives_arrow() {
        for timestamps in [Timestamps::Nanos, Timestamps::Micros, Timestamps::Ticks] {
            for mixed in [Mixed::Error, Mixed::rest(), Mixed::Rest("others".into())] {
                let options = SchemaOptions::new().timestamps(timestamps).mixed(mixed);
                let options = options.with_timestamp(true).with_etag(true);
                let schema = TableSchema::declared(TYPES, &options).unwrap();
                assert_eq!(TableSchema::from_arrow(&schema.arrow()).unwrap(), schema);
            }
        }
    }

    #[test]
    fn types_of_other_programs_are_read_without_metadata() {
        for (data_type, expected) in [
            (DataType::LargeUtf8, ColumnType::String),
            (DataType::Utf8View, ColumnType::String),
            (DataType::BinaryView, ColumnType::Binary),
            (
                DataType::Timestamp(TimeUnit::Millisecond, Some("+02:00".into())),
                ColumnType::DateTime(Timestamps::Micros),
            ),
        ] {
            let schema = with(Field::new("A", data_type, true)).unwrap();
            assert_eq!(schema.column("A").unwrap().column_type(), expected);
        }
        let guid = Field::new("A", DataType::FixedSizeBinary(16), true).with_extension_type(Uuid);
        assert_eq!(with(guid).unwrap().column("A").unwrap().column_type(), ColumnType::Guid);
    }

    #[test]
    fn other_types_are_refused() {
        let list = DataType::List(Field::new("item", DataType::Int32, true).into());
        for (name, data_type) in [
            ("A", list),
            ("A", DataType::UInt64),
            ("A", DataType::FixedSizeBinary(16)),
            ("A", DataType::Timestamp(TimeUnit::Nanosecond, None)),
            (TIMESTAMP, DataType::Utf8),
            (ETAG, DataType::Int32),
        ] {
            let error = with(Field::new(name, data_type, true)).unwrap_err();
            assert!(matches!(&error, Error::Batch { column, .. } if column == name), "{error}");
        }
        for (stated, part) in [("Edm.Int64", "Edm.Int64"), ("Edm.Byte", "unknown Edm type")] {
            let field = Field::new("A", DataType::Utf8, true);
            let metadata = HashMap::from([(EDM_TYPE.to_owned(), stated.to_owned())]);
            let error = with(field.with_metadata(metadata)).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn keys_are_required_and_names_are_unique() {
        let error = TableSchema::from_arrow(&Schema::empty()).unwrap_err().to_string();
        assert!(error.contains("PartitionKey is missing"), "{error}");
        let error = with(Field::new(ROW_KEY, DataType::Utf8, true)).unwrap_err().to_string();
        assert!(error.contains("two columns"), "{error}");
    }
}
