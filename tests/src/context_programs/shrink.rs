//! The smallest program that still has a violation of the same kind.

use super::steps::{Hooks, Program, Resolver, Save, Step};
use super::{Failure, Kind, run};

/// Leaves out steps, faults and options while the violation stays.
pub(super) fn shrink(program: &Program, kind: Kind) -> Failure {
    let mut program = program.clone();
    let mut text = violation(&program, kind).unwrap_or_default();
    loop {
        let mut smaller = candidates(&program).into_iter();
        let found = smaller.find_map(|it| Some((violation(&it, kind)?, it)));
        let Some((violation, smaller)) = found else { break };
        (program, text) = (smaller, violation);
    }
    let trace = run::traced(&program);
    Failure { kind, text, program, trace }
}

fn violation(program: &Program, kind: Kind) -> Option<String> {
    let (violations, _) = run::run(program, None);
    violations.into_iter().find(|violation| violation.0 == kind).map(|violation| violation.1)
}

/// Programs that are smaller by one thing.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = vec![];
    let mut add = |change: &dyn Fn(&mut Program)| {
        let mut smaller = program.clone();
        change(&mut smaller);
        let is_same = smaller.steps == program.steps && smaller.settings == program.settings;
        if !is_same || smaller.start != program.start {
            all.push(smaller);
        }
    };
    // Half of the steps at once, then each.
    let half = program.steps.len() / 2;
    if half > 1 {
        add(&|it| drop(it.steps.drain(half..)));
        add(&|it| drop(it.steps.drain(..half)));
    }
    for at in (0..program.steps.len()).rev() {
        add(&|it| drop(it.steps.remove(at)));
    }
    for (at, step) in program.steps.iter().enumerate() {
        let Step::Save(save) = step else { continue };
        let mut set = |change: &dyn Fn(&mut Save)| {
            add(&|it| {
                if let Step::Save(save) = &mut it.steps[at] {
                    change(save);
                }
            });
        };
        for fault in 0..save.faults.len() {
            set(&|save| _ = save.faults.remove(fault));
        }
        set(&|save| save.during.clear());
        set(&|save| save.polls = None);
        set(&|save| save.resolver = Resolver::None);
        set(&|save| save.replaces = false);
        set(&|save| save.missing_is_deleted = false);
        set(&|save| save.continues = false);
        set(&|save| save.mode = super::steps::Mode::Each);
    }
    // A row that the steps do not name.
    let rows = program.start.len();
    if rows > 1 && !program.steps.iter().any(|step| step.names(rows - 1)) {
        add(&|it| drop(it.start.pop()));
    }
    add(&|it| it.settings.hooks = Hooks::None);
    if program.settings.hooks == Hooks::WritingAndReading {
        add(&|it| it.settings.hooks = Hooks::Writing);
    }
    add(&|it| it.settings.retries = 0);
    add(&|it| it.settings.ahead = 0);
    add(&|it| it.settings.has_ids = false);
    add(&|it| it.settings.has_second_partition = false);
    add(&|it| it.settings.proof = azure_table_client::Proof::default());
    all
}
