//! Saving in rounds: each conflict with another writer is resolved, and the change is sent again.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::conflict::{Conflict, Resolution, is_conflict};
use super::options::{Mode, SaveOptions};
use super::report::{SaveError, SaveReport};
use super::tracker::{Identity, ServerRow, Tracker, refusal};
use super::{EntityState, MergeOption, TableContext};
use crate::client::TableClient;
use crate::entity::{DynamicEntity, EntityKey, TableEntity as _};
use crate::error::Error;
use crate::operation::{WriteOutcome, WriteResult};
use crate::outcome::{MapEntity, properties_of};
use crate::pipeline::{FailedAttempt, RetryPolicy};
use crate::wire::Operation;

/// The waits before a change is sent again, so that two writers do not conflict repeatedly.
const WAITS: RetryPolicy =
    RetryPolicy::exponential(0, Duration::from_millis(20), Duration::from_secs(1));

/// Saves, resolves the conflicts, and saves again, until there is nothing left to resolve.
pub(super) async fn save(
    context: &mut TableContext,
    options: SaveOptions,
) -> Result<SaveReport, SaveError> {
    let mut rounds = Rounds::new(context, options);
    let mut result = rounds.save().await;
    // A save that cannot be planned sends nothing, and neither would the next round.
    let is_refused = |error: &SaveError| error.is_refused;
    while !result.as_ref().is_err_and(is_refused) && rounds.resolve_all().await {
        result = rounds.save().await;
    }
    drop(rounds);
    let refused = result.err().filter(is_refused);
    let report = context.last_report.clone();
    match refused.map(|refused| refused.error).or_else(|| report.error().cloned()) {
        Some(error) => Err(SaveError::new(report, error)),
        None => Ok(report),
    }
}

/// The rounds of one save.
struct Rounds<'c> {
    context: &'c mut TableContext,
    options: SaveOptions,
    /// The results of all rounds, one for each change.
    results: Vec<WriteResult>,
    /// The number of resolved conflicts of each entity.
    resolved: HashMap<Identity, u32>,
    /// Entities with a change whose outcome was unknown. The service may have refused a later request
    /// because of the earlier one, so that their conflicts are not resolved.
    doubtful: HashSet<Identity>,
    /// Entities whose changes are not sent again.
    skip: HashSet<Identity>,
    /// The longest history of conflicts among the changes that are sent again.
    conflicts: u32,
}

/// Sets the report of all rounds as the last report, also if the save is dropped.
impl Drop for Rounds<'_> {
    fn drop(&mut self) {
        self.collect();
        self.context.last_report.results = mem::take(&mut self.results);
    }
}

/// The consequence of a resolution.
enum Next {
    SendAgain,
    /// The change is not pending any more.
    Nothing,
    /// The change stays failed and pending.
    Fail(Error),
}

impl<'c> Rounds<'c> {
    fn new(context: &'c mut TableContext, options: SaveOptions) -> Self {
        context.last_report = SaveReport::default();
        let entities = context.tracker.in_order().into_iter();
        let doubtful = entities.filter(|(_, tracked)| tracked.state() == EntityState::Unknown);
        let doubtful = doubtful.map(|(id, _)| id.clone()).collect();
        Self {
            context,
            options,
            results: Vec::new(),
            resolved: HashMap::new(),
            doubtful,
            skip: HashSet::new(),
            conflicts: 0,
        }
    }

    async fn save(&mut self) -> Result<SaveReport, SaveError> {
        if self.conflicts > 0 {
            let clock = &*self.context.core.clock;
            let wait = WAITS.wait(&FailedAttempt::new(self.conflicts), clock).unwrap_or_default();
            clock.sleep(wait).await;
        }
        let result = self.context.save(self.options.clone(), &self.skip).await;
        self.collect();
        result
    }

    /// Collects the results of a round. The result of a change that was sent again replaces the earlier one.
    fn collect(&mut self) {
        for result in mem::take(&mut self.context.last_report.results) {
            let id = self.identity(&result);
            let tracker = &self.context.tracker;
            let is_same =
                |earlier: &&mut WriteResult| !is_final(earlier) && identity(tracker, earlier) == id;
            match self.results.iter_mut().find(is_same) {
                Some(earlier) => *earlier = WriteResult { index: earlier.index, ..result },
                None => {
                    let index = self.results.len() as u64;
                    self.results.push(WriteResult { index, ..result });
                }
            }
        }
    }

    fn identity(&self, result: &WriteResult) -> Option<Identity> {
        identity(&self.context.tracker, result)
    }

    /// Resolves the conflicts. Returns whether there are changes to send again.
    async fn resolve_all(&mut self) -> bool {
        let mut conflicts = Vec::new();
        for at in 0..self.results.len() {
            let Some(id) = self.identity(&self.results[at]) else { continue };
            match &self.results[at].outcome {
                WriteOutcome::Failed(_) if self.skip.contains(&id) => {}
                WriteOutcome::Failed(error) => {
                    let error = Error::clone(error);
                    let done = self.resolved.get(&id).copied().unwrap_or_default();
                    if !self.is_resolvable(&id, self.results[at].operation, &error) {
                        self.fail(at, error);
                    } else if done >= self.options.resolver.rounds {
                        self.fail(at, error.with_rounds(done));
                    } else {
                        conflicts.push((at, id, error, done + 1));
                    }
                }
                WriteOutcome::Unknown(_) => {
                    self.doubtful.insert(id.clone());
                    if self.is_over() {
                        return false;
                    }
                    self.skip.insert(id);
                }
                _ => {}
            }
        }
        let mut is_pending = false;
        self.conflicts = 0;
        for (at, id, error, round) in conflicts {
            if self.has_failed() && self.is_over() {
                return false;
            }
            // The other changes of a failed transaction are not sent.
            if self.skip.contains(&id) {
                continue;
            }
            self.resolved.insert(id.clone(), round);
            match self.resolve(at, &id, &error, round).await {
                Next::SendAgain => {
                    is_pending = true;
                    self.conflicts = self.conflicts.max(round);
                }
                Next::Nothing => self.results[at].outcome = WriteOutcome::Discarded(error.into()),
                Next::Fail(error) => self.fail(at, error),
            }
        }
        if self.has_failed() && self.is_over() {
            return false;
        }
        let mut results = self.results.iter();
        is_pending
            || results.any(|result| {
                matches!(result.outcome, WriteOutcome::NotAttempted(_))
                    && self.identity(result).is_some_and(|id| !self.skip.contains(&id))
            })
    }

    /// Whether a failure ends the save.
    fn is_over(&self) -> bool {
        !self.options.continue_on_error || self.options.mode == Mode::Atomic
    }

    fn has_failed(&self) -> bool {
        !self.skip.is_empty()
    }

    fn is_resolvable(&self, id: &Identity, operation: Operation, error: &Error) -> bool {
        let tracked = self.context.tracker.get(id);
        is_conflict(operation, error)
            && !self.doubtful.contains(id)
            && tracked.is_some_and(|tracked| tracked.state() != EntityState::Unknown)
    }

    /// Leaves the change failed, and also the changes in the same transaction.
    fn fail(&mut self, at: usize, error: Error) {
        let Some(id) = self.identity(&self.results[at]) else { return };
        self.results[at].outcome = WriteOutcome::Failed(error.into());
        if self.options.mode == Mode::PerPartition {
            let ids = self.results.iter().filter_map(|result| self.identity(result));
            let ids: Vec<_> = ids.filter(|other| other.partition() == id.partition()).collect();
            self.skip.extend(ids);
        }
        self.skip.insert(id);
    }

    /// Reads the row of a conflict, and merges it by the decision of the resolver.
    async fn resolve(&mut self, at: usize, id: &Identity, error: &Error, round: u32) -> Next {
        let WriteResult { table, key, operation, .. } = self.results[at].clone();
        let Some(key) = key else { return Next::Nothing };
        let core = Arc::clone(&self.context.core);
        let client = TableClient::<DynamicEntity>::new(core, table.to_string());
        let row = client.get_row(&key, self.options.call.clone()).await;
        let row = row.and_then(|row| row.map(|row| self.context.server_row(row, None)).transpose());
        let row = match row {
            Ok(row) => row,
            Err(cause) => {
                let hint =
                    format!("the conflict was not resolved, the row cannot be read: {cause}");
                return Next::Fail(error.clone().with_hint(Some(hint)));
            }
        };
        let Some(tracked) = self.context.tracker.get(id) else { return Next::Nothing };
        if row.as_ref().is_some_and(|(_, row)| tracked.etag() == Some(&row.etag)) {
            // The conflict is another change's of the same transaction.
            return Next::SendAgain;
        }
        let (server, row) = row.unzip();
        let is_delete = tracked.state() == EntityState::Deleted;
        let conflict = Conflict {
            table: &table,
            key: &key,
            operation,
            error,
            round,
            server: server.as_ref(),
            original: tracked.snapshot().as_ref().map(MapEntity::to_dynamic),
            local: (!is_delete).then(|| tracked.current().to_dynamic()),
        };
        match self.options.resolver.decide(&conflict) {
            Resolution::KeepLocal => {
                if self.options.replace_on_update {
                    self.context.tracker.keep_update(id, row.is_none());
                }
                self.context.tracker.merge_found(&table, &key, row, MergeOption::PreserveChanges);
            }
            Resolution::TakeServer => {
                self.context.tracker.merge_found(&table, &key, row, MergeOption::OverwriteChanges);
            }
            Resolution::Save(merged) => {
                if let Err(error) = self.merge_resolution(&table, &key, row, &merged) {
                    return Next::Fail(error);
                }
            }
            Resolution::Abort => return Next::Fail(error.clone()),
        }
        // The server's row may already have the changed values.
        self.context.tracker.drop_equal_updates();
        let tracked = self.context.tracker.get(id);
        match tracked.map(|tracked| tracked.change(self.options.replace_on_update)) {
            None | Some(Ok(None)) => Next::Nothing,
            Some(Ok(Some(_)) | Err(_)) => Next::SendAgain,
        }
    }

    /// Makes `merged` the local change on top of the server's row.
    fn merge_resolution(
        &mut self,
        table: &Arc<str>,
        key: &EntityKey,
        row: Option<ServerRow>,
        merged: &DynamicEntity,
    ) -> Result<(), Error> {
        if merged.key() != key {
            let other = merged.key();
            return Err(refusal(
                key,
                format_args!("its conflict was resolved with entity {other}"),
            ));
        }
        let values = properties_of(merged, self.context.core.protocol.dialect())?;
        self.context.tracker.merge_resolution(table, row, values, merged.ownership())
    }
}

/// The entity of a change. The results of a save have keys.
fn identity(tracker: &Tracker, result: &WriteResult) -> Option<Identity> {
    result.key.as_ref().map(|key| tracker.identity(&result.table, key))
}

/// Whether no later round can change it.
const fn is_final(result: &WriteResult) -> bool {
    matches!(result.outcome, WriteOutcome::Applied { .. } | WriteOutcome::Discarded(_))
}
