//! The versions of the source that the passes of `sync` have handled.
//!
//! The passes overlap in time: a version that an earlier pass has copied, or that the target has refused, is not sent
//! again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::{DynamicEntity, ETag, EntityKey, Error, ErrorKind};

use crate::engine::end::is_of_content;

/// The limit on the versions that are remembered.
const MAX_VERSIONS: usize = 100_000;

/// The versions that earlier passes have handled. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Versions(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
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

impl Versions {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            in_flight: HashMap::new(),
            resolved: HashMap::new(),
            refused: HashMap::new(),
            remembered_from: EdmDateTime::MAX,
            from_if_complete: EdmDateTime::MAX,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run that reads the versions from `from` on. The next one reads them again, or those from `from_if_complete`
    /// on.
    pub(crate) fn begin(&self, from: EdmDateTime, from_if_complete: EdmDateTime) {
        let mut state = self.lock();
        state.in_flight.clear();
        (state.remembered_from, state.from_if_complete) = (from, from_if_complete);
    }

    /// Forgets the versions that the run after a complete one does not read.
    pub(crate) fn complete(&self) {
        self.lock().forget_old();
    }

    /// Whether this version was copied or refused already.
    pub(super) fn is_resolved(&self, row: &DynamicEntity) -> bool {
        let state = self.lock();
        state.resolved.get(row.key()).is_some_and(|known| Version::of(row).as_ref() == Some(known))
    }

    /// Takes down a row that is sent as the one with this index.
    pub(super) fn send(&self, index: u64, row: &DynamicEntity) {
        self.lock().in_flight.insert(index, (row.key().clone(), Version::of(row)));
    }

    /// Sets the outcome of a row.
    pub(super) fn end(&self, result: &WriteResult) {
        let state = &mut *self.lock();
        let Some((key, version)) = state.in_flight.remove(&result.index) else { return };
        match &result.outcome {
            WriteOutcome::Applied { .. } => {
                state.refused.remove(&key);
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
    pub(crate) fn refuse(&self, key: &EntityKey, reason: &str) -> bool {
        let state = &mut *self.lock();
        state.refused.insert(key.clone(), reason.to_owned()).is_none_or(|known| known != reason)
    }

    /// The rows that cannot be copied.
    pub(crate) fn refused(&self) -> HashSet<EntityKey> {
        self.lock().refused.keys().cloned().collect()
    }

    /// Removes a row that is not in the target any more.
    pub(crate) fn remove(&self, key: &EntityKey) {
        self.lock().resolved.remove(key);
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

/// Whether the service refuses the account or the table, and not one of the rows.
pub(crate) fn ends_pass(error: &Error) -> bool {
    error.kind() == ErrorKind::Service && matches!(error.status(), Some(401 | 403 | 404))
}

#[cfg(test)]
mod tests {
    use azure_table_client::Dialect;
    use azure_table_client::bulk::BulkOperation;
    use azure_table_client::mock::MockTableService;

    use super::*;

    #[tokio::test]
    async fn known_versions_are_not_sent_again() {
        let versions = Versions::new();
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

        versions.begin(EdmDateTime::MIN, EdmDateTime::MAX);
        for (index, row) in (0..).zip(&rows) {
            versions.send(index, row);
        }
        assert!(rows.iter().all(|row| !versions.is_resolved(row)));
        let ended = versions.clone();
        let bulk = copy.bulk().on_row(move |row| ended.end(row));
        bulk.run(rows.iter().cloned().map(BulkOperation::InsertOrReplace)).await.unwrap_err();
        assert_eq!(versions.refused(), [rows[1].key().clone()].into());
        assert!(rows.iter().all(|row| versions.is_resolved(row)));

        blogs.insert_or_replace(&rows[0]).await.unwrap();
        let changed = blogs.get(("p", "copied")).await.unwrap().into_inner();
        assert!(!versions.is_resolved(&changed));
        versions.remove(rows[0].key());
        assert!(!versions.is_resolved(&rows[0]));
        // An incomplete run reads the same rows again, the one after a complete run only later ones.
        assert!(versions.is_resolved(&rows[1]));
        versions.complete();
        assert!(!versions.is_resolved(&rows[1]));
    }
}
