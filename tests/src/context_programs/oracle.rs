//! Compares the reports of a run with what the service applied. Written from `context-machine.md`, "The checker", and the
//! guides about units of work and outcomes; it knows nothing of the context's code.

use std::collections::BTreeMap;
use std::sync::Arc;

use azure_table_client::context::EntityState;
use azure_table_client::{Confirmation, Operation};

use super::Kind;
use super::faults::Fault;
use super::network::{Attempt, Log, Network};
use super::reports::{Outcome, Result, Saved};
use super::requests::Write;
use super::steps::Resolver;

/// The outcomes of changes, by the faults that their requests met: unknown ones, and all.
pub type Figures = BTreeMap<String, (usize, usize)>;

/// A request of an entity that no report has settled. Attempts with equal contents are one request.
struct Open<'l> {
    content: &'l str,
    operation: Operation,
    attempts: Vec<(&'l Attempt, usize)>,
    /// A report has a result of its entity.
    is_named: bool,
}

impl Open<'_> {
    /// When it was applied first, at the latest at this time.
    fn applied_until(&self, end: u64) -> bool {
        self.attempts.iter().filter_map(|(it, _)| it.applied()).any(|time| time <= end)
    }

    /// Whether it was applied, before or after the report.
    fn is_ever_applied(&self) -> bool {
        self.attempts.iter().any(|(it, _)| it.applied().is_some())
    }

    /// A copy that arrives late can be applied again: an insert or an unconditional write, until it expires (the guide, and
    /// context-machine.md, "What changes for users").
    fn can_arrive_again(&self) -> bool {
        self.attempts
            .iter()
            .any(|(it, at)| it.fault.is_some() && !it.writes[*at].is_under_an_etag())
    }

    /// Whether the service refused each attempt, and no fault kept the response from the client: no doubt remained.
    fn is_refused(&self) -> bool {
        self.attempts.iter().all(|(it, _)| it.fault.is_none() && !it.deliveries.is_empty())
            && !self.is_ever_applied()
    }

    fn is_repeated(&self) -> bool {
        self.attempts.iter().any(|(it, _)| it.is_repeated)
    }
}

/// All that a run shows.
pub(super) struct Run {
    pub(super) network: Arc<Network>,
    pub(super) saves: Vec<Saved>,
    /// Whether the client wrote ids.
    pub(super) has_ids: bool,
    /// Whether the client reads rows back.
    pub(super) reads_back: bool,
}

/// Returns the violations and the figures of a run.
pub(super) fn judge(run: &Run) -> (Vec<(Kind, String)>, Figures) {
    let mut log = run.network.log();
    let mut violations = std::mem::take(&mut log.violations);
    let mut figures = Figures::new();
    for row in 0..run.network.rows() {
        Judge {
            log: &log,
            row,
            violations: &mut violations,
            open: vec![],
            released: vec![],
            is_muddy: false,
        }
        .row(&run.saves, run.reads_back);
    }
    for attempt in &log.attempts {
        check_application(attempt, &mut violations);
    }
    count_unknown(run, &log, &mut figures);
    (violations, figures)
}

/// A conditional request is applied at most once, and never after its expiry, 31.5 minutes after it was sent.
fn check_application(attempt: &Attempt, violations: &mut Vec<(Kind, String)>) {
    const EXPIRY: u64 = 31 * 60_000 + 30_000;
    let applied: Vec<_> = attempt.deliveries.iter().filter(|it| it.is_applied).collect();
    let is_conditional = attempt.writes.iter().all(Write::is_under_an_etag);
    let is_late = applied.iter().any(|it| it.time > attempt.time + EXPIRY);
    if is_late || (is_conditional && applied.len() > 1) {
        violations.push((Kind::AppliedAgain, format!("{:?}", attempt.writes)));
    }
}

struct Judge<'l, 'v> {
    log: &'l Log,
    row: usize,
    violations: &'v mut Vec<(Kind, String)>,
    open: Vec<Open<'l>>,
    /// Those of entities that the program released. A report may still tell what was found before.
    released: Vec<Open<'l>>,
    /// A request of the row has ended as unknown, or was delivered twice: it may be applied later.
    is_muddy: bool,
}

impl Judge<'_, '_> {
    fn row(&mut self, saves: &[Saved], reads_back: bool) {
        for (number, saved) in saves.iter().enumerate() {
            if saved.released.contains(&self.row) {
                // `detach` and `clear` end the duty to report (rule 8).
                self.is_muddy |= !self.open.is_empty();
                self.released.append(&mut self.open);
            }
            self.save(number, saved);
        }
        // All requests have expired, and the last saves met no fault.
        let Some(last) = saves.last() else { return };
        if last.states[self.row] != Some(EntityState::Unknown) {
            // A save left each of these in doubt, and no later report tells its outcome.
            for open in std::mem::take(&mut self.open).iter().filter(|open| !open.is_refused()) {
                let text = format!("no report tells the outcome of {}", open.content);
                self.violate(last, Kind::MissingFromReport, &text);
            }
        } else if reads_back {
            self.violate(last, Kind::EndlessDoubt, "the outcome stays unknown");
        }
    }

    /// A request whose outcome the client did not learn is in a report, also if it was not applied (rule 8).
    fn check_named(&mut self, saved: &Saved, open: &Open<'_>) {
        if !open.is_named && !open.is_refused() {
            let text = format!("no report names the row of {}", open.content);
            self.violate(saved, Kind::MissingFromReport, &text);
        }
    }

    fn violate(&mut self, saved: &Saved, kind: Kind, text: &str) {
        let row = self.row;
        self.violations.push((kind, format!("save of step {}, row {row}: {text}", saved.step)));
    }

    fn save(&mut self, number: usize, saved: &Saved) {
        let results: Vec<_> =
            saved.results.iter().filter(|result| result.row == self.row).collect();
        let was_open = !self.open.is_empty();
        let log = self.log;
        for attempt in log.attempts.iter().filter(|attempt| attempt.save == Some(number)) {
            for (at, write) in attempt.writes.iter().enumerate().filter(|it| it.1.row == self.row) {
                match self.open.iter_mut().find(|open| open.content == write.content) {
                    Some(open) => open.attempts.push((attempt, at)),
                    None => self.open.push(Open {
                        content: &write.content,
                        operation: write.operation,
                        attempts: vec![(attempt, at)],
                        is_named: false,
                    }),
                }
            }
        }
        self.open.iter_mut().for_each(|open| open.is_named |= !results.is_empty());
        self.is_muddy |= self.open.iter().any(|open| open.is_repeated() || open.can_arrive_again());
        self.check_conflict(saved, was_open, number);

        // The service's own responses and ids first: only a request that was applied has them.
        for confirmation in
            [Confirmation::Response, Confirmation::WriteId, Confirmation::Comparison]
        {
            let is_so = |result: &&&Result| result.outcome == Outcome::Applied(confirmation);
            for result in results.iter().filter(is_so) {
                self.applied((number, saved), result, confirmation);
            }
        }

        let unknown = results.iter().filter(|result| result.outcome == Outcome::Unknown).count();
        let denied = results.iter().filter_map(|result| match result.outcome {
            Outcome::NotApplied { name, .. } => Some((result.operation, name)),
            _ => None,
        });
        let denied: Vec<_> = denied.collect();
        let is_in_doubt = saved.states[self.row] == Some(EntityState::Unknown);
        if unknown > 0 {
            // A request can stay unknown for good (rule 8): then the entity is no longer in doubt, or in doubt about a later
            // request, which has a result of its own.
            let ended = if is_in_doubt {
                (unknown - 1).min(self.open.len().saturating_sub(1))
            } else {
                self.open.len()
            };
            self.is_muddy |= ended > 0;
            self.open.drain(..ended);
            return;
        }
        // A save that sends nothing, because it cannot be planned, leaves the requests of earlier saves as they are.
        if saved.requests == 0 {
            return;
        }
        let (mut missing, mut ended) = (vec![], vec![]);
        for open in std::mem::take(&mut self.open) {
            let is_own = open.attempts.iter().any(|(attempt, _)| attempt.save == Some(number));
            // A dropped save may not have come to the requests of earlier saves.
            if saved.is_dropped && !is_own {
                self.open.push(open);
                continue;
            }
            // A false report that no client can avoid: a proxy delivered the request twice (outcomes.md).
            if open.is_ever_applied() && !open.is_repeated() {
                missing.push((open.operation, open.content.to_owned()));
            } else if is_in_doubt && !open.is_ever_applied() {
                self.open.push(open);
            } else {
                ended.push(open);
            }
        }
        for open in ended {
            self.check_named(saved, &open);
        }
        for (operation, content) in missing {
            match denied.iter().find(|denied| denied.0 == operation) {
                Some((_, name)) => {
                    let text = format!("{name}, but it was applied: {content}");
                    self.violate(saved, Kind::FalselyNotApplied, &text);
                }
                None if results.is_empty() => {
                    let text = format!("no result, but this was applied: {content}");
                    self.violate(saved, Kind::MissingFromReport, &text);
                }
                None => {
                    let text = format!(
                        "the results are of other requests, but this was applied: {content}"
                    );
                    self.violate(saved, Kind::MissingFromReport, &text);
                }
            }
        }
    }

    /// A result says that a request of this operation was applied.
    fn applied(
        &mut self,
        (number, saved): (usize, &Saved),
        result: &Result,
        confirmation: Confirmation,
    ) {
        let operation = result.operation;
        // A resolver can turn an update into an insert, and the other way round.
        let is_resolved = saved.save.resolver != Resolver::None;
        let is_same = |open: &&Open<'_>| is_resolved || open.operation == operation;
        let is_missing = |open: &Open<'_>| {
            let mut times = open.attempts.iter().map(|(attempt, _)| attempt.time);
            saved.save.missing_is_deleted
                && operation == Operation::Delete
                && times.any(|time| {
                    let mut versions = self.log.rows.during(self.row, time, saved.end);
                    versions.any(|version| version.columns.is_none())
                })
        };
        // The requests of this save first: a response is about them, and a doubt about an earlier one stays a doubt.
        let is_proved =
            |open: &Open<'_>| is_same(&open) && (open.applied_until(saved.end) || is_missing(open));
        let is_own = |open: &Open<'_>| open.attempts.iter().any(|(it, _)| it.save == Some(number));
        let fit = |open: &Open<'_>| {
            let is_version = self.is_version_of(open, result);
            let is_operation = open.operation == operation;
            let is_applied = open.applied_until(saved.end);
            (is_applied, is_version, is_operation, is_own(open), !open.is_repeated())
        };
        let proved = self.open.iter().enumerate().filter(|(_, open)| is_proved(open));
        // The first one of those that fit best.
        let at = proved.rev().max_by_key(|(_, open)| fit(open)).map(|(at, _)| at);
        let at = at.or_else(|| {
            // For a comparison, the state was there when the row was read. Another program may have written it.
            let is_there = |open: &Open<'_>| {
                open.attempts.iter().any(|(attempt, at)| {
                    let mut versions = self.log.rows.during(self.row, attempt.time, saved.end);
                    versions.any(|version| attempt.writes[*at].leaves(version.columns.as_ref()))
                })
            };
            let is_compared = confirmation == Confirmation::Comparison;
            self.open.iter().position(|open| is_compared && is_same(&open) && is_there(open))
        });
        if let Some(at) = at {
            let open = self.open.remove(at);
            self.check_etag(saved, result, confirmation, &open);
            return;
        }
        if let Some(at) = self.released.iter().position(|open| open.applied_until(saved.end)) {
            self.released.remove(at);
            return;
        }
        let text = format!("{operation} reported as applied ({confirmation:?})");
        match self.open.iter().position(|open| open.applied_until(saved.end)) {
            Some(at) => {
                let sent = self.open.remove(at).content;
                self.violate(saved, Kind::WrongOperation, &format!("{text}, sent was {sent}"));
            }
            None => self.violate(saved, Kind::FalselyApplied, &text),
        }
    }

    /// The ETag of a result is that of a version of the row, and after a response that of the version that the request left.
    fn check_etag(
        &mut self,
        saved: &Saved,
        result: &Result,
        confirmation: Confirmation,
        open: &Open<'_>,
    ) {
        let Some(etag) = &result.etag else { return };
        let version = self.log.rows.version(self.row, etag);
        let is_response = confirmation == Confirmation::Response;
        if version.is_none() || (is_response && !self.is_version_of(open, result)) {
            let text = format!("{etag} is the version {version:?}, sent was {}", open.content);
            self.violate(saved, Kind::WrongETag, &text);
        }
    }

    /// Whether the ETag of a result is of a version that the request left.
    fn is_version_of(&self, open: &Open<'_>, result: &Result) -> bool {
        let Some(etag) = &result.etag else { return true };
        let Some(version) = self.log.rows.version(self.row, etag) else { return false };
        let mut deliveries = open.attempts.iter().flat_map(|(attempt, _)| &attempt.deliveries);
        deliveries.any(|delivery| delivery.is_applied && delivery.time == version.time)
    }

    /// A conflict needs another program. A doubt, a late copy, or an entity of which some columns are not known can look like
    /// one (rule 3), so that only clear cases are judged.
    fn check_conflict(&mut self, saved: &Saved, was_open: bool, number: usize) {
        let row = self.row;
        let is_conflict = saved.results.iter().any(|result| {
            result.row == row && matches!(result.outcome, Outcome::NotApplied { is_conflict: true, name } if name != "not attempted")
        });
        let is_clear = !was_open && !self.is_muddy && !saved.is_disturbed[row];
        let mut own = self.log.attempts.iter().filter(|attempt| attempt.save == Some(number));
        let is_own_doing = own.any(|attempt| attempt.applied().is_some());
        if (is_conflict || saved.conflicts.contains(&row)) && is_clear && !is_own_doing {
            self.violate(saved, Kind::FalseConflict, "no other program wrote the row");
        }
    }
}

/// Counts the changes of each save, by the faults that the requests of their rows met.
fn count_unknown(run: &Run, log: &Log, figures: &mut Figures) {
    for (number, saved) in run.saves.iter().enumerate() {
        for result in &saved.results {
            let of_row = log.attempts.iter().filter(|attempt| {
                attempt.save == Some(number)
                    && attempt.writes.iter().any(|write| write.row == result.row)
            });
            let names: std::collections::BTreeSet<_> =
                of_row.filter_map(|attempt| attempt.fault).map(Fault::name).collect();
            let ids = if run.has_ids { "with ids" } else { "without ids" };
            for name in names {
                let (unknown, all) = figures.entry(format!("{ids}: {name}")).or_default();
                *unknown += usize::from(result.outcome == Outcome::Unknown);
                *all += 1;
            }
        }
    }
}
