//! The rows of the source that an earlier run did not resolve.

use azure_table_client::{DynamicEntity, EntityKey, Error, Stored, TableClient};
use futures_util::stream::{self, BoxStream, StreamExt as _};

/// The number of rows that are read again at the same time.
const AGAIN: usize = 8;

/// A key, and the rows of the source and of the target that have it.
pub(super) type Pair = (EntityKey, Option<DynamicEntity>, Option<DynamicEntity>);

/// Reads these rows again.
pub(super) fn rows_of(
    source: &TableClient<DynamicEntity>,
    keys: Vec<EntityKey>,
) -> BoxStream<'static, Result<(EntityKey, Option<DynamicEntity>), Error>> {
    let source = source.clone();
    let read = move |key| {
        let source = source.clone();
        async move {
            let row = source.get_if_exists(&key).await?;
            Ok((key, row.map(Stored::into_inner)))
        }
    };
    stream::iter(keys).map(read).buffered(AGAIN).boxed()
}

/// Reads these rows and those of the target with the same keys.
pub(super) fn pairs_of(
    source: &TableClient<DynamicEntity>,
    target: &TableClient<DynamicEntity>,
    keys: Vec<EntityKey>,
) -> BoxStream<'static, Result<Pair, Error>> {
    let (source, target) = (source.clone(), target.clone());
    let read = move |key| {
        let (source, target) = (source.clone(), target.clone());
        async move {
            let row = source.get_if_exists(&key).await?;
            let copy = target.get_if_exists(&key).await?;
            Ok((key, row.map(Stored::into_inner), copy.map(Stored::into_inner)))
        }
    };
    stream::iter(keys).map(read).buffered(AGAIN).boxed()
}
