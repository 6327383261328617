//! The settings of a service as XML, for runs that change them outside of cases.

use crate::case::Values;
use crate::report::Outcome;
use crate::wire::{Connection, Response, Server};

use super::request::Sent;
use super::{setup, xml};

/// Reads the settings of the service.
pub(crate) async fn read(server: &Server) -> Result<String, String> {
    send(server, Sent::get(setup::PROPERTIES)).await.map(|response| response.body)
}

/// Sets the settings of the service.
pub(crate) async fn write(server: &Server, xml: &str) -> Result<(), String> {
    send(server, Sent::put_xml(setup::PROPERTIES, xml)).await.map(drop)
}

/// Whether two texts are the same settings.
pub(crate) fn are_equal(one: &str, other: &str) -> bool {
    xml::normal(one) == xml::normal(other)
}

async fn send(server: &Server, sent: Sent<'_>) -> Result<Response, String> {
    let (values, mut connection) = (Values::new(server, &server.prefix), Connection::new(server));
    setup::send(&values, &mut connection, sent).await.map_err(|outcome| match outcome {
        // The body may have the settings.
        Outcome::Differs(it) => it.answer.unwrap_or(it.got),
        Outcome::NotSupported { got } => got,
        Outcome::NotSettled { .. } | Outcome::Passed => "no response".to_owned(),
    })
}
