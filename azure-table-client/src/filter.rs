//! OData filters and their typed columns.
//!
//! The client checks filters before it sends them, with the parser that the mock uses too. The [guide](crate::guide::queries)
//! explains the cost of queries.

mod boolean;
mod column;
mod condition;
mod field_columns;
mod forms;
mod key_column;
mod key_part;
mod multi_column;
mod projection;
mod query_filter;
mod stored;
mod unsupported;

#[doc(hidden)]
pub use crate::edm::{OrderedEdm, TextEdm};
pub use azure_table_derive::Projection;
#[doc(inline)]
pub use azure_table_protocol::filter::{CompareOp, Filter, FilterError, FilterErrorKind, PlanKind};
pub(crate) use azure_table_protocol::filter::{
    KeyOrder, ListedPartition, MAX_QUERIES, Plan, Split, lower_bound,
};
#[doc(hidden)]
pub use column::ReadColumn;
pub use column::{Column, HasColumns};
pub use condition::{Condition, IntoCondition};
#[doc(hidden)]
pub use field_columns::FieldColumns;
pub use key_column::KeyColumn;
#[doc(hidden)]
pub use key_part::{PartitionKeyPart, RowKeyPart};
#[doc(hidden)]
pub use multi_column::MultiColumn;
pub use multi_column::{ETagColumn, SeriesColumns};
pub(crate) use projection::Projected;
pub use projection::{Projection, ProjectionOf};
#[doc(hidden)]
pub use projection::{Selection, project};
pub(crate) use query_filter::QueryFilter;
pub use stored::Literal;
#[doc(hidden)]
pub use stored::stored;
#[doc(hidden)]
pub use stored::{AsIs, ColumnCodec, OrderedCodec};
