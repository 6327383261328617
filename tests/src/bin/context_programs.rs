//! Runs random programs on a context, on all processors: `context_programs [COUNT [FIRST_SEED [SHOWN]]]`.
//!
//! Prints the first `SHOWN` failing programs of each kind, shrunk; the unknown outcomes by fault; and the violations by kind.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "this program is a test")]

use std::process::ExitCode;
use std::thread;

use azure_table_tests::context_programs::{self, Summary};

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let count = numbers.next().unwrap_or(1_000_000);
    let first = numbers.next().unwrap_or(0);
    let shown = numbers.next().unwrap_or(1);
    // A panic of the context is a violation, and is shown with its program.
    std::panic::set_hook(Box::new(|_| {}));
    let tasks = thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = count.div_ceil(tasks);
    let tasks: Vec<_> = (0..tasks)
        .map(|task| {
            thread::spawn(move || context_programs::run(first + task * share, share, shown))
        })
        .collect();
    let mut summary = Summary::default();
    for task in tasks {
        summary.merge(task.join().expect("a task that ends"));
    }
    println!("{summary}");
    if summary.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
