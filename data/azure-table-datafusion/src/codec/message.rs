//! The messages: JSON after a mark that no message of Protocol Buffers begins with.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema};
use azure_table_arrow::{Column, Mixed, TableSchema};
use datafusion_common::{DataFusionError, Result, plan_datafusion_err};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Connections;
use crate::error::external;
use crate::source::Source;

/// The beginning of each message. A field of Protocol Buffers has no number 0, so that no message of another codec has it.
const MARK: &[u8] = b"\0azure-table 1\n";

/// The name of a rest column that is only used to read a schema.
const NO_COLUMN: &str = "\0";

#[derive(Serialize, Deserialize)]
pub(super) struct SourceMessage {
    connection: String,
    table: String,
}

/// A schema of Arrow, the properties that it omits, and whether properties without a column are left out.
#[derive(Serialize, Deserialize)]
pub(super) struct SchemaMessage {
    fields: Vec<FieldMessage>,
    omitted: Vec<FieldMessage>,
    is_omitting: bool,
}

#[derive(Serialize, Deserialize)]
struct FieldMessage {
    name: String,
    data_type: String,
    nullable: bool,
    metadata: HashMap<String, String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TableMessage {
    pub(super) source: SourceMessage,
    pub(super) schema: SchemaMessage,
    pub(super) partitions: Option<usize>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ScanMessage {
    pub(super) source: SourceMessage,
    pub(super) schema: SchemaMessage,
    pub(super) projection: Vec<usize>,
    pub(super) filter: Option<String>,
    pub(super) limit: Option<usize>,
}

/// Whether a message was written by this crate.
pub(super) fn is_own(bytes: &[u8]) -> bool {
    bytes.starts_with(MARK)
}

pub(super) fn encode(message: &impl Serialize, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.extend_from_slice(MARK);
    serde_json::to_writer(bytes, message).map_err(damaged)
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes.strip_prefix(MARK).unwrap_or_default()).map_err(damaged)
}

fn damaged(error: serde_json::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error)).context("plan of a table")
}

impl SourceMessage {
    pub(super) fn new(source: &Source) -> Result<Self> {
        let table = source.table.name().to_owned();
        let connection = source.connection.clone().ok_or_else(|| {
            plan_datafusion_err!(
                "table {table:?} cannot be read by other processes: its connection has no name; set \
                 AzureTable::connection"
            )
        })?;
        Ok(Self { connection, table })
    }

    pub(super) fn into_source(self, connections: &dyn Connections) -> Result<Source> {
        let service = connections.service(&self.connection)?;
        let connection = Some(self.connection);
        Ok(Source { table: service.table_named(self.table), connection })
    }
}

impl SchemaMessage {
    pub(super) fn new(schema: &TableSchema) -> Self {
        let messages = |columns: &[Column]| columns.iter().map(FieldMessage::new).collect();
        Self {
            fields: messages(schema.columns()),
            omitted: messages(schema.omitted()),
            is_omitting: *schema.mixed() == Mixed::Omit,
        }
    }

    /// Returns the schema as a projection of one with the columns that it lacks.
    pub(super) fn into_schema(self) -> Result<TableSchema> {
        let columns: Vec<_> = (0..self.fields.len()).collect();
        let fields = self.fields.into_iter().chain(self.omitted);
        let mut fields = fields.map(FieldMessage::into_field).collect::<Result<Vec<_>>>()?;
        for key in ["PartitionKey", "RowKey"] {
            if !fields.iter().any(|field| field.name() == key) {
                fields.push(Field::new(key, DataType::Utf8, false));
            }
        }
        if self.is_omitting {
            // A schema that lost its rest column omits properties without a column.
            let metadata = HashMap::from([("azure.column".to_owned(), "rest".to_owned())]);
            fields.push(Field::new(NO_COLUMN, DataType::Utf8, true).with_metadata(metadata));
        }
        let schema = TableSchema::from_arrow(&Schema::new(fields)).map_err(external)?;
        schema.project(&columns).map_err(external)
    }
}

impl FieldMessage {
    fn new(column: &Column) -> Self {
        let field = column.field();
        Self {
            name: field.name().clone(),
            data_type: field.data_type().to_string(),
            nullable: field.is_nullable(),
            metadata: field.metadata().clone(),
        }
    }

    fn into_field(self) -> Result<Field> {
        let data_type: DataType = self.data_type.parse()?;
        Ok(Field::new(self.name, data_type, self.nullable).with_metadata(self.metadata))
    }
}
