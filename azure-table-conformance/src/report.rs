//! The results of a run, and their forms as text, Markdown and JSON.

mod forms;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::case::{Case, Step, cases};
use crate::wire::{Dialect, Server};

pub use forms::is_unsafe;

/// The results of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The address of the server.
    pub endpoint: String,
    /// `storage` or `cosmos`.
    pub dialect: &'static str,
    /// The day and time of the beginning, in UTC.
    pub started: String,
    /// The results, in the order of the cases.
    pub results: Vec<CaseResult>,
}

/// The result of a case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseResult {
    /// The name of the case, `area/name`.
    pub name: String,
    /// The rule.
    pub title: String,
    /// The places that state the rule.
    pub sources: Vec<String>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome of a case on a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The responses are those of the rule.
    Passed,
    /// A response is another one.
    Differs(Difference),
    /// A response is 501, so the server lacks a function.
    NotSupported {
        /// The response.
        got: String,
    },
    /// The sources do not settle the rule.
    NotSettled {
        /// The response.
        response: String,
    },
}

/// A response that the rule does not state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The request line as it is in the case.
    pub request: String,
    /// The expected response, or the part of it that differs.
    pub expected: String,
    /// The response, or its part.
    pub got: String,
    /// The status and the code of the response, and the header, member or part that differs; without a response, none.
    pub answer: Option<String>,
}

impl Outcome {
    pub(crate) fn differs(
        step: &Step,
        answer: Option<String>,
        expected: String,
        got: String,
    ) -> Self {
        let request = format!("{} {}", step.method, step.target);
        Self::Differs(Difference { request, expected, got, answer })
    }

    /// The outcome as it is in lists, without what another run changes; none if the case passed.
    fn listed(&self) -> Option<String> {
        let detail = match self {
            Self::Passed => return None,
            Self::Differs(it) => {
                let answer = it.answer.as_deref().unwrap_or("no response");
                format!("{} => {answer}", it.request)
            }
            Self::NotSupported { got } => got.clone(),
            Self::NotSettled { response } => response.clone(),
        };
        // A tab or a line end would be a further column or line.
        let detail = detail.replace(is_unsafe, " ");
        Some(format!("{}\t{detail}", self.label()))
    }

    /// The outcome in a word or two.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Differs(_) => "differs",
            Self::NotSupported { .. } => "not supported",
            Self::NotSettled { .. } => "not settled",
        }
    }
}

impl CaseResult {
    pub(crate) fn new(case: &Case, outcome: Outcome) -> Self {
        Self {
            name: case.name.clone(),
            title: case.title.clone(),
            sources: case.sources.clone(),
            outcome,
        }
    }
}

/// The number of cases of an area by their outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaCounts {
    /// The area, or `all`.
    pub area: String,
    /// The cases.
    pub cases: usize,
    /// The cases that passed.
    pub passed: usize,
    /// The cases that differ.
    pub differs: usize,
    /// The cases that the server does not support.
    pub not_supported: usize,
    /// The cases that the sources do not settle.
    pub not_settled: usize,
}

impl Report {
    pub(crate) fn new(server: &Server) -> Self {
        let dialect = match server.dialect {
            Dialect::Storage => "storage",
            Dialect::Cosmos => "cosmos",
        };
        let started = chrono::Utc::now().format("%Y-%m-%d %H:%M:%S UTC").to_string();
        Self { endpoint: server.endpoint(), dialect, started, results: Vec::new() }
    }

    /// Whether a case differs.
    pub fn differs(&self) -> bool {
        self.results.iter().any(|result| matches!(result.outcome, Outcome::Differs(_)))
    }

    /// The list of the cases that did not pass: a line with the name, the outcome, and what the server responds.
    pub fn to_list(&self) -> String {
        let line = |it: &CaseResult| Some(format!("{}\t{}\n", it.name, it.outcome.listed()?));
        self.results.iter().filter_map(line).collect()
    }

    /// Compares the results with a list of [`to_list`](Self::to_list). Returns a line for each change.
    pub fn compare(&self, known: &str) -> Vec<String> {
        let known: BTreeMap<&str, &str> =
            known.lines().map(|line| line.split_once('\t').unwrap_or((line, ""))).collect();
        let shown = |listed: &str| listed.replace('\t', ": ");
        let mut changes = Vec::new();
        for it in &self.results {
            let now = it.outcome.listed().map_or("passed".to_owned(), |it| shown(&it));
            let before = known.get(it.name.as_str()).map(|it| shown(it));
            match before {
                Some(before) if before == now => {}
                Some(before) => changes.push(format!("{}: {now}; in the list: {before}", it.name)),
                None if it.outcome == Outcome::Passed => {}
                None => changes.push(format!("{}: {now}; not in the list", it.name)),
            }
        }
        let cases = cases().unwrap_or_default();
        let names = self.results.iter().map(|it| it.name.as_str());
        let names: BTreeSet<&str> = names.chain(cases.iter().map(|it| it.name.as_str())).collect();
        let gone = known.keys().filter(|name| !names.contains(*name));
        changes.extend(gone.map(|name| format!("{name}: not a case; in the list")));
        changes
    }

    /// The counts of each area in the order of the cases, those of `all`, and those of the recordings, which `all` does not
    /// include.
    pub fn counts(&self) -> Vec<AreaCounts> {
        let mut areas: Vec<AreaCounts> = Vec::new();
        let mut all = AreaCounts::new("all");
        let mut recorded = AreaCounts::new(RECORDED);
        for result in &self.results {
            let area = result.name.split('/').next().unwrap_or_default();
            if area == RECORDED {
                recorded.add(&result.outcome);
                continue;
            }
            if areas.last().is_none_or(|last| last.area != area) {
                areas.push(AreaCounts::new(area));
            }
            for counts in areas.last_mut().into_iter().chain([&mut all]) {
                counts.add(&result.outcome);
            }
        }
        areas.push(all);
        areas.extend((recorded.cases > 0).then_some(recorded));
        areas
    }
}

/// The area of the recordings.
const RECORDED: &str = "recorded";

impl AreaCounts {
    fn new(area: &str) -> Self {
        let area = area.to_owned();
        Self { area, cases: 0, passed: 0, differs: 0, not_supported: 0, not_settled: 0 }
    }

    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        *match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Differs(_) => &mut self.differs,
            Outcome::NotSupported { .. } => &mut self.not_supported,
            Outcome::NotSettled { .. } => &mut self.not_settled,
        } += 1;
    }
}
