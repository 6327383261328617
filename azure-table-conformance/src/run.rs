//! The runner: it sends the requests of cases and compares the responses.

mod check;
mod json;
#[cfg(feature = "live")]
pub(crate) mod properties;
mod request;
mod setup;
#[cfg(test)]
mod tests;
mod xml;

use std::time::Duration;

use tokio::time::Instant;

use crate::case::{Case, Step, Values};
use crate::report::{CaseResult, Outcome, Report};
use crate::wire::{Connection, Request, Response, Server};

use self::request::Sent;

/// The time between two reads of a change that is not applied yet.
const BETWEEN_READS: Duration = Duration::from_secs(1);

/// The deletions, or set-ups of cases, without a response after which the others are not tried.
const MAX_SILENT: u32 = 3;

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
    /// The settings of the service from before the first case that changes them. A later read may return those of a case,
    /// since the service applies changes late.
    properties: Option<String>,
    /// Whether the settings have to be restored.
    is_changed: bool,
    /// The cases in a row whose set-up had no response.
    silent: u32,
    /// The requests that were sent.
    requests: u64,
}

impl<'s> Run<'s> {
    /// Creates a run. Nothing is sent yet.
    pub fn new(server: &'s Server) -> Self {
        // Without randomness, the time distinguishes runs.
        let id = getrandom::u32().unwrap_or_else(|_| chrono::Utc::now().timestamp_subsec_nanos());
        let prefix = format!("{}{id:08x}n", server.prefix);
        Self {
            server,
            prefix,
            tables: Vec::new(),
            properties: None,
            is_changed: false,
            silent: 0,
            requests: 0,
        }
    }

    /// How the names of the run's tables begin.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The number of requests that the run has sent.
    pub fn requests(&self) -> u64 {
        self.requests
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
            let outcome = match self.silent {
                MAX_SILENT => setup::not_run(),
                _ => self.case(number, case).await,
            };
            let result = CaseResult::new(case, outcome);
            on_result(&result);
            report.results.push(result);
        }
        report
    }

    async fn case(&mut self, number: usize, case: &Case) -> Outcome {
        let mut values = Values::new(self.server, &format!("{}{number}", self.prefix));
        let mut connection = Connection::new(self.server);
        let others = self.tables.len();
        self.tables.extend(case.tables().into_iter().map(|word| values.table(word)));
        let outcome = match self.prepare(case, &values, &mut connection).await {
            Ok(()) => {
                self.silent = 0;
                self.steps(case, &mut values, &mut connection).await
            }
            Err(outcome) => {
                let is_silent = matches!(&outcome, Outcome::Differs(it) if it.answer.is_none());
                self.silent = if is_silent { self.silent + 1 } else { 0 };
                outcome
            }
        };
        // `clean_up` at the end repeats what fails.
        self.restore(&mut connection).await;
        self.remove(self.tables[others..].to_vec(), &mut connection).await;
        self.requests += connection.requests;
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
            if self.properties.is_none() {
                let read = setup::send(values, connection, Sent::get(setup::PROPERTIES)).await?;
                self.properties = Some(read.body);
            }
            self.is_changed = true;
        }
        Ok(())
    }

    /// Removes the tables of the run and restores the settings of the service. Returns what remains: the names of tables,
    /// and `the service properties`.
    pub async fn clean_up(&mut self) -> Result<(), Vec<String>> {
        let mut connection = Connection::new(self.server);
        self.restore(&mut connection).await;
        self.remove(self.tables.clone(), &mut connection).await;
        self.requests += connection.requests;
        let properties = self.is_changed.then(|| "the service properties".to_owned());
        let left: Vec<_> = properties.into_iter().chain(self.tables.iter().cloned()).collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    }

    /// Restores the settings of the service, if a case may have changed them.
    async fn restore(&mut self, connection: &mut Connection<'_>) {
        let Some(properties) = self.properties.as_ref().filter(|_| self.is_changed) else { return };
        let put = Sent::put_xml(setup::PROPERTIES, properties);
        let values = Values::new(self.server, &self.prefix);
        self.is_changed = setup::send(&values, connection, put).await.is_err();
    }

    /// Deletes tables. The list of the run loses each one only after the response, so that an interruption keeps it.
    async fn remove(&mut self, tables: Vec<String>, connection: &mut Connection<'_>) {
        let values = Values::new(self.server, &self.prefix);
        let mut silent = 0;
        for table in tables {
            let delete = Sent::delete(&format!("/Tables('{table}')"));
            let response = match request::build(&delete, &values) {
                Ok(request) => connection.send(request).await,
                Err(error) => Err(error),
            };
            match response {
                Ok(it) if it.status == 204 || it.status == 404 => {
                    self.tables.retain(|known| *known != table);
                }
                Ok(_) => {}
                Err(_) if silent + 1 == MAX_SILENT => return,
                Err(_) => silent += 1,
            }
        }
    }

    /// Sends the requests of a case until a response differs.
    async fn steps(
        &mut self,
        case: &Case,
        values: &mut Values<'_>,
        connection: &mut Connection<'_>,
    ) -> Outcome {
        let settled = Instant::now() + self.server.settle;
        let mut matched = None;
        for step in &case.steps {
            let is_repeated = case.is_delayed && matches!(step.method.as_str(), "GET" | "OPTIONS");
            loop {
                match self.step(case, step, values, connection).await {
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
    async fn step(
        &mut self,
        case: &Case,
        step: &Step,
        values: &mut Values<'_>,
        connection: &mut Connection<'_>,
    ) -> Result<String, Outcome> {
        let response = match request::build(&Sent::of(case, step), values) {
            Ok(request) => self.send(request, connection).await,
            Err(error) => Err(error),
        };
        let response = response
            .map_err(|error| Outcome::differs(step, None, step.expected[0].to_string(), error))?;
        let mut first = None;
        for expected in &step.expected {
            // Names that a response binds which does not match have no value.
            let mut bound = values.clone();
            match check::check(expected, &response, &mut bound) {
                Ok(()) => {
                    *values = bound;
                    return Ok(expected.to_string());
                }
                Err(difference) => first = first.or(Some(difference)),
            }
        }
        let is_expected = step.expected.iter().any(|it| it.status == 501);
        Err(match first {
            _ if response.status == 501 && !is_expected => {
                Outcome::NotSupported { got: check::answer(&response) }
            }
            Some(difference) if step.expected.len() == 1 => {
                let answer = format!("{} {}", check::answer(&response), difference.place);
                let answer = Some(answer.trim_end().to_owned());
                Outcome::differs(step, answer, difference.expected, difference.got)
            }
            _ => Outcome::NotSettled {
                response: format!("another one: {}", check::answer(&response)),
            },
        })
    }

    /// Sends a request of a case. The list of the run gets the table that it creates.
    async fn send(
        &mut self,
        request: Request,
        connection: &mut Connection<'_>,
    ) -> Result<Response, String> {
        let created = request.created_table().filter(|name| !self.tables.contains(name));
        let response = exchange(request, connection).await?;
        // A table that the case does not name by its words may have been there before a refusal.
        self.tables.extend(created.filter(|_| (200..300).contains(&response.status)));
        Ok(response)
    }
}

/// Sends a request. Reports repeat the body, and errors may repeat the signature, which is removed.
async fn exchange(request: Request, connection: &mut Connection<'_>) -> Result<Response, String> {
    let signatures = request.signatures();
    let mut response = connection.send(request).await?;
    for signature in signatures.iter().filter(|it| !it.is_empty()) {
        response.body = response.body.replace(signature, "(signature)");
    }
    Ok(response)
}

/// A response in a line. Lists of tables and settings may be those of the account's owner.
fn brief(response: &Response) -> String {
    let is_own = response.status == 200
        && ["\"TableName\"", "<StorageServiceProperties", ":TableName>"]
            .iter()
            .any(|name| response.body.contains(name));
    if is_own {
        return "200 (tables or settings, which are not shown)".to_owned();
    }
    let body: String = response.body.chars().take(300).collect();
    format!("{} {body}", response.status).trim_end().to_owned()
}
