//! The transaction of an attempt, in the partition of its entity.

use azure_table_client::client::Transaction;
use azure_table_client::entity::{HasIndexes, IndexDefinition};
use azure_table_client::{
    Confirmation, ETag, EntityKey, ErrorCode, IfMatch, Outcome, Proof, TableEntity,
};

use super::Indexed;
use super::attempt::{Attempt, Version};
use super::rows::{IndexRow, Marker, key};
use crate::Error;

/// The unique index whose row an operation of a transaction inserts.
type UniqueRows = Vec<Option<&'static IndexDefinition>>;

impl<T: HasIndexes + Send + Sync + 'static> Indexed<T> {
    /// Begins the transaction by the marker of the attempt. The write of the entity follows.
    pub(super) fn opening(&self, attempt: &Attempt) -> Result<Transaction<T>, Error> {
        let transaction = self.markers.transaction();
        if !attempt.has_marker {
            return Ok(transaction.with_entity());
        }
        let marker = Marker::new(&attempt.target.partition_key, attempt.id, true);
        let transaction = transaction.insert(&marker);
        transaction.check()?;
        Ok(transaction.with_entity())
    }

    /// Reserves the new values, commits, confirms the new values and removes the rows of the old ones.
    pub(super) async fn apply(
        &self,
        attempt: Attempt,
        write: Transaction<T>,
    ) -> Result<Option<ETag>, Error> {
        let operation = write.len() - 1;
        let (write, local) = with_local_rows(&attempt, write)?;
        write.check()?;
        let (reserved, former) = match self.prepare(&attempt).await {
            Ok(prepared) => prepared,
            Err(error) => {
                self.release(&attempt).await;
                // The outcome of the error is that of a reservation. The transaction was not sent.
                return Err(match error {
                    Error::Client { error } if error.outcome() != Outcome::NotApplied => {
                        Error::not_applied(Some(error))
                    }
                    error => error,
                });
            }
        };
        if self.has_expired(&attempt) {
            self.release(&attempt).await;
            return Err(Error::not_applied(None));
        }
        // The marker makes the state unique to this attempt. Without one, another program may have written the same state.
        let proof = if attempt.has_marker { Proof::MatchingUpdate } else { Proof::MatchingState };
        let etag = match write.proof(proof).await {
            // A client that read the rows back may have read the version of another program.
            Ok(committed) if committed.confirmation != Confirmation::Response => None,
            Ok(committed) => committed.operations.get(operation).and_then(|it| it.etag.clone()),
            Err(error) => self.resolve(&attempt, error, &local).await?,
        };
        self.finish(reserved, former).await;
        Ok(etag)
    }

    /// Reads the rows of the old values across partitions, then reserves the new ones.
    async fn prepare(&self, attempt: &Attempt) -> Result<(Vec<Version>, Vec<Version>), Error> {
        let (mut reserved, mut former) = (Vec::new(), Vec::new());
        for change in attempt.global() {
            if let Some(old) = &change.old {
                former.extend(self.former_row(attempt, change.index, old).await?);
            }
        }
        for change in attempt.global() {
            if let Some(new) = &change.new {
                reserved.push(self.reserve(attempt, change.index, new).await?);
            }
        }
        Ok((reserved, former))
    }

    /// Proves whether a transaction was applied whose request failed. A marker proves it even if a proxy delivered the
    /// request twice.
    async fn resolve(
        &self,
        attempt: &Attempt,
        error: azure_table_client::Error,
        local: &[Option<&'static IndexDefinition>],
    ) -> Result<Option<ETag>, Error> {
        if !attempt.has_marker {
            let is_refused = error.outcome() == Outcome::NotApplied;
            return Err(if is_refused { refusal(error, 0, &attempt.target) } else { error.into() });
        }
        if self.has_expired(attempt) {
            return Err(Error::unknown(error));
        }
        match self.end(&attempt.target.partition_key, attempt.id).await {
            Err(_) => Err(Error::unknown(error)),
            Ok(true) => Ok(None),
            Ok(false) => {
                self.release(attempt).await;
                let taken = error.batch_index().and_then(|at| local.get(at).copied().flatten());
                Err(match taken {
                    Some(index) if error.is_conflict() => {
                        Error::ValueTaken { index: index.property, owner: None }
                    }
                    _ => refusal(error, 1, &attempt.target),
                })
            }
        }
    }

    /// Confirms the new rows and deletes those of old values. The write is applied: a request that fails here is left
    /// to the next contender and to the sweeper.
    async fn finish(&self, reserved: Vec<Version>, former: Vec<Version>) {
        for Version { row, etag } in reserved {
            drop(self.global_rows.replace(&row.confirmed(), &etag).await);
        }
        for Version { row, etag } in former {
            drop(self.global_rows.delete_if_exists(row.key(), &etag).await);
        }
    }
}

/// Adds the rows of indexes within the partition. Returns the unique index of each operation of the transaction.
fn with_local_rows<T: TableEntity>(
    attempt: &Attempt,
    write: Transaction<T>,
) -> Result<(Transaction<T>, UniqueRows), Error> {
    let mut unique = vec![None; write.len()];
    let mut write = write.with_entity::<IndexRow>();
    for change in attempt.local() {
        if let Some(old) = &change.old {
            // This version of the entity has the value, so the row belongs to it.
            write = write.delete(key(change.index, old, &attempt.target)?, IfMatch::Any);
            unique.push(None);
        }
        if let Some(new) = &change.new {
            write = write.insert(&attempt.row(change.index, new)?.confirmed());
            unique.push(change.index.unique.then_some(change.index));
        }
    }
    Ok((write.with_entity(), unique))
}

/// The error of a transaction that is proved not to be applied, whose operation `entity` writes the entity.
fn refusal(error: azure_table_client::Error, entity: usize, key: &EntityKey) -> Error {
    let is_of_entity = error.batch_index().is_none_or(|at| at == entity);
    let is_gone =
        matches!(error.code(), Some(ErrorCode::ResourceNotFound | ErrorCode::EntityNotFound));
    if is_of_entity && (error.is_precondition_failed() || is_gone) {
        Error::Conflict { key: key.clone() }
    } else if is_of_entity && error.outcome() == Outcome::NotApplied {
        error.into()
    } else {
        Error::not_applied(Some(error))
    }
}
