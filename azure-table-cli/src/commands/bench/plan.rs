//! The requests that a run would send.

use serde_json::json;

use super::ramp::Bounds;
use crate::args::{Bench, Lines, Phase};
use crate::output::aligned;
use crate::progress::{counted, grouped};

/// The most requests of a part of a run, and the rows that they write.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: &'static str,
    requests: u64,
    rows: u64,
}

/// Returns the most requests of each part of a run.
pub(super) fn describe(args: &Bench) -> String {
    let parts = parts(args);
    let total = parts.iter().map(|part| part.requests).sum();
    if args.output == Lines::Jsonl {
        let line = |part: &Part| {
            let Part { name, requests, rows } = part;
            format!("{}\n", json!({"phase": name, "requests": requests, "rows": rows}))
        };
        return parts.iter().map(line).collect();
    }
    let header = ["phase", "requests", "rows written"].map(str::to_owned).to_vec();
    let line = |part: &Part| vec![part.name.to_owned(), grouped(part.requests), grouped(part.rows)];
    let lines: Vec<_> = std::iter::once(header).chain(parts.iter().map(line)).collect();
    format!("{}at most {}\n", aligned(&lines), counted(total, "billable request"))
}

fn parts(args: &Bench) -> Vec<Part> {
    let mut parts = Vec::new();
    if args.create {
        parts.push(Part { name: "create", requests: 1, rows: 0 });
    }
    for phase in args.phases() {
        let requests = Bounds::of(args, phase).most_requests();
        parts.push(match phase {
            // A transaction writes the rows that are read.
            Phase::Reads => Part {
                name: phase.name(),
                requests: requests + 1,
                rows: Phase::Transactions.rows(),
            },
            Phase::Inserts | Phase::Transactions => {
                Part { name: phase.name(), requests, rows: requests * phase.rows() }
            }
        });
    }
    let rows: u64 = parts.iter().map(|part| part.rows).sum();
    let requests = rows.div_ceil(Phase::Transactions.rows());
    parts.push(Part { name: "cleanup", requests, rows: 0 });
    parts
}
