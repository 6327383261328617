//! The table in DataFusion.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use azure_table_arrow::{SchemaInference, SchemaOptions, TableSchema};
use azure_table_client::filter::Filter;
use azure_table_client::{DynamicEntity, TableClient};
use datafusion_catalog::{Session, TableProvider};
use datafusion_common::{DFSchema, Result};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::projection::ProjectionExec;
use futures_util::TryStreamExt as _;

use crate::error::external;
use crate::pushdown::{Budget, translate};
use crate::ranges;
use crate::scan::AzureTableScan;
use crate::source::Source;

/// A table of the service as a table of DataFusion.
///
/// A scan is read in several ranges of keys concurrently: by default as many as the session has target partitions. Finding
/// the ranges of a large table takes from twenty to several hundred small requests when a query is planned, `EXPLAIN` included;
/// see [`Parallel`](azure_table_client::client::Parallel).
#[derive(Debug, Clone)]
pub struct AzureTable {
    source: Source,
    schema: TableSchema,
    partitions: Option<usize>,
}

impl AzureTable {
    /// Returns a table with this schema.
    ///
    /// With [`Mixed::Error`](azure_table_arrow::Mixed::Error), a row whose property is of another type than its column is
    /// an error if a query reads the column. A row with a property that has no column is an error if a query reads all
    /// columns.
    pub fn new(table: TableClient<DynamicEntity>, schema: TableSchema) -> Self {
        let source = Source { table, connection: None };
        Self { source, schema, partitions: None }
    }

    /// Infers the schema from the first `rows` rows of the table.
    ///
    /// A property gets a column only if one of these rows has it. The values of other properties go to the rest column of
    /// [`Mixed::Rest`](azure_table_arrow::Mixed::Rest), or are an error of [`new`](Self::new).
    ///
    /// # Errors
    /// The query fails, or the schema cannot be inferred; see [`TableSchema::infer`].
    pub async fn infer(
        table: TableClient<DynamicEntity>,
        rows: usize,
        options: &SchemaOptions,
    ) -> Result<Self> {
        let mut inference = SchemaInference::new();
        let mut sample = table.query().take(rows as u64).stream();
        while let Some(row) = sample.try_next().await.map_err(external)? {
            inference.add(&row);
        }
        let schema = inference.finish(options).map_err(external)?;
        Ok(Self::new(table, schema))
    }

    /// Sets the name under which other processes find the connection; see [`Connections`](crate::Connections). Without it, a
    /// plan cannot be sent to other processes.
    #[must_use]
    pub fn connection(mut self, name: impl Into<String>) -> Self {
        self.source.connection = Some(name.into());
        self
    }

    /// Sets the maximum number of partitions of a scan, up to 256.
    #[must_use]
    pub const fn partitions(mut self, count: usize) -> Self {
        self.partitions = Some(count);
        self
    }

    /// The columns of the table.
    pub const fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    #[cfg(feature = "distributed")]
    pub(crate) fn from_parts(
        source: Source,
        schema: TableSchema,
        partitions: Option<usize>,
    ) -> Self {
        Self { source, schema, partitions }
    }

    #[cfg(feature = "distributed")]
    pub(crate) const fn parts(&self) -> (&Source, Option<usize>) {
        (&self.source, self.partitions)
    }

    /// Divides the conditions of a scan into a filter for the service, and conditions that it must match exactly but that do
    /// not fit into the request. DataFusion promises filters that were supported one by one.
    fn divide(&self, conditions: &[Expr]) -> (Option<Filter>, Vec<Expr>) {
        let mut budget = Budget::new();
        let mut filters = Vec::new();
        let mut left = Vec::new();
        let translated = conditions.iter().map(|one| translate(one, &self.schema));
        let mut conditions: Vec<_> = conditions.iter().zip(translated).collect();
        // Inexact filters may be left out, since DataFusion evaluates these conditions too.
        conditions.sort_by_key(|(_, pushed)| pushed.as_ref().is_none_or(|one| !one.is_exact));
        for (condition, pushed) in conditions {
            match pushed {
                Some(pushed) if budget.take(&pushed.filter) => filters.push(pushed.filter),
                Some(pushed) if !pushed.is_exact => {}
                _ => left.push(condition.clone()),
            }
        }
        (filters.into_iter().reduce(|a, b| a & b), left)
    }
}

#[async_trait]
impl TableProvider for AzureTable {
    fn schema(&self) -> SchemaRef {
        self.schema.arrow()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let mut budget = Budget::new();
        let mut support = |filter: &&Expr| match translate(filter, &self.schema) {
            Some(pushed) if budget.take(&pushed.filter) => pushed.support(),
            _ => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(&mut support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (filter, left) = self.divide(filters);
        let all = || (0..self.schema.columns().len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let left = conjunction(left);
        // Conditions that are left read their own columns.
        let (columns, limit) = match &left {
            Some(left) => (with_columns(&projection, left, &self.schema), None),
            None => (projection.clone(), limit),
        };
        let count = self.partitions.unwrap_or_else(|| state.config().target_partitions());
        let found = ranges::of(&self.source, filter.as_ref(), count, limit);
        let input = ranges::input(&found.await.map_err(external)?)?;
        let source = self.source.clone();
        let scan =
            AzureTableScan::new(source, &self.schema, columns.clone(), filter, limit, input)?;
        let scan: Arc<dyn ExecutionPlan> = Arc::new(scan);
        let Some(left) = left else { return Ok(scan) };
        let schema = scan.schema();
        let condition = state.create_physical_expr(left, &DFSchema::try_from(schema)?)?;
        let filtered: Arc<dyn ExecutionPlan> = Arc::new(FilterExec::try_new(condition, scan)?);
        let kept = columns[..projection.len()].iter().enumerate().map(|(at, &column)| {
            let name = self.schema.columns()[column].name();
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, at));
            (column, name.to_owned())
        });
        Ok(Arc::new(ProjectionExec::try_new(kept.collect::<Vec<_>>(), filtered)?))
    }
}

/// The columns of a projection, and then the others that a condition reads.
fn with_columns(projection: &[usize], condition: &Expr, schema: &TableSchema) -> Vec<usize> {
    let mut columns = projection.to_vec();
    let read = condition.column_refs();
    let read = schema
        .columns()
        .iter()
        .enumerate()
        .filter(|(_, column)| read.iter().any(|one| one.name == column.name()));
    for (at, _) in read {
        if !columns.contains(&at) {
            columns.push(at);
        }
    }
    columns
}
