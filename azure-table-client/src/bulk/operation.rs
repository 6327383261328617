use std::sync::Arc;

use uuid::Uuid;

use crate::IfMatch;
use crate::entity::{EntityKey, TableEntity};
use crate::error::{Error, ErrorKind};
use crate::operation::entity::{self, Update, Write};
use crate::operation::key::check_key;
use crate::operation::{Request, Target};
use crate::wire::Operation;

/// An operation of a bulk run on one row.
///
/// Upserts and [`DeleteIfExists`](Self::DeleteIfExists) have the same effect if they are applied twice, so that a
/// run of them can be repeated or resumed safely.
#[derive(Debug, Clone, PartialEq)]
pub enum BulkOperation<T> {
    /// Inserts an entity, which must not exist.
    Insert(T),
    /// Sets the properties of the entity. The service keeps the other properties of the row.
    Merge(T, IfMatch),
    /// Replaces the entity; properties that it does not have are removed.
    Replace(T, IfMatch),
    /// Inserts the entity, or sets its properties if it exists.
    InsertOrMerge(T),
    /// Inserts the entity, or replaces it if it exists.
    InsertOrReplace(T),
    /// Deletes the entity with these keys, which must exist. Keys that no `T` has fail before they are
    /// sent.
    Delete(EntityKey, IfMatch),
    /// Deletes the entity with these keys; a missing entity counts as success. Keys that no `T` has fail before they
    /// are sent.
    DeleteIfExists(EntityKey, IfMatch),
}

/// The target and the id of a run.
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
    /// The index in the input.
    pub(super) index: u64,
    pub(super) key: EntityKey,
    pub(super) request: Arc<Request>,
    /// Whether a missing row counts as success.
    pub(super) missing_is_ok: bool,
}

/// An operation that cannot be sent.
#[derive(Debug)]
pub(super) struct InvalidRow {
    pub(super) operation: Operation,
    /// The key, if it has one.
    pub(super) key: Option<EntityKey>,
    pub(super) error: Error,
}

/// The key of an operation that cannot be sent, if it has one, and the reason.
type Invalid = (Option<EntityKey>, Error);

impl<T> BulkOperation<T> {
    const fn operation(&self) -> Operation {
        match self {
            Self::Insert(_) => Operation::Insert,
            Self::Merge(..) => Operation::Merge,
            Self::Replace(..) => Operation::Replace,
            Self::InsertOrMerge(_) => Operation::InsertOrMerge,
            Self::InsertOrReplace(_) => Operation::InsertOrReplace,
            Self::Delete(..) | Self::DeleteIfExists(..) => Operation::Delete,
        }
    }
}

impl Row {
    /// Checks an operation and encodes it, so that the entity itself need not be kept.
    #[expect(clippy::needless_pass_by_value, reason = "it is not needed any more")]
    pub(super) fn new<T: TableEntity>(
        job: &Job,
        index: u64,
        operation: BulkOperation<T>,
    ) -> Result<Self, Box<InvalidRow>> {
        Self::checked(job, index, &operation).map_err(|(key, error)| {
            Box::new(InvalidRow { operation: operation.operation(), key, error })
        })
    }

    fn checked<T: TableEntity>(
        job: &Job,
        index: u64,
        operation: &BulkOperation<T>,
    ) -> Result<Self, Invalid> {
        let write = |entity, way| write(job, index, entity, way);
        let missing_is_ok = matches!(operation, BulkOperation::DeleteIfExists(..));
        let (key, request) = match operation {
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
        Ok(Self { index, key, request: Arc::new(request), missing_is_ok })
    }

    /// Whether an earlier attempt that was applied can be the cause of this refusal.
    pub(super) fn may_follow_an_earlier_attempt(error: &Error) -> bool {
        // The service refused an operation for its content each time. A proxy says nothing about it.
        error.kind() != ErrorKind::Service || !matches!(error.status(), Some(400 | 413))
    }

    /// The approximate memory of the row.
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
) -> Result<(EntityKey, Request), Invalid> {
    let target = &job.target;
    let keys = match entity::checked_keys(target.protocol, &target.table, entity) {
        Ok(keys) => keys,
        Err(error) => return Err((entity.entity_key().ok(), error)),
    };
    let id = target.write_id.is_some().then(|| job.write_id(index));
    let request = entity::write(target, id, entity, &keys, write);
    checked(EntityKey::new(keys.0, keys.1), request)
}

fn delete<T: TableEntity>(
    Target { table, protocol, .. }: &Target,
    key: &EntityKey,
    condition: &IfMatch,
) -> Result<(EntityKey, Request), Invalid> {
    let request = entity::delete(*protocol, table, key, condition)
        .and_then(|request| check_key::<T>(key).map(|()| request));
    checked(key.clone(), request)
}

fn checked(
    key: EntityKey,
    request: Result<Request, Error>,
) -> Result<(EntityKey, Request), Invalid> {
    match request {
        Ok(request) => Ok((key, request)),
        Err(error) => Err((Some(key), error)),
    }
}
