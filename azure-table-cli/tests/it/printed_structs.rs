//! `schema --rust`: the structs of 20 tables are those in `tests/ci/schema`, which `cargo test -p azure-table-ci --test ui`
//! compiles and reads every row of the table with.
//!
//! After a change run with `UPDATE_STRUCTS=1`, and read the differences.

mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Emulator;

/// The folder of the rows and structs, which the compiler checks.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ci/schema")
}

#[track_caller]
fn compare(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_STRUCTS").is_some() {
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{} is another; run with UPDATE_STRUCTS=1:\n{text}", path.display());
}

#[tokio::test]
async fn the_structs_of_20_tables_are_those_that_the_compiler_checks() {
    let emulator = Emulator::start();
    let tables = tables::all();
    assert_eq!(tables.len(), 20);
    for (name, rows) in tables {
        let table = emulator.table(name).await;
        for row in &rows {
            table.insert(row).await.unwrap();
        }
        let file = name.to_lowercase();
        let rows = emulator.run(&["query", name, "--output", "jsonl"]).done();
        compare(&format!("{file}.jsonl"), &rows);
        let structs = emulator.run(&["schema", name, "--sample", "all", "--rust", "-q"]).done();
        compare(&format!("{file}.rs"), &structs);
    }
}
