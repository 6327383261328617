//! The sections of a run, and estimates of their requests, time and cost.

use crate::case::{Case, cases};
use crate::client::BEHAVIORS;
use crate::run::Selection;
use crate::wire::{Dialect, Server};

use super::account::Kind;

/// A part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The cases of the wire.
    Cases,
    /// The behaviors of the client.
    Behaviors,
    /// A token of Microsoft Entra ID, and a signature with a user delegation key.
    Entra,
    /// Reads from the secondary.
    Secondary,
    /// Writes to one partition until the service throttles them.
    Throttling,
    /// Writes whose connections are cut.
    LostResponses,
}

impl Section {
    /// All sections in the order in which they run.
    pub const ALL: [Self; 6] = [
        Self::Cases,
        Self::Behaviors,
        Self::Entra,
        Self::Secondary,
        Self::Throttling,
        Self::LostResponses,
    ];

    /// The name in arguments and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Behaviors => "behaviors",
            Self::Entra => "entra",
            Self::Secondary => "secondary",
            Self::Throttling => "throttling",
            Self::LostResponses => "lost-responses",
        }
    }

    /// The section with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }
}

/// The bounds of the sections that write many rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The writes whose connections may be cut.
    pub(super) writes: usize,
    /// The most rows that are inserted to be throttled.
    pub(super) rows: u64,
    /// The longest time of these inserts.
    pub(super) seconds: u64,
}

impl Sizes {
    /// The sizes that `--help` states, or small ones if a test of this crate has set the variable.
    fn of_environment() -> Self {
        match std::env::var_os("AZURE_TABLE_LIVE_SMALL") {
            Some(_) => Self { writes: 48, rows: 1_000, seconds: 2 },
            None => Self { writes: 1_000, rows: 30_000, seconds: 15 },
        }
    }
}

/// The sections, their cases and their sizes.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) sections: Vec<Section>,
    pub(super) cases: Vec<Case>,
    pub(super) sizes: Sizes,
    /// The requests of the cases.
    pub(super) case_requests: u64,
    /// The seconds within which the service applies the changes of the cases that wait for them.
    settling: f64,
    /// Whether checks of the run change the settings of the service.
    pub(super) changes_settings: bool,
    /// The cases that would do so without the consent of the user.
    pub(super) left_out: Vec<String>,
}

/// The requests of all behaviors, measured on the emulator.
const BEHAVIOR_REQUESTS: u64 = 7_500;
/// The requests of a write whose connection may be cut: to prepare it, with its retries, and to read it back.
const REQUESTS_OF_A_WRITE: u64 = 3;
/// The requests of the sections `entra` and `secondary`.
const FEW_REQUESTS: u64 = 12;
/// The assumed seconds of a request.
const SECONDS_OF_A_REQUEST: f64 = 0.05;
/// The assumed seconds of opening a connection, which each case does.
const SECONDS_OF_A_CONNECTION: f64 = 0.1;
/// The assumed USD of a transaction of Azure Table Storage.
const USD_OF_A_TRANSACTION: f64 = 0.05 / 10_000.0;
/// The assumed USD of a request or a row of Cosmos DB: 10 request units.
const USD_OF_TEN_UNITS: f64 = 10.0 * 0.30 / 1_000_000.0;

impl Plan {
    pub(super) fn new(
        sections: &[Section],
        server: &Server,
        may_change_settings: bool,
    ) -> Result<Self, String> {
        let sections = match sections {
            [] => Section::ALL.to_vec(),
            some => Section::ALL.into_iter().filter(|section| some.contains(section)).collect(),
        };
        let all = cases().map_err(|error| error.to_string())?;
        let selection = Selection::default();
        let applies = |case: &Case| selection.has(case, server);
        let cases = all.into_iter().filter(applies);
        let (left_out, cases): (Vec<Case>, Vec<Case>) =
            cases.partition(|case| case.restores_properties && !may_change_settings);
        let left_out = left_out.into_iter().map(|case| case.name).collect();
        let case_requests = cases.iter().map(requests_of).sum();
        let has_settings = may_change_settings && server.dialect == Dialect::Storage;
        let changes_settings = has_settings
            && [Section::Cases, Section::Behaviors].iter().any(|it| sections.contains(it));
        let sizes = Sizes::of_environment();
        let delayed = cases.iter().filter(|case| case.is_delayed);
        let settling = delayed.map(|_| server.settle.as_secs_f64()).sum();
        Ok(Self { sections, cases, sizes, case_requests, settling, changes_settings, left_out })
    }

    /// The estimated requests, cost and time, as the object of a sentence.
    pub(super) fn estimate(&self, kind: Kind) -> String {
        let (requests, seconds) = self.requests_and_seconds();
        let minutes = (seconds / 60.0).ceil();
        let cost = self
            .usd(kind)
            .map_or_else(String::new, |(usd, price)| format!("about {usd:.2} USD at {price}, "));
        let tables = match kind {
            Kind::Cosmos => format!("in {} tables ", self.tables()),
            Kind::Storage | Kind::Emulator => String::new(),
        };
        format!("about {requests} requests {tables}({cost}about {minutes} min)")
    }

    /// The tables that the run creates: each may have a throughput with a price of its own.
    fn tables(&self) -> usize {
        let of_section = |section: &Section| match section {
            Section::Cases => self.cases.iter().map(|case| case.tables().len()).sum(),
            Section::Behaviors => BEHAVIORS.len(),
            _ => 1,
        };
        self.sections.iter().map(of_section).sum::<usize>() + 1
    }

    fn requests_and_seconds(&self) -> (u64, f64) {
        self.sections.iter().fold((0, 0.0), |(requests, seconds), section| {
            let (more, longer) = self.of_section(*section);
            (requests + more, seconds + longer)
        })
    }

    /// The cost and the price that it assumes.
    fn usd(&self, kind: Kind) -> Option<(f64, &'static str)> {
        let (requests, _) = self.requests_and_seconds();
        let rows = if self.sections.contains(&Section::Throttling) { self.sizes.rows } else { 0 };
        match kind {
            Kind::Emulator => None,
            Kind::Storage => {
                let usd = real(requests) * USD_OF_A_TRANSACTION;
                Some((usd, "0.05 USD per 10,000 transactions"))
            }
            Kind::Cosmos => {
                let usd = real(requests + rows) * USD_OF_TEN_UNITS;
                Some((
                    usd,
                    "0.30 USD per million request units, without the throughput of tables: only serverless or shared throughput keeps it under 1 USD",
                ))
            }
        }
    }

    /// The requests of a section, and its seconds.
    fn of_section(&self, section: Section) -> (u64, f64) {
        let cases = u64::try_from(self.cases.len()).unwrap_or(u64::MAX);
        let writes = u64::try_from(self.sizes.writes).unwrap_or(u64::MAX) * REQUESTS_OF_A_WRITE;
        let at_once = |requests: u64, width: f64| real(requests) * SECONDS_OF_A_REQUEST / width;
        match section {
            Section::Cases => {
                let connections = real(cases) * SECONDS_OF_A_CONNECTION;
                let seconds = at_once(self.case_requests, 1.0) + connections + self.settling;
                (self.case_requests, seconds)
            }
            Section::Behaviors => (BEHAVIOR_REQUESTS, at_once(BEHAVIOR_REQUESTS, 4.0)),
            Section::Entra | Section::Secondary => (FEW_REQUESTS, at_once(FEW_REQUESTS, 1.0)),
            // The rows are sent in transactions of 100, and counted in pages of 1,000.
            Section::Throttling => (self.sizes.rows / 90, real(self.sizes.seconds) + 5.0),
            Section::LostResponses => (writes, at_once(writes, 8.0) + 5.0),
        }
    }
}

/// The requests of a case, with those that create its tables and rows and remove them.
fn requests_of(case: &Case) -> u64 {
    let requests = case.steps.len() + case.rows.len() + 2 * case.tables().len();
    u64::try_from(requests).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn real(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn plan(sections: &[Section]) -> Plan {
        let server = Server::new("https://mine.table.core.windows.net", "mine", "a2V5").unwrap();
        Plan::new(sections, &server, true).unwrap()
    }

    #[test]
    fn a_run_costs_less_than_a_dollar_and_a_quarter_of_an_hour() {
        let plan = plan(&[]);
        assert_eq!(plan.sections, Section::ALL);
        let (requests, seconds) = plan.requests_and_seconds();
        assert!(requests > 10_000 && seconds < 900.0, "{requests} {seconds}");
        for kind in [Kind::Storage, Kind::Cosmos] {
            let (usd, _) = plan.usd(kind).unwrap();
            assert!((0.01..1.0).contains(&usd), "{kind:?}: {usd}");
        }
    }

    #[test]
    fn without_consent_no_case_changes_settings() {
        let server = Server::new("https://mine.table.core.windows.net", "mine", "a2V5").unwrap();
        let careful = Plan::new(&[], &server, false).unwrap();
        assert!(!careful.changes_settings && plan(&[]).changes_settings);
        assert!(!careful.left_out.is_empty() && plan(&[]).left_out.is_empty());
        assert!(careful.cases.iter().all(|case| !case.restores_properties));
    }

    #[test]
    fn the_estimate_is_that_of_the_sections() {
        let plan = plan(&[Section::Secondary, Section::Entra]);
        assert_eq!(plan.sections, [Section::Entra, Section::Secondary]);
        assert_eq!(plan.estimate(Kind::Emulator), "about 24 requests (about 1 min)");
        let priced =
            "about 24 requests (about 0.00 USD at 0.05 USD per 10,000 transactions, about 1 min)";
        assert_eq!(plan.estimate(Kind::Storage), priced);
    }
}
