//! The partitions of a scan: ranges of keys, as filters in a plan in memory.

use std::sync::Arc;

use arrow_array::{Array as _, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use azure_table_client::client::Query;
use azure_table_client::filter::Filter;
use azure_table_client::limits::PAGE_ENTITIES;
use azure_table_client::{DynamicEntity, Error};
use datafusion_common::{Result, exec_datafusion_err, exec_err};
use datafusion_datasource::memory::MemorySourceConfig;
use datafusion_datasource::source::DataSourceExec;
use datafusion_physical_plan::ExecutionPlan;

use crate::source::Source;

/// The limit of the client on the ranges of a query.
const MAX_RANGES: usize = 256;

/// Returns the filters of up to `count` ranges, which together match the rows of a filter. Rows of one page are one range.
pub(crate) async fn of(
    source: &Source,
    filter: Option<&Filter>,
    count: usize,
    limit: Option<usize>,
) -> Result<Vec<Option<Filter>>, Error> {
    let is_page = limit.is_some_and(|limit| limit <= PAGE_ENTITIES as usize);
    let mut keys = source.table.query().select_names::<String>([]);
    if let Some(filter) = filter {
        keys = keys.matching(filter);
    }
    if count <= 1 || is_page || is_one_page(keys.clone()).await? {
        return Ok(vec![filter.cloned()]);
    }
    keys.parallel(count.min(MAX_RANGES)).range_filters().await
}

async fn is_one_page(keys: Query<DynamicEntity>) -> Result<bool, Error> {
    Ok(keys.plan()?.queries == 1 && keys.page().await?.continuation.is_none())
}

/// Returns a plan with one filter in each partition; null is all rows.
pub(crate) fn input(ranges: &[Option<Filter>]) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = Arc::new(Schema::new(vec![Field::new("filter", DataType::Utf8, true)]));
    let partition = |range: &Option<Filter>| {
        let text = range.as_ref().map(Filter::to_string);
        let filters = Arc::new(StringArray::from(vec![text]));
        Ok(vec![RecordBatch::try_new(Arc::clone(&schema), vec![filters])?])
    };
    let partitions = ranges.iter().map(partition).collect::<Result<Vec<_>>>()?;
    let source = MemorySourceConfig::try_new(&partitions, Arc::clone(&schema), None)?;
    Ok(DataSourceExec::from_data_source(source))
}

/// Reads the filters of an input that is in memory. An input that another optimizer replaced has none to show.
pub(crate) fn listed(input: &dyn ExecutionPlan) -> Vec<Option<Filter>> {
    let source = input.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
    let memory = source.and_then(|source| {
        let source: &dyn std::any::Any = source.as_ref();
        source.downcast_ref::<MemorySourceConfig>()
    });
    let batches = memory.into_iter().flat_map(MemorySourceConfig::partitions).flatten();
    batches.flat_map(of_batch).filter_map(Result::ok).collect()
}

/// Reads the filters of a batch.
pub(crate) fn of_batch(batch: &RecordBatch) -> Vec<Result<Option<Filter>>> {
    let column = batch.columns().first().and_then(|column| column.as_any().downcast_ref());
    let Some(texts): Option<&StringArray> = column else {
        return vec![exec_err!("invalid range of a table: the filter is not a text")];
    };
    let parse = |text: &str| {
        Filter::parse(text)
            .map_err(|error| exec_datafusion_err!("invalid range of a table: {text:?}: {error}"))
    };
    texts.iter().map(|text| text.map(parse).transpose()).collect()
}
