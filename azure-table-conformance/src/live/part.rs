//! The results of a section.

use std::time::Duration;

use super::redaction::Redaction;

/// The reason for which a check that changes the settings of the service does not run.
pub(super) const CHANGES_SETTINGS: &str =
    "it changes the settings of the service, which needs --change-settings";

/// The results of a section.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The number of checks that passed.
    pub(super) passed: usize,
    pub(super) failures: Vec<Failure>,
    /// Checks that do not apply to this server, or that it does not support, with the reason.
    pub(super) left_out: Vec<(String, String)>,
    /// Points that the sources do not settle, with the response.
    pub(super) settled: Vec<(String, String)>,
    /// Sentences with the measured figures.
    pub(super) figures: Vec<String>,
    /// The reason for which the section did not run.
    pub(super) skipped: Option<String>,
    pub(super) requests: u64,
    pub(super) elapsed: Duration,
}

/// A check that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) name: String,
    /// Names and texts.
    pub(super) details: Vec<(&'static str, String)>,
}

impl Part {
    /// A section that did not run.
    pub(super) fn skipped(reason: impl Into<String>) -> Self {
        Self { skipped: Some(reason.into()), ..Self::default() }
    }

    /// Counts a check. Returns whether it passed.
    pub(super) fn check(&mut self, name: &str, result: Result<(), String>) -> bool {
        match result {
            Ok(()) => self.passed += 1,
            Err(reason) => {
                let details = vec![("reason", reason)];
                self.failures.push(Failure { name: name.to_owned(), details });
                return false;
            }
        }
        true
    }

    /// The texts of the section without secrets and names.
    pub(super) fn redacted(&self, redaction: &Redaction) -> Self {
        let clean = |text: &String| redaction.apply(text);
        let pairs = |list: &[(String, String)]| {
            list.iter().map(|(name, text)| (clean(name), clean(text))).collect()
        };
        let failures = self.failures.iter().map(|failure| Failure {
            name: clean(&failure.name),
            details: failure.details.iter().map(|(name, text)| (*name, clean(text))).collect(),
        });
        Self {
            passed: self.passed,
            failures: failures.collect(),
            left_out: pairs(&self.left_out),
            settled: pairs(&self.settled),
            figures: self.figures.iter().map(clean).collect(),
            skipped: self.skipped.as_ref().map(clean),
            requests: self.requests,
            elapsed: self.elapsed,
        }
    }

    /// The section in a few words.
    pub(super) fn result(&self) -> String {
        match (&self.skipped, &*self.failures) {
            (Some(reason), _) => format!("skipped: {reason}"),
            (None, []) => "passed".to_owned(),
            (None, failures) => format!("{} failed", failures.len()),
        }
    }
}
