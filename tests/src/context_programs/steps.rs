//! The steps of a program, and how they read.

use std::collections::BTreeMap;
use std::fmt;

use azure_table_client::Proof;
use azure_table_client::context::MergeOption;

use super::faults::Fault;

/// The columns of the rows.
pub(super) const COLUMNS: [&str; 3] = ["A", "B", "C"];

/// The values of a row.
pub(super) type Values = BTreeMap<&'static str, i32>;

/// A program on one context.
#[derive(Debug, Clone)]
pub struct Program {
    /// The seed that it was drawn from. Also the seed of the service's ids.
    pub(super) seed: u64,
    /// What holds for the whole program.
    pub(super) settings: Settings,
    /// The rows that exist at first.
    pub(super) start: Vec<Option<Values>>,
    /// The steps in their order.
    pub(super) steps: Vec<Step>,
}

/// What holds for a whole program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// Whether the last row is in a partition of its own.
    pub(super) has_second_partition: bool,
    /// Whether the client writes ids.
    pub(super) has_ids: bool,
    /// The evidence that the program accepts.
    pub(super) proof: Proof,
    /// The retries of each call.
    pub(super) retries: u32,
    /// Whether hooks change the column `C`.
    pub(super) hooks: Hooks,
    /// The seconds by which the clock of the client is ahead: with 14 minutes, its requests expire only 29 minutes later.
    pub(super) ahead: i64,
}

/// The hooks of a program, which change the column `C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hooks {
    /// No hook.
    None,
    /// The values of each request.
    Writing,
    /// The values of each request, and those of each row back.
    WritingAndReading,
}

/// The write of an entity that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Add {
    /// `add`.
    Insert,
    /// `add_or_merge`.
    OrMerge,
    /// `add_or_replace`.
    OrReplace,
}

/// The version of an attached entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attached {
    /// The ETag of the row.
    Current,
    /// The first ETag of the row.
    First,
    /// `IfMatch::Any`.
    Any,
}

/// A way to save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `SaveOptions::each`.
    Each,
    /// `SaveOptions::atomic`.
    Atomic,
    /// `SaveOptions::per_partition`.
    PerPartition,
}

/// The decision about each conflict of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolver {
    /// No resolver.
    None,
    /// `ConflictResolver::client_wins`.
    ClientWins,
    /// `ConflictResolver::server_wins`.
    ServerWins,
    /// A closure that returns `KeepLocal`.
    Keep,
    /// A closure that returns `TakeServer`.
    Take,
    /// A closure that saves the server's row with this value of `A`.
    Save(i32),
    /// A closure that returns `Abort`.
    Abort,
}

/// A write of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// Sets one column.
    Merge(&'static str, i32),
    /// Replaces the row.
    Replace(Values),
    /// Deletes the row.
    Delete,
    /// Deletes the row and inserts another.
    Recreate(Values),
}

/// A write of another program to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign {
    /// The row.
    pub(super) row: usize,
    /// The write.
    pub(super) act: Act,
}

/// A save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Save {
    /// The way to save.
    pub(super) mode: Mode,
    /// `continue_on_error`.
    pub(super) continues: bool,
    /// `replace_on_update`.
    pub(super) replaces: bool,
    /// `missing_is_deleted`.
    pub(super) missing_is_deleted: bool,
    /// The decision about conflicts.
    pub(super) resolver: Resolver,
    /// The faults of its requests, by their number from 0.
    pub(super) faults: Vec<(usize, Fault)>,
    /// The writes of other programs just before its requests, by their number from 0.
    pub(super) during: Vec<(usize, Foreign)>,
    /// The polls after which it is dropped.
    pub(super) polls: Option<usize>,
}

/// A step of a program. A row is a number from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Adds an entity.
    Add(usize, Add, Values),
    /// Attaches an entity.
    Attach(usize, Attached, Values),
    /// Changes columns of the entity as the program holds it; `None` removes the column.
    Update(usize, Vec<(&'static str, Option<i32>)>),
    /// Deletes the entity.
    Delete(usize),
    /// Forgets the entity.
    Detach(usize),
    /// Undoes the local changes.
    Reset(usize),
    /// Forgets all entities.
    Clear,
    /// Finds the entity by its key, in a context with this merge option.
    Find(usize, MergeOption),
    /// Refreshes the entity.
    Refresh(usize, MergeOption),
    /// Reads all rows, or some columns of them.
    Load(MergeOption, Option<Vec<&'static str>>),
    /// Looks at the requests of a save.
    Plan(Mode),
    /// The first request of the next step, unless it saves, meets this fault.
    Fault(Fault),
    /// Saves.
    Save(Save),
    /// Another program writes.
    Foreign(Foreign),
    /// This number of seconds passes.
    Wait(u64),
}

impl Program {
    /// The seed that the program was drawn from.
    pub const fn seed(&self) -> u64 {
        self.seed
    }
}

impl Step {
    /// Whether the step names this row.
    pub(super) fn names(&self, row: usize) -> bool {
        match self {
            Self::Add(it, ..)
            | Self::Attach(it, ..)
            | Self::Update(it, _)
            | Self::Delete(it)
            | Self::Detach(it)
            | Self::Reset(it)
            | Self::Find(it, _)
            | Self::Refresh(it, _)
            | Self::Foreign(Foreign { row: it, .. }) => *it == row,
            Self::Save(save) => save.during.iter().any(|(_, foreign)| foreign.row == row),
            Self::Clear | Self::Load(..) | Self::Plan(_) | Self::Fault(_) | Self::Wait(_) => false,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {:?}", self.seed, self.settings)?;
        for (row, values) in self.start.iter().enumerate() {
            match values {
                Some(values) => writeln!(f, "   row {row} is {values:?}")?,
                None => writeln!(f, "   row {row} does not exist")?,
            }
        }
        for (at, step) in self.steps.iter().enumerate() {
            writeln!(f, "{at:>2} {step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(row, add, values) => write!(f, "add {row} {add:?} {values:?}"),
            Self::Attach(row, attached, values) => {
                write!(f, "attach {row} {attached:?} {values:?}")
            }
            Self::Update(row, edits) => write!(f, "update {row} {edits:?}"),
            Self::Delete(row) => write!(f, "delete {row}"),
            Self::Detach(row) => write!(f, "detach {row}"),
            Self::Reset(row) => write!(f, "reset {row}"),
            Self::Clear => f.write_str("clear"),
            Self::Find(row, option) => write!(f, "find {row} {option:?}"),
            Self::Refresh(row, option) => write!(f, "refresh {row} {option:?}"),
            Self::Load(option, None) => write!(f, "load {option:?}"),
            Self::Load(option, Some(columns)) => write!(f, "load {option:?} select {columns:?}"),
            Self::Plan(mode) => write!(f, "plan {mode:?}"),
            Self::Fault(fault) => write!(f, "next request: {fault:?}"),
            Self::Save(save) => write!(f, "{save}"),
            Self::Foreign(foreign) => write!(f, "other program: {foreign}"),
            Self::Wait(seconds) => write!(f, "{seconds} seconds pass"),
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} row {}", self.act, self.row)
    }
}

impl fmt::Display for Save {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "save {:?}", self.mode)?;
        for (is_set, name) in [
            (self.continues, "continue_on_error"),
            (self.replaces, "replace_on_update"),
            (self.missing_is_deleted, "missing_is_deleted"),
        ] {
            if is_set {
                write!(f, " {name}")?;
            }
        }
        if self.resolver != Resolver::None {
            write!(f, " on conflict {:?}", self.resolver)?;
        }
        for (request, foreign) in &self.during {
            write!(f, "; before request {request}, other program: {foreign}")?;
        }
        for (request, fault) in &self.faults {
            write!(f, "; request {request}: {fault:?}")?;
        }
        self.polls.map_or(Ok(()), |polls| write!(f, "; dropped after {polls} polls"))
    }
}

impl Save {
    /// A save without faults that attempts every change.
    pub(super) const fn last() -> Self {
        Self {
            mode: Mode::Each,
            continues: true,
            replaces: false,
            missing_is_deleted: false,
            resolver: Resolver::None,
            faults: vec![],
            during: vec![],
            polls: None,
        }
    }
}
