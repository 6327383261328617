//! The requests of a save, before any is sent.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::hooks::EntityHook;
use super::options::{Mode, SaveOptions};
use super::tracker::{Change, Identity, Tracked, Tracker, Wire};
use crate::IfMatch;
use crate::client_core::ClientCore;
use crate::clock::SharedClock;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::operation::entity;
use crate::operation::transaction::{Batch, Refused};
use crate::operation::{Request, Target};
use crate::outcome::MapEntity;
use crate::wire::Operation;

/// A request that a save would send.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedRequest {
    /// The table.
    pub table: String,
    /// Each operation with the key of its entity; several in a transaction.
    pub operations: Vec<(Operation, EntityKey)>,
    /// The bytes of its body.
    pub bytes: usize,
}

impl fmt::Display for PlannedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, operations, bytes } = self;
        match operations.as_slice() {
            [(operation, key)] => write!(f, "{operation} {key} in {table}, {bytes} bytes"),
            many => write!(f, "{} operations in {table}, {bytes} bytes", many.len()),
        }
    }
}

/// A change that will be sent.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) id: Identity,
    pub(super) table: Arc<str>,
    pub(super) key: EntityKey,
    /// The change as it is tracked.
    pub(super) change: Change,
    pub(super) wire: Wire,
    /// The condition of an update or a delete.
    pub(super) condition: Option<IfMatch>,
    /// Its index in the report.
    pub(super) result: usize,
}

/// The changes that are sent in one request.
#[derive(Debug)]
pub(super) struct RequestGroup {
    pub(super) request: Arc<Request>,
    pub(super) changes: Vec<Candidate>,
}

/// Returns the changes in their order, except those of the entities in `skip`. `hook` may change each entity
/// before it is written. The index in the report counts from `first`.
pub(super) fn candidates(
    tracker: &Tracker,
    clock: &SharedClock,
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
        let candidate =
            candidate(tracker, clock, (id, tracked), options, hook.as_deref_mut(), result)?;
        candidates.extend(candidate);
    }
    Ok(candidates)
}

/// Returns the change of one entity; `None` if there is nothing to send.
pub(super) fn candidate(
    tracker: &Tracker,
    clock: &SharedClock,
    (id, tracked): (&Identity, &Tracked),
    options: &SaveOptions,
    hook: Option<&mut EntityHook>,
    result: usize,
) -> Result<Option<Candidate>, Error> {
    if tracked.is_unsendable(options.replace_on_update) {
        return Ok(None);
    }
    let Some(change) = tracked.change(options.replace_on_update)? else { return Ok(None) };
    let wire = wire(tracked, &change, hook, tracker.has_write_id(), clock)?;
    let (table, key) = (Arc::clone(tracked.table()), tracked.key().clone());
    let (id, condition) = (id.clone(), tracked.condition_of(&change).cloned());
    Ok(Some(Candidate { id, table, key, change, wire, condition, result }))
}

fn wire(
    tracked: &Tracked,
    change: &Change,
    hook: Option<&mut EntityHook>,
    has_write_id: bool,
    clock: &SharedClock,
) -> Result<Wire, Error> {
    let mut change = change.clone();
    let Some(written) = change.properties_mut() else {
        return Ok(Wire { change, write_id: None });
    };
    if let Some(hook) = hook {
        let mut entity = MapEntity::new(tracked.key(), written).to_dynamic();
        hook(&mut entity);
        *written = Arc::new(entity.into_parts().1.into_iter().collect());
    }
    let write_id = if has_write_id { Some(clock.random_id()?) } else { None };
    Ok(Wire { change, write_id })
}

/// Returns the requests for these changes. Every error is found here, before anything is sent.
pub(super) fn groups(
    tracker: &Tracker,
    candidates: &[Candidate],
    options: &SaveOptions,
    core: &ClientCore,
) -> Result<Vec<RequestGroup>, Error> {
    let groups: Result<Vec<_>, _> = match options.mode {
        Mode::Each => candidates.iter().map(|candidate| single(candidate, core)).collect(),
        Mode::Atomic => atomic(candidates, core),
        Mode::PerPartition => per_partition(candidates, core),
    };
    groups?.into_iter().map(|group| repeat(tracker, group, core)).collect()
}

/// Repeats the last request with the same open changes, with its write ids. A change in another request has an id of its
/// own, since an id that is found in a row proves the whole request.
fn repeat(
    tracker: &Tracker,
    group: RequestGroup,
    core: &ClientCore,
) -> Result<RequestGroup, Error> {
    let attempts = group.changes.first().and_then(|first| tracker.get(&first.id));
    let attempts = attempts.map_or(&[][..], Tracked::open_changes);
    let again = |candidate: &Candidate, request: &Arc<Request>| {
        let tracked = tracker.get(&candidate.id)?;
        let wire = tracked.sent_form(&candidate.change, request)?.clone();
        Some(Candidate { wire, ..candidate.clone() })
    };
    let mut same = attempts.iter().rev().filter(|it| it.has_rows_of(&group.request));
    let same = same.find_map(|open| {
        let changes = group.changes.iter().map(|candidate| again(candidate, &open.request));
        Some((&open.request, changes.collect::<Option<Vec<_>>>()?))
    });
    let Some((request, changes)) = same else { return Ok(group) };
    if request.operation == group.request.operation {
        return Ok(RequestGroup::new(Request::clone(request), changes));
    }
    // One of them is a transaction of one change, the other one this change as a request of its own.
    match changes.first() {
        Some(only) if group.is_transaction() => transaction(core.target(&only.table), changes),
        Some(only) => single(only, core),
        None => Ok(group),
    }
}

fn single(candidate: &Candidate, core: &ClientCore) -> Result<RequestGroup, Error> {
    let Candidate { table, key, wire, condition, .. } = candidate;
    let target = core.target(table);
    let condition = condition.as_ref();
    let request = match wire.change.write(condition) {
        Some((write, properties)) => {
            entity::checked_write(&target, wire.write_id, &MapEntity::new(key, properties), write)
        }
        None => {
            let condition = condition.unwrap_or(&IfMatch::Any);
            entity::delete(target.protocol, table, key, condition)
        }
    };
    let request = request.map_err(|error| error.of_entity(Some(key.clone())))?;
    Ok(RequestGroup::new(request, vec![candidate.clone()]))
}

fn push(batch: &mut Batch, candidate: &Candidate) -> Result<(), Refused> {
    let Candidate { key, wire, condition, .. } = candidate;
    match wire.change.write(condition.as_ref()) {
        Some((write, properties)) => {
            batch.write(wire.write_id, &MapEntity::new(key, properties), write)
        }
        None => batch.delete(key, condition.as_ref().unwrap_or(&IfMatch::Any)),
    }
}

impl RequestGroup {
    fn new(request: Request, changes: Vec<Candidate>) -> Self {
        Self { request: Arc::new(request), changes }
    }

    pub(super) fn is_transaction(&self) -> bool {
        self.request.operation == Operation::Transaction
    }
}

fn atomic(candidates: &[Candidate], core: &ClientCore) -> Result<Vec<RequestGroup>, Error> {
    let Some(first) = candidates.first() else { return Ok(Vec::new()) };
    let target = core.target(&first.table);
    for (at, candidate) in candidates.iter().enumerate() {
        if !candidate.id.is_in_table_of(&first.id) {
            let error = Error::invalid_input(format!(
                "an atomic save is limited to one table: there are changes in {} and in {}",
                first.table, candidate.table
            ));
            return Err(error.at_index(Some(at)).of_entity(Some(candidate.key.clone())));
        }
    }
    Ok(vec![transaction(target, candidates.to_vec())?])
}

/// The changes of one table in one transaction.
fn transaction(target: Target, changes: Vec<Candidate>) -> Result<RequestGroup, Error> {
    let mut batch = Batch::new(target);
    changes.iter().try_for_each(|candidate| push(&mut batch, candidate))?;
    Ok(RequestGroup::new(batch.finish()?, changes))
}

fn per_partition(candidates: &[Candidate], core: &ClientCore) -> Result<Vec<RequestGroup>, Error> {
    let mut groups = Vec::new();
    // The transaction of each partition that is not full yet, in the order of their first changes.
    let mut open: Vec<(Batch, Vec<Candidate>)> = Vec::new();
    let mut by_partition: HashMap<(&str, &str), usize> = HashMap::new();
    for candidate in candidates {
        let batch = || Batch::new(core.target(&candidate.table));
        let index = *by_partition.entry(candidate.id.partition()).or_insert_with(|| {
            open.push((batch(), Vec::new()));
            open.len() - 1
        });
        let (last, changes) = &mut open[index];
        match push(last, candidate) {
            Ok(()) => {}
            Err(Refused::Full(_)) if last.len() > 0 => {
                let full = std::mem::replace(last, batch());
                groups.push(RequestGroup::new(full.finish()?, std::mem::take(changes)));
                push(last, candidate)?;
            }
            Err(refused) => return Err(refused.into()),
        }
        changes.push(candidate.clone());
    }
    for (batch, changes) in open {
        groups.push(RequestGroup::new(batch.finish()?, changes));
    }
    Ok(groups)
}

impl PlannedRequest {
    pub(super) fn of(group: &RequestGroup) -> Self {
        let RequestGroup { request, changes } = group;
        let operations =
            changes.iter().map(|candidate| (candidate.change.operation(), candidate.key.clone()));
        Self {
            table: request.resource.clone(),
            operations: operations.collect(),
            bytes: request.body.len(),
        }
    }
}
