//! The requests of a save, before any is sent.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::attempts::OpenAttempt;
use super::change::dynamic;
use super::hooks::EntityHook;
use super::options::{Mode, SaveOptions};
use super::state::{Change, Identity, Tracked, Tracker};
use crate::client_core::ClientCore;
use crate::edm::EdmValue;
use crate::entity::{EntityKey, new_write_id};
use crate::error::Error;
use crate::operation::entity::{self, Write};
use crate::operation::transaction::{self, Batch, Refused};
use crate::operation::{Request, Target};
use crate::outcome::properties;
use crate::wire::Operation;

/// What a save would send.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavePlan {
    /// The requests in their order.
    pub requests: Vec<PlannedRequest>,
}

/// A request of a save.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedRequest {
    /// The table.
    pub table: String,
    /// What is done to which entity; several in a transaction.
    pub operations: Vec<(Operation, EntityKey)>,
    /// The bytes of its body.
    pub bytes: usize,
}

impl fmt::Display for SavePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PlannedRequest { table, operations, bytes } in &self.requests {
            match operations.as_slice() {
                [(operation, key)] => writeln!(f, "{operation} {key} in {table}, {bytes} bytes")?,
                many => writeln!(f, "{} operations in {table}, {bytes} bytes", many.len())?,
            }
        }
        Ok(())
    }
}

/// A change that is to be sent.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) id: Identity,
    pub(super) table: Arc<str>,
    pub(super) key: EntityKey,
    /// The change as it is tracked.
    pub(super) change: Change,
    /// The change as it is sent: after the hook for writing, with its write id.
    pub(super) wire: Change,
    /// Its place in the report.
    pub(super) result: usize,
}

/// One request, and the changes in it.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) table: Arc<str>,
    pub(super) request: Arc<Request>,
    /// `None` for a single operation.
    pub(super) sent: Option<transaction::Sent>,
    pub(super) changes: Vec<Candidate>,
}

/// The changes in their order. `hook` sees each entity that is to be written, and may change it. Each
/// write has an id in the column `write_id`. Places in the report are counted from `first`. The entities
/// in `skip` are left out.
pub(super) fn candidates(
    tracker: &Tracker,
    options: &SaveOptions,
    mut hook: Option<&mut EntityHook>,
    first: usize,
    skip: &HashSet<Identity>,
) -> Result<Vec<Candidate>, Error> {
    let mut candidates = Vec::new();
    for (id, tracked) in tracker.in_order() {
        if skip.contains(id) {
            continue;
        }
        let result = first + candidates.len();
        let candidate = candidate(tracker, id, tracked, options, hook.as_deref_mut(), result)?;
        candidates.extend(candidate);
    }
    Ok(candidates)
}

/// The change of one entity; `None` if there is nothing to send.
pub(super) fn candidate(
    tracker: &Tracker,
    id: &Identity,
    tracked: &Tracked,
    options: &SaveOptions,
    hook: Option<&mut EntityHook>,
    result: usize,
) -> Result<Option<Candidate>, Error> {
    if tracked.is_unsendable() {
        return Ok(None);
    }
    let Some(change) = tracked.change(options.replace_on_update)? else { return Ok(None) };
    let wire = wire(tracked, &change, hook, tracker.write_id.as_deref());
    let (table, key) = (Arc::clone(&tracked.table), tracked.key.clone());
    Ok(Some(Candidate { id: id.clone(), table, key, change, wire, result }))
}

fn wire(
    tracked: &Tracked,
    change: &Change,
    hook: Option<&mut EntityHook>,
    write_id: Option<&str>,
) -> Change {
    let mut wire = change.clone();
    if let (Some(hook), Some(written)) = (hook, wire.properties_mut()) {
        let mut entity = dynamic(tracked, written);
        hook(&mut entity);
        *written = properties(&entity);
    }
    if let (Some(column), Some(written)) = (write_id, wire.properties_mut()) {
        written.insert(column.to_owned(), new_write_id().into());
    }
    wire
}

/// The target of writes whose ids are among their properties.
fn target(pipeline: &ClientCore, table: &Arc<str>) -> Target {
    Target { write_id: None, ..pipeline.target(table) }
}

/// The requests for these changes. Each error is found here, before anything is sent.
pub(super) fn units(
    tracker: &Tracker,
    candidates: &[Candidate],
    options: &SaveOptions,
    pipeline: &ClientCore,
) -> Result<Vec<Unit>, Error> {
    let units: Result<Vec<_>, _> = match options.mode {
        Mode::Each => {
            candidates.iter().map(|candidate| single(tracker, candidate, pipeline)).collect()
        }
        Mode::Atomic => atomic(tracker, candidates, pipeline),
        Mode::PerPartition => per_partition(tracker, candidates, pipeline),
    };
    units?.into_iter().map(|unit| repeat(tracker, unit, pipeline)).collect()
}

/// A request whose changes have an open attempt together is sent again as it was, with the same write
/// ids. A change in another request has an id of its own: an id that is found proves its whole request.
fn repeat(tracker: &Tracker, unit: Unit, pipeline: &ClientCore) -> Result<Unit, Error> {
    let attempts = unit.changes.first().and_then(|first| tracker.get(&first.id));
    let attempts = attempts.map_or(&[][..], |tracked| &tracked.attempts);
    let has_same_keys =
        |it: &&OpenAttempt| it.keys.iter().eq(unit.changes.iter().map(|candidate| &candidate.key));
    let again = |candidate: &Candidate, request: &Arc<Request>| {
        let tracked = tracker.get(&candidate.id)?;
        let wire = tracked.attempt_of(&candidate.change, request)?.wire.clone();
        Some(Candidate { wire, ..candidate.clone() })
    };
    let same = attempts.iter().rev().filter(has_same_keys).find_map(|attempt| {
        let changes = unit.changes.iter().map(|candidate| again(candidate, &attempt.request));
        changes.collect::<Option<Vec<_>>>()
    });
    match same.as_deref() {
        None => Ok(unit),
        Some([candidate]) if unit.sent.is_none() => single(tracker, candidate, pipeline),
        Some(changes) => {
            let mut batch = Batch::new(target(pipeline, &unit.table));
            for candidate in changes {
                push(tracker, &mut batch, candidate)?;
            }
            finish(&unit.table, batch, changes.to_vec(), tracker)
        }
    }
}

fn tracked<'t>(tracker: &'t Tracker, candidate: &Candidate) -> Result<&'t Tracked, Error> {
    let tracked = tracker.get(&candidate.id);
    tracked.ok_or_else(|| Error::invalid_input("a change of an entity that is not tracked"))
}

fn single(tracker: &Tracker, candidate: &Candidate, pipeline: &ClientCore) -> Result<Unit, Error> {
    let Candidate { table, key, wire: change, .. } = candidate;
    let target = target(pipeline, table);
    let tracked = tracked(tracker, candidate)?;
    let condition = tracked.if_match();
    let request = match (change.write(condition), change.properties()) {
        (Some(write), Some(properties)) => {
            let entity = dynamic(tracked, properties);
            entity::checked_write(&target, &entity, write)
        }
        _ => entity::delete(target.protocol, table, key, condition),
    };
    let request = request.map_err(|error| error.with_batch(None, Some(key.clone())))?;
    Ok(unit(table, request, None, vec![candidate.clone()], tracker))
}

fn push(tracker: &Tracker, batch: &mut Batch, candidate: &Candidate) -> Result<(), Refused> {
    let tracked = tracked(tracker, candidate)?;
    let condition = tracked.if_match();
    let write: Option<Write<'_>> = candidate.wire.write(condition);
    match (write, candidate.wire.properties()) {
        (Some(write), Some(properties)) => batch.write(&dynamic(tracked, properties), write),
        _ => batch.delete(&candidate.key, condition),
    }
}

fn finish(
    table: &Arc<str>,
    batch: Batch,
    changes: Vec<Candidate>,
    tracker: &Tracker,
) -> Result<Unit, Error> {
    let (request, sent) = batch.finish()?;
    Ok(unit(table, request, Some(sent), changes, tracker))
}

fn unit(
    table: &Arc<str>,
    request: Request,
    sent: Option<transaction::Sent>,
    changes: Vec<Candidate>,
    tracker: &Tracker,
) -> Unit {
    let id =
        |change: &Candidate| match change.wire.properties()?.get(tracker.write_id.as_deref()?)? {
            EdmValue::Guid(id) => Some(*id),
            _ => None,
        };
    let write_id = changes.iter().find_map(id);
    let request = Arc::new(Request { write_id, ..request });
    Unit { table: Arc::clone(table), request, sent, changes }
}

fn atomic(
    tracker: &Tracker,
    candidates: &[Candidate],
    pipeline: &ClientCore,
) -> Result<Vec<Unit>, Error> {
    let Some(first) = candidates.first() else { return Ok(Vec::new()) };
    let mut batch = Batch::new(target(pipeline, &first.table));
    for (at, candidate) in candidates.iter().enumerate() {
        if !candidate.id.is_in_table_of(&first.id) {
            let error = Error::invalid_input(format!(
                "an atomic save is of one table, and there are changes in {} and in {}",
                first.table, candidate.table
            ));
            return Err(error.with_batch(Some(at), Some(candidate.key.clone())));
        }
        push(tracker, &mut batch, candidate)?;
    }
    Ok(vec![finish(&first.table, batch, candidates.to_vec(), tracker)?])
}

fn per_partition(
    tracker: &Tracker,
    candidates: &[Candidate],
    pipeline: &ClientCore,
) -> Result<Vec<Unit>, Error> {
    let mut units = Vec::new();
    // The transaction of each partition that is being filled, in the order of their first changes.
    let mut open: Vec<(Arc<str>, Batch, Vec<Candidate>)> = Vec::new();
    let mut by_partition: HashMap<(&str, &str), usize> = HashMap::new();
    for candidate in candidates {
        let batch_of = |table| Batch::new(target(pipeline, table));
        let place = *by_partition.entry(candidate.id.partition()).or_insert_with(|| {
            open.push((Arc::clone(&candidate.table), batch_of(&candidate.table), Vec::new()));
            open.len() - 1
        });
        let (table, batch, changes) = &mut open[place];
        match push(tracker, batch, candidate) {
            Ok(()) => {}
            Err(Refused::Full(_)) if batch.len() > 0 => {
                let full = std::mem::replace(batch, batch_of(table));
                units.push(finish(table, full, std::mem::take(changes), tracker)?);
                push(tracker, batch, candidate)?;
            }
            Err(refused) => return Err(refused.into()),
        }
        changes.push(candidate.clone());
    }
    for (table, batch, changes) in open {
        units.push(finish(&table, batch, changes, tracker)?);
    }
    Ok(units)
}

impl SavePlan {
    pub(super) fn of(units: &[Unit]) -> Self {
        let requests = units.iter().map(|unit| PlannedRequest {
            table: unit.table.to_string(),
            operations: unit
                .changes
                .iter()
                .map(|candidate| (candidate.change.operation(), candidate.key.clone()))
                .collect(),
            bytes: unit.request.body.len(),
        });
        Self { requests: requests.collect() }
    }
}
