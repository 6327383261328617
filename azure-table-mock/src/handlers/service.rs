//! The settings and the statistics of the service.
//!
//! Source: [Set Table Service Properties][properties] and [Get Table Service Stats][stats].
//!
//! [properties]: https://learn.microsoft.com/rest/api/storageservices/set-table-service-properties
//! [stats]: https://learn.microsoft.com/rest/api/storageservices/get-table-service-stats

use std::sync::Arc;

use http::StatusCode;

use crate::core::Core;
use crate::failure::Failure;
use crate::reply::ResponseDraft;
use crate::request::RawRequest;
use crate::service_properties::ServiceProperties;
use crate::store::JournalEntry;
use crate::wire::Location;
use crate::wire::headers;
use crate::xml;

/// The largest body of settings. The limits of its elements are stricter.
const MAX_BYTES: usize = 64 * 1024;

pub(super) fn properties(core: &Core, request: &RawRequest<'_>) -> Result<ResponseDraft, Failure> {
    let version = request.version()?;
    Ok(ResponseDraft::xml(core.store.service_properties().write(version)))
}

pub(super) fn set_properties(
    core: &Core,
    request: &RawRequest<'_>,
) -> Result<ResponseDraft, Failure> {
    request.check_xml()?;
    if request.body.len() > MAX_BYTES {
        return Err(Failure::body_too_large());
    }
    let version = request.version()?;
    let mut store = core.store.write();
    let mut properties = ServiceProperties::clone(store.service_properties());
    properties.update(request.body, version)?;
    let properties = Arc::new(properties);
    store.set_service_properties(Arc::clone(&properties));
    core.log(|| JournalEntry::ServiceProperties(Arc::clone(&properties)));
    Ok(ResponseDraft::of_service(StatusCode::ACCEPTED))
}

/// Reports the replication status, which only the secondary location knows.
pub(super) fn stats(core: &Core, location: Location) -> Result<ResponseDraft, Failure> {
    if location == Location::Primary {
        return Err(Failure::invalid_query_value());
    }
    Ok(ResponseDraft::xml(xml::document("StorageServiceStats", |document| {
        document.element("GeoReplication", |document| {
            let last_sync = core.store.last_sync_time(core.clock.now());
            document.leaf("Status", "live");
            document.leaf("LastSyncTime", &headers::http_date(last_sync));
        });
    })))
}
