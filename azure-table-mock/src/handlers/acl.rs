//! The stored access policies of a table.
//!
//! Source: [Get Table ACL][get] and [Set Table ACL][set]. The live test of the official Python client for tokens of Entra ID
//! (`test_aad_access_policy_error`) uses a table that does not exist, so it passes whether the service accepts them or not.
//!
//! [get]: https://learn.microsoft.com/rest/api/storageservices/get-table-acl
//! [set]: https://learn.microsoft.com/rest/api/storageservices/set-table-acl

use std::sync::Arc;

use http::{StatusCode, header};

use crate::core::Core;
use crate::failure::Failure;
use crate::limits::check_table_name;
use crate::policies::Policies;
use crate::reply::ResponseDraft;
use crate::request::RawRequest;
use crate::store::JournalEntry;

/// The largest body of a list of policies. The limits of its elements are stricter.
const MAX_BYTES: usize = 10_000;

pub(super) fn get(
    core: &Core,
    request: &RawRequest<'_>,
    table: &str,
) -> Result<ResponseDraft, Failure> {
    check_media_types(request)?;
    check_table_name(table)?;
    let policies = core.store.read().existing_table(table, core.clock.now())?.policies();
    Ok(ResponseDraft::xml(policies.write()))
}

pub(super) fn set(
    core: &Core,
    request: &RawRequest<'_>,
    table: &str,
) -> Result<ResponseDraft, Failure> {
    check_media_types(request)?;
    check_table_name(table)?;
    if request.body.len() > MAX_BYTES {
        return Err(Failure::body_too_large());
    }
    let policies = Policies::read(request.body)?;
    let store = core.store.write();
    let table = store.existing_table(table, core.clock.now())?;
    table.set_policies(Arc::new(policies));
    core.log(|| JournalEntry::Policies { table: table.name().clone(), policies: table.policies() });
    Ok(ResponseDraft::of_service(StatusCode::NO_CONTENT))
}

/// Checks that the body and the accepted response are XML. Both headers are optional. The service refuses `*/*`
/// (recorded in `test_set_table_acl_with_signed_identifiers` of 2020).
fn check_media_types(request: &RawRequest<'_>) -> Result<(), Failure> {
    request.check_xml()?;
    let is_xml = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/xml")
    };
    match request.header(&header::ACCEPT).filter(|kinds| !kinds.trim().is_empty()) {
        Some(kinds) if !kinds.split(',').any(is_xml) => Err(Failure::media_type_not_supported()),
        _ => Ok(()),
    }
}
