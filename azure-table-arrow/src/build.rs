//! From rows to record batches.

mod column;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};

use crate::schema::is_reserved;
use crate::{ColumnKind, ColumnType, Error, Mixed, TableSchema, rest};
use column::{Cell, ColumnBuilder};

/// The size of values at which a batch is full, even with few rows.
const FULL_BYTES: usize = 32 << 20;

/// Collects rows into a record batch.
///
/// ```
/// use azure_table_arrow::{BatchBuilder, SchemaOptions, TableSchema};
/// use azure_table_client::DynamicEntity;
/// use azure_table_client::edm::EdmType;
///
/// let schema = TableSchema::declared([("Rating", EdmType::Int32)], &SchemaOptions::new())?;
/// let mut builder = BatchBuilder::new(&schema);
/// builder.append(&DynamicEntity::new("Channel9", "1").with("Rating", 3))?;
/// builder.append(&DynamicEntity::new("Channel9", "2"))?;
/// let batch = builder.finish()?;
/// assert_eq!((batch.num_rows(), batch.column(2).null_count()), (2, 1));
///
/// let error = builder.append(&DynamicEntity::new("Channel9", "3").with("Rating", "good"));
/// assert!(error.unwrap_err().to_string().contains(r#"row ("Channel9", "3")"#));
/// # Ok::<(), azure_table_arrow::Error>(())
/// ```
pub struct BatchBuilder {
    schema: TableSchema,
    columns: Vec<ColumnBuilder>,
    /// The properties that have a column, also in the schema before its projection.
    slots: HashMap<String, Slot>,
    batch_size: usize,
    rows: usize,
    bytes: usize,
}

struct Slot {
    edm_type: EdmType,
    /// The position of the column; `None` if the projection left it out.
    column: Option<usize>,
}

impl BatchBuilder {
    /// Returns an empty builder, which is full at 8,192 rows.
    pub fn new(schema: &TableSchema) -> Self {
        let slot =
            |column_type: ColumnType, column| Slot { edm_type: column_type.edm_type(), column };
        let columns = schema.columns().iter().enumerate();
        let columns = columns.filter(|(_, column)| column.kind() == ColumnKind::Property);
        let mut slots: HashMap<_, _> = columns
            .map(|(at, column)| (column.name().to_owned(), slot(column.column_type(), Some(at))))
            .collect();
        let omitted = schema.omitted().iter();
        slots.extend(
            omitted.map(|column| (column.name().to_owned(), slot(column.column_type(), None))),
        );
        let columns = schema.columns().iter();
        Self {
            columns: columns.map(|column| ColumnBuilder::new(column.column_type())).collect(),
            slots,
            schema: schema.clone(),
            batch_size: 8192,
            rows: 0,
            bytes: 0,
        }
    }

    /// Sets the number of rows at which a batch is full; 0 is 1.
    #[must_use]
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows.max(1);
        self
    }

    /// The schema of the batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.arrow()
    }

    /// The number of rows since the last batch.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows since the last batch.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether the batch has its maximum number of rows, or values of at least 32 MiB.
    pub const fn is_full(&self) -> bool {
        self.rows >= self.batch_size || self.bytes >= FULL_BYTES
    }

    /// Adds a row. A row that causes an error is not added, and the builder remains usable.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`]: a date-time is outside the range of its column. [`Error::Row`]: a property has no column
    /// or another type, and the schema does not allow it; the row has no Timestamp although there is a column; the batch
    /// would have more than 2 GiB in a column.
    pub fn append(&mut self, row: &DynamicEntity) -> Result<(), Error> {
        let (mut values, rest) = self.values(row)?;
        let rest = if rest.is_empty() {
            None
        } else {
            Some(
                rest::to_json(&rest)
                    .map_err(|error| Error::row(row.key(), "", error.to_string()))?,
            )
        };
        let (key, timestamp) = (row.key(), row.timestamp());
        for (column, cell) in self.schema.columns().iter().zip(&mut values) {
            *cell = match column.kind() {
                ColumnKind::PartitionKey => Cell::Text(&key.partition_key),
                ColumnKind::RowKey => Cell::Text(&key.row_key),
                ColumnKind::Timestamp => Cell::Time(timestamp.ok_or_else(|| {
                    Error::row(key, column.name(), "is missing: the row was not read from a table")
                })?),
                ColumnKind::ETag => row.etag().map_or(Cell::Null, |etag| Cell::Text(etag.as_str())),
                ColumnKind::Rest => rest.as_deref().map_or(Cell::Null, Cell::Text),
                ColumnKind::Property => *cell,
            };
        }
        for ((builder, cell), column) in self.columns.iter().zip(&values).zip(self.schema.columns())
        {
            builder.check(*cell).map_err(|unfit| unfit.of(key, column.name()))?;
        }
        for (builder, cell) in self.columns.iter_mut().zip(values) {
            self.bytes += cell.size();
            builder.push(cell);
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the values of the columns of properties, and the properties of the rest column.
    fn values<'r>(
        &self,
        row: &'r DynamicEntity,
    ) -> Result<(Vec<Cell<'r>>, BTreeMap<&'r str, &'r EdmValue>), Error> {
        let mut values = vec![Cell::Null; self.columns.len()];
        let mut rest = BTreeMap::new();
        let refused = |name, reason: String| Err(Error::row(row.key(), name, reason));
        for (name, value) in row.properties() {
            let edm_type = value.edm_type();
            let slot = self.slots.get(name);
            let is_twice = match (slot, self.schema.mixed()) {
                (Some(slot), _) if slot.edm_type == edm_type => match slot.column {
                    Some(at) => !std::mem::replace(&mut values[at], Cell::of(value)).is_null(),
                    None => false,
                },
                _ if is_reserved(name) => {
                    return refused(name, "is not the name of a property".to_owned());
                }
                (Some(slot), Mixed::Error) => {
                    return refused(
                        name,
                        format!("is {edm_type}, and its column {}", slot.edm_type),
                    );
                }
                (None, Mixed::Error) => return refused(name, "has no column".to_owned()),
                (_, Mixed::Rest(_)) => rest.insert(name, value).is_some(),
                (_, Mixed::Omit) => false,
            };
            if is_twice {
                return refused(name, "appears twice in the row".to_owned());
            }
        }
        Ok((values, rest))
    }

    /// Returns the rows since the last batch, and begins the next one. The batch may be empty.
    ///
    /// # Errors
    /// Arrow refuses the columns, which does not happen with columns of this crate.
    pub fn finish(&mut self) -> Result<RecordBatch, Error> {
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        Ok(RecordBatch::try_new_with_options(self.schema.arrow(), columns, &options)?)
    }
}

impl fmt::Debug for BatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> = self.schema.columns().iter().map(crate::Column::name).collect();
        f.debug_struct("BatchBuilder")
            .field("columns", &columns)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
