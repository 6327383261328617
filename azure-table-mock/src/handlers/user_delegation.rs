//! User delegation keys.
//!
//! Source: [Get User Delegation Key][get], and the sources in `auth/user_delegation.rs`. The service refuses a key that
//! would be valid for more than 7 days from now ([jschneier/django-storages#1525][seven]).
//!
//! [get]: https://learn.microsoft.com/rest/api/storageservices/get-user-delegation-key
//! [seven]: https://github.com/jschneier/django-storages/issues/1525

use crate::auth::delegation::{MAX_LIFETIME, is_part};
use crate::auth::read_time;
use crate::authorize::{DELEGATED_SERVICE, Grant};
use crate::core::Core;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::keys::DelegationKey;
use crate::reply::ResponseDraft;
use crate::request::{RawRequest, is_in_version};
use crate::wire::Operation;
use crate::wire::xml_tree::Element;
use crate::xml;

const MAX_BYTES: usize = 4 * 1024;

/// Issues a key to the identity of the token.
pub(super) fn key(
    core: &Core,
    request: &RawRequest<'_>,
    grant: &Grant,
) -> Result<ResponseDraft, Failure> {
    // The service reports that it supports only the scheme Bearer.
    let identity = grant.identity().ok_or_else(Failure::authentication_failed)?;
    let version = request.version()?;
    let version = version.filter(|_| is_in_version(Operation::GetUserDelegationKey, version));
    let version = version.ok_or_else(Failure::invalid_query_value)?;
    request.check_xml()?;
    if request.body.len() > MAX_BYTES {
        return Err(Failure::body_too_large());
    }
    let root = Element::read(request.body)?;
    xml::children(&root, "KeyInfo")?;
    let [start, expiry, user_tenant] = xml::fields(&root, ["Start", "Expiry", "DelegatedUserTid"])?;
    let now = core.clock.edm_now();
    // The clients of other services leave out the start of a key that is valid at once.
    let start = start.map(time).transpose()?.unwrap_or_else(|| now.whole_second());
    let expiry = time(expiry.ok_or_else(Failure::invalid_xml)?)?;
    let earliest = expiry.before(MAX_LIFETIME);
    let is_too_long = |from: EdmDateTime| from < earliest;
    if expiry <= start || is_too_long(start) || is_too_long(now) {
        return Err(Failure::invalid_xml_value());
    }
    let user_tenant = user_tenant.map(xml::leaf).transpose()?.map(str::trim);
    if user_tenant.is_some_and(|text| !text.is_empty() && !is_part(text)) {
        return Err(Failure::invalid_xml_value());
    }
    let user_tenant = user_tenant.unwrap_or_default();
    let (start, expiry) = (start.trimmed().to_string(), expiry.trimmed().to_string());
    let value = core.rules.keys.delegation_value(&DelegationKey {
        object_id: &identity.object_id,
        tenant_id: &identity.tenant_id,
        start: &start,
        expiry: &expiry,
        service: DELEGATED_SERVICE,
        version: version.as_str(),
        user_tenant,
    });
    Ok(ResponseDraft::xml(xml::document("UserDelegationKey", |document| {
        document.leaf("SignedOid", &identity.object_id);
        document.leaf("SignedTid", &identity.tenant_id);
        document.leaf("SignedStart", &start);
        document.leaf("SignedExpiry", &expiry);
        document.leaf("SignedService", DELEGATED_SERVICE);
        document.leaf("SignedVersion", version.as_str());
        if !user_tenant.is_empty() {
            document.leaf("SignedDelegatedUserTid", user_tenant);
        }
        document.leaf("Value", &value);
    })))
}

/// A time of the request, in whole seconds.
fn time(element: &Element) -> Result<EdmDateTime, Failure> {
    let text = xml::leaf(element)?.trim();
    let time = read_time(text).filter(|_| !text.contains('.'));
    time.ok_or_else(Failure::invalid_xml_value)
}
