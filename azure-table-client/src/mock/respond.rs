//! From a request to its answer.

use http::header::HeaderName;

use super::failure::Failure;
use super::query::Scan;
use super::recorder::RecordedRequest;
use super::reply::{Addresses, Reply};
use super::request::{Format, Incoming, Preference, Resource};
use super::store::{Condition, Update};
use super::{MockTableService, authorize};
use crate::transport::HttpResponse;
use crate::wire::{Metadata, Operation, headers};

/// The largest body that the service takes.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// What a request turned out to be, for the record.
pub(super) struct Note {
    pub(super) operation: Operation,
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
        let request_id = new_request_id();
        let format = request.format();
        let mut note = Note { operation: Operation::Other, table: None, scan: None };
        let reply = match &format {
            Ok(Format::Json(level)) => self.answer(request, *level, &mut note),
            Ok(Format::Xml) => Err(Failure::atom_not_supported()),
            Err(failure) => Err(failure.clone()),
        };
        let reply = reply.unwrap_or_else(|failure| {
            let format = format.unwrap_or(Format::Xml);
            let mut reply = Reply::failure(&failure, format, &request_id, self.edm_now());
            reply.preference_applied(request.preference());
            reply
        });
        self.0.recorder.add(RecordedRequest {
            operation: note.operation,
            table: note.table,
            status: reply.status.as_u16(),
            plan: note.scan.map(|scan| scan.plan),
            scanned_rows: note.scan.map_or(0, |scan| scan.rows),
        });
        reply.finish(&request_id, request.headers.get(&headers::X_MS_VERSION))
    }

    fn answer(
        &self,
        request: &Incoming<'_>,
        level: Metadata,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let below = below_account(request.path, self.account());
        let resource = below.ok_or_else(Failure::resource_not_found).and_then(Resource::parse);
        if let Ok(resource) = &resource {
            note.table = resource.table().map(str::to_owned);
            note.operation = operation(request, resource);
        }
        if !self.0.loose {
            authorize::check(request, &self.0.credential, self.now())?;
        }
        if request.body.len() > MAX_BODY_BYTES {
            return Err(Failure::body_too_large());
        }
        let asked = Asked {
            request,
            level,
            addresses: Addresses {
                base: format!("{}/{}", request.origin, self.account()),
                account: self.account(),
            },
            preference: request.preference(),
        };
        // ACLs, service properties and statistics.
        if request.option("comp").is_some() {
            return Err(Failure::not_implemented());
        }
        self.dispatch(&asked, resource?, note)
    }

    fn dispatch(
        &self,
        asked: &Asked<'_>,
        resource: Resource,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let update = |verb| match verb {
            "PUT" => Some(Update::Replace),
            "MERGE" | "PATCH" => Some(Update::Merge),
            _ => None,
        };
        match (resource, asked.request.verb()) {
            (Resource::Tables, "GET") => self.list_tables(asked),
            (Resource::Tables, "POST") => self.create_table(asked),
            (Resource::Table(name), "GET") => self.get_table(asked, &name),
            (Resource::Table(name), "DELETE") => self.delete_table(&name),
            (Resource::Entities(table), "GET") => self.query(asked, &table, note),
            (Resource::Entities(table), "POST") => self.insert(asked, &table),
            (Resource::Entity { table, partition_key, row_key }, verb) => {
                let key = (partition_key, row_key);
                match (verb, update(verb)) {
                    ("GET", _) => self.get(asked, &table, key),
                    ("DELETE", _) => self.delete(asked, &table, key),
                    (_, Some(update)) => self.update(asked, &table, key, update),
                    _ => Err(Failure::unsupported_verb()),
                }
            }
            (Resource::Batch | Resource::Service, _) => Err(Failure::not_implemented()),
            _ => Err(Failure::unsupported_verb()),
        }
    }
}

impl<'a> Asked<'a> {
    /// `If-Match`.
    pub(super) fn condition(&self) -> Condition<'a> {
        match self.request.header(&http::header::IF_MATCH).map(str::trim) {
            None => Condition::None,
            Some("*") => Condition::Exists,
            Some(tag) => Condition::ETag(tag),
        }
    }

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

fn operation(request: &Incoming<'_>, resource: &Resource) -> Operation {
    let is_conditional = request.headers.contains_key(http::header::IF_MATCH);
    match (resource, request.verb()) {
        (Resource::Tables, "GET") => Operation::ListTables,
        (Resource::Tables, "POST") => Operation::CreateTable,
        (Resource::Table(_), "GET") => Operation::GetTable,
        (Resource::Table(_), "DELETE") => Operation::DeleteTable,
        (Resource::Entities(_), "GET") => Operation::Query,
        (Resource::Entities(_), "POST") => Operation::Insert,
        (Resource::Entity { .. }, "GET") => Operation::Get,
        (Resource::Entity { .. }, "DELETE") => Operation::Delete,
        (Resource::Entity { .. }, "PUT") if is_conditional => Operation::Replace,
        (Resource::Entity { .. }, "PUT") => Operation::InsertOrReplace,
        (Resource::Entity { .. }, "MERGE" | "PATCH") if is_conditional => Operation::Merge,
        (Resource::Entity { .. }, "MERGE" | "PATCH") => Operation::InsertOrMerge,
        _ => Operation::Other,
    }
}

/// Random, as it only tells requests apart.
fn new_request_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_le_bytes()).into_uuid().to_string()
}
