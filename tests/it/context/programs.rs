//! Random programs on a context, over a network with all faults of the chaos.
//!
//! | variable | meaning |
//! |---|---|
//! | `AZURE_TABLE_CONTEXT_SEED` | the first seed, 0 by default |
//! | `AZURE_TABLE_CONTEXT_PROGRAMS` | the number of programs |
//!
//! In an optimized build, on all processors: `cargo run --release -p azure-table-tests --bin context_programs`.

use azure_table_tests::context_programs::{self, Kind, Lie};
use azure_table_tests::sized;

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(format!("AZURE_TABLE_CONTEXT_{name}")).ok();
    value.map(|text| text.parse().expect("a number"))
}

#[test]
fn random_programs_break_no_promise() {
    let count = setting("PROGRAMS").unwrap_or(sized(100, 2_000));
    let first = setting("SEED").unwrap_or(0);
    let summary = context_programs::run(first, count, 1);
    println!("{summary}");
    assert!(summary.violations.is_empty(), "{:?}", summary.violations);
}

/// The oracle finds each kind of false report.
#[test]
fn the_oracle_finds_lies() {
    for (lie, kind) in [
        (Lie::Applied, Kind::FalselyApplied),
        (Lie::Failed, Kind::FalselyNotApplied),
        (Lie::Missing, Kind::MissingFromReport),
    ] {
        let found = context_programs::run_lying(0, 40, lie);
        assert!(found.get(&kind).is_some_and(|programs| *programs >= 3), "{lie:?}: {found:?}");
    }
}

/// A program repeats itself by its seed.
#[test]
fn a_program_repeats_itself() {
    let [first, second] = [0, 0].map(|seed| context_programs::run(seed, 10, 0));
    assert_eq!((first.figures, first.violations), (second.figures, second.violations));
}
