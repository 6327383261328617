//! The operations of the REST interface: building requests and reading responses. No I/O.

pub(crate) mod access_policies;
mod answer;
mod asked;
pub(crate) mod committed;
pub(crate) mod cursor;
pub(crate) mod entity;
pub(crate) mod key;
mod location;
pub(crate) mod own;
pub(crate) mod page_token;
mod proof;
pub(crate) mod query;
mod reply;
mod results;
pub(crate) mod service_properties;
pub(crate) mod stats;
pub(crate) mod table;
mod target;
pub(crate) mod transaction;
#[cfg(feature = "entra")]
pub(crate) mod user_delegation_key;
pub(crate) mod values;
mod write_result;
mod wrote;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use uuid::Uuid;

pub(crate) use answer::{Answer, is_of_another_request};
pub(crate) use asked::Asked;
pub use location::Location;
pub use proof::Proof;
pub(crate) use reply::{Reply, Signed, is_missing};
pub use results::{Confirmation, ResponseInfo, Stored, Written};
pub(crate) use target::Target;
pub use write_result::{WriteOutcome, WriteResult};
pub(crate) use wrote::{Effect, Wrote};

use crate::IfMatch;
use crate::entity::EntityKey;
use crate::error::{Error, Outcome};
use crate::wire::encoding::QueryString;
use crate::wire::{Operation, Protocol, Unsupported, headers};

/// A header that only some requests have: a condition or a preference.
pub(crate) type Header = (&'static HeaderName, HeaderValue);

/// A request without the parts that each attempt adds: dates, signatures and the like.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    /// The name of the resource in errors and logs: the table's name.
    pub(crate) resource: String,
    pub(crate) method: Method,
    /// Percent-encoded, below the endpoint.
    pub(crate) path: String,
    pub(crate) query: QueryString,
    pub(crate) header: Option<Header>,
    /// Whether the request selects properties.
    pub(crate) selects: bool,
    /// Whether the response can only be read with the types of its properties.
    pub(crate) needs_types: bool,
    /// The media type of the body, if there is one.
    pub(crate) content_type: HeaderValue,
    pub(crate) body: Bytes,
    /// The rows that the request reads.
    pub(crate) asked: Asked,
    /// The rows that the request writes, in the order of its operations.
    pub(crate) writes: Vec<Wrote>,
}

impl Request {
    fn new(operation: Operation, resource: &str, method: Method, path: String) -> Self {
        Self {
            operation,
            resource: resource.to_owned(),
            method,
            path,
            query: QueryString::default(),
            header: None,
            selects: false,
            needs_types: false,
            content_type: headers::JSON.clone(),
            body: Bytes::new(),
            asked: Asked::Nothing,
            writes: Vec::new(),
        }
    }

    fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body.into();
        self
    }

    /// A request about the service itself.
    fn of_service(operation: Operation, method: Method, comp: &str) -> Self {
        let mut request = Self::new(operation, "the service", method, "/".to_owned());
        request.query.push("restype", "service");
        request.query.push("comp", comp);
        request
    }

    /// Sets a body that is XML in every format.
    fn xml(self, body: Vec<u8>) -> Self {
        Self { content_type: headers::XML.clone(), ..self.body(body) }
    }

    fn payload(self, protocol: Protocol, body: Vec<u8>) -> Self {
        let content_type = protocol.format().content_type().clone();
        Self { content_type, ..self.body(body) }
    }

    /// Checks that the version and the format support the request.
    pub(crate) fn check(&self, protocol: Protocol) -> Result<(), Error> {
        if self.needs_types {
            check_readable(protocol)?;
        }
        protocol.check(self.operation).map_err(unsupported)
    }

    fn header(mut self, name: &'static HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    fn if_match(self, condition: &IfMatch) -> Result<Self, Error> {
        Ok(Self { header: Some(if_match(condition)?), ..self })
    }

    /// Whether the request is a batch, whose response has a status besides those of its operations.
    pub(crate) fn is_batch(&self) -> bool {
        self.path == transaction::PATH
    }

    /// Replaces the id of the write.
    ///
    /// # Errors
    /// The request has none: the client has no `write_id_column`, or the request deletes.
    pub(crate) fn set_write_id(&mut self, id: Uuid) -> Result<(), Error> {
        if !self.has_write_id() {
            return Err(Error::invalid_input(
                "the request has no write id: set `write_id_column` on the client; deletes have none",
            ));
        }
        let mut body = self.body.to_vec();
        self.writes.iter().for_each(|write| write.set_write_id(&mut body, id));
        self.body = body.into();
        Ok(())
    }

    /// Whether a row that the request wrote has the id of the write.
    pub(crate) fn has_write_id(&self) -> bool {
        self.writes.iter().any(|write| write.write_id.is_some())
    }

    /// The key of the only entity that the request is about; `None` for a transaction.
    pub(crate) fn entity_key(&self) -> Option<&EntityKey> {
        match &*self.writes {
            [only] if self.operation != Operation::Transaction => Some(&only.key),
            _ => match &self.asked {
                Asked::Row(key) => Some(key),
                Asked::Nothing | Asked::All | Asked::Matching(..) => None,
            },
        }
    }

    /// Adds to an error of this request what it says about the call.
    pub(crate) fn failed(
        &self,
        error: Error,
        outcome: Outcome,
        attempts: u32,
        client_request_id: &str,
    ) -> Error {
        self.named(error).with_outcome(outcome).with_attempts(attempts, client_request_id)
    }

    /// Adds the operation, the table and the entity to an error of this request.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.about(self.operation, &self.resource, || self.entity_key().cloned())
    }

    /// Whether the request changes anything. Its method does not show this: a batch with a read is posted too.
    pub(crate) fn is_write(&self) -> bool {
        self.operation.is_write()
    }
}

fn if_match(condition: &IfMatch) -> Result<Header, Error> {
    if let IfMatch::Tag(tag) = condition
        && matches!(tag.as_str().trim(), "" | "*")
    {
        // To a server, an empty value may mean no condition, and `*` means any version.
        return Err(Error::invalid_input(
            "the ETag is empty or *; for any version use IfMatch::Any",
        ));
    }
    let value = HeaderValue::from_str(condition.as_str()).map_err(|error| {
        Error::invalid_input("the ETag has a character that is not allowed in a header")
            .with_source(error)
    })?;
    Ok((&header::IF_MATCH, value))
}

/// Checks that entities that need the types of their properties are read in a format that has them.
pub(crate) fn check_readable(protocol: Protocol) -> Result<(), Error> {
    if protocol.format().is_typed() {
        return Ok(());
    }
    Err(Error::invalid_input(
        "these entities need the types of their properties, which Metadata::None leaves out; \
         use Metadata::Minimal",
    ))
}

/// The error of a call that requires a feature that its version does not have.
pub(crate) fn unsupported(reason: Unsupported) -> Error {
    Error::invalid_input(reason.to_string())
}
