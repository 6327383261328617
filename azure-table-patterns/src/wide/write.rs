//! One write of a wide entity: the parts of a new generation, and the header row that names it.

use std::ops::Range;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::Transaction;
use azure_table_client::limits::TRANSACTION_OPERATIONS;
use azure_table_client::{DynamicEntity, ETag, EntityKey, IfMatch, Outcome};
use uuid::Uuid;

use super::rows::{self, RowKeys};
use super::{Header, Version, WideTable};
use crate::Error;
use crate::delivery::is_refused_for_good;

/// The bytes of the columns of a header row.
const HEADER_BYTES: usize = 256;

/// A new generation of an entity.
#[derive(Debug)]
pub(super) struct Write<'t> {
    table: &'t WideTable,
    key: EntityKey,
    keys: RowKeys,
    generation: Uuid,
    /// Empty for a deletion.
    parts: Vec<DynamicEntity>,
}

impl<'t> Write<'t> {
    /// Checks the rows before anything is sent.
    pub(super) fn new(
        table: &'t WideTable,
        key: &EntityKey,
        entity: Option<&DynamicEntity>,
    ) -> Result<Self, azure_table_client::Error> {
        let (keys, generation) = (RowKeys::of(&key.row_key), table.table.clock().random_id()?);
        keys.check(&key.partition_key)?;
        let divide = |entity| rows::divide(entity, &keys, generation, table.request_bytes / 4);
        let parts = entity.map(divide).transpose()?.unwrap_or_default();
        Ok(Self { table, key: key.clone(), keys, generation, parts })
    }

    /// Replaces the version `expected`, or the absence of the entity.
    pub(super) async fn send(self, expected: Option<Uuid>) -> Result<Uuid, Error> {
        let base = self.table.version(&self.key, &self.keys).await?;
        let current = base.as_ref().filter(|base| base.parts > 0);
        if current.map(|current| current.generation) != expected {
            return Err(self.changed());
        }
        self.replace(base.as_ref()).await.map(|()| self.generation)
    }

    async fn replace(&self, base: Option<&Version>) -> Result<(), Error> {
        let bytes: Vec<_> = self.parts.iter().map(|part| self.bytes_of(part)).collect();
        let header =
            self.bytes_of(&DynamicEntity::new(&*self.key.partition_key, self.keys.header()));
        if self.parts.len() < TRANSACTION_OPERATIONS
            && bytes.iter().sum::<usize>() + header + HEADER_BYTES <= self.table.request_bytes
        {
            return self.swap(base, None).await;
        }
        // Without the intent row, nothing that was sent can become visible.
        let intent =
            DynamicEntity::new(&*self.key.partition_key, self.keys.intent(self.generation));
        let written = self.table.table.insert(&intent).await;
        let intent = written.map_err(not_applied)?.etag;
        if let Err(error) = self.stage(&bytes).await {
            if self.cancel(&intent).await {
                self.discard().await;
            }
            return Err(not_applied(error));
        }
        self.swap(base, Some(&intent)).await
    }

    /// Writes the parts in several transactions.
    async fn stage(&self, bytes: &[usize]) -> Result<(), azure_table_client::Error> {
        let mut rest = 0..self.parts.len();
        while !rest.is_empty() {
            let group = self.group(&rest, bytes);
            rest.start = group.end;
            let parts = self.parts.get(group).unwrap_or_default();
            let transaction = self.table.table.transaction();
            parts.iter().fold(transaction, Transaction::insert).await?;
        }
        Ok(())
    }

    /// The parts that the next transaction holds.
    fn group(&self, rest: &Range<usize>, bytes: &[usize]) -> Range<usize> {
        let mut sum = 0;
        let fits = |index: &usize| {
            sum += bytes.get(*index).copied().unwrap_or_default();
            sum <= self.table.request_bytes
        };
        let limit = rest.end.min(rest.start + TRANSACTION_OPERATIONS);
        let count = (rest.start..limit).take_while(fits).count().max(1);
        rest.start..rest.start + count
    }

    /// Makes the new generation the current one, in one transaction. A generation with an intent row becomes current only
    /// if the intent row still exists; the other parts are in this transaction.
    async fn swap(&self, base: Option<&Version>, intent: Option<&ETag>) -> Result<(), Error> {
        let header = Header {
            partition_key: self.key.partition_key.clone(),
            row_key: self.keys.header(),
            generation: self.generation,
            previous: base.map(|base| base.generation),
            parts: i32::try_from(self.parts.len()).unwrap_or(i32::MAX),
        };
        let transaction = self.table.headers.transaction();
        let transaction = match base {
            Some(base) => transaction.replace(&header, base.etag.clone()),
            None => transaction.insert(&header),
        };
        let transaction = transaction.with_entity::<DynamicEntity>();
        let transaction = match intent {
            Some(etag) => transaction.delete(self.row(self.keys.intent(self.generation)), etag),
            None => self.parts.iter().fold(transaction, Transaction::insert),
        };
        let old = base.map(|base| self.part_keys(base.generation, base.parts)).unwrap_or_default();
        let deletion = self.table.table.transaction();
        let deletion = deletion.delete(self.row(self.keys.part(self.generation, 1)), IfMatch::Any);
        let drops_old = transaction.len() + old.len() <= TRANSACTION_OPERATIONS
            && transaction.bytes() + old.len() * deletion.bytes() <= transaction.max_bytes();
        let transaction = match &*old {
            old if drops_old => old.iter().fold(transaction, |all, row_key| {
                all.delete(self.row(row_key.clone()), IfMatch::Any)
            }),
            _ => transaction,
        };
        if let Err(error) = transaction.await {
            self.resolve(error, base, intent).await?;
        }
        if !drops_old {
            self.remove(old).await;
        }
        Ok(())
    }

    /// Finds out whether a swap was applied that failed with `error`.
    async fn resolve(
        &self,
        error: azure_table_client::Error,
        base: Option<&Version>,
        intent: Option<&ETag>,
    ) -> Result<(), Error> {
        // Without the intent row, no late delivery can be applied. The header is read after that.
        let is_final = match intent {
            Some(etag) => self.cancel(etag).await,
            None => is_refused_for_good(&error),
        };
        let Ok(header) = self.table.header(&self.key, &self.keys).await else {
            return Err(Error::Failed { outcome: Outcome::Unknown, error: Some(error) });
        };
        let base = base.map(|base| base.generation);
        let result = match header {
            Some((header, _)) if header.generation == self.generation => return Ok(()),
            Some((header, _)) if header.previous == Some(self.generation) => {
                return Err(Error::Failed { outcome: Outcome::Applied, error: Some(error) });
            }
            current if current.as_ref().map(|(header, _)| header.generation) == base => {
                let outcome = if is_final { Outcome::NotApplied } else { Outcome::Unknown };
                Error::Failed { outcome, error: Some(error) }
            }
            // Another version follows `base`, so this one was never applied and never will be.
            Some((header, _)) if header.previous == base => self.changed(),
            None => self.changed(),
            Some(_) => Error::Failed { outcome: Outcome::Unknown, error: Some(error) },
        };
        if intent.is_some() && result.outcome() == Outcome::NotApplied {
            self.discard().await;
        }
        Err(result)
    }

    /// Deletes this version of the intent row, and returns whether it is certainly gone.
    async fn cancel(&self, intent: &ETag) -> bool {
        let row = self.row(self.keys.intent(self.generation));
        let deleted = self.table.table.delete_if_exists(row, intent).await;
        // A late delivery of the insert gives the row another version.
        deleted.map_or_else(|error| error.is_precondition_failed(), |_| true)
    }

    /// Removes the parts of this generation, which will never be current.
    async fn discard(&self) {
        self.remove(self.part_keys(self.generation, self.parts.len())).await;
    }

    /// Removes rows as far as the service permits; a sweep removes the others.
    async fn remove(&self, row_keys: Vec<String>) {
        let delete = |row_key| BulkOperation::DeleteIfExists(self.row(row_key), IfMatch::Any);
        let rows: Vec<_> = row_keys.into_iter().map(delete).collect();
        drop(self.table.table.bulk().run(rows).await);
    }

    fn part_keys(&self, generation: Uuid, parts: usize) -> Vec<String> {
        (1..=parts).map(|number| self.keys.part(generation, number)).collect()
    }

    fn row(&self, row_key: String) -> EntityKey {
        EntityKey::new(&*self.key.partition_key, row_key)
    }

    fn changed(&self) -> Error {
        Error::Conflict { key: self.key.clone() }
    }

    fn bytes_of(&self, part: &DynamicEntity) -> usize {
        self.table.table.transaction().insert(part).bytes()
    }
}

/// The error of a write whose header was not sent.
fn not_applied(source: azure_table_client::Error) -> Error {
    Error::Failed { outcome: Outcome::NotApplied, error: Some(source) }
}
