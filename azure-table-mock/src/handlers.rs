//! The handlers of requests: functions over the core, one file per kind of resource.

mod acl;
mod batch;
mod cors;
mod cosmos;
mod entities;
mod evaluate;
mod exchange;
mod new_row;
mod page;
mod query;
mod scan;
mod service;
mod syntax;
mod tables;
mod token;
mod user_delegation;

use std::time::SystemTime;

use http::{HeaderName, Method, StatusCode, header};

pub(super) use self::cors::{add_cors_headers, allows};
use self::exchange::Exchange;
pub(super) use self::new_row::entity_with_keys;
pub(super) use self::query::Scan;
use crate::authorize::{CHALLENGE, authorize};
use crate::core::{Core, ServiceClock};
use crate::edm::EdmDateTime;
use crate::failure::{Failure, Stage};
use crate::faults::Effects;
use crate::reply::{Protection, ResponseDraft};
use crate::request::{MAX_BODY_BYTES, ParsedRequest, Resource};
use crate::transport::HttpResponse;
use crate::wire::Location;
use crate::wire::Operation;

/// The code of a failure that the front end or an operation in XML reports.
static ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");

/// Responds to a request that arrived at this time.
pub(super) async fn respond(
    core: &Core,
    request: &ParsedRequest<'_>,
    effects: &Effects,
    arrived: SystemTime,
    request_id: &str,
    scan: &mut Option<Scan>,
) -> Result<ResponseDraft, Failure> {
    if request.raw.method == Method::OPTIONS {
        // CORS rules belong to an account.
        request.location.ok_or_else(Failure::resource_not_found)?;
        request.dialect.check_request(request)?;
        return cors::preflight(core, &request.raw);
    }
    let location = request.location.unwrap_or(Location::Primary);
    let grant = authorize(core, &request.raw, location, arrived)?;
    if request.raw.body.len() > MAX_BODY_BYTES {
        return Err(Failure::body_too_large());
    }
    request.raw.check_timeout()?;
    request.dialect.check_request(request)?;
    if request.is_xml() {
        let operation = request.operation()?;
        let table = request.resource()?.table();
        grant.allows(operation, table)?;
        let table = table.unwrap_or_default();
        let request = &request.raw;
        return match (operation, table) {
            (Operation::GetTableAcl, table) => acl::get(core, request, table),
            (Operation::SetTableAcl, table) => acl::set(core, request, table),
            (Operation::GetServiceProperties, _) => service::properties(core, request),
            (Operation::SetServiceProperties, _) => service::set_properties(core, request),
            (Operation::GetStats, _) => service::stats(core, location),
            (Operation::GetUserDelegationKey, _) => user_delegation::key(core, request, &grant),
            _ => Err(Failure::not_implemented()),
        };
    }
    if request.resource() == Ok(&Resource::Batch) {
        request.operation()?;
        if !request.protocol()?.has(Operation::Transaction) {
            return Err(Failure::missing_header());
        }
        // Each operation selects the format of its own response.
        return batch::respond(core, request, &grant, request_id, scan).await;
    }
    let exchange = Exchange { effects: Some(effects), ..Exchange::new(core, request, &grant)? };
    if let Ok(Resource::BelowTable(path)) = request.resource() {
        return Err(tables::below(core, &exchange, path));
    }
    let operation = request.operation()?;
    let resource = request.resource()?;
    grant.allows(operation, resource.table())?;
    match (resource, operation) {
        (Resource::Tables, Operation::ListTables) => tables::list(core, &exchange).await,
        (Resource::Tables, Operation::CreateTable) => tables::create(core, &exchange),
        (Resource::Table(name), Operation::GetTable) => tables::get(core, &exchange, name),
        (Resource::Table(name), Operation::DeleteTable) => {
            tables::delete(core, &exchange, name).await
        }
        (Resource::Entities(table), Operation::Query) => {
            // The future of a query is large, and most requests are not queries.
            Box::pin(query::query(core, &exchange, table, scan)).await
        }
        (Resource::Entity(path), Operation::Get) => entities::get(core, &exchange, path, scan),
        _ => entities::write(core, &exchange).await,
    }
}

/// The reply for a failure, in the format that the request accepts, if that is known.
pub(super) fn refusal(
    request: &ParsedRequest<'_>,
    failure: &Failure,
    request_id: &str,
    now: EdmDateTime,
) -> ResponseDraft {
    if let Some(reply) = request.dialect.refusal(request, failure, request_id) {
        return reply;
    }
    let protocol = request.protocol().ok();
    let is_xml = request.is_xml();
    let format = protocol.filter(|_| !is_xml || request.raw.accepts_json());
    let format = format.and_then(|protocol| protocol.format(&request.raw).ok());
    let mut reply = ResponseDraft::failure(failure, format, request_id, now);
    if failure.status == StatusCode::UNAUTHORIZED {
        reply.text_header(header::WWW_AUTHENTICATE, CHALLENGE);
    }
    if is_xml {
        reply.protection = Protection::None;
    }
    // The Table service itself does not name the code in a header (recorded in every other failure).
    if failure.stage == Stage::FrontEnd || is_xml && failure.stage != Stage::Version {
        reply.text_header(ERROR_CODE.clone(), &*failure.code);
    }
    if let Some(protocol) = protocol.filter(|_| failure.stage == Stage::Operation) {
        reply.preference_applied(protocol.preference(&request.raw));
    }
    reply
}

/// The complete response for a failure.
pub(super) fn refuse(
    request: &ParsedRequest<'_>,
    failure: &Failure,
    clock: &ServiceClock,
) -> HttpResponse {
    let request_id = clock.new_id();
    let reply = refusal(request, failure, &request_id, clock.edm_now());
    reply.finish(request, request_id, clock.date())
}
