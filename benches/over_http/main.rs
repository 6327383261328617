//! The cost of a call over HTTP, compared with bare HTTP clients that send the same bytes, in one run: instructions (where
//! valgrind is installed) and CPU.
//!
//! The server is another process with canned responses, so that only the client's cost is counted. Each client has
//! one connection, on a runtime with one thread.
//!
//! - `cargo bench -p azure-table-benches --bench over_http` prints both tables.
//! - `… -- get ours-reqwest` prints the cases and columns with these names only.
//! - `… -- --instructions` or `-- --cpu` prints one table.
//! - `… -- --keep=FOLDER` keeps the files of callgrind there, for `callgrind_annotate`.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "benches"
)]

#[path = "../canned/mod.rs"]
mod canned;
mod measure;

use std::path::PathBuf;

use self::canned::columns::{self, Case, Column};
use self::canned::{Folder, Server, runtime};
use self::measure::Setting;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--serve") => runtime().block_on(canned::serve()),
        Some(measure::RUN) => measure::run(&arguments[1..]),
        _ => print_tables(&Selection::new(&arguments)),
    }
}

/// The cases, columns and measures that the arguments select.
#[derive(Debug)]
struct Selection {
    cases: Vec<Case>,
    columns: Vec<Column>,
    has_instructions: bool,
    has_cpu: bool,
    keep: Option<PathBuf>,
    /// `cargo test --benches` does not pass `--bench`: one short round shows that it works.
    is_test: bool,
}

impl Selection {
    fn new(arguments: &[String]) -> Self {
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        let is_test = !has("--bench");
        let mut cases: Vec<_> = Case::ALL.into_iter().filter(|case| has(case.name())).collect();
        if cases.is_empty() {
            cases.extend(Case::ALL);
        }
        let mut columns: Vec<_> = Column::all().filter(|column| has(&column.name())).collect();
        if columns.is_empty() {
            columns.extend(Column::all());
        }
        let keep = arguments.iter().find_map(|argument| argument.strip_prefix("--keep="));
        let has_valgrind = !is_test && !has("--cpu") && measure::has_valgrind();
        Self {
            cases,
            columns,
            has_instructions: has_valgrind,
            has_cpu: !has("--instructions"),
            keep: keep.map(PathBuf::from),
            is_test,
        }
    }
}

fn print_tables(selection: &Selection) {
    let server = Server::start();
    let folder = Folder::new();
    runtime().block_on(columns::record(&server.endpoint, &folder.0));
    let setting = Setting {
        endpoint: &server.endpoint,
        folder: &folder.0,
        keep: selection.keep.clone(),
        is_test: selection.is_test,
    };
    if selection.has_instructions {
        print_head("user-space instructions", selection);
        for case in &selection.cases {
            let columns = columns_of(selection, *case);
            let costs: Vec<_> =
                columns.iter().map(|column| setting.instructions(*case, *column)).collect();
            print_row(selection, *case, &columns, &costs, thousands);
        }
    }
    if selection.has_cpu {
        print_head("CPU, microseconds", selection);
        for case in &selection.cases {
            let columns = columns_of(selection, *case);
            let costs = setting.cpu(*case, &columns);
            print_row(selection, *case, &columns, &costs, |cost| format!("{cost:.2}"));
        }
    }
}

fn columns_of(selection: &Selection, case: Case) -> Vec<Column> {
    selection.columns.iter().copied().filter(|column| column.has(case)).collect()
}

fn print_head(measure: &str, selection: &Selection) {
    print!("\n| {measure} |");
    for column in &selection.columns {
        print!(" {} |", column.title());
    }
    println!("\n|---|{}", "---:|".repeat(selection.columns.len()));
}

/// Prints the costs, each with its ratio to the first column of the row.
fn print_row(
    selection: &Selection,
    case: Case,
    columns: &[Column],
    costs: &[f64],
    text: impl Fn(f64) -> String,
) {
    let base = case.base();
    let base = columns.iter().position(|column| *column == base).map(|at| costs[at]);
    print!("| {} |", case.title());
    for column in &selection.columns {
        let Some(at) = columns.iter().position(|one| one == column) else {
            print!(" - |");
            continue;
        };
        print!(" {}", text(costs[at]));
        if let Some(base) = base {
            print!(" ({:.2})", costs[at] / base);
        }
        print!(" |");
    }
    println!();
}

/// Returns the number rounded to hundreds from 10,000, with separators.
fn thousands(number: f64) -> String {
    let digits =
        format!("{:.0}", if number < 1e4 { number } else { (number / 100.0).round() * 100.0 });
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
