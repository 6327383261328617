//! The runner: it sends the requests of cases and compares the responses.

mod check;
mod json;
mod request;
mod setup;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

use crate::case::{Case, Step, Values};
use crate::report::{CaseResult, Outcome, Report};
use crate::wire::{Connection, Response, Server};

use self::request::Sent;

/// The time between two reads of a change that is not applied yet.
const BETWEEN_READS: Duration = Duration::from_secs(1);

/// The cases that are run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    patterns: Vec<String>,
}

impl Selection {
    /// Selects the cases whose name, or its part after the area, begins with one of these texts; all cases if there are none.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self { patterns: patterns.into_iter().collect() }
    }

    /// Whether a case of a server with this dialect is selected.
    pub fn has(&self, case: &Case, server: &Server) -> bool {
        let rule = case.name.split_once('/').map_or("", |(_, rule)| rule);
        let is_named =
            |text: &String| case.name.starts_with(text.as_str()) || rule.starts_with(text.as_str());
        case.applies_to(server.dialect)
            && (self.patterns.is_empty() || self.patterns.iter().any(is_named))
    }
}

/// A run on a server. It knows what to remove from it.
#[derive(Debug)]
pub struct Run<'s> {
    server: &'s Server,
    /// The beginning of the names of the run's tables.
    prefix: String,
    /// The tables that may exist.
    tables: Vec<String>,
    /// The settings of the service from before a case that changes them.
    properties: Option<String>,
}

impl<'s> Run<'s> {
    /// Creates a run. Nothing is sent yet.
    pub fn new(server: &'s Server) -> Self {
        // Without randomness, the time distinguishes runs.
        let id = getrandom::u32().unwrap_or_else(|_| chrono::Utc::now().timestamp_subsec_nanos());
        let prefix = format!("{}{id:08x}n", server.prefix);
        Self { server, prefix, tables: Vec::new(), properties: None }
    }

    /// Runs the selected cases one after another, and calls `on_result` after each. After an interruption, which drops the
    /// future, [`clean_up`](Self::clean_up) removes the remaining tables.
    pub async fn cases(
        &mut self,
        cases: &[Case],
        selection: &Selection,
        mut on_result: impl FnMut(&CaseResult),
    ) -> Report {
        let mut report = Report::new(self.server);
        for (number, case) in cases.iter().enumerate() {
            if !selection.has(case, self.server) {
                continue;
            }
            let result = CaseResult::new(case, self.case(number, case).await);
            on_result(&result);
            report.results.push(result);
        }
        report
    }

    async fn case(&mut self, number: usize, case: &Case) -> Outcome {
        let mut values = Values::new(self.server, &format!("{}{number}", self.prefix));
        let mut connection = Connection::new(self.server);
        self.tables.extend(case.tables().into_iter().map(|word| values.table(word)));
        let outcome = match self.prepare(case, &values, &mut connection).await {
            Ok(()) => steps(case, &mut values, &mut connection).await,
            Err(outcome) => outcome,
        };
        // The list keeps the tables that could not be removed; `clean_up` at the end retries them.
        drop(self.clean_up().await);
        outcome
    }

    async fn prepare(
        &mut self,
        case: &Case,
        values: &Values<'_>,
        connection: &mut Connection<'_>,
    ) -> Result<(), Outcome> {
        for word in case.tables().into_iter().filter(|word| word.starts_with("table")) {
            let body = format!("{{\"TableName\":\"{}\"}}", values.table(word));
            setup::send(values, connection, Sent::create("/Tables", &body)).await?;
        }
        for row in &case.rows {
            setup::send(values, connection, Sent::create("/{table}", row)).await?;
        }
        if case.restores_properties {
            let read = setup::send(values, connection, Sent::get(setup::PROPERTIES)).await?;
            self.properties = Some(read.body);
        }
        Ok(())
    }

    /// Removes the tables of the run and restores the settings of the service. Returns the tables that could not be
    /// removed.
    pub async fn clean_up(&mut self) -> Result<(), Vec<String>> {
        let values = Values::new(self.server, &self.prefix);
        let mut connection = Connection::new(self.server);
        if let Some(properties) = &self.properties {
            let put = Sent::put_xml(setup::PROPERTIES, properties);
            if setup::send(&values, &mut connection, put).await.is_ok() {
                self.properties = None;
            }
        }
        let mut left = Vec::new();
        for table in std::mem::take(&mut self.tables) {
            let delete = Sent::delete(&format!("/Tables('{table}')"));
            let response = match request::build(&delete, &values) {
                Ok(request) => connection.send(request).await,
                Err(error) => Err(error),
            };
            if !response.is_ok_and(|it| it.status == 204 || it.status == 404) {
                left.push(table);
            }
        }
        self.tables.clone_from(&left);
        if left.is_empty() { Ok(()) } else { Err(left) }
    }
}

/// Sends the requests of a case until a response differs.
async fn steps(case: &Case, values: &mut Values<'_>, connection: &mut Connection<'_>) -> Outcome {
    let settled = Instant::now() + values.server().settle;
    let mut matched = None;
    for step in &case.steps {
        let is_repeated = case.is_delayed && matches!(step.method.as_str(), "GET" | "OPTIONS");
        loop {
            match send(case, step, values, connection).await {
                Ok(expected) => matched = Some(expected),
                Err(_) if is_repeated && Instant::now() < settled => {
                    tokio::time::sleep(BETWEEN_READS).await;
                    continue;
                }
                Err(outcome) => return outcome,
            }
            break;
        }
    }
    match matched {
        Some(response) if !case.is_settled => Outcome::NotSettled { response },
        _ => Outcome::Passed,
    }
}

/// Sends a request, and returns the expected response that matches.
async fn send(
    case: &Case,
    step: &Step,
    values: &mut Values<'_>,
    connection: &mut Connection<'_>,
) -> Result<String, Outcome> {
    let response = match request::build(&Sent::of(case, step), values) {
        Ok(request) => connection.send(request).await,
        Err(error) => Err(error),
    };
    let response =
        response.map_err(|error| Outcome::differs(step, step.expected[0].to_string(), error))?;
    let mut first = None;
    for expected in &step.expected {
        match check::check(expected, &response, values) {
            Ok(()) => return Ok(expected.to_string()),
            Err(difference) => first = first.or(Some(difference)),
        }
    }
    Err(match first {
        _ if step.expected.len() > 1 => {
            Outcome::NotSettled { response: format!("another one: {}", brief(&response)) }
        }
        Some(difference) if response.status != 501 => {
            Outcome::differs(step, difference.expected, difference.got)
        }
        _ => Outcome::NotSupported { got: brief(&response) },
    })
}

/// A response in a line.
fn brief(response: &Response) -> String {
    let body: String = response.body.chars().take(300).collect();
    format!("{} {body}", response.status).trim_end().to_owned()
}
