//! Draws programs from seeds.

use azure_table_client::Proof;
use azure_table_client::context::MergeOption;
use fastrand::Rng;

use super::faults::Fault;
use super::steps::{
    Act, Add, Attached, COLUMNS, Foreign, Hooks, Mode, Program, Resolver, Save, Settings, Step,
    Values,
};

const OPTIONS: [MergeOption; 4] = [
    MergeOption::AppendOnly,
    MergeOption::OverwriteChanges,
    MergeOption::PreserveChanges,
    MergeOption::NoTracking,
];
const PROOFS: [Proof; 6] = [
    Proof::MatchingState,
    Proof::MatchingState,
    Proof::MatchingState,
    Proof::WriteId,
    Proof::MatchingUpdate,
    Proof::Response,
];
const MODES: [Mode; 4] = [Mode::Each, Mode::Each, Mode::Atomic, Mode::PerPartition];
/// Short times, and times around the expiry of a request.
const WAITS: [u64; 6] = [1, 60, 10 * 60, 20 * 60, 32 * 60, 45 * 60];
const STEPS: usize = 30;

struct Draw {
    chance: Rng,
    rows: usize,
    /// What the context probably has of each row, so that most calls are not refused.
    guess: Vec<Guess>,
    /// The last value of the program, and that of other programs.
    own: i32,
    foreign: i32,
    /// All values so far.
    values: Vec<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Guess {
    NotTracked,
    Tracked,
    Deleted,
}

impl Program {
    /// Draws a program of at most 30 steps.
    pub fn random(seed: u64) -> Self {
        let mut chance = Rng::with_seed(seed);
        let rows = 1 + [0, 0, 1, 1, 2][chance.usize(..5)];
        let settings = Settings {
            has_second_partition: rows == 3 && chance.bool(),
            has_ids: chance.bool(),
            proof: PROOFS[chance.usize(..PROOFS.len())],
            retries: [0, 0, 1, 3][chance.usize(..4)],
            hooks: match chance.u8(..8) {
                0 => Hooks::Writing,
                1 => Hooks::WritingAndReading,
                _ => Hooks::None,
            },
            ahead: if chance.u8(..4) == 0 { 14 * 60 } else { 0 },
        };
        let guess = vec![Guess::NotTracked; rows];
        let mut draw = Draw { chance, rows, guess, own: 0, foreign: 1000, values: vec![] };
        let start = (0..rows).map(|_| draw.one_in(4).then(Values::new).is_none());
        let start: Vec<_> = start.collect();
        let start = start.into_iter().map(|exists| exists.then(|| draw.values(true))).collect();
        let count = draw.chance.usize(3..=STEPS);
        let steps = (0..count).map(|_| draw.step()).collect();
        Self { seed, settings, start, steps }
    }
}

impl Draw {
    fn one_in(&mut self, times: u8) -> bool {
        self.chance.u8(..times) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.chance.usize(..all.len())]
    }

    fn row(&mut self) -> usize {
        self.chance.usize(..self.rows)
    }

    /// A new value, or one in seven times a value that was used before.
    fn value(&mut self, is_foreign: bool) -> i32 {
        if !self.values.is_empty() && self.one_in(7) {
            let at = self.chance.usize(..self.values.len());
            return self.values[at];
        }
        let last = if is_foreign { &mut self.foreign } else { &mut self.own };
        *last += 1;
        self.values.push(*last);
        *last
    }

    /// Some columns, or all.
    fn values(&mut self, is_foreign: bool) -> Values {
        let mut values = Values::new();
        for column in COLUMNS {
            if !self.one_in(4) {
                values.insert(column, self.value(is_foreign));
            }
        }
        values
    }

    fn foreign(&mut self) -> Foreign {
        let row = self.row();
        let act = match self.chance.u8(..8) {
            0..5 => Act::Merge(self.one_of(&COLUMNS), self.value(true)),
            5 => Act::Replace(self.values(true)),
            6 => Act::Delete,
            _ => Act::Recreate(self.values(true)),
        };
        Foreign { row, act }
    }

    /// A step that the context probably accepts; one in ten is any step.
    fn step(&mut self) -> Step {
        let step = self.any_step();
        let guess = |row: usize| self.guess[row];
        let step = match step {
            step if self.chance.u8(..10) == 0 => step,
            Step::Update(row, _) | Step::Delete(row) | Step::Reset(row) | Step::Detach(row)
                if guess(row) == Guess::NotTracked =>
            {
                if self.chance.bool() {
                    Step::Load(MergeOption::AppendOnly, None)
                } else {
                    Step::Find(row, MergeOption::AppendOnly)
                }
            }
            Step::Update(row, _) if guess(row) == Guess::Deleted => {
                Step::Add(row, Add::Insert, self.values(false))
            }
            Step::Add(row, ..) | Step::Attach(row, ..) if guess(row) == Guess::Tracked => {
                Step::Update(row, vec![(self.one_of(&COLUMNS), Some(self.value(false)))])
            }
            step => step,
        };
        match &step {
            Step::Add(row, ..) | Step::Attach(row, ..) | Step::Find(row, _) => {
                self.guess[*row] = Guess::Tracked;
            }
            Step::Load(..) => self.guess.fill(Guess::Tracked),
            Step::Delete(row) => self.guess[*row] = Guess::Deleted,
            Step::Detach(row) => self.guess[*row] = Guess::NotTracked,
            Step::Clear => self.guess.fill(Guess::NotTracked),
            _ => {}
        }
        step
    }

    fn any_step(&mut self) -> Step {
        let row = self.row();
        match self.chance.u8(..100) {
            0..8 => {
                let add = self.one_of(&[Add::Insert, Add::Insert, Add::OrMerge, Add::OrReplace]);
                Step::Add(row, add, self.values(false))
            }
            8..11 => {
                let attached = self.one_of(&[Attached::Current, Attached::First, Attached::Any]);
                Step::Attach(row, attached, self.values(false))
            }
            11..30 => {
                let count = 1 + usize::from(self.one_in(4));
                let edits = (0..count).map(|_| {
                    let column = self.one_of(&COLUMNS);
                    (column, (!self.one_in(8)).then(|| self.value(false)))
                });
                Step::Update(row, edits.collect())
            }
            30..38 => Step::Delete(row),
            38..40 => Step::Detach(row),
            40..43 => Step::Reset(row),
            43 => Step::Clear,
            44..50 => {
                let option = MergeOption::AppendOnly;
                Step::Find(row, if self.one_in(3) { self.one_of(&OPTIONS) } else { option })
            }
            50..53 => Step::Refresh(row, self.one_of(&OPTIONS)),
            53..63 => {
                let option = self.one_of(&OPTIONS);
                let columns = match self.chance.u8(..4) {
                    0 => Some(self.one_of(&[&["A"] as &[_], &["A", "B"]]).to_vec()),
                    _ => None,
                };
                Step::Load(option, columns)
            }
            63..86 => Step::Save(self.save()),
            86 if self.chance.bool() => Step::Plan(self.one_of(&MODES)),
            86 => Step::Fault(Fault::random(&mut self.chance)),
            87..95 => Step::Foreign(self.foreign()),
            _ => Step::Wait(self.one_of(&WAITS)),
        }
    }

    fn save(&mut self) -> Save {
        let resolver = match self.chance.u8(..14) {
            0 | 1 => Resolver::ClientWins,
            2 => Resolver::ServerWins,
            3 => Resolver::Keep,
            4 => Resolver::Take,
            5 => Resolver::Save(self.value(false)),
            6 => Resolver::Abort,
            _ => Resolver::None,
        };
        let count = self.one_of(&[0, 0, 0, 1, 1, 1, 2, 2, 3]);
        let faults = (0..count).map(|_| {
            let request = self.one_of(&[0, 0, 0, 1, 1, 2, 3, 4]);
            (request, Fault::random(&mut self.chance))
        });
        let faults = faults.collect();
        let during = if self.one_in(4) {
            vec![(self.one_of(&[0, 1, 1, 2, 3]), self.foreign())]
        } else {
            vec![]
        };
        Save {
            mode: self.one_of(&MODES),
            continues: self.chance.bool(),
            replaces: self.one_in(7),
            missing_is_deleted: self.one_in(8),
            resolver,
            faults,
            during,
            polls: self.one_in(5).then(|| self.chance.usize(1..40)),
        }
    }
}
