//! The results of the phases.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::MAX_IN_FLIGHT;
use super::ramp::End;
use super::step::Step;
use crate::args::{Lines, Phase};
use crate::failure::Result;
use crate::output::Out;
use crate::progress::grouped;

/// Prints each step as text, or each phase as JSON.
pub(super) struct Report {
    out: Out,
    lines: Lines,
    /// The steps of the phase so far.
    steps: Vec<Value>,
    /// The highest rate of the phase that was applied.
    applied: u64,
}

impl Report {
    pub(super) fn new(lines: Lines) -> Result<Self> {
        let mut report = Self { out: Out::new(), lines, steps: Vec::new(), applied: 0 };
        let header = ["phase", "rows/s", "applied/s", "throttled", "p50", "p99"];
        report.text(&columns(header.map(str::to_owned)))?;
        Ok(report)
    }

    pub(super) fn step(&mut self, phase: Phase, step: &Step) -> Result<()> {
        let applied = step.rows_per_second();
        self.applied = self.applied.max(applied);
        let (p50, p99) = (step.percentile(50), step.percentile(99));
        let throttled = tenths(step.throttled_permille() as u128);
        self.steps.push(json!({
            "rate": step.rate,
            "applied": applied,
            "throttled_percent": number(&throttled),
            "p50_ms": p50.map(|time| number(&milliseconds(time))),
            "p99_ms": p99.map(|time| number(&milliseconds(time))),
        }));
        let time = |time: Option<Duration>| {
            time.map_or_else(|| "-".to_owned(), |time| format!("{} ms", milliseconds(time)))
        };
        self.text(&columns([
            phase.name().to_owned(),
            grouped(step.rate),
            grouped(applied),
            format!("{throttled} %"),
            time(p50),
            time(p99),
        ]))
    }

    /// Prints the limit that a phase found.
    pub(super) fn end(&mut self, phase: Phase, end: End, partition: &str) -> Result<()> {
        let (name, applied) = (phase.name(), grouped(std::mem::take(&mut self.applied)));
        let steps = std::mem::take(&mut self.steps);
        let (reason, limit, text) = match end {
            End::Throttled(limit) => {
                ("throttled", Some(limit), format!("limit {} rows/s", grouped(limit)))
            }
            End::MaxRate => {
                ("max-rate", None, format!("not throttled at {applied} rows/s (--max-rate)"))
            }
            End::Time => ("time", None, "no limit measured within the time (--seconds)".to_owned()),
            End::Saturated => {
                let text = format!(
                    "not throttled: {MAX_IN_FLIGHT} requests in flight reach only {applied} rows/s"
                );
                ("saturated", None, text)
            }
        };
        if self.lines == Lines::Jsonl {
            let line = json!({"phase": name, "partition": partition, "limit": limit, "end": reason, "steps": steps});
            self.out.put(&format!("{line}\n"))?;
            return self.out.flush();
        }
        self.text(&format!("{name}: {text}\n"))
    }

    /// Prints at once: a step takes seconds.
    fn text(&mut self, text: &str) -> Result<()> {
        if self.lines == Lines::Text {
            self.out.put(text)?;
            self.out.flush()?;
        }
        Ok(())
    }
}

fn columns([phase, rate, applied, throttled, p50, p99]: [String; 6]) -> String {
    format!("{phase:<12}  {rate:>7}  {applied:>9}  {throttled:>9}  {p50:>9}  {p99:>9}\n")
}

fn milliseconds(time: Duration) -> String {
    tenths(time.as_micros() / 100)
}

/// Writes 12 tenths as `1.2`.
fn tenths(tenths: u128) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn number(decimal: &str) -> Option<f64> {
    decimal.parse().ok()
}
