use std::sync::Arc;

use uuid::Uuid;

use crate::entity::{EntityKey, TableEntity};
use crate::error::Error;
use crate::etag::IfMatch;
use crate::operation::entity::{self, Update, Write};
use crate::operation::key::check_key;
use crate::operation::{Request, Target};
use crate::wire::RetryClass;

/// What a bulk run does with one row.
///
/// Upserts and [`DeleteIfExists`](Self::DeleteIfExists) come to the same if they are done twice, so
/// that a run of them can be repeated or resumed without a second thought.
#[derive(Debug, Clone, PartialEq)]
pub enum BulkOperation<T> {
    /// Inserts an entity, which must not exist.
    Insert(T),
    /// Sets the entity's properties and leaves those that it does not have as they are.
    Merge(T, IfMatch),
    /// Replaces the entity; properties that it does not have are removed.
    Replace(T, IfMatch),
    /// Inserts the entity, or sets its properties if it is there.
    InsertOrMerge(T),
    /// Inserts the entity, or replaces it if it is there.
    InsertOrReplace(T),
    /// Deletes the entity with these keys, which must exist. Keys that no `T` has fail before they are
    /// sent.
    Delete(EntityKey, IfMatch),
    /// Deletes the entity with these keys; that it is not there counts as done. Keys that no `T` has fail
    /// before they are sent.
    DeleteIfExists(EntityKey, IfMatch),
}

/// What the rows of a run have in common.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) target: Target,
    /// The id of the run, from which the write ids of its rows follow. A resumed run has the same.
    pub(super) run_id: Uuid,
}

impl Job {
    fn write_id(&self, index: u64) -> Uuid {
        Uuid::from_u128(self.run_id.as_u128().wrapping_add(index.into()))
    }
}

/// A valid operation, as it will be sent.
#[derive(Debug)]
pub(super) struct Row {
    /// Where it stood in the input.
    pub(super) index: u64,
    pub(super) key: EntityKey,
    pub(super) request: Arc<Request>,
    /// A 404 counts as done.
    pub(super) missing_is_ok: bool,
    /// Done twice, it is as if done once.
    pub(super) is_repeatable: bool,
}

/// An operation that cannot be sent, and its key if it has one.
pub(super) type Unfit = Box<(Option<EntityKey>, Error)>;

impl Row {
    /// Checks an operation and encodes it, so that the entity itself need not be kept.
    #[expect(clippy::needless_pass_by_value, reason = "it is not needed any more")]
    pub(super) fn new<T: TableEntity>(
        job: &Job,
        index: u64,
        operation: BulkOperation<T>,
    ) -> Result<Self, Unfit> {
        let write = |entity, way| write(job, index, entity, way);
        let missing_is_ok = matches!(operation, BulkOperation::DeleteIfExists(..));
        let (key, request) = match &operation {
            BulkOperation::Insert(entity) => write(entity, Write::Insert)?,
            BulkOperation::Merge(entity, condition) => {
                write(entity, Write::Update(Update::Merge, condition))?
            }
            BulkOperation::Replace(entity, condition) => {
                write(entity, Write::Update(Update::Replace, condition))?
            }
            BulkOperation::InsertOrMerge(entity) => write(entity, Write::Upsert(Update::Merge))?,
            BulkOperation::InsertOrReplace(entity) => {
                write(entity, Write::Upsert(Update::Replace))?
            }
            BulkOperation::Delete(key, condition)
            | BulkOperation::DeleteIfExists(key, condition) => {
                delete::<T>(&job.target, key, condition)?
            }
        };
        let is_repeatable = missing_is_ok || request.retry_class() == RetryClass::Repeatable;
        Ok(Self { index, key, request: Arc::new(request), missing_is_ok, is_repeatable })
    }

    /// Whether an earlier attempt that was applied can be the cause of its refusal.
    pub(super) fn may_follow_an_earlier_attempt(error: &Error) -> bool {
        // The service refused an operation for its content each time.
        !matches!(error.status(), Some(400 | 413))
    }

    /// About the memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        const FIXED: usize = 256;
        let keys = self.key.partition_key.len() + self.key.row_key.len();
        FIXED + keys + self.request.path.len() + self.request.body.len()
    }
}

fn write<T: TableEntity>(
    job: &Job,
    index: u64,
    entity: &T,
    write: Write<'_>,
) -> Result<(EntityKey, Request), Unfit> {
    let target = &job.target;
    let keys = match entity::checked_keys(target.protocol, &target.table, entity) {
        Ok(keys) => keys,
        Err(error) => return Err(Box::new((entity.entity_key().ok(), error))),
    };
    let id = target.write_id.is_some().then(|| job.write_id(index));
    let request = entity::write(target, id, entity, &keys, write);
    checked(EntityKey::new(keys.0, keys.1), request)
}

fn delete<T: TableEntity>(
    Target { table, protocol, .. }: &Target,
    key: &EntityKey,
    condition: &IfMatch,
) -> Result<(EntityKey, Request), Unfit> {
    let request = entity::delete(*protocol, table, key, condition)
        .and_then(|request| check_key::<T>(key).map(|()| request));
    checked(key.clone(), request)
}

fn checked(key: EntityKey, request: Result<Request, Error>) -> Result<(EntityKey, Request), Unfit> {
    match request {
        Ok(request) => Ok((key, request)),
        Err(error) => Err(Box::new((Some(key), error))),
    }
}
