//! Reading the rows that a write was about.

use std::collections::HashMap;
use std::sync::Arc;

use super::evidence::{Found, properties};
use crate::client::Query;
use crate::client_core::ClientCore;
use crate::entity::{DynamicEntity, EntityKey};
use crate::error::Error;
use crate::filter::{CompareOp, Filter};
use crate::pipeline::CallOptions;

/// Returns the rows of one partition with these keys that the primary holds now.
pub(crate) async fn read_back(
    core: &Arc<ClientCore>,
    table: &str,
    keys: &[&EntityKey],
    options: &CallOptions,
) -> Result<HashMap<EntityKey, Found>, Error> {
    let Some(first) = keys.first() else { return Ok(HashMap::new()) };
    let row = |key: &&EntityKey| Filter::on_key("RowKey", CompareOp::Eq, key.row_key.clone());
    let Some(rows) = keys.iter().map(row).reduce(|a, b| a | b) else { return Ok(HashMap::new()) };
    let filter = Filter::partition(&*first.partition_key) & rows;
    // The secondary may lag behind; without types, values cannot be compared.
    let format = Some(core.protocol(options)?.typed().format());
    let options =
        CallOptions { primary_only: true, format, client_request_id: None, ..options.clone() };
    let query = Query::<DynamicEntity>::new(Arc::clone(core), table.into(), None);
    let found = query.matching(&filter).with_options(options).into_dynamic().await?;
    let mut all = HashMap::with_capacity(found.len());
    for read in found {
        let entity = read.entity;
        let etag = entity.etag().ok_or_else(|| Error::unexpected_reply("a row has no ETag"))?;
        let (etag, timestamp) = (etag.clone(), entity.timestamp());
        let found = Found { etag, timestamp, properties: properties(&entity) };
        all.insert(entity.key().clone(), found);
    }
    Ok(all)
}
