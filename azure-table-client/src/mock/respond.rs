//! From a request to its answer.

use http::header::HeaderName;

use super::failure::Failure;
use super::query::Scan;
use super::recorder::RecordedRequest;
use super::reply::{Addresses, Reply};
use super::request::{Incoming, Preference, Resource};
use super::{MockTableService, authorize};
use crate::transport::HttpResponse;
use crate::wire::{Metadata, Operation};

/// The largest body that the service takes.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// What a request turned out to be, for the record.
pub(super) struct Note {
    pub(super) operation: Operation,
    pub(super) operations: usize,
    pub(super) table: Option<String>,
    pub(super) scan: Option<Scan>,
}

/// A request that is authentic and understood.
pub(super) struct Asked<'a> {
    pub(super) request: &'a Incoming<'a>,
    pub(super) level: Metadata,
    pub(super) addresses: Addresses<'a>,
    pub(super) preference: Preference,
}

impl MockTableService {
    pub(super) fn respond_to(&self, request: &Incoming<'_>) -> HttpResponse {
        let request_id = new_id();
        let level = request.format();
        let mut note = Note { operation: Operation::Other, operations: 1, table: None, scan: None };
        let reply = self.answer(request, level.clone(), &request_id, &mut note);
        let reply = reply.unwrap_or_else(|failure| {
            // Where the format asked for is not known, the refusal is XML.
            let mut reply = Reply::failure(&failure, level.ok(), &request_id, self.edm_now());
            reply.preference_applied(request.preference());
            reply
        });
        self.0.recorder.add(RecordedRequest {
            operation: note.operation,
            operations: note.operations,
            table: note.table,
            status: reply.status.as_u16(),
            plan: note.scan.map(|scan| scan.plan),
            scanned_rows: note.scan.map_or(0, |scan| scan.rows),
        });
        reply.finish(request, &request_id)
    }

    fn answer(
        &self,
        request: &Incoming<'_>,
        level: Result<Metadata, Failure>,
        request_id: &str,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let resource = self.resource(request);
        let verb = request.verb();
        if let (Ok(resource), Ok(verb)) = (&resource, &verb) {
            note.table = resource.table().map(str::to_owned);
            note.operation = operation(request, verb, resource);
        }
        if !self.0.loose {
            authorize::check(request, &self.0.credential, self.now())?;
        }
        if request.body.len() > MAX_BODY_BYTES {
            return Err(Failure::body_too_large());
        }
        // ACLs, service properties and statistics, none of which has a format in JSON.
        if request.option("comp").is_some() || matches!(resource, Ok(Resource::Service)) {
            return Err(Failure::not_implemented());
        }
        if matches!(resource, Ok(Resource::Batch)) {
            // Each operation says in which format it wants its answer.
            return match verb? {
                "POST" => self.batch(request, request_id, note),
                _ => Err(Failure::unsupported_verb()),
            };
        }
        self.dispatch(&self.asked(request, level?), verb?, resource?, note)
    }

    /// What the path of a request names.
    pub(super) fn resource(&self, request: &Incoming<'_>) -> Result<Resource, Failure> {
        let below = below_account(request.path, self.account());
        below.ok_or_else(Failure::resource_not_found).and_then(Resource::parse)
    }

    pub(super) fn asked<'a>(&'a self, request: &'a Incoming<'a>, level: Metadata) -> Asked<'a> {
        Asked {
            request,
            level,
            addresses: Addresses { origin: request.origin, account: self.account() },
            preference: request.preference(),
        }
    }

    fn dispatch(
        &self,
        asked: &Asked<'_>,
        verb: &str,
        resource: Resource,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        match (resource, verb) {
            (Resource::Tables, "GET") => self.list_tables(asked),
            (Resource::Tables, "POST") => self.create_table(asked),
            (Resource::Table(name), "GET") => self.get_table(asked, &name),
            (Resource::Table(name), "DELETE") => self.delete_table(&name),
            (Resource::Entities(table), "GET") => self.query(asked, &table, note),
            (Resource::Entity(target), "GET") => self.get(asked, &target, note),
            (resource, _) => {
                let (table, write) = self.change(asked, verb, resource)?;
                self.write(asked, &table, write)
            }
        }
    }
}

impl Asked<'_> {
    /// `$top`, if it is a number that the service takes.
    pub(super) fn top(&self) -> Result<Option<usize>, Failure> {
        let Some(text) = self.request.option("$top") else {
            return Ok(None);
        };
        match text.parse() {
            Ok(top @ 1..=1000) => Ok(Some(top)),
            _ => Err(Failure::invalid_input()),
        }
    }

    /// A continuation token that this service gave.
    pub(super) fn token(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(text) = self.request.option(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        super::query::read_token(&text).map(Some).ok_or_else(Failure::invalid_input)
    }

    /// Gives a continuation token.
    pub(super) fn give_token(reply: &mut Reply, name: &HeaderName, key: &str) {
        reply.text_header(name.clone(), &super::query::write_token(key));
    }
}

/// The path behind `/account`.
fn below_account<'p>(path: &'p str, account: &str) -> Option<&'p str> {
    let rest = path.strip_prefix('/')?.strip_prefix(account)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn operation(request: &Incoming<'_>, verb: &str, resource: &Resource) -> Operation {
    let is_conditional = request.headers.contains_key(http::header::IF_MATCH);
    match (resource, verb) {
        (Resource::Tables, "GET") => Operation::ListTables,
        (Resource::Tables, "POST") => Operation::CreateTable,
        (Resource::Table(_), "GET") => Operation::GetTable,
        (Resource::Table(_), "DELETE") => Operation::DeleteTable,
        (Resource::Batch, "POST") => Operation::Transaction,
        (Resource::Entities(_), "GET") => Operation::Query,
        (Resource::Entities(_), "POST") => Operation::Insert,
        (Resource::Entity(_), "GET") => Operation::Get,
        (Resource::Entity(_), "DELETE") => Operation::Delete,
        (Resource::Entity(_), "PUT") if is_conditional => Operation::Replace,
        (Resource::Entity(_), "PUT") => Operation::InsertOrReplace,
        (Resource::Entity(_), "MERGE" | "PATCH") if is_conditional => Operation::Merge,
        (Resource::Entity(_), "MERGE" | "PATCH") => Operation::InsertOrMerge,
        _ => Operation::Other,
    }
}

/// Random, as it only tells requests apart.
pub(super) fn new_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_le_bytes()).into_uuid().to_string()
}
