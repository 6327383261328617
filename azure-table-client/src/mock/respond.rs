//! From a request to its answer.

use std::time::{Instant, SystemTime};

use http::header::{self, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::authorize::{CHALLENGE, Grant};
use super::body::Sent;
use super::failure::Failure;
use super::faults::{self, Answer, Content, Fate, Host, Subject};
use super::payload::Payload;
use super::place::Place;
use super::protocol::Protocol;
use super::query::Scan;
use super::recorder::{self, RecordedRequest};
use super::reply::{Addresses, Reply};
use super::request::{Incoming, Preference, Resource};
use super::select::Select;
use super::{MockTableService, observer, xml_requests};
use crate::edm::EdmDateTime;
use crate::transport::HttpResponse;
use crate::wire::{Operation, PayloadFormat};

/// The largest body that the service takes.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The longest URL that reaches the service: Http.sys before it takes so much of request line and headers.
const MAX_URL_BYTES: usize = 16 * 1024;

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
    pub(super) protocol: Protocol,
    pub(super) format: PayloadFormat,
    pub(super) addresses: Addresses<'a>,
    pub(super) preference: Preference,
    pub(super) grant: &'a Grant,
    now: EdmDateTime,
    /// What goes wrong on purpose; nothing does with the operations of a batch by themselves.
    pub(super) fate: Option<&'a Fate>,
}

/// What the path and the verb of a request say.
pub(super) struct Aim<'a> {
    pub(super) resource: Result<Resource, Failure>,
    verb: Result<&'a str, Failure>,
}

impl Aim<'_> {
    /// What it asks for, and of which table.
    pub(super) fn what(&self, request: &Incoming<'_>) -> (Operation, Option<String>) {
        match (&self.resource, &self.verb) {
            (Ok(resource), Ok(verb)) => {
                (operation(request, verb, resource), resource.table().map(str::to_owned))
            }
            _ => (Operation::Other, None),
        }
    }
}

impl MockTableService {
    /// Answers where nobody can wait.
    pub(super) fn respond_to(&self, request: &Incoming<'_>) -> HttpResponse {
        let fate = self.fate(request, Host::Answers);
        self.settle();
        self.respond_with(request, &fate, self.now())
    }

    /// What the fault plan has for a request that arrives now.
    pub(super) fn fate(&self, request: &Incoming<'_>, host: Host) -> Fate {
        self.0.plan.decide(host, || Subject::of(self, request), self.0.clock.now())
    }

    /// Answers a request that arrived at this time.
    pub(super) fn respond_with(
        &self,
        request: &Incoming<'_>,
        fate: &Fate,
        arrived: SystemTime,
    ) -> HttpResponse {
        if fate.is_delivered_twice {
            let first = Fate { is_delivered_twice: false, ..fate.clone() };
            self.respond_with(request, &first, arrived);
        }
        let begun = Instant::now();
        let aim = self.aim(request);
        let (operation, table) = aim.what(request);
        let mut note = Note { operation, operations: 1, table, scan: None };
        let mut response = match &fate.answer {
            // The service itself does not see it.
            _ if request.url_bytes() > MAX_URL_BYTES => faults::html(StatusCode::URI_TOO_LONG),
            None => self.serve(request, aim, fate, arrived, &mut note),
            Some(answer) => {
                if answer.is_done {
                    self.serve(request, aim, fate, arrived, &mut note);
                }
                self.answer_instead(request, answer)
            }
        };
        if fate.is_body_cut {
            response.body.truncate(response.body.len() / 2);
        }
        self.record(request, note, response.status, (arrived, begun));
        response
    }

    fn record(
        &self,
        request: &Incoming<'_>,
        note: Note,
        status: StatusCode,
        (arrived, begun): (SystemTime, Instant),
    ) {
        let recorded = RecordedRequest {
            arrived,
            took: begun.elapsed(),
            method: request.method.clone(),
            operation: note.operation,
            operations: note.operations,
            table: note.table,
            status: status.as_u16(),
            plan: note.scan.map(|scan| scan.plan),
            scanned_rows: note.scan.map_or(0, |scan| scan.rows),
            attempt: 1,
            payload: self.0.recorder.payload(request.body),
            payload_len: request.body.len(),
        };
        if let Some(observer) = &self.0.observer {
            observer(&recorded, &observer::target(request));
        }
        let call = recorder::call(request, recorded.operation);
        self.0.recorder.add(recorded, call);
    }

    fn serve(
        &self,
        request: &Incoming<'_>,
        aim: Aim<'_>,
        fate: &Fate,
        arrived: SystemTime,
        note: &mut Note,
    ) -> HttpResponse {
        let request_id = new_id();
        let reply = self.answer(request, aim, fate, arrived, &request_id, note);
        let reply = reply.unwrap_or_else(|failure| self.refusal(request, &failure, &request_id));
        let mut response = reply.finish(request, &request_id, self.now());
        self.add_cors_headers(request, &mut response.headers);
        if *request.method == Method::HEAD {
            response.body.clear();
        }
        response
    }

    /// What the fault plan answers.
    fn answer_instead(&self, request: &Incoming<'_>, answer: &Answer) -> HttpResponse {
        let mut response = match &answer.content {
            Content::Html(status) => faults::html(*status),
            Content::Refusal(failure) => {
                let request_id = new_id();
                let reply = self.refusal(request, failure, &request_id);
                reply.finish(request, &request_id, self.now())
            }
        };
        if !answer.has_body {
            response.body.clear();
            response.headers.remove(header::CONTENT_TYPE);
        }
        if let Some((name, text)) = answer.retry_after.map(|wait| wait.header(self.now()))
            && let Ok(value) = HeaderValue::from_str(&text)
        {
            response.headers.insert(name, value);
        }
        response
    }

    /// The answer, once all that it can show is on disk.
    #[cfg(feature = "mock-data")]
    pub(super) async fn once_written(
        &self,
        request: &Incoming<'_>,
        response: HttpResponse,
    ) -> HttpResponse {
        match &self.0.journal.disk {
            Some(disk) if disk.written().await.is_err() => {
                let request_id = new_id();
                let reply = self.refusal(request, &Failure::internal_error(), &request_id);
                reply.finish(request, &request_id, self.now())
            }
            _ => response,
        }
    }

    pub(super) fn refusal(
        &self,
        request: &Incoming<'_>,
        failure: &Failure,
        request_id: &str,
    ) -> Reply {
        let protocol = self.protocol(request).ok();
        // Requests that are answered in XML need not ask for it.
        let is_xml = !request.headers.contains_key(header::ACCEPT) && request.comp().is_some();
        let format = protocol.as_ref().filter(|_| !is_xml);
        let format = format.and_then(|protocol| protocol.format(request).ok());
        let mut reply = Reply::failure(failure, format, request_id, self.edm_now());
        if failure.status == StatusCode::UNAUTHORIZED {
            reply.text_header(header::WWW_AUTHENTICATE, CHALLENGE);
        }
        if let Some(protocol) = protocol {
            reply.preference_applied(protocol.preference(request));
        }
        reply
    }

    fn answer(
        &self,
        request: &Incoming<'_>,
        aim: Aim<'_>,
        fate: &Fate,
        arrived: SystemTime,
        request_id: &str,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let place = Place::split(request.path, self.account()).map(|(place, _)| place);
        if *request.method == Method::OPTIONS {
            // Rules are an account's: at another address there are none.
            place.ok_or_else(Failure::resource_not_found)?;
            return self.preflight(request);
        }
        let grant = self.authorize(request, place.unwrap_or(Place::Primary), arrived)?;
        if request.body.len() > MAX_BODY_BYTES {
            return Err(Failure::body_too_large());
        }
        request.check_timeout()?;
        let (verb, resource) = match (aim.verb, aim.resource) {
            (verb, Ok(Resource::Service)) => (verb?, Resource::Service),
            (verb, resource) if request.comp().is_some() => (verb?, resource?),
            (verb, Ok(Resource::Batch)) => {
                // Each operation says in which format it wants its answer.
                return match verb? {
                    "POST" if self.protocol(request)?.has_batches() => {
                        self.batch(request, &grant, request_id, note)
                    }
                    "POST" => Err(Failure::missing_header()),
                    _ => Err(Failure::unsupported_verb()),
                };
            }
            (verb, resource) => {
                let asked = Asked { fate: Some(fate), ..self.asked(request, &grant)? };
                return self.dispatch(&asked, verb?, resource?, note);
            }
        };
        let operation = xml_requests::operation(request, verb, &resource)?;
        self.answer_in_xml(request, &grant, operation, &resource)
    }

    /// What a request is aimed at.
    pub(super) fn aim<'a>(&self, request: &Incoming<'a>) -> Aim<'a> {
        Aim { resource: self.resource(request), verb: request.verb() }
    }

    /// What the path of a request names.
    pub(super) fn resource(&self, request: &Incoming<'_>) -> Result<Resource, Failure> {
        let (_, below) =
            Place::split(request.path, self.account()).ok_or_else(Failure::resource_not_found)?;
        Resource::parse(below)
    }

    /// The versions that a request speaks.
    pub(super) fn protocol(&self, request: &Incoming<'_>) -> Result<Protocol, Failure> {
        Protocol::of(request, self.0.loose)
    }

    /// The body of a request.
    pub(super) fn sent<'a>(&self, request: &Incoming<'a>) -> Result<Sent<'a>, Failure> {
        self.protocol(request)?.body(request)
    }

    pub(super) fn asked<'a>(
        &'a self,
        request: &'a Incoming<'a>,
        grant: &'a Grant,
    ) -> Result<Asked<'a>, Failure> {
        let protocol = self.protocol(request)?;
        let (origin, suffix) = (request.origin, grant.place.suffix());
        Ok(Asked {
            request,
            format: protocol.format(request)?,
            addresses: Addresses { origin, account: self.account(), suffix },
            grant,
            preference: protocol.preference(request),
            protocol,
            now: self.edm_now(),
            fate: None,
        })
    }

    fn dispatch(
        &self,
        asked: &Asked<'_>,
        verb: &str,
        resource: Resource,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        asked.grant.allows(operation(asked.request, verb, &resource), resource.table())?;
        match (resource, verb) {
            (Resource::Tables, "GET") => self.list_tables(asked),
            (Resource::Tables, "POST") => self.create_table(asked),
            (Resource::Table(name), "GET") => self.get_table(asked, &name),
            (Resource::Table(name), "DELETE") => self.delete_table(asked, &name),
            (Resource::Entities(table), "GET") => self.query(asked, &table, note),
            (Resource::Entity(target), "GET") => self.get(asked, &target, note),
            (resource, _) => {
                let (table, write) = self.change(asked, verb, resource)?;
                asked.grant.covers((&write.key.partition, &write.key.row))?;
                self.write(asked, &table, write)
            }
        }
    }
}

impl<'a> Asked<'a> {
    /// The body, if the version has its format.
    pub(super) fn body(&self) -> Result<Sent<'a>, Failure> {
        self.protocol.body(self.request)
    }

    /// A body to answer with: about the rows of a table, or about the tables.
    pub(super) fn payload<'p>(&'p self, set: &'p str, select: Option<&'p Select>) -> Payload<'p> {
        Payload { format: self.format, addresses: &self.addresses, set, select, now: self.now }
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

pub(super) fn operation(request: &Incoming<'_>, verb: &str, resource: &Resource) -> Operation {
    if *resource == Resource::Service || request.comp().is_some() {
        return xml_requests::operation(request, verb, resource).unwrap_or(Operation::Other);
    }
    let is_conditional = request.headers.contains_key(header::IF_MATCH);
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
