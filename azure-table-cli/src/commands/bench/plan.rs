//! The requests that a run would send.

use serde_json::json;

use super::ramp::Bounds;
use crate::args::{Bench, Lines, Phase};
use crate::output::aligned;
use crate::progress::{counted, grouped};

/// The bounds of a part of a run.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: &'static str,
    requests: u64,
    rows: u64,
    /// The longest time in which it sends requests, for a phase.
    seconds: Option<u64>,
}

/// Returns the most requests of each part of a run.
pub(super) fn describe(args: &Bench) -> String {
    let parts = parts(args);
    let total = parts.iter().map(|part| part.requests).sum();
    let seconds = grouped(parts.iter().filter_map(|part| part.seconds).sum());
    if args.output == Lines::Jsonl {
        let line = |part: &Part| {
            let Part { name, requests, rows, seconds } = part;
            let line =
                json!({"phase": name, "requests": requests, "rows": rows, "seconds": seconds});
            format!("{line}\n")
        };
        return parts.iter().map(line).collect();
    }
    let header = ["phase", "requests", "rows written", "seconds"].map(str::to_owned).to_vec();
    let line = |part: &Part| {
        let seconds = part.seconds.map(grouped).unwrap_or_default();
        vec![part.name.to_owned(), grouped(part.requests), grouped(part.rows), seconds]
    };
    let lines: Vec<_> = std::iter::once(header).chain(parts.iter().map(line)).collect();
    let total = counted(total, "billable request");
    format!("{}at most {total}, and {seconds} s without the cleanup\n", aligned(&lines))
}

fn parts(args: &Bench) -> Vec<Part> {
    let mut parts = Vec::new();
    if args.create {
        parts.push(Part { name: "create", requests: 1, rows: 0, seconds: None });
    }
    for phase in args.phases() {
        let requests = Bounds::of(args, phase).most_requests();
        let (name, seconds) = (phase.name(), Some(args.seconds));
        parts.push(match phase {
            // A transaction writes the rows that are read.
            Phase::Reads => {
                let rows = Phase::Transactions.rows();
                Part { name, requests: requests + 1, rows, seconds }
            }
            Phase::Inserts | Phase::Transactions => {
                Part { name, requests, rows: requests * phase.rows(), seconds }
            }
        });
    }
    let rows: u64 = parts.iter().map(|part| part.rows).sum();
    let requests = rows.div_ceil(Phase::Transactions.rows());
    parts.push(Part { name: "cleanup", requests, rows: 0, seconds: None });
    parts
}
