//! The partitions of a scan: ranges of keys.

use azure_table_client::client::Query;
use azure_table_client::filter::Filter;
use azure_table_client::limits::PAGE_ENTITIES;
use azure_table_client::{DynamicEntity, Error};

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
