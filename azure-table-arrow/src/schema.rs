//! The schema of a table: its columns, and the treatment of everything else.

mod arrow;
mod entity;
mod infer;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use azure_table_client::{DynamicEntity, TableEntity};

use crate::column::{ETAG, PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::{Column, ColumnKind, ColumnType, Error, Mixed, SchemaOptions};

pub use infer::SchemaInference;

/// The names of the columns that are not properties.
const RESERVED: [&str; 4] = [PARTITION_KEY, ROW_KEY, TIMESTAMP, ETAG];

/// The columns of a table in Arrow: both keys, the Timestamp and the ETag on request, the properties, and a JSON column for
/// the others on request.
///
/// A table has no schema, so a program declares one ([`declared`](Self::declared), [`of`](Self::of)) or infers it from rows
/// ([`infer`](Self::infer), [`SchemaInference`]).
///
/// ```
/// use azure_table_arrow::{SchemaOptions, TableSchema};
/// use azure_table_client::edm::EdmType;
///
/// let columns = [("Text", EdmType::String), ("Rating", EdmType::Int32)];
/// let schema = TableSchema::declared(columns, &SchemaOptions::new())?;
/// let names: Vec<_> = schema.columns().iter().map(|column| column.name()).collect();
/// assert_eq!(names, ["PartitionKey", "RowKey", "Text", "Rating"]);
/// assert_eq!(TableSchema::from_arrow(&schema.arrow())?, schema);
/// # Ok::<(), azure_table_arrow::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TableSchema {
    columns: Vec<Column>,
    omitted: Vec<Column>,
    mixed: Mixed,
    arrow: SchemaRef,
}

impl TableSchema {
    /// Returns a schema with these properties, in this order. An [`EdmType`](azure_table_client::edm::EdmType) is also a
    /// type of columns; `Edm.DateTime` is then in nanoseconds: [`ColumnType::new`] chooses another form.
    ///
    /// # Errors
    /// A name is empty, appears twice, or is that of another column.
    pub fn declared<N: Into<String>, C: Into<ColumnType>>(
        properties: impl IntoIterator<Item = (N, C)>,
        options: &SchemaOptions,
    ) -> Result<Self, Error> {
        let key = |name, kind| Column::new(name, kind, ColumnType::String);
        let mut columns =
            vec![key(PARTITION_KEY, ColumnKind::PartitionKey), key(ROW_KEY, ColumnKind::RowKey)];
        if options.has_timestamp {
            let column_type = ColumnType::DateTime(options.timestamps);
            columns.push(Column::new(TIMESTAMP, ColumnKind::Timestamp, column_type));
        }
        if options.has_etag {
            columns.push(key(ETAG, ColumnKind::ETag));
        }
        for (name, column_type) in properties {
            let name = name.into();
            check_name(&name, "a property")?;
            columns.push(Column::new(name, ColumnKind::Property, column_type.into()));
        }
        if let Mixed::Rest(name) = &options.mixed {
            check_name(name, "the rest column")?;
            columns.push(Column::new(name, ColumnKind::Rest, ColumnType::String));
        }
        Self::of_columns(columns, options.mixed.clone())
    }

    /// Returns the schema of the properties that a struct or an enum declares, in the order in which they are written.
    ///
    /// # Errors
    /// A property is not described (a codec of the program's own, an entity without the derive), is stored in several
    /// properties (a series), or has several types in the kinds of an enum: declare the schema instead.
    pub fn of<T: TableEntity>(options: &SchemaOptions) -> Result<Self, Error> {
        Self::declared(entity::properties(&T::schema(), options.timestamps)?, options)
    }

    /// Returns a schema with every property of these rows, in the order in which they first appear.
    ///
    /// # Errors
    /// A property has values of several types, and the options do not allow it; see [`Mixed`].
    pub fn infer<'r>(
        rows: impl IntoIterator<Item = &'r DynamicEntity>,
        options: &SchemaOptions,
    ) -> Result<Self, Error> {
        let mut inference = SchemaInference::new();
        for row in rows {
            inference.add(row);
        }
        inference.finish(options)
    }

    /// Reads a schema of Arrow: the result of [`arrow`](Self::arrow), or the schema of a file that another program wrote.
    ///
    /// The metadata `azure.edm_type` of a field states the Edm type of a property. Without it, the Arrow type decides: texts
    /// and bytes of any layout, `Boolean`, `Int32`, `Int64`, `Float64`, times with a time zone, and `FixedSizeBinary(16)`
    /// with the extension type `arrow.uuid`. A schema with a rest column has [`Mixed::Rest`], another one [`Mixed::Error`].
    ///
    /// # Errors
    /// The schema does not have the keys, or a field is of another type.
    pub fn from_arrow(schema: &Schema) -> Result<Self, Error> {
        let columns = arrow::columns(schema)?;
        let rest = columns.iter().find(|column| column.kind() == ColumnKind::Rest);
        let mixed = rest.map_or(Mixed::Error, |column| Mixed::Rest(column.name().to_owned()));
        for (kind, name) in
            [(ColumnKind::PartitionKey, PARTITION_KEY), (ColumnKind::RowKey, ROW_KEY)]
        {
            if !columns.iter().any(|column| column.kind() == kind) {
                return Err(Error::Schema(format!("the column {name} is missing")));
            }
        }
        Self::of_columns(columns, mixed)
    }

    fn of_columns(columns: Vec<Column>, mixed: Mixed) -> Result<Self, Error> {
        let mut names = HashSet::new();
        if let Some(column) = columns.iter().find(|column| !names.insert(column.name())) {
            return Err(Error::Schema(format!("two columns are called {:?}", column.name())));
        }
        Ok(Self { arrow: arrow_of(&columns), columns, omitted: Vec::new(), mixed })
    }

    /// Returns a schema with only the columns at these positions, in this order. Batches of it omit the values of the
    /// other columns; their rows can be read back only if both keys are among them.
    ///
    /// Without the rest column, properties without a suitable column are left out, as by [`Mixed::Omit`].
    ///
    /// # Errors
    /// A position appears twice, or is not less than the number of columns.
    pub fn project(&self, positions: &[usize]) -> Result<Self, Error> {
        let mut kept = HashSet::new();
        let mut columns = Vec::with_capacity(positions.len());
        for &at in positions {
            let column = self.columns.get(at).filter(|_| kept.insert(at)).ok_or_else(|| {
                let count = self.columns.len();
                Error::Schema(format!("invalid projection: column {at} of {count}"))
            })?;
            columns.push(column.clone());
        }
        let left_out = self.columns.iter().enumerate().filter(|(at, _)| !kept.contains(at));
        let (mut omitted, mut mixed) = (self.omitted.clone(), self.mixed.clone());
        for (_, column) in left_out {
            match column.kind() {
                ColumnKind::Property => omitted.push(column.clone()),
                ColumnKind::Rest => mixed = Mixed::Omit,
                _ => {}
            }
        }
        Ok(Self { arrow: arrow_of(&columns), columns, omitted, mixed })
    }

    /// The columns in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name() == name)
    }

    /// The treatment of properties without a suitable column.
    pub const fn mixed(&self) -> &Mixed {
        &self.mixed
    }

    /// Returns the schema in Arrow. Fields of properties have the metadata `azure.edm_type`.
    pub fn arrow(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    /// Returns the names of the properties that a query has to
    /// [select](azure_table_client::client::Query::select_names), or `None` if batches need all of them: for the rest column,
    /// or to find properties that are an error.
    pub fn selection(&self) -> Option<Vec<&str>> {
        let properties = self.columns.iter().filter(|column| column.kind() == ColumnKind::Property);
        (self.mixed == Mixed::Omit).then(|| properties.map(Column::name).collect())
    }

    /// The properties that a [projection](Self::project) left out. Batches have no column for them, and their values are
    /// neither an error nor part of the rest column.
    pub fn omitted(&self) -> &[Column] {
        &self.omitted
    }
}

fn arrow_of(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()))
}

fn check_name(name: &str, owner: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::Schema(format!("the name of {owner} is empty")));
    }
    if is_reserved(name) {
        return Err(Error::Schema(format!("{owner} cannot be called {name}: another column is")));
    }
    Ok(())
}

/// Whether no property can have this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}
