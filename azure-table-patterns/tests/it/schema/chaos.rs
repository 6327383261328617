//! Programs whose entity changes at random, as far as the guard allows it. Each row has to be read by all later versions.

use azure_table_client::DynamicEntity;
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;

use super::definitions::{Definition, Values, all, difference};

/// A stored row, and the values that its fields have to be read with.
struct Row {
    stored: DynamicEntity,
    values: Values,
    /// The version that wrote it last.
    written_by: &'static str,
}

/// A definition, its new version, and a row that is stored: the values that the guard allows to be read must be read.
async fn versions(round: &mut Round) -> Report {
    let definitions = all();
    let mut chance = round.chance(0);
    let mut report = Report::default();
    for _ in 0..20 {
        walk(&definitions, &mut chance, &mut report);
    }
    report
}

/// One program: each of its changes is one that the guard calls compatible.
fn walk(definitions: &[Definition], chance: &mut Rng, report: &mut Report) {
    let mut current = &definitions[chance.usize(..definitions.len())];
    let mut snapshot = current.snapshot.clone();
    let mut rows = Vec::new();
    for _ in 0..60 {
        write_row(current, &mut rows, chance);
        let next = &definitions[chance.usize(..definitions.len())];
        report.operations += 1;
        if !snapshot.problems(&next.snapshot).is_empty() {
            *report.counts.entry("refused").or_default() += 1;
            continue;
        }
        *report.counts.entry("compatible").or_default() += 1;
        roll(current, next, snapshot.rolling_problems(&next.snapshot).is_empty(), chance, report);
        snapshot = snapshot.updated(&next.snapshot).to_string().parse().unwrap();
        current = next;
        for row in &mut rows {
            read_row(current, row, chance, report);
        }
    }
}

fn write_row(current: &Definition, rows: &mut Vec<Row>, chance: &mut Rng) {
    let stored = (current.create)(chance);
    let values = (current.read)(&stored).unwrap();
    if rows.len() == 30 {
        rows.swap_remove(chance.usize(..30));
    }
    rows.push(Row { stored, values, written_by: current.name });
}

/// Reads a row, and sometimes merges or replaces it, as a program does.
fn read_row(current: &Definition, row: &mut Row, chance: &mut Rng, report: &mut Report) {
    *report.counts.entry("rows read").or_default() += 1;
    let read = (current.read)(&row.stored);
    let describe = || format!("{} of {}: {:?}", current.name, row.written_by, row.stored);
    let Ok(values) = &read else {
        report.violations.push(format!("{}: {read:?}", describe()));
        return;
    };
    let differs = difference(&row.values, values);
    report.check(differs.is_none(), || format!("{}: {differs:?}", describe()));
    // A field that this version does not have may come back under another name, with another value.
    row.values.clone_from(values);
    if chance.u8(..4) == 0 {
        let mut written = (current.create)(chance);
        // A merge leaves the properties that it does not write.
        if chance.bool() {
            for (name, value) in row.stored.properties() {
                if written.value(name).is_none() {
                    written.set(name, value.clone());
                }
            }
        }
        match (current.read)(&written) {
            Ok(values) => *row = Row { stored: written, values, written_by: current.name },
            Err(error) => report.violations.push(format!("{}: {error}", describe())),
        }
    }
}

/// Both versions run side by side: the last one reads rows of the new one.
fn roll(
    last: &Definition,
    next: &Definition,
    is_allowed: bool,
    chance: &mut Rng,
    report: &mut Report,
) {
    if !is_allowed {
        *report.counts.entry("not rolling").or_default() += 1;
        return;
    }
    for _ in 0..3 {
        *report.counts.entry("rows read by the last version").or_default() += 1;
        let stored = (next.create)(chance);
        let values = (next.read)(&stored).unwrap();
        let describe = || format!("{} reads {} of {stored:?}", last.name, next.name);
        match (last.read)(&stored) {
            Ok(read) => {
                let differs = difference(&values, &read);
                report.check(differs.is_none(), || format!("{}: {differs:?}", describe()));
            }
            Err(error) => report.violations.push(format!("{}: {error}", describe())),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_compatible_version_reads_all_rows() {
    chaos::run("schema", 2_000, versions).await;
}

/// Each pair of definitions: a refusal is strict if no generated row shows a difference.
#[test]
fn refusals_without_a_row_that_differs() {
    let definitions = all();
    let mut chance = Rng::with_seed(7);
    let (mut refused, mut strict) = (0, 0);
    for before in &definitions {
        for after in &definitions {
            if before.snapshot.problems(&after.snapshot).is_empty() {
                continue;
            }
            refused += 1;
            let differs = (0..40).any(|_| {
                let stored = (before.create)(&mut chance);
                let values = (before.read)(&stored).unwrap();
                let is_lost = |read: &Values| values.keys().any(|name| !read.contains_key(name));
                match (after.read)(&stored) {
                    Ok(read) => is_lost(&read) || difference(&values, &read).is_some(),
                    Err(_) => true,
                }
            });
            strict += usize::from(!differs);
        }
    }
    let pairs = definitions.len() * definitions.len();
    println!(
        "schema: {pairs} pairs, {refused} refused, {strict} of these without a row that differs"
    );
    assert!(strict * 20 < refused, "{strict} of {refused} refusals are stricter than needed");
}
