//! Requests whose documents are XML whatever version and format: stored access policies, and the
//! settings and statistics of the service.
//!
//! Source: [Set Table ACL][acl], [Set Table Service Properties][properties] and [Get Table Service
//! Stats][stats].
//!
//! [acl]: https://learn.microsoft.com/rest/api/storageservices/set-table-acl
//! [properties]: https://learn.microsoft.com/rest/api/storageservices/set-table-service-properties
//! [stats]: https://learn.microsoft.com/rest/api/storageservices/get-table-service-stats

use std::sync::Arc;

use http::{StatusCode, header};

use super::MockTableService;
use super::authorize::Grant;
use super::failure::Failure;
use super::place::Place;
use super::policies::Policies;
use super::reply::Reply;
use super::request::{Incoming, Resource};
use super::service_properties::ServiceProperties;
use super::store::Entry;
use crate::limits::check_table_name;
use crate::wire::xml_tree::Document;
use crate::wire::{Operation, headers};

/// The largest list of stored access policies; the limits of what is in it are narrower.
const MAX_POLICIES_BYTES: usize = 10_000;
/// The largest settings; the limits of what is in them are narrower.
const MAX_PROPERTIES_BYTES: usize = 64 * 1024;

/// What a request with `comp`, or for the account itself, asks for.
///
/// # Errors
/// It asks for nothing that there is.
pub(super) fn operation(
    request: &Incoming<'_>,
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
        _ => Err(Failure::invalid_query_value()),
    }
}

impl MockTableService {
    /// Answers what [`operation`] found.
    pub(super) fn answer_in_xml(
        &self,
        request: &Incoming<'_>,
        grant: &Grant,
        operation: Operation,
        resource: &Resource,
    ) -> Result<Reply, Failure> {
        let table = resource.table();
        grant.allows(operation, table)?;
        let name = table.unwrap_or_default();
        match operation {
            Operation::GetTableAcl => self.get_acl(request, name),
            Operation::SetTableAcl => self.set_acl(request, name),
            Operation::GetServiceProperties => {
                let version = request.version()?;
                Ok(Reply::xml(self.service_properties().write(version)))
            }
            Operation::SetServiceProperties => self.set_service_properties(request),
            Operation::GetStats => self.stats(grant),
            _ => Err(Failure::not_implemented()),
        }
    }

    fn get_acl(&self, request: &Incoming<'_>, table: &str) -> Result<Reply, Failure> {
        check_media_types(request)?;
        check_table_name(table)?;
        let policies = self.store().entities_of(table, self.now())?.policies();
        Ok(Reply::xml(policies.write()))
    }

    fn set_acl(&self, request: &Incoming<'_>, table: &str) -> Result<Reply, Failure> {
        check_media_types(request)?;
        check_table_name(table)?;
        if request.body.len() > MAX_POLICIES_BYTES {
            return Err(Failure::body_too_large());
        }
        let policies = Policies::read(request.body)?;
        let store = self.store_mut();
        let table = store.entities_of(table, self.now())?;
        table.set_policies(Arc::new(policies));
        self.note(|| Entry::Policies { table: table.name().clone(), policies: table.policies() });
        Ok(Reply::of_service(StatusCode::NO_CONTENT))
    }

    fn set_service_properties(&self, request: &Incoming<'_>) -> Result<Reply, Failure> {
        if request.body.len() > MAX_PROPERTIES_BYTES {
            return Err(Failure::body_too_large());
        }
        let version = request.version()?;
        let mut store = self.store_mut();
        let mut properties = ServiceProperties::clone(store.service_properties());
        properties.update(request.body, version)?;
        let properties = Arc::new(properties);
        store.set_service_properties(Arc::clone(&properties));
        self.note(|| Entry::ServiceProperties(Arc::clone(&properties)));
        Ok(Reply::of_service(StatusCode::ACCEPTED))
    }

    /// The settings of the service.
    pub(super) fn service_properties(&self) -> Arc<ServiceProperties> {
        Arc::clone(self.store().service_properties())
    }

    /// How far the copy is behind, which only the copy says.
    fn stats(&self, grant: &Grant) -> Result<Reply, Failure> {
        if grant.place == Place::Primary {
            return Err(Failure::invalid_query_value());
        }
        let mut document = Document::of_service();
        document.element("StorageServiceStats", |document| {
            document.element("GeoReplication", |document| {
                document.leaf("Status", "live");
                document.leaf("LastSyncTime", &headers::http_date(self.last_sync_time()));
            });
        });
        Ok(Reply::xml(document.into_bytes()))
    }
}

/// Whether the request takes XML, and sends nothing else; it need not say so, and some clients name
/// JSON where they send nothing. Only requests about policies are asked.
fn check_media_types(request: &Incoming<'_>) -> Result<(), Failure> {
    let is_xml = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/xml")
    };
    let sent = request.header(&header::CONTENT_TYPE);
    let sent = sent.filter(|kind| !kind.trim().is_empty() && !request.body.is_empty());
    let taken = request.header(&header::ACCEPT).filter(|kinds| !kinds.trim().is_empty());
    let takes_xml = |kinds: &str| {
        let any = ["*/*", "application/*"];
        kinds.split(',').any(|kind| is_xml(kind) || any.contains(&kind.trim()))
    };
    if sent.is_some_and(|kind| !is_xml(kind)) || taken.is_some_and(|kinds| !takes_xml(kinds)) {
        return Err(Failure::media_type_not_supported());
    }
    Ok(())
}
