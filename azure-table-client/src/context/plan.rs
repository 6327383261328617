//! The requests of a save, before any is sent.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::change::dynamic;
use super::hooks::EntityHook;
use super::options::{Mode, SaveOptions};
use super::state::{Identity, Sent, Tracked, Tracker};
use crate::entity::{EntityKey, new_write_id};
use crate::error::Error;
use crate::operation::Request;
use crate::operation::entity::{self, Write, Writing};
use crate::operation::evidence::properties;
use crate::operation::transaction::{self, Batch, Refused};
use crate::pipeline::Pipeline;
use crate::wire::{Operation, Protocol};

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
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) id: Identity,
    pub(super) table: Arc<str>,
    pub(super) key: EntityKey,
    pub(super) sent: Sent,
}

/// One request, and the numbers of the changes in it.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) table: Arc<str>,
    pub(super) request: Request,
    /// `None` for a single operation.
    pub(super) sent: Option<transaction::Sent>,
    pub(super) changes: Vec<usize>,
}

/// The changes in their order. `hook` sees what is to be written of each, and may change it. Each
/// write has an id in the column `write_id`.
pub(super) fn candidates(
    tracker: &Tracker,
    options: &SaveOptions,
    mut hook: Option<&mut EntityHook>,
    write_id: Option<&str>,
) -> Result<Vec<Candidate>, Error> {
    let mut candidates = Vec::new();
    for (id, tracked) in tracker.in_order() {
        // What is not known is found out first.
        if tracked.sent.is_some() {
            continue;
        }
        let Some(change) = tracked.change(options.replace_on_update)? else { continue };
        let mut wire = change.clone();
        if let (Some(hook), Some(written)) = (&mut hook, wire.properties_mut()) {
            let mut entity = dynamic(tracked, written);
            hook(&mut entity);
            *written = properties(&entity);
        }
        if let (Some(column), Some(written)) = (write_id, wire.properties_mut()) {
            written.insert(column.to_owned(), new_write_id().into());
        }
        candidates.push(Candidate {
            id: id.clone(),
            table: Arc::clone(&tracked.table),
            key: tracked.key.clone(),
            sent: Sent { change, wire, transaction: None },
        });
    }
    Ok(candidates)
}

/// Where the requests go, and what is spoken there.
#[derive(Clone, Copy)]
pub(super) struct Destination<'p> {
    base: &'p str,
    protocol: Protocol,
}

impl<'p> Destination<'p> {
    pub(super) fn of(pipeline: &'p Pipeline) -> Self {
        Self { base: pipeline.endpoint.base(), protocol: pipeline.protocol }
    }

    fn batch(self, table: &str) -> Batch {
        Batch::new(self.protocol, table, self.base)
    }
}

/// The requests for these changes. Whatever is wrong with one of them is found here.
pub(super) fn units(
    tracker: &Tracker,
    candidates: &[Candidate],
    options: &SaveOptions,
    to: Destination<'_>,
) -> Result<Vec<Unit>, Error> {
    match options.mode {
        Mode::Each => {
            let units = candidates.iter().enumerate();
            units.map(|(at, candidate)| single(tracker, candidate, to.protocol, at)).collect()
        }
        Mode::Atomic => atomic(tracker, candidates, to),
        Mode::PerPartition => per_partition(tracker, candidates, to),
    }
}

fn tracked<'t>(tracker: &'t Tracker, candidate: &Candidate) -> Result<&'t Tracked, Error> {
    let tracked = tracker.get(&candidate.id);
    tracked.ok_or_else(|| Error::invalid_input("a change of an entity that is not tracked"))
}

fn single(
    tracker: &Tracker,
    candidate: &Candidate,
    protocol: Protocol,
    at: usize,
) -> Result<Unit, Error> {
    let Candidate { table, key, sent, .. } = candidate;
    let change = &sent.wire;
    let tracked = tracked(tracker, candidate)?;
    let condition = tracked.if_match();
    let request = match (change.write(condition), change.properties()) {
        (Some(write), Some(properties)) => {
            let entity = dynamic(tracked, properties);
            // The id of the write, if there is one, is among the properties.
            let writing = Writing { table, write_id: None, protocol };
            entity::checked_write(writing, &entity, write)
        }
        _ => entity::delete(protocol, table, key, condition),
    };
    let request = request.map_err(|error| error.with_batch(None, Some(key.clone())))?;
    Ok(Unit { table: Arc::clone(table), request, sent: None, changes: vec![at] })
}

fn push(tracker: &Tracker, batch: &mut Batch, candidate: &Candidate) -> Result<(), Refused> {
    let tracked = tracked(tracker, candidate)?;
    let condition = tracked.if_match();
    let write: Option<Write<'_>> = candidate.sent.wire.write(condition);
    match (write, candidate.sent.wire.properties()) {
        (Some(write), Some(properties)) => batch.write(&dynamic(tracked, properties), write),
        _ => batch.delete(&candidate.key, condition),
    }
}

fn finish(table: &Arc<str>, batch: Batch, changes: Vec<usize>) -> Result<Unit, Error> {
    let (request, sent) = batch.finish()?;
    Ok(Unit { table: Arc::clone(table), request, sent: Some(sent), changes })
}

fn atomic(
    tracker: &Tracker,
    candidates: &[Candidate],
    to: Destination<'_>,
) -> Result<Vec<Unit>, Error> {
    let Some(first) = candidates.first() else { return Ok(Vec::new()) };
    let mut batch = to.batch(&first.table);
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
    Ok(vec![finish(&first.table, batch, (0..candidates.len()).collect())?])
}

fn per_partition(
    tracker: &Tracker,
    candidates: &[Candidate],
    to: Destination<'_>,
) -> Result<Vec<Unit>, Error> {
    let mut units = Vec::new();
    // The transaction that is being filled of each partition, in the order of their first changes.
    let mut open: Vec<(Arc<str>, Batch, Vec<usize>)> = Vec::new();
    let mut by_partition: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let partition = candidate.id.partition();
        let place = *by_partition.entry(partition).or_insert_with(|| {
            let table = Arc::clone(&candidate.table);
            open.push((table, to.batch(&candidate.table), Vec::new()));
            open.len() - 1
        });
        let (table, batch, changes) = &mut open[place];
        match push(tracker, batch, candidate) {
            Ok(()) => {}
            Err(Refused::Full(_)) if batch.len() > 0 => {
                let full = std::mem::replace(batch, to.batch(table));
                units.push(finish(table, full, std::mem::take(changes))?);
                push(tracker, batch, candidate)?;
            }
            Err(refused) => return Err(refused.into()),
        }
        changes.push(at);
    }
    for (table, batch, changes) in open {
        units.push(finish(&table, batch, changes)?);
    }
    Ok(units)
}

impl SavePlan {
    pub(super) fn of(units: &[Unit], candidates: &[Candidate]) -> Self {
        let requests = units.iter().map(|unit| PlannedRequest {
            table: unit.table.to_string(),
            operations: unit
                .changes
                .iter()
                .map(|at| (candidates[*at].sent.change.operation(), candidates[*at].key.clone()))
                .collect(),
            bytes: unit.request.body.len(),
        });
        Self { requests: requests.collect() }
    }
}
