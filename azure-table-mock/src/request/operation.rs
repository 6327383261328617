//! The requested operation.

use http::header;

use super::{RawRequest, Resource};
use crate::failure::Failure;
use crate::wire::Operation;

/// # Errors
/// The resource does not support the verb, or `comp` is unknown.
pub(super) fn of(
    request: &RawRequest<'_>,
    verb: &str,
    resource: &Resource,
) -> Result<Operation, Failure> {
    if matches!(resource, Resource::BelowTable(_)) {
        return Err(Failure::table_not_found());
    }
    if names_component(request, Some(resource)) {
        return of_component(request, verb, resource);
    }
    let is_conditional = request.headers.contains(&header::IF_MATCH);
    Ok(match (resource, verb) {
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
        _ => return Err(Failure::unsupported_verb()),
    })
}

/// Whether the request is about the service or about a component of a table, such as its access policies.
pub(super) fn names_component(request: &RawRequest<'_>, resource: Option<&Resource>) -> bool {
    resource == Some(&Resource::Service) || request.comp().is_some()
}

/// The operation on the component that `comp` names.
fn of_component(
    request: &RawRequest<'_>,
    verb: &str,
    resource: &Resource,
) -> Result<Operation, Failure> {
    let comp = request.comp().ok_or_else(Failure::invalid_uri)?;
    let is_service = request.option("restype").is_some_and(|kind| kind == "service");
    let is = |name: &str| comp.eq_ignore_ascii_case(name);
    match (resource, verb) {
        (Resource::Entities(_), verb) if is("acl") => match verb {
            "GET" | "HEAD" => Ok(Operation::GetTableAcl),
            "PUT" => Ok(Operation::SetTableAcl),
            _ => Err(Failure::unsupported_verb()),
        },
        (Resource::Service, verb) if is_service && is("properties") => match verb {
            "GET" => Ok(Operation::GetServiceProperties),
            "PUT" => Ok(Operation::SetServiceProperties),
            _ => Err(Failure::unsupported_verb()),
        },
        (Resource::Service, verb) if is_service && is("stats") => match verb {
            "GET" => Ok(Operation::GetStats),
            _ => Err(Failure::unsupported_verb()),
        },
        (Resource::Service, verb) if is_service && is("userdelegationkey") => match verb {
            "POST" => Ok(Operation::GetUserDelegationKey),
            _ => Err(Failure::unsupported_verb()),
        },
        _ => Err(Failure::invalid_query_value()),
    }
}
