//! What happened in a run, in the order of time: a reader compares it with the violation.

use std::fmt::Write as _;

use super::network::Attempt;
use super::oracle::Run;
use super::requests::Write;

/// The attempts, their arrivals, the versions of the rows and the reports, one in a line.
pub(super) fn trace(run: &Run) -> String {
    let log = run.network.log();
    let mut events = vec![];
    for (number, attempt) in log.attempts.iter().enumerate() {
        events.push((attempt.time, format!("request {number}: {}", sent(attempt))));
        for delivery in &attempt.deliveries {
            let applied = if delivery.is_applied { ", applied" } else { "" };
            let text = format!("request {number} arrives: {}{applied}", delivery.status);
            events.push((delivery.time, text));
        }
    }
    for row in 0..run.network.rows() {
        for version in log.rows.since(row, 1) {
            let text = match &version.columns {
                Some(columns) => format!("row {row} is {columns:?} {:?}", version.etag),
                None => format!("row {row} is gone"),
            };
            events.push((version.time, text));
        }
    }
    for saved in &run.saves {
        let is_dropped = if saved.is_dropped { ", dropped" } else { "" };
        let mut text = format!("step {}: the save ends{is_dropped}; ", saved.step);
        for result in &saved.results {
            let _ = write!(text, "{} {}: {:?}; ", result.operation, result.row, result.outcome);
        }
        let _ = write!(text, "states {:?}", saved.states);
        events.push((saved.end, text));
    }
    // Stable: an arrival precedes the version that it leaves.
    events.sort_by_key(|(time, _)| *time);
    let mut text = String::new();
    for (time, event) in events {
        let _ = writeln!(text, "{time:>9} ms  {event}");
    }
    text
}

fn sent(attempt: &Attempt) -> String {
    let content = |write: &Write| write.content.clone();
    let writes: Vec<_> = attempt.writes.iter().map(content).collect();
    let writes = if writes.is_empty() { "read".to_owned() } else { writes.join(" + ") };
    let save = if attempt.save.is_some() { "" } else { " (no save)" };
    let fault = attempt.fault.map(|fault| format!(" ({})", fault.name())).unwrap_or_default();
    format!("{writes}{save}{fault}")
}
