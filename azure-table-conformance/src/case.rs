//! The cases: requests and expected responses as text, in the files of the folder `cases`. The README describes the
//! language.

mod files;
mod fill;
mod parse;
mod pattern;
mod recorded;

use std::fmt;

use serde_json::Value;

pub(crate) use fill::Values;
pub(crate) use parse::parse;
pub(crate) use pattern::Pattern;

use crate::wire::Dialect;

/// A rule of the service, with the requests that show it.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field in the files of cases")]
pub struct Case {
    /// The name, `area/name`.
    pub name: String,
    /// The rule in a sentence.
    pub title: String,
    /// The places that state the rule.
    pub sources: Vec<String>,
    /// Whether the sources settle the rule. If not, its last response has several expectations.
    pub is_settled: bool,
    /// The services that have the rule.
    pub(crate) dialects: Vec<Dialect>,
    /// Whether the case changes the settings of the service, which are restored afterwards.
    pub(crate) restores_properties: bool,
    /// Whether the service applies the changes of the case within 30 s only.
    pub(crate) is_delayed: bool,
    /// Whether the lines of batches end without a carriage return.
    pub(crate) has_bare_lines: bool,
    /// The bodies of the entities in `{table}`.
    pub(crate) rows: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

impl Case {
    /// The area: the part of the name before the slash.
    pub fn area(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Whether the rule applies to a service with this dialect.
    pub fn applies_to(&self, dialect: Dialect) -> bool {
        self.dialects.contains(&dialect)
    }

    /// The words that name the case's tables, each once.
    pub(crate) fn tables(&self) -> Vec<&str> {
        let of_rows = if self.rows.is_empty() { None } else { Some("table") };
        let mut words: Vec<_> = self.sent().flat_map(fill::tables_in).chain(of_rows).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// All texts that are sent.
    fn sent(&self) -> impl Iterator<Item = &str> {
        let of_steps = self.steps.iter().flat_map(|step| {
            let headers = step.headers.iter().filter_map(|(_, value)| value.as_deref());
            [step.target.as_str(), step.body.as_str()].into_iter().chain(headers)
        });
        of_steps.chain(self.rows.iter().map(String::as_str))
    }
}

/// A request and the expected response.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Headers of the request; those without a value are not sent.
    pub(crate) headers: Vec<(String, Option<String>)>,
    pub(crate) body: String,
    /// The expected response. A rule that is not settled has several.
    pub(crate) expected: Vec<Expected>,
}

/// A response, or the part of one to an operation of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    /// The code of an error.
    pub(crate) code: Option<String>,
    /// Headers; those without a pattern must be absent.
    pub(crate) headers: Vec<(String, Option<Pattern>)>,
    pub(crate) body: ExpectedBody,
    /// The responses to the operations of a batch, if they are compared.
    pub(crate) parts: Vec<Expected>,
    /// Whether the parts are in a changeset.
    pub(crate) has_changeset: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum ExpectedBody {
    /// It is not compared.
    Any,
    Empty,
    /// Objects may have further members unless it is exact.
    Json {
        value: Value,
        is_exact: bool,
    },
    /// Each line must be in the body.
    Lines(Vec<Pattern>),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if let Some(code) = &self.code {
            write!(f, " {code}")?;
        }
        match &self.body {
            ExpectedBody::Json { value, .. } => write!(f, " {value}"),
            ExpectedBody::Empty => f.write_str(" without a body"),
            ExpectedBody::Any | ExpectedBody::Lines(_) => Ok(()),
        }
    }
}

/// A malformed file of cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The file and the line.
    pub(crate) place: String,
    pub(crate) reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// Returns all cases: the rules in the order of their files, and after them the recordings.
pub fn cases() -> Result<Vec<Case>, ParseError> {
    let mut all = Vec::new();
    for (area, text) in files::FILES {
        all.extend(parse(area, text)?);
    }
    all.extend(recorded::cases()?);
    Ok(all)
}
