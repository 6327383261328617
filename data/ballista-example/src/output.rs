//! The output of an executor.

use std::io::{BufRead as _, BufReader};
use std::process::ChildStdout;
use std::thread::{self, JoinHandle};

use crate::Error;
use crate::ranges::RangeRead;

/// Prints the lines of an executor as they come, and collects the ranges that it read.
pub(crate) struct Output {
    reader: JoinHandle<Vec<RangeRead>>,
}

impl Output {
    pub(crate) fn new(executor: u16, pipe: ChildStdout) -> Self {
        let reader = thread::spawn(move || {
            let mut ranges = Vec::new();
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                println!("executor {executor}: {line}");
                ranges.extend(RangeRead::parse(executor, &line));
            }
            ranges
        });
        Self { reader }
    }

    /// Waits for the end of the executor.
    pub(crate) fn ranges(self) -> Result<Vec<RangeRead>, Error> {
        self.reader.join().map_err(|_| "the output of an executor could not be read".into())
    }
}
