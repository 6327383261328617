//! An item that a worker holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use azure_table_client::TableEntity;
use azure_table_client::client::Transaction;
use azure_table_client::{DynamicEntity, EntityKey};

use super::row;
use crate::Error;
use crate::lease::Guard;

/// An item that a [`Worker`](super::Worker) holds, while it runs the item's steps.
///
/// Each call sends a write that the service refuses once another worker has taken the item over. Return its error from the
/// steps: the worker then decides whether the item is still its own.
#[derive(Debug)]
pub struct Item<W> {
    /// The work, as it was last saved. Change its columns to record progress, and [`save`](Self::save) or
    /// [`commit`](Self::commit) them.
    pub work: W,
    pub(super) held: Arc<HeldItem>,
}

/// The part of an item that its worker keeps while the steps own the item.
#[derive(Debug)]
pub(super) struct HeldItem {
    pub(super) guard: Guard,
    pub(super) key: EntityKey,
    name: String,
    attempts: AtomicI64,
    is_finished: AtomicBool,
}

impl HeldItem {
    pub(super) fn attempts(&self) -> i64 {
        self.attempts.load(Ordering::Relaxed)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Relaxed)
    }

    /// Deletes the item with a last effect.
    pub(super) async fn finish<U: TableEntity + Send + 'static>(
        &self,
        effect: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        self.guard.delete_row(effect).await?;
        self.is_finished.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl<W> Item<W> {
    pub(super) fn new(work: W, guard: Guard, name: String, key: EntityKey, attempts: i64) -> Self {
        let (attempts, is_finished) = (AtomicI64::new(attempts), AtomicBool::new(false));
        Self { work, held: Arc::new(HeldItem { guard, key, name, attempts, is_finished }) }
    }

    /// The key of the item.
    pub fn key(&self) -> &EntityKey {
        &self.held.key
    }

    /// The fencing token: greater than that of every earlier holder of this item. It starts again at 1 if an item with
    /// the same key is inserted after this one is done.
    pub fn token(&self) -> i64 {
        self.held.guard.token()
    }

    /// The number of attempts since progress was last saved, with this one; zero once this attempt has saved some.
    pub fn attempts(&self) -> i64 {
        self.held.attempts()
    }

    /// Returns whether no other worker can hold the item now, by the clock of this machine. The result is out of date
    /// once the program pauses.
    pub fn is_valid(&self) -> bool {
        self.held.guard.is_valid()
    }

    /// Renews the lease. Success proves that no other worker has held the item since this one acquired it: rows
    /// that were read before this call were read while the item was held.
    ///
    /// # Errors
    /// [`Lost`](Error::Lost) if another worker has taken the item over, or it is done. A request failed.
    pub async fn renew(&self) -> Result<(), Error> {
        self.held.guard.renew().await
    }

    /// Runs `work` while the lease is renewed every third of its time to live. Drops `work` when the lease becomes
    /// invalid. [`Worker::run`](super::Worker::run) does this with all steps.
    ///
    /// # Errors
    /// [`Lost`](Error::Lost), with an unknown outcome if `work` had begun.
    pub async fn hold<F: Future>(&self, work: F) -> Result<F::Output, Error> {
        self.held.guard.hold(work).await
    }

    /// Returns a future that renews the lease until the item is dropped, ended or lost, for a task of its own; see
    /// [`Guard::renewal`].
    pub fn renewal(&self) -> impl Future<Output = ()> + Send + use<W> {
        self.held.guard.renewal()
    }
}

impl<W: TableEntity> Item<W> {
    /// Records the columns of [`work`](Self::work) as progress. Also renews the lease. A column that is `None` keeps its
    /// stored value.
    ///
    /// # Errors
    /// [`Lost`](Error::Lost) if another worker has taken the item over, or it is done. A request failed: whether the
    /// progress is recorded shows in the next attempt. Before anything is sent: the key of the work has changed, or the
    /// client refuses its columns.
    pub async fn save(&mut self) -> Result<(), Error> {
        let columns = self.columns()?;
        self.held.guard.update(&columns).await?;
        self.held.attempts.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Records the columns of [`work`](Self::work), and applies a transaction in the partition of the item: both or
    /// neither, and only while this worker holds the item. Also renews the lease.
    ///
    /// `effect` adds up to 99 operations. It is called again for each attempt.
    ///
    /// # Errors
    /// The errors of [`save`](Self::save). The error of an operation of `effect`, whose index counts from 1.
    pub async fn commit<U: TableEntity + Send + 'static>(
        &mut self,
        effect: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        let columns = self.columns()?;
        self.held.guard.commit_with(&columns, effect).await?;
        self.held.attempts.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the item, and applies a last transaction in its partition: both or neither, and only while this worker
    /// holds the item.
    ///
    /// Without a last effect, return `Ok` from the steps instead.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit). After a lost response, [`Lost`](Error::Lost) with an unknown outcome may
    /// also mean that the item is done.
    pub async fn finish<U: TableEntity + Send + 'static>(
        &mut self,
        effect: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        self.held.finish(effect).await
    }

    fn columns(&self) -> Result<DynamicEntity, Error> {
        let columns = row::columns_of(&self.held.name, &self.work)?;
        Ok(row::with_progress(columns, self.token()))
    }
}
