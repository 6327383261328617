//! The progress of a command on stderr.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use azure_table_client::telemetry::ClientStats;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::message;

/// The time between two lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// The time between two updates of the line on a terminal.
const UPDATE_EVERY: Duration = Duration::from_millis(100);

/// Reports rows, bytes, rates, throttling and the remaining time: in one line that changes if stderr is a terminal,
/// otherwise in a new line every 10 s. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    figures: Figures,
    begin: Instant,
    shown: Instant,
    is_quiet: bool,
    /// The requests of the command, and the number of those that were throttled before this run.
    requests: Option<(Arc<ClientStats>, u64)>,
    /// Hidden if stderr is not a terminal.
    bar: ProgressBar,
}

#[derive(Debug, Clone, Default)]
struct Figures {
    label: String,
    rows: u64,
    /// The rows that were refused, not sent, or have an unknown outcome.
    not_applied: u64,
    bytes: u64,
    /// The rows that an earlier run did, which this one resumes. They do not count as its speed.
    earlier: u64,
    throttled: u64,
    /// The number of rows at the end, if it is known.
    total: Option<u64>,
}

impl Progress {
    /// Begins with no rows. With `quiet`, nothing is shown.
    pub(crate) fn new(quiet: bool, label: impl Into<String>, total: Option<u64>) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        let figures = Figures { label: label.into(), total, ..Figures::default() };
        Self(Arc::new(Mutex::new(State {
            figures,
            begin: now,
            shown: now,
            is_quiet: quiet,
            requests: None,
            bar,
        })))
    }

    /// Shows the number of requests that the service throttles from now on.
    pub(crate) fn with_requests(self, requests: &Arc<ClientStats>) -> Self {
        let earlier = requests.total().throttled;
        self.lock().requests = Some((Arc::clone(requests), earlier));
        self
    }

    /// Adds rows that are done.
    pub(crate) fn add_rows(&self, rows: u64) {
        self.change(|figures| figures.rows += rows);
    }

    /// Adds rows that were refused, not sent, or have an unknown outcome.
    pub(crate) fn add_not_applied(&self, rows: u64) {
        self.change(|figures| figures.not_applied += rows);
    }

    /// Adds bytes that were read or written.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.change(|figures| figures.bytes += bytes);
    }

    /// Adds rows that the resumed run did.
    pub(crate) fn add_earlier_rows(&self, rows: u64) {
        self.change(|figures| {
            figures.rows += rows;
            figures.earlier += rows;
        });
    }

    /// Shows the final figures.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.bar.finish_and_clear();
        if !state.is_quiet {
            state.read_requests();
            message(&state.figures.summary(state.begin.elapsed()));
        }
    }

    /// Removes the line from the terminal, without the final figures.
    pub(crate) fn clear(&self) {
        self.lock().bar.finish_and_clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Figures)) {
        let mut state = self.lock();
        change(&mut state.figures);
        if state.is_quiet {
            return;
        }
        let every = if state.bar.is_hidden() { LINE_EVERY } else { UPDATE_EVERY };
        if state.shown.elapsed() < every {
            return;
        }
        state.shown = Instant::now();
        state.read_requests();
        let line = state.figures.line(state.begin.elapsed());
        if state.bar.is_hidden() {
            message(&line);
        } else {
            state.bar.set_message(line);
            state.bar.tick();
        }
    }
}

impl State {
    fn read_requests(&mut self) {
        if let Some((requests, earlier)) = &self.requests {
            self.figures.throttled = requests.total().throttled - earlier;
        }
    }
}

impl Figures {
    fn line(&self, elapsed: Duration) -> String {
        let mut parts = self.parts(elapsed);
        parts.extend(self.time_left(elapsed).map(|left| format!("{} left", duration(left))));
        parts.join(", ")
    }

    fn summary(&self, elapsed: Duration) -> String {
        format!("{} in {}", self.parts(elapsed).join(", "), duration(elapsed))
    }

    fn parts(&self, elapsed: Duration) -> Vec<String> {
        let (label, rows) = (&self.label, counted(self.rows, "row"));
        let rows = match self.total {
            Some(total) => format!("{label}: {rows} of {}", grouped(total)),
            None => format!("{label}: {rows}"),
        };
        let mut parts = vec![rows];
        if self.not_applied > 0 {
            parts.push(format!("{} not applied", grouped(self.not_applied)));
        }
        if self.bytes > 0 {
            parts.push(size(self.bytes));
        }
        parts.push(format!("{} rows/s", grouped(self.rate(elapsed))));
        if self.throttled > 0 {
            parts.push(format!("{} requests throttled", grouped(self.throttled)));
        }
        parts
    }

    fn time_left(&self, elapsed: Duration) -> Option<Duration> {
        let left = self.total?.checked_sub(self.rows + self.not_applied)?;
        let seconds = left.checked_div(self.rate(elapsed))?;
        Some(Duration::from_secs(seconds))
    }

    /// Returns the rows per second of this run.
    fn rate(&self, elapsed: Duration) -> u64 {
        let rows = (self.rows + self.not_applied).saturating_sub(self.earlier);
        let rate = u128::from(rows) * 1000 / elapsed.as_millis().max(1);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

/// Writes `1 row`, `1,234 rows`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Writes 1234567 as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let (mut tenths, mut unit) = (u128::from(bytes) * 10 / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Writes `9.9 s`, `1 min 1 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) if seconds < 10 => format!("{seconds}.{} s", time.subsec_millis() / 100),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{} h {minutes} min", grouped(hours)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_rows_bytes_rate_throttling_and_time_left() {
        let mut figures = Figures { label: "export".into(), rows: 1_500, ..Figures::default() };
        let elapsed = Duration::from_secs(3);
        assert_eq!(figures.line(elapsed), "export: 1,500 rows, 500 rows/s");
        figures = Figures { bytes: 5 << 20, throttled: 2, total: Some(121_500), ..figures };
        let line = figures.line(elapsed);
        assert_eq!(
            line,
            "export: 1,500 rows of 121,500, 5.0 MiB, 500 rows/s, 2 requests throttled, 4 min 0 s left"
        );
        assert!(figures.summary(elapsed).ends_with("2 requests throttled in 3.0 s"));
    }

    #[test]
    fn the_rows_of_an_earlier_run_do_not_count_as_speed() {
        let figures = Figures { label: "export".into(), rows: 1_100, ..Figures::default() };
        let figures = Figures { earlier: 1_000, total: Some(2_100), ..figures };
        let line = figures.line(Duration::from_secs(1));
        assert_eq!(line, "export: 1,100 rows of 2,100, 100 rows/s, 10 s left");
    }

    #[test]
    fn the_time_left_is_unknown_without_rows_and_beyond_the_total() {
        let figures = Figures { total: Some(10), ..Figures::default() };
        assert_eq!(figures.time_left(Duration::from_secs(1)), None);
        let figures = Figures { rows: 11, ..figures };
        assert_eq!(figures.time_left(Duration::from_secs(1)), None);
        assert_eq!(figures.line(Duration::ZERO), ": 11 rows of 10, 11,000 rows/s");
    }

    #[test]
    fn numbers_have_units() {
        let sizes = [0, 1023, 1024, 1_572_864, u64::MAX].map(size);
        assert_eq!(sizes, ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 MiB", "16383.9 PiB"]);
        let times = [0, 9_900, 59_000, 61_000, 7_260_000].map(Duration::from_millis).map(duration);
        assert_eq!(times, ["0.0 s", "9.9 s", "59 s", "1 min 1 s", "2 h 1 min"]);
        let numbers = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 1, 2].map(|rows| counted(rows, "row")), ["0 rows", "1 row", "2 rows"]);
    }
}
