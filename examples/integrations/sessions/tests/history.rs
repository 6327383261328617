//! The history of each session, and a check that it is that of a register that ends once.

use std::collections::HashMap;
use std::time::SystemTime;

use azure_table_tests::chaos::Report;
use tower_sessions::session::Id;

/// A `create` or `save` that was applied, or may have been.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) value: i64,
    pub(super) expires: SystemTime,
    pub(super) start: SystemTime,
    /// No request of the change arrives later.
    pub(super) end: SystemTime,
    /// Whether the call succeeded.
    pub(super) is_certain: bool,
}

/// A `load`, or a `save` that found no session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) value: Option<i64>,
    /// The expiry that was read. Without a session: one that expires later must not be missing.
    pub(super) expires: SystemTime,
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
}

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) writes: Vec<Change>,
    pub(super) reads: Vec<Read>,
    /// The start of each deletion, and its end if it succeeded.
    pub(super) deletions: Vec<(SystemTime, Option<SystemTime>)>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) sessions: HashMap<Id, Session>,
    pub(super) report: Report,
}

impl History {
    pub(super) fn of(&mut self, id: Id) -> &mut Session {
        self.sessions.entry(id).or_default()
    }
}

impl Session {
    pub(super) fn check(&self, id: Id, report: &mut Report) {
        for read in &self.reads {
            let violation = match read.value {
                Some(value) => self.violation_of_found(value, read),
                None => self.violation_of_missing(read),
            };
            report.check(violation.is_none(), || format!("{id}: {read:?}: {violation:?}"));
        }
    }

    /// The end of a change, or the first read of its value. The change was applied by then, or never is.
    fn applied_by(&self, change: &Change) -> SystemTime {
        let reads = self.reads.iter().filter(|read| read.value == Some(change.value));
        reads.map(|read| read.end).min().map_or(change.end, |read| read.min(change.end))
    }

    fn is_certain(&self, change: &Change) -> bool {
        change.is_certain || self.reads.iter().any(|read| read.value == Some(change.value))
    }

    /// Whether another value certainly replaced this one before the time `by`.
    fn is_replaced(&self, change: &Change, by: SystemTime) -> bool {
        let applied = self.applied_by(change);
        let mut later = self.writes.iter().filter(|other| other.start > applied);
        later.any(|other| self.is_certain(other) && self.applied_by(other) < by)
    }

    fn violation_of_found(&self, value: i64, read: &Read) -> Option<&'static str> {
        let Some(change) = self.writes.iter().find(|it| it.value == value) else {
            return Some("the value was never written");
        };
        let has_ended =
            self.deletions.iter().any(|(_, end)| end.is_some_and(|end| end < read.start));
        let is_same =
            change.expires.duration_since(read.expires).is_ok_and(|it| it.as_nanos() < 100);
        [
            (change.start > read.end, "the value was written later"),
            (!is_same, "the expiry is that of another value"),
            (has_ended, "the session was deleted before"),
            (self.is_replaced(change, read.start), "the value was replaced before"),
        ]
        .into_iter()
        .find_map(|(is_violated, violation)| is_violated.then_some(violation))
    }

    fn violation_of_missing(&self, read: &Read) -> Option<&'static str> {
        let mut writes = self.writes.iter();
        let existed = writes.any(|it| self.is_certain(it) && self.applied_by(it) < read.start);
        let is_deleted = self.deletions.iter().any(|(start, _)| *start < read.end);
        let mut current = self.writes.iter().filter(|it| it.start < read.end);
        let is_live =
            current.all(|it| self.is_replaced(it, read.start) || it.expires > read.expires);
        (existed && !is_deleted && is_live).then_some("the session is lost")
    }
}
