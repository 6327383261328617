//! The events of a round in the order in which they happened, and the promises of a lease that they must keep.

use std::collections::BTreeMap;
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, Outcome};
use azure_table_patterns::Error;
use azure_table_tests::chaos::Report;
use tokio::time::Instant;

use super::{DEVICES, LEASES};

/// The report of a call about its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Applied,
    NotApplied,
    Unknown,
}

impl Known {
    /// `None` is a call that was dropped.
    pub(super) fn of<T>(result: Option<&Result<T, Error>>) -> Self {
        match result.map(|result| result.as_ref().map_err(Error::outcome)) {
            Some(Ok(_) | Err(Outcome::Applied)) => Self::Applied,
            Some(Err(Outcome::NotApplied)) => Self::NotApplied,
            Some(Err(Outcome::Unknown)) | None => Self::Unknown,
        }
    }
}

/// A guard at a moment.
#[derive(Debug, Clone, Copy)]
struct Probe {
    lease: usize,
    guard: usize,
    is_valid: bool,
}

#[derive(Debug, Default)]
pub(super) struct History {
    probes: Vec<Probe>,
    /// The lease and the token of each guard.
    guards: Vec<(usize, i64)>,
    /// The end of the validity of each guard, in virtual time.
    ends: Vec<Instant>,
    /// The row that each fenced transaction inserts, and the report.
    commits: Vec<(String, Known)>,
    /// The column that each update adds.
    updates: Vec<(String, Known)>,
    /// The row of each job, the id of the call that finishes it, and the report.
    finished: Vec<(String, String, Known)>,
    newest_of_device: i64,
    pub(super) report: Report,
}

impl History {
    /// Records a new guard, and returns its number. No other guard of the lease is valid.
    pub(super) fn acquired(&mut self, lease: usize, token: i64) -> usize {
        let now = Instant::now();
        for ((other, before), end) in self.guards.iter().zip(&self.ends) {
            self.report.check(*other != lease || *end <= now, || {
                format!("token {token} is held {:?} before the end of {before}", *end - now)
            });
        }
        self.guards.push((lease, token));
        self.ends.push(now);
        self.guards.len() - 1
    }

    /// Records that a guard is valid for this time, zero if it is not valid.
    pub(super) fn probe(&mut self, guard: usize, remaining: Duration) {
        let lease = self.guards[guard].0;
        self.ends[guard] = Instant::now() + remaining;
        self.probes.push(Probe { lease, guard, is_valid: !remaining.is_zero() });
    }

    /// Records that work runs, which the guard has to be valid for.
    pub(super) fn runs(&mut self, guard: usize) {
        self.probes.push(Probe { lease: self.guards[guard].0, guard, is_valid: true });
    }

    /// Records that a program gives up a guard.
    pub(super) fn ended(&mut self, guard: usize) {
        self.ends[guard] = Instant::now();
    }

    pub(super) fn committed(&mut self, row: String, known: Known) {
        self.report.count(match known {
            Known::Applied => "applied",
            Known::NotApplied => "not applied",
            Known::Unknown => "unknown",
        });
        self.commits.push((row, known));
    }

    pub(super) fn updated(&mut self, column: String, known: Known) {
        self.updates.push((column, known));
    }

    pub(super) fn finished(&mut self, job: String, id: String, known: Known) {
        self.report.count("finished");
        self.finished.push((job, id, known));
    }

    /// The row of another table never returns to an older token.
    pub(super) fn look_at_device(&mut self, mock: &MockTableService) {
        let Some(row) = mock.row(DEVICES, "p", "device") else { return };
        let token: i64 = row.get("LeaseToken").unwrap().unwrap();
        let newest = self.newest_of_device;
        self.report.check(token >= newest, || format!("the device saw {newest}, and then {token}"));
        self.newest_of_device = newest.max(token);
    }

    /// Checks all promises.
    pub(super) fn check(mut self, mock: &MockTableService) -> Report {
        self.check_exclusion();
        self.check_tokens();
        let rows = mock.rows(LEASES).unwrap();
        self.check_order(&rows);
        let names: Vec<_> = rows.iter().map(|row| row.key().row_key.as_str()).collect();
        for (row, known) in &self.commits {
            let is_there = names.contains(&row.as_str());
            self.report.check(agrees(*known, is_there), || {
                format!("commit {row} is {known:?}, applied: {is_there}")
            });
        }
        let lease = mock.row(LEASES, "p", "lease0");
        for (column, known) in &self.updates {
            let is_there = lease.as_ref().is_some_and(|row| row.value(column).is_some());
            self.report.check(agrees(*known, is_there), || {
                format!("update {column} is {known:?}, applied: {is_there}")
            });
        }
        self.check_jobs(mock);
        self.report
    }

    /// No guard is valid between two moments at which another guard of the same lease is valid.
    fn check_exclusion(&mut self) {
        // The guard of each lease that was valid last, and the guards that it followed.
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        let mut is_over = vec![false; self.guards.len()];
        for Probe { lease, guard, is_valid } in self.probes.iter().copied() {
            if !is_valid {
                continue;
            }
            let before = last.insert(lease, guard);
            if let Some(before) = before.filter(|before| *before != guard) {
                is_over[before] = true;
            }
            let token = self.guards[guard].1;
            self.report.check(!is_over[guard], || {
                format!("token {token} is valid after a later holder: {before:?}")
            });
            // One violation for each guard.
            is_over[guard] = false;
        }
    }

    /// Each guard has a greater token than the guards before it.
    fn check_tokens(&mut self) {
        let mut newest = BTreeMap::new();
        for (lease, token) in self.guards.clone() {
            let before = newest.insert(lease, token).unwrap_or(0);
            self.report.check(token > before, || format!("token {token} follows {before}"));
        }
    }

    /// The rows of fenced transactions: an older token is never applied after a newer one.
    fn check_order(&mut self, rows: &[DynamicEntity]) {
        let mut events: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.key().row_key.starts_with("event")) {
            let lease = row.key().row_key.split('_').next().unwrap();
            let token: i64 = row.get("By").unwrap().unwrap();
            events.entry(lease).or_default().push((row.timestamp().unwrap(), token));
        }
        for (lease, mut events) in events {
            events.sort_unstable();
            for pair in events.windows(2) {
                let ((_, first), (_, second)) = (pair[0], pair[1]);
                self.report.check(first <= second, || {
                    format!("{lease}: token {second} wrote after {first}")
                });
            }
        }
    }

    /// A job is deleted in one transaction with its result, once.
    fn check_jobs(&mut self, mock: &MockTableService) {
        for (job, id, known) in &self.finished {
            let result = mock.row(LEASES, "p", &format!("done {job}"));
            let by: Option<String> = result.map(|row| row.get("Id").unwrap().unwrap());
            let is_own = by.as_ref() == Some(id);
            self.report.check(agrees(*known, is_own), || {
                format!("{job} is {known:?} by {id}, finished by {by:?}")
            });
            let is_there = mock.row(LEASES, "p", job).is_some();
            self.report.check(is_there == by.is_none(), || {
                format!("{job} exists: {is_there}, finished by {by:?}")
            });
        }
    }
}

fn agrees(known: Known, is_applied: bool) -> bool {
    match known {
        Known::Applied => is_applied,
        Known::NotApplied => !is_applied,
        Known::Unknown => true,
    }
}

#[tokio::test(start_paused = true)]
async fn the_checker_finds_two_valid_guards() {
    for (guards, violations) in [
        (&[0, 0, 1, 1][..], 0),
        (&[0, 1, 0][..], 1),
        (&[0, 1, 2, 1][..], 1),
        (&[0, 2, 1, 2][..], 1),
    ] {
        let mut history = History::default();
        for token in 1..4 {
            history.acquired(0, token);
        }
        for guard in guards {
            history.probe(*guard, Duration::from_nanos(1));
        }
        history.check_exclusion();
        assert_eq!(history.report.violations.len(), violations, "{guards:?}");
    }
}
