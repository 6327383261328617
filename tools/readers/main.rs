//! Compares the reader of JSON with `serde_json` on generated bodies.
//!
//! `readers [inputs] [first seed]`: prints the number of bodies of each sort. A difference is a panic that shows the
//! body.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "the figures are its output")]

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use azure_table_tests::fuzz::{generated, readers};

/// How often bodies were of each sort.
#[derive(Debug, Default)]
struct Counts {
    pages: u64,
    /// The body is not a page.
    refused: u64,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse().expect("a number"));
    let inputs = arguments.next().unwrap_or(10_000_000);
    let first: u64 = arguments.next().unwrap_or(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let workers: Vec<_> = (first..)
        .take(threads)
        .map(|seed| thread::spawn(move || compare((seed..first + inputs).step_by(threads))))
        .collect();
    let mut total = Counts::default();
    for worker in workers {
        let counts = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        total.pages += counts.pages;
        total.refused += counts.refused;
    }
    println!("{inputs} bodies without a difference: {total:?}");
}

fn compare(seeds: impl Iterator<Item = u64>) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let count = if readers(&generated(seed)) { &mut counts.pages } else { &mut counts.refused };
        *count += 1;
    }
    counts
}
