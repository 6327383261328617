//! The source of rows that a query reads: requests, and the order of their rows.

use std::sync::Arc;

use crate::Dialect;
use crate::entity::EntityKey;
use crate::filter::{Plan, QueryFilter};
use crate::operation::query;

/// A part of a query. All its rows come before the rows of the next source.
pub(crate) enum Source {
    /// At most one row, whose keys the filter states.
    Row(QueryFilter),
    /// The rows that match the filter, or all rows.
    Scan(Option<QueryFilter>),
    /// Several scans whose rows interleave, and which may return the same row.
    Merge(Vec<QueryFilter>),
}

impl Source {
    pub(super) fn filters(&self) -> &[QueryFilter] {
        match self {
            Self::Row(filter) => std::slice::from_ref(filter),
            Self::Scan(filter) => filter.as_slice(),
            Self::Merge(filters) => filters,
        }
    }
}

/// The rows that a request returns.
#[derive(Clone)]
pub(super) enum PageRequest {
    /// The row with this key.
    Point(Arc<EntityKey>),
    /// The rows that match the filter.
    Scan(Option<Arc<QueryFilter>>),
}

impl PageRequest {
    pub(super) fn new(dialect: Dialect, filter: &QueryFilter) -> Self {
        match point(dialect, filter) {
            Some(key) => Self::Point(Arc::new(key)),
            None => Self::Scan(Some(Arc::new(filter.clone()))),
        }
    }
}

/// The key that a filter states, if its row can be read by the key.
fn point(dialect: Dialect, filter: &QueryFilter) -> Option<EntityKey> {
    let (partition_key, row_key) = Plan::point_of(filter.tree())?;
    // The path of a request cannot hold an invalid key; as a filter, it matches no row.
    dialect.check_keys(partition_key, row_key).ok()?;
    let key = EntityKey::new(partition_key, row_key);
    query::is_read_by_path(&key, filter.text()).then_some(key)
}
