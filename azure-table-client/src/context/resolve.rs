//! Resolving the open attempts of changes, by reading their rows back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::TableContext;
use super::options::SaveOptions;
use super::report::{SaveOutcome, SaveResult};
use super::tracker::{Identity, OpenAttempt};
use crate::ETag;
use crate::entity::EntityKey;
use crate::error::{Error, MatchingState};
use crate::operation::{Confirmation, Request};
use crate::outcome::{self, Evidence, SentWrite, Verdict};
use crate::pipeline::{CallOptions, RetryPolicy};

/// The findings about the entities of one request.
#[derive(Default)]
pub(super) struct Findings {
    /// The entities with a change that was applied.
    pub(super) applied: HashMap<Identity, (Option<ETag>, Confirmation)>,
    /// Set if the rows are in the state that an attempt leaves.
    pub(super) matching_state: Option<MatchingState>,
    /// The keys without a row.
    absent: HashSet<EntityKey>,
}

impl TableContext {
    /// Reads the entities of a request, and resolves each of their open attempts. The attempt of `closed`, which the
    /// service refused, counts as applied if its write id is found: a proxy may have delivered it twice. The
    /// service refused `fenced` because an ETag was gone.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(super) async fn resolve_attempts(
        &mut self,
        table: &str,
        ids: &[&Identity],
        closed: Option<&Arc<Request>>,
        fenced: Option<&Arc<Request>>,
        options: &SaveOptions,
    ) -> Result<Findings, Error> {
        let attempts = self.tracker.open_requests(ids);
        let policy = outcome::policy(&self.core, &options.call);
        let format = self.core.protocol.format();
        let keys: HashSet<&EntityKey> = attempts.iter().flat_map(|it| &*it.keys).collect();
        let keys: Vec<_> = keys.into_iter().collect();
        let is_expired = |attempt: &OpenAttempt| outcome::is_expired(&self.core, attempt.sent.end);
        let expired: Vec<_> = attempts.iter().map(is_expired).collect();
        // The service may be down.
        let retry =
            if closed.is_some() { options.call.retry.clone() } else { Some(RetryPolicy::none()) };
        let call = CallOptions { retry, ..options.call.clone() };
        let rows = outcome::read_back(&self.core, table, &keys, &call).await?;
        let absent = keys.iter().filter(|key| !rows.contains_key(*key));
        let absent = absent.map(|&key| key.clone()).collect();
        let mut findings = Findings { absent, ..Findings::default() };
        for (attempt, is_expired) in attempts.iter().zip(expired) {
            let verdict = outcome::judge(
                Evidence {
                    writes: &SentWrite::all_of(&attempt.request, format).unwrap_or_default(),
                    rows: &rows,
                    write_id: self.core.settings.write_id.as_deref(),
                    since: None,
                    is_open: closed.is_none_or(|closed| !attempt.is_of(closed)),
                    is_fenced: fenced.is_some_and(|fenced| attempt.is_of(fenced)),
                    is_expired,
                },
                policy,
            );
            if let Verdict::Unknown { matching_state: Some(state) } = verdict {
                findings.matching_state = Some(state);
            }
            for (id, etag, confirmation) in self.tracker.resolve(table, attempt, verdict, &rows) {
                findings.applied.insert(id, (etag, confirmation));
            }
        }
        Ok(findings)
    }

    /// Resolves earlier changes that cannot be sent again: changes that the program undid, and inserts of entities
    /// that it deleted. Returns whether the rows could be read.
    pub(super) async fn resolve_unsendable(&mut self, options: &SaveOptions) -> bool {
        let unsendable: Vec<_> = self
            .tracker
            .in_order()
            .into_iter()
            .filter(|(_, tracked)| tracked.is_unsendable())
            .map(|(id, tracked)| (id.clone(), Arc::clone(tracked.table()), tracked.key().clone()))
            .collect();
        let mut is_read = true;
        for (id, table, key) in unsendable {
            let Some(tracked) = self.tracker.get(&id) else { continue };
            let Some(attempt) = tracked.attempts().last().cloned() else { continue };
            let result = self.last_report.results.len();
            self.last_report.results.push(SaveResult {
                table: table.to_string(),
                key: key.clone(),
                operation: attempt.change.operation(),
                outcome: SaveOutcome::Unknown(dropped()),
            });
            let found = self.resolve_attempts(&table, &[&id], None, None, options).await;
            self.last_report.results[result].outcome = match found {
                Err(error) => {
                    is_read = false;
                    SaveOutcome::Unknown(outcome::unknown(error))
                }
                Ok(findings) => match findings.applied.get(&id) {
                    Some((etag, confirmation)) => SaveOutcome::Applied {
                        status: None,
                        etag: etag.clone(),
                        confirmation: *confirmation,
                    },
                    None => self.unresolved(&id, findings.absent.contains(&key), options),
                },
            };
        }
        is_read
    }

    /// Returns the outcome of a change that cannot be sent again and was not found.
    fn unresolved(&mut self, id: &Identity, is_absent: bool, options: &SaveOptions) -> SaveOutcome {
        let Some(tracked) = self.tracker.get(id) else {
            return SaveOutcome::Unknown(may_still_be_applied());
        };
        let is_gone = is_absent
            && !outcome::policy(&self.core, &options.call).exact
            && tracked.is_deleted()
            && tracked.condition().is_none()
            && tracked
                .attempts()
                .iter()
                .all(|attempt| outcome::is_expired(&self.core, attempt.sent.end));
        if is_gone {
            // The service refuses every open attempt by now, and there is no row to delete.
            self.tracker.forget(id);
            let confirmation = Confirmation::Comparison;
            return SaveOutcome::Applied { status: None, etag: None, confirmation };
        }
        SaveOutcome::Unknown(may_still_be_applied())
    }
}

/// The error of a change whose save was dropped before the response came.
pub(super) fn dropped() -> Error {
    outcome::unknown(Error::timeout("the save was dropped before the response came"))
}

/// The error of a change that was not found in the row, and may still be applied.
pub(super) fn may_still_be_applied() -> Error {
    outcome::unknown(Error::timeout("an earlier attempt may still be applied"))
}
