//! The physical plan of a scan.

use std::fmt;
use std::sync::Arc;

use azure_table_arrow::{TableSchema, stream};
use azure_table_client::filter::Filter;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion_physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::StreamExt as _;

use crate::error::external;
use crate::source::Source;

/// Reads ranges of a table: each partition is a query of its own. The rows have no declared order.
#[derive(Debug, Clone)]
pub struct AzureTableScan {
    pub(crate) source: Source,
    /// The schema of the table.
    pub(crate) schema: TableSchema,
    /// The positions of the columns that are read.
    pub(crate) projection: Vec<usize>,
    /// The columns that are read.
    columns: TableSchema,
    /// The filter of all ranges.
    pub(crate) filter: Option<Filter>,
    /// The filter of each range, which includes that of all.
    pub(crate) ranges: Vec<Option<Filter>>,
    /// The maximum number of rows of each range.
    pub(crate) limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl AzureTableScan {
    pub(crate) fn new(
        source: Source,
        schema: &TableSchema,
        projection: Vec<usize>,
        filter: Option<Filter>,
        ranges: Vec<Option<Filter>>,
        limit: Option<usize>,
    ) -> Result<Self> {
        let columns = schema.project(&projection).map_err(external)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(columns.arrow()),
            Partitioning::UnknownPartitioning(ranges.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self {
            source,
            schema: schema.clone(),
            projection,
            columns,
            filter,
            ranges,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The filters that are sent, one for each partition; `None` for all rows.
    pub fn filters(&self) -> &[Option<Filter>] {
        &self.ranges
    }
}

impl DisplayAs for AzureTableScan {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filter = |filter: &Option<Filter>| {
            filter.as_ref().map_or_else(|| "none".to_owned(), Filter::to_string)
        };
        let names = self.columns.columns().iter().map(azure_table_arrow::Column::name);
        let columns = names.collect::<Vec<_>>().join(", ");
        let table = self.source.table.name();
        if let DisplayFormatType::TreeRender = format {
            writeln!(f, "table={table}")?;
            writeln!(f, "filter={}", filter(&self.filter))?;
            return writeln!(f, "partitions={}", self.ranges.len());
        }
        write!(f, "AzureTableScan: table={table}, columns=[{columns}]")?;
        write!(f, ", filter=[{}], partitions={}", filter(&self.filter), self.ranges.len())?;
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        if let DisplayFormatType::Verbose = format {
            let ranges: Vec<_> = self.ranges.iter().map(filter).collect();
            write!(f, ", ranges=[{}]", ranges.join("; "))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for AzureTableScan {
    fn name(&self) -> &'static str {
        "AzureTableScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let filter = self.ranges.get(partition).ok_or_else(|| {
            internal_datafusion_err!(
                "partition {partition} of {} does not exist",
                self.ranges.len()
            )
        })?;
        let rows = self.source.query(filter.as_ref(), &self.columns, self.limit).stream();
        let batches = stream(rows, &self.columns, context.session_config().batch_size());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut report =
            RangeReport { table: self.source.table.name().to_owned(), partition, rows: 0 };
        let batches = batches.map(move |batch| {
            let batch = batch.map_err(external)?;
            metrics.record_output(batch.num_rows());
            report.add(batch.num_rows());
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.columns.arrow(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Reports the rows of a range when its stream is dropped.
struct RangeReport {
    table: String,
    partition: usize,
    rows: usize,
}

impl RangeReport {
    fn add(&mut self, rows: usize) {
        self.rows += rows;
    }
}

impl Drop for RangeReport {
    fn drop(&mut self) {
        let Self { table, partition, rows } = self;
        tracing::info!(table, partition, rows, "range read");
    }
}
