//! The physical plan of a scan.

mod report;

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use azure_table_arrow::{Column, TableSchema, stream};
use azure_table_client::filter::Filter;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion_physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _, PlanProperties,
};
use futures_util::{TryStreamExt as _, stream as streams};

use crate::error::external;
use crate::ranges;
use crate::source::Source;
use report::RangeReport;

/// Reads the ranges of a table that its input lists: a query for each. The rows have no declared order.
///
/// The input is a plan in memory with one filter in each partition. So the engines of clusters, which divide plans by the
/// partitions of the inputs that they know, give each task its own ranges.
///
/// Each range is reported as a `tracing` event of the target `azure_table_datafusion::scan`, with the fields `table`, `filter` and
/// `rows`: `range read`, or `range read in part` if the query needs no more rows or fails.
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
    /// The maximum number of rows of each range.
    pub(crate) limit: Option<usize>,
    /// The filters of the ranges; see [`ranges`].
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl AzureTableScan {
    pub(crate) fn new(
        source: Source,
        schema: &TableSchema,
        projection: Vec<usize>,
        filter: Option<Filter>,
        limit: Option<usize>,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<Self> {
        let columns = schema.project(&projection).map_err(external)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(columns.arrow()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
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
            limit,
            input,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The filters that are sent, `None` for all rows. There is one for each partition, unless an optimizer changed the plan.
    pub fn filters(&self) -> Vec<Option<Filter>> {
        ranges::listed(&*self.input)
    }

    /// Returns the rows of a range.
    fn read(
        &self,
        filter: Option<&Filter>,
        batch_size: usize,
    ) -> impl streams::Stream<Item = Result<RecordBatch>> + Send + use<> {
        let limit = self.limit;
        let is_whole = self.projection.len() == self.schema.columns().len();
        let rows = self.source.query(filter, &self.columns, is_whole, limit).stream();
        let batches = stream(rows, &self.columns, batch_size);
        let report = RangeReport::new(self.source.table.name(), filter);
        streams::try_unfold((batches, report), move |(mut batches, mut report)| async move {
            let Some(batch) = batches.try_next().await.map_err(external)? else {
                report.end(limit);
                return Ok(None);
            };
            report.add(batch.num_rows());
            Ok(Some((batch, (batches, report))))
        })
    }
}

/// The text of a filter in a plan.
fn text(filter: Option<&Filter>) -> String {
    filter.map_or_else(|| "none".to_owned(), Filter::to_string)
}

impl DisplayAs for AzureTableScan {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.columns.columns().iter().map(Column::name);
        let columns = names.collect::<Vec<_>>().join(", ");
        let (table, filter) = (self.source.table.name(), text(self.filter.as_ref()));
        let partitions = self.properties.partitioning.partition_count();
        if let DisplayFormatType::TreeRender = format {
            return write!(f, "table={table}\nfilter={filter}\npartitions={partitions}\n");
        }
        write!(f, "AzureTableScan: table={table}, columns=[{columns}], filter=[{filter}]")?;
        write!(f, ", partitions={partitions}")?;
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        if let DisplayFormatType::Verbose = format {
            let ranges: Vec<_> = self.filters().iter().map(|one| text(one.as_ref())).collect();
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
        vec![&self.input]
    }

    /// The input has one row in each partition.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[_; 1]>::try_from(children) else {
            return internal_err!("a scan of a table has one input");
        };
        let Self { source, schema, projection, filter, limit, .. } = &*self;
        let (source, projection) = (source.clone(), projection.clone());
        Ok(Arc::new(Self::new(source, schema, projection, filter.clone(), *limit, input)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batch_size = context.session_config().batch_size();
        let input = self.input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let scan = self.clone();
        let batches = input
            .map_ok(|batch| streams::iter(ranges::of_batch(&batch)))
            .try_flatten()
            .map_ok(move |filter| scan.read(filter.as_ref(), batch_size))
            .try_flatten()
            .inspect_ok(move |batch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.columns.arrow(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
