//! The requests of the runner itself, before and after those of a case.

use super::check;
use super::request::{self, Sent};
use crate::case::Values;
use crate::report::{Difference, Outcome};
use crate::wire::{Connection, Response};

pub(super) const PROPERTIES: &str = "/?restype=service&comp=properties";

const EXPECTED: &str = "success of the set-up";

/// Sends a request that must succeed.
pub(super) async fn send(
    values: &Values<'_>,
    connection: &mut Connection<'_>,
    sent: Sent<'_>,
) -> Result<Response, Outcome> {
    let line = sent.line();
    let response = match request::build(&sent, values) {
        Ok(request) => super::exchange(request, connection).await,
        Err(error) => Err(error),
    };
    let failure = match response {
        Ok(response) if (200..300).contains(&response.status) => return Ok(response),
        // A server without tables or entities fails the cases of them.
        Ok(response) if response.status == 501 && line.ends_with(PROPERTIES) => {
            return Err(Outcome::NotSupported { got: check::answer(&response) });
        }
        Ok(response) => (Some(check::answer(&response)), super::brief(&response)),
        Err(error) => (None, error),
    };
    let (answer, got) = failure;
    let expected = EXPECTED.to_owned();
    Err(Outcome::Differs(Difference { request: line, expected, got, answer }))
}

/// The outcome of a case of a server that does not respond to the set-ups of cases.
pub(super) fn not_run() -> Outcome {
    let got = "not run, since the set-up of the cases before had no response".to_owned();
    let (request, expected) = ("none".to_owned(), EXPECTED.to_owned());
    Outcome::Differs(Difference { request, expected, got, answer: None })
}
