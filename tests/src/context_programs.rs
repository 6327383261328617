//! Random programs on one context, over a network with all faults of the chaos.
//!
//! A program has up to 30 steps on one to three rows: all calls of a context, saves that are dropped at any poll, writes of
//! other programs, and time that passes. The network sees what the service applies, so that an oracle compares the reports,
//! the rows and the tracked values with the truth. A program repeats itself by its seed; one that fails is shrunk.
//!
//! | file | content |
//! |---|---|
//! | `steps.rs`, `generate.rs` | programs, and how they are drawn |
//! | `faults.rs`, `network.rs`, `requests.rs`, `rows.rs` | the network, and what it knows |
//! | `run.rs`, `calls.rs`, `saves.rs`, `reports.rs`, `edits.rs` | a run of a program, its reports and its local changes |
//! | `oracle.rs` | what the reports may say |
//! | `shrink.rs`, `trace.rs` | the smallest program that still fails, and what happens in it |

mod calls;
mod edits;
mod faults;
mod generate;
mod network;
mod oracle;
mod reports;
mod requests;
mod rows;
mod run;
mod saves;
mod shrink;
mod steps;
mod trace;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

pub use oracle::Figures;
pub use steps::Program;

/// The kinds of violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A request was reported as applied, and it was not, or was reported before.
    FalselyApplied,
    /// A request was reported as failed, not attempted or discarded, and it was applied before or after that.
    FalselyNotApplied,
    /// A request that was applied is not in the report of a save, although no earlier report settled it.
    MissingFromReport,
    /// A report says that an operation was applied, and the request that was applied is another operation.
    WrongOperation,
    /// A conditional write overwrote a value of another program that the program was not shown.
    LostUpdate,
    /// An entity is unchanged or forgotten, and its row never had a local change.
    LostEdit,
    /// A tracked value is not that of the row at the tracked ETag.
    WrongBase,
    /// A report has an ETag that is not the one of the write.
    WrongETag,
    /// A save reports a conflict, and no other program wrote the row.
    FalseConflict,
    /// A request was applied twice under one ETag, or after its expiry.
    AppliedAgain,
    /// A save does not end.
    Endless,
    /// An entity stays in doubt after its request has expired, although saves could read its row.
    EndlessDoubt,
    /// The context panics.
    Panic,
}

/// A false report in place of an unknown outcome, to show that the oracle finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// The change is reported as applied, by the service's response.
    Applied,
    /// The change is reported as failed.
    Failed,
    /// The change is not in the report.
    Missing,
}

/// A program that broke a promise.
#[derive(Debug)]
pub struct Failure {
    /// The kind of the violation.
    pub kind: Kind,
    /// What happened.
    pub text: String,
    /// The program, shrunk.
    pub program: Program,
    /// What happened in it.
    pub trace: String,
}

/// The command that runs one program.
const AGAIN: &str = "AZURE_TABLE_CONTEXT_PROGRAMS=1 cargo test --no-default-features --test it \
    -- context::programs::random --show-output";

/// The results of many programs.
#[derive(Debug, Default)]
pub struct Summary {
    /// The programs that ran.
    pub programs: u64,
    /// For each kind, the programs with such a violation, and the first of them.
    pub violations: BTreeMap<Kind, (u64, u64)>,
    /// The first programs of each kind.
    pub failures: Vec<Failure>,
    /// The unknown outcomes by fault.
    pub figures: Figures,
    /// The time that they took.
    pub time: Duration,
}

/// Runs `count` programs from this seed on. Shrinks the first `shown` failing ones of each kind.
pub fn run(first: u64, count: u64, shown: u64) -> Summary {
    let start = Instant::now();
    let mut summary = Summary::default();
    for seed in first..first + count {
        summary.add(&Program::random(seed), shown, None);
    }
    summary.time = start.elapsed();
    summary
}

/// Runs `count` programs from this seed on, whose reports contain a lie. Returns the number of programs with each violation.
pub fn run_lying(first: u64, count: u64, lie: Lie) -> BTreeMap<Kind, u64> {
    let mut summary = Summary::default();
    for seed in first..first + count {
        summary.add(&Program::random(seed), 0, Some(lie));
    }
    summary.violations.into_iter().map(|(kind, (count, _))| (kind, count)).collect()
}

impl Summary {
    fn add(&mut self, program: &Program, shown: u64, lie: Option<Lie>) {
        let (violations, figures) = run::run(program, lie);
        self.programs += 1;
        for (name, (unknown, all)) in figures {
            let figure = self.figures.entry(name).or_default();
            *figure = (figure.0 + unknown, figure.1 + all);
        }
        let kinds: BTreeMap<Kind, String> = violations.into_iter().rev().collect();
        for kind in kinds.into_keys() {
            let found = self.violations.entry(kind).or_insert((0, program.seed));
            found.0 += 1;
            if found.0 <= shown {
                self.failures.push(shrink::shrink(program, kind));
            }
        }
    }

    /// Adds the results of other programs.
    pub fn merge(&mut self, other: Self) {
        self.programs += other.programs;
        for (kind, (count, first)) in other.violations {
            let found = self.violations.entry(kind).or_insert((0, first));
            *found = (found.0 + count, found.1.min(first));
        }
        self.failures.extend(other.failures);
        for (name, (unknown, all)) in other.figures {
            let figure = self.figures.entry(name).or_default();
            *figure = (figure.0 + unknown, figure.1 + all);
        }
        self.time = self.time.max(other.time);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Failure { kind, text, program, trace } in &self.failures {
            writeln!(f, "{kind:?}: {text}\n{program}{trace}")?;
            let seed = program.seed();
            writeln!(f, "again: AZURE_TABLE_CONTEXT_SEED={seed} {AGAIN}\n")?;
        }
        writeln!(f, "{:<40} {:>8} {:>8} {:>7}", "fault", "changes", "unknown", "share")?;
        for (name, (unknown, all)) in &self.figures {
            #[expect(clippy::cast_precision_loss, reason = "a share to read")]
            let share = 100.0 * *unknown as f64 / *all as f64;
            writeln!(f, "{name:<40} {all:>8} {unknown:>8} {share:>6.1}%")?;
        }
        for (kind, (count, first)) in &self.violations {
            writeln!(f, "{kind:?}: {count} programs, the first with seed {first}")?;
        }
        let seconds = self.time.as_secs_f64();
        write!(
            f,
            "{} programs, {} kinds of violations, {seconds:.1} s",
            self.programs,
            self.violations.len()
        )
    }
}
