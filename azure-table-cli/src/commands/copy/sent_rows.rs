//! The rows that a run sends, for `sync`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::{DynamicEntity, ETag, EntityKey, Error, ErrorKind};

use super::record::Record;
use crate::failure::{Exit, Failure, Result};

/// The limit on the versions that are remembered.
const MAX_VERSIONS: usize = 100_000;

/// The record of a target, and the versions of the source that it has already. Clones share it.
#[derive(Debug, Clone)]
pub(in crate::commands) struct SentRows(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    record: Record,
    /// The rows without an outcome, by their index in the bulk run.
    in_flight: HashMap<u64, (EntityKey, Option<Version>)>,
    /// The versions that were copied or refused.
    resolved: HashMap<EntityKey, Version>,
    /// The next run reads the versions from this time on again. Older versions are not remembered.
    remembered_from: EdmDateTime,
    /// Like `remembered_from`, if this run is complete.
    from_if_complete: EdmDateTime,
    /// The rows that cannot be copied, with the reasons.
    refused: HashMap<EntityKey, String>,
    /// The versions of the target whose deletion has no known outcome.
    deletions: HashMap<EntityKey, ETag>,
    error: Option<Failure>,
}

/// A version of a row. The ETag identifies it: a service may give two versions of a second the same Timestamp.
#[derive(Debug, PartialEq)]
struct Version {
    etag: ETag,
    timestamp: EdmDateTime,
}

impl Version {
    fn of(row: &DynamicEntity) -> Option<Self> {
        Some(Self { etag: row.etag()?.clone(), timestamp: row.timestamp()? })
    }
}

impl SentRows {
    pub(in crate::commands) fn new(record: Record) -> Self {
        Self(Arc::new(Mutex::new(State {
            record,
            in_flight: HashMap::new(),
            resolved: HashMap::new(),
            refused: HashMap::new(),
            deletions: HashMap::new(),
            remembered_from: EdmDateTime::MAX,
            from_if_complete: EdmDateTime::MAX,
            error: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run that reads the versions from `from` on. The next one reads them again, or those from `from_if_complete`
    /// on.
    pub(in crate::commands) fn begin(&self, from: EdmDateTime, from_if_complete: EdmDateTime) {
        let mut state = self.lock();
        state.in_flight.clear();
        (state.remembered_from, state.from_if_complete) = (from, from_if_complete);
    }

    /// Forgets the versions that the run after a complete one does not read.
    pub(in crate::commands) fn complete(&self) {
        self.lock().forget_old();
    }

    /// Sorts the record, if it is worth the time or a reader `needs_order`.
    pub(in crate::commands) async fn compact(&self, needs_order: bool) -> Result<()> {
        let sent = self.clone();
        let compact = move || {
            sent.with_record(|record| {
                if needs_order || record.is_worth_compacting() { record.compact() } else { Ok(()) }
            })
        };
        let failed = |_| Failure::new(Exit::Failed, "the record of keys cannot be sorted");
        tokio::task::spawn_blocking(compact).await.map_err(failed)?
    }

    /// Whether this version was copied or refused already.
    pub(super) fn is_resolved(&self, row: &DynamicEntity) -> bool {
        let state = self.lock();
        state.resolved.get(row.key()).is_some_and(|known| Version::of(row).as_ref() == Some(known))
    }

    /// Records a row before it is sent, as the one with this index.
    pub(super) fn send(&self, index: u64, row: &DynamicEntity) -> Result<()> {
        let state = &mut *self.lock();
        state.record.add(row.key())?;
        state.in_flight.insert(index, (row.key().clone(), Version::of(row)));
        Ok(())
    }

    /// Sets the outcome of a row. An error is reported by the next [`save`](Self::save).
    pub(super) fn end(&self, result: &WriteResult) {
        let state = &mut *self.lock();
        let Some((key, version)) = state.in_flight.remove(&result.index) else { return };
        let is_written =
            !matches!(result.outcome, WriteOutcome::Failed(_) | WriteOutcome::NotAttempted(_));
        if !is_written && let Err(failure) = state.record.take_back(&key) {
            state.error.get_or_insert(failure);
        }
        match &result.outcome {
            WriteOutcome::Applied { .. } => {
                state.refused.remove(&key);
                state.deletions.remove(&key);
            }
            WriteOutcome::Failed(error) if is_of_content(error) => {
                state.refused.insert(key.clone(), error.to_string());
            }
            _ => return,
        }
        if let Some(version) = version {
            state.remember(key, version);
        }
    }

    /// Adds a row that cannot be copied or deleted. Returns `false` if it is known.
    pub(in crate::commands) fn refuse(&self, key: &EntityKey, reason: &str) -> bool {
        let state = &mut *self.lock();
        state.refused.insert(key.clone(), reason.to_owned()).is_none_or(|known| known != reason)
    }

    /// The rows that cannot be copied.
    pub(in crate::commands) fn refused(&self) -> HashSet<EntityKey> {
        self.lock().refused.keys().cloned().collect()
    }

    /// Begins a deletion of this version. Returns `false` if an earlier deletion without a known outcome was of another one:
    /// it may have been applied, and then another program has written the row.
    pub(in crate::commands) fn begin_deletion(&self, key: &EntityKey, version: &ETag) -> bool {
        let state = &mut *self.lock();
        state.deletions.entry(key.clone()).or_insert_with(|| version.clone()) == version
    }

    /// Ends a deletion with a known outcome.
    pub(in crate::commands) fn end_deletion(&self, key: &EntityKey) {
        self.lock().deletions.remove(key);
    }

    /// Removes a row that is not in the target any more, or that another program has written since.
    pub(in crate::commands) fn remove(&self, key: &EntityKey) {
        let state = &mut *self.lock();
        state.resolved.remove(key);
        state.deletions.remove(key);
        if let Err(failure) = state.record.take_back(key) {
            state.error.get_or_insert(failure);
        }
    }

    /// Makes the record durable.
    pub(in crate::commands) fn save(&self) -> Result<()> {
        let mut state = self.lock();
        match state.error.take() {
            Some(failure) => Err(failure),
            None => state.record.save(),
        }
    }

    /// Calls `with` with the record.
    pub(in crate::commands) fn with_record<T>(&self, with: impl FnOnce(&mut Record) -> T) -> T {
        with(&mut self.lock().record)
    }
}

impl State {
    fn forget_old(&mut self) {
        self.remembered_from = self.from_if_complete;
        self.resolved.retain(|_, version| version.timestamp >= self.remembered_from);
    }

    fn remember(&mut self, key: EntityKey, version: Version) {
        if self.resolved.len() >= MAX_VERSIONS && self.remembered_from < self.from_if_complete {
            self.forget_old();
        }
        if self.resolved.len() < MAX_VERSIONS || self.resolved.contains_key(&key) {
            if version.timestamp >= self.remembered_from {
                self.resolved.insert(key, version);
            } else {
                self.resolved.remove(&key);
            }
        }
    }
}

/// Whether the service would refuse the same row again.
pub(in crate::commands) fn is_of_content(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::InvalidInput => true,
        ErrorKind::Service => matches!(error.status(), Some(400 | 413)),
        _ => false,
    }
}

/// Whether the service refuses the account or the table, and not one of the rows.
pub(in crate::commands) fn ends_pass(error: &Error) -> bool {
    error.kind() == ErrorKind::Service && matches!(error.status(), Some(401 | 403 | 404))
}

#[cfg(test)]
mod tests {
    use azure_table_client::Dialect;
    use azure_table_client::bulk::BulkOperation;
    use azure_table_client::mock::MockTableService;

    use super::*;

    fn keys(sent: &SentRows) -> Vec<String> {
        let keys = sent.with_record(|record| record.keys().unwrap());
        keys.map(|key| key.unwrap().row_key).collect()
    }

    #[tokio::test]
    async fn refused_rows_are_not_recorded_and_known_versions_are_not_sent_again() {
        let folder = tempfile::tempdir().unwrap();
        let sent = SentRows::new(Record::open(folder.path().join("a.keys")).unwrap());
        let [blogs, copy] = [Dialect::AzureStorage, Dialect::CosmosDb].map(|dialect| {
            let service = MockTableService::builder().dialect(dialect).build().client();
            service.table_named::<DynamicEntity>("Blogs")
        });
        for table in [&blogs, &copy] {
            table.create().await.unwrap();
        }
        // Cosmos DB refuses this property.
        blogs.insert(&DynamicEntity::new("p", "refused").with("Etag", "x")).await.unwrap();
        blogs.insert(&DynamicEntity::new("p", "copied")).await.unwrap();
        let rows = blogs.query().await.unwrap().to_vec();

        sent.begin(EdmDateTime::MIN, EdmDateTime::MAX);
        for (index, row) in (0..).zip(&rows) {
            sent.send(index, row).unwrap();
        }
        assert_eq!(keys(&sent), ["copied", "refused"]);
        let ended = sent.clone();
        let bulk = copy.bulk().on_row(move |row| ended.end(row));
        bulk.run(rows.iter().cloned().map(BulkOperation::InsertOrReplace)).await.unwrap_err();
        assert_eq!(sent.refused(), [rows[1].key().clone()].into());
        assert_eq!(keys(&sent), ["copied"]);
        assert!(rows.iter().all(|row| sent.is_resolved(row)));

        blogs.insert_or_replace(&rows[0]).await.unwrap();
        let changed = blogs.get(("p", "copied")).await.unwrap().into_inner();
        assert!(!sent.is_resolved(&changed));
        sent.remove(rows[0].key());
        assert!(keys(&sent).is_empty() && !sent.is_resolved(&rows[0]));
        // An incomplete run reads the same rows again, the one after a complete run only later ones.
        assert!(sent.is_resolved(&rows[1]));
        sent.complete();
        assert!(!sent.is_resolved(&rows[1]));
        sent.save().unwrap();
    }

    #[test]
    fn a_deletion_without_an_outcome_is_repeated_in_the_same_version_only() {
        let folder = tempfile::tempdir().unwrap();
        let sent = SentRows::new(Record::open(folder.path().join("a.keys")).unwrap());
        let key = EntityKey::new("p", "r");
        let [old, new] = ["W/\"1\"", "W/\"2\""].map(ETag::from);
        assert!(sent.begin_deletion(&key, &old));
        assert!(sent.begin_deletion(&key, &old));
        assert!(!sent.begin_deletion(&key, &new));
        sent.end_deletion(&key);
        assert!(sent.begin_deletion(&key, &new));
    }
}
