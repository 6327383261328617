//! The requests of a save, before any is sent.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::EntityHook;
use super::change::Change;
use super::doubt::{Candidate, Identity};
use super::entity::Tracked;
use super::options::{Mode, SaveOptions};
use super::tracker::Tracker;
use crate::IfMatch;
use crate::client_core::ClientCore;
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

/// The changes that are sent in one request.
#[derive(Debug, Clone)]
pub(super) struct RequestGroup {
    pub(super) request: Arc<Request>,
    pub(super) changes: Vec<Candidate>,
}

/// The hook for writing, and what it means for the tracked values.
pub(super) struct Writing<'h> {
    pub(super) hook: Option<&'h mut EntityHook>,
    /// Whether the program reads rows through a hook, too. What it has written is then kept as it is; otherwise, the entity
    /// has the values that were sent.
    pub(super) has_reading: bool,
}

/// Returns the changes of all entities without a doubt, in their order.
pub(super) fn candidates(
    tracker: &Tracker,
    core: &ClientCore,
    options: &SaveOptions,
    writing: &mut Writing<'_>,
) -> Result<Vec<Candidate>, Error> {
    let mut candidates = Vec::new();
    for (id, tracked) in tracker.in_order() {
        candidates.extend(candidate(tracker, core, (id, tracked), options, writing)?);
    }
    Ok(candidates)
}

/// Returns the change of one entity; `None` if there is nothing to send, or if a request is in doubt.
pub(super) fn candidate(
    tracker: &Tracker,
    core: &ClientCore,
    (id, tracked): (&Identity, &Tracked),
    options: &SaveOptions,
    writing: &mut Writing<'_>,
) -> Result<Option<Candidate>, Error> {
    if tracked.doubt.request.is_some() {
        return Ok(None);
    }
    let Some(change) = tracked.change(options.replace_on_update)? else { return Ok(None) };
    let mut wire = change.clone();
    if let (Some(hook), Some(written)) = (writing.hook.as_deref_mut(), change.properties()) {
        let mut entity = MapEntity::new(tracked.key(), written).to_dynamic();
        hook(&mut entity);
        wire = change.with_properties(Arc::new(entity.into_parts().1.into_iter().collect()));
    }
    let has_id = tracker.write_id.is_some() && change != Change::Delete;
    let kept = if writing.has_reading { &change } else { &wire };
    Ok(Some(Candidate {
        id: id.clone(),
        table: Arc::clone(tracked.table()),
        key: tracked.key().clone(),
        condition: tracked.condition().cloned(),
        kept: kept.properties().cloned(),
        update: tracked.last_update().cloned(),
        write_id: if has_id { Some(core.clock.random_id()?) } else { None },
        change,
        wire,
        result: 0,
        is_released: false,
    }))
}

/// Returns the requests for these changes. Every error is found here, before anything is sent.
pub(super) fn groups(
    candidates: &[Candidate],
    options: &SaveOptions,
    core: &ClientCore,
) -> Result<Vec<RequestGroup>, Error> {
    match options.mode {
        Mode::Each => candidates.iter().map(|candidate| single(candidate, core)).collect(),
        Mode::Atomic => atomic(candidates, core),
        Mode::PerPartition => per_partition(candidates, core),
    }
}

fn single(candidate: &Candidate, core: &ClientCore) -> Result<RequestGroup, Error> {
    let Candidate { table, key, wire, write_id, condition, .. } = candidate;
    let target = core.target(table);
    let condition = condition.as_ref();
    let request = match wire.write(condition) {
        Some((write, properties)) => {
            entity::checked_write(&target, *write_id, &MapEntity::new(key, properties), write)
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
    let Candidate { key, wire, write_id, condition, .. } = candidate;
    match wire.write(condition.as_ref()) {
        Some((write, properties)) => {
            batch.write(*write_id, &MapEntity::new(key, properties), write)
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
        if candidate.id.table != first.id.table {
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
        let partition = (&*candidate.id.table, &*candidate.key.partition_key);
        let index = *by_partition.entry(partition).or_insert_with(|| {
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
