//! Writes of a guard that also set other columns of its row, or remove it.

use azure_table_client::client::Transaction;
use azure_table_client::{DynamicEntity, Proof, TableEntity};

use super::{Attempt, Guard, Purpose, row, send};
use crate::Error;
use crate::lease::held::Failure;

impl Guard {
    /// Applies a transaction together with an [`update`](Self::update).
    pub(crate) async fn commit_with<U: TableEntity + Send + 'static>(
        &self,
        columns: &DynamicEntity,
        mut work: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        row::check_columns(&self.held.key, columns)?;
        self.keep(|attempt| {
            let row = row::with_columns(attempt.row, columns);
            let transaction = attempt.table.transaction().merge(&row, attempt.etag);
            send(work(transaction).proof(Proof::MatchingUpdate))
        })
        .await
    }

    /// Releases the lease together with an [`update`](Self::update).
    pub(crate) async fn release_with(&self, columns: &DynamicEntity) -> Result<(), Error> {
        row::check_columns(&self.held.key, columns)?;
        let merge = |attempt: Attempt<'_>| {
            attempt.merge(|row| row::released(row::with_columns(row, columns)))
        };
        // The next holder does not wait after a release, so its row does not prove that this one was refused.
        let released = self.held.write(Purpose::Release, None, merge).await;
        released.map_err(|failure| failure.unproved(self.token()))
    }

    /// Deletes the row of the lease; see [`delete`](Self::delete). After an error, the guard may still hold the lease.
    pub(crate) async fn delete_row<U: TableEntity + Send + 'static>(
        &self,
        mut work: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        let deleted = self.held.write(Purpose::Delete, None, |attempt| {
            let key = &self.held.key;
            let transaction = attempt.table.transaction().delete(key, attempt.etag);
            // A row that is gone may have been deleted by the next holder.
            send(work(transaction).proof(Proof::WriteId))
        });
        match deleted.await {
            // Only a holder deletes the row. While this guard is valid, there is no other one.
            Ok(()) | Err(Failure::NotHeld { is_missing: true, was_valid: true, .. }) => Ok(()),
            Err(failure) => Err(failure.unproved(self.token())),
        }
    }
}
