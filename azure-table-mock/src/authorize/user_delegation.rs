//! Shared access signatures for one table with a user delegation key.
//!
//! Source: `auth/user_delegation.rs` lists the sources. The order of the checks is that of other signatures.

use super::fields::{Restrictions, SasFields};
use super::grant::Access;
use super::table_sas::{access, key_range, permissions};
use super::token::TokenIdentity;
use super::{DELEGATED_SERVICE, refused};
use crate::auth::sas_signature::{HAS_USER_DELEGATION, for_user_delegation};
use crate::core::Core;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::keys::DelegationKey;
use crate::request::RawRequest;

/// Returns `true` if the signature is bound to a user.
pub(super) fn is_bound(request: &RawRequest<'_>) -> bool {
    request.option("sduoid").is_some()
}

/// Checks a signature. `user` is the user whose token the request has too.
pub(super) fn check(
    core: &Core,
    fields: &SasFields<'_>,
    request: &RawRequest<'_>,
    now: EdmDateTime,
    user: Option<&TokenIdentity>,
) -> Result<Access, Failure> {
    if !core.rules.dialect.has_user_delegation() {
        return Err(refused("this service has no user delegation keys"));
    }
    if fields.get("si").is_some() {
        return Err(refused("a SAS with a user delegation key cannot have a stored access policy"));
    }
    let table = fields.mandatory("tn")?;
    let keys = key_range(fields)?;
    let version = fields.version(HAS_USER_DELEGATION)?;
    let key = key(fields)?;
    let restrictions = Restrictions::read(fields, version)?;
    let permissions = permissions(fields)?;
    restrictions.check_time(now)?;
    let (start, expiry) = (fields.time("skt")?, fields.time("ske")?);
    if start.is_none_or(|start| now < start) || expiry.is_none_or(|expiry| expiry <= now) {
        return Err(refused("the user delegation key of the SAS is not valid now"));
    }
    let account = &core.rules.keys;
    let text = for_user_delegation(account.account(), &|name| fields.text(name));
    if !account.verify_delegated(&key, &text, fields.mandatory("sig")?) {
        return Err(refused("the signature of the SAS does not match"));
    }
    let (Some(permissions), Some(_)) = (permissions, restrictions.expiry) else {
        return Err(refused("the SAS has no permissions or no expiry"));
    };
    check_user(fields, &key, user)?;
    restrictions.check_origin(request)?;
    access(table, permissions, keys, request, version)
}

/// The parts of the key that made the signature.
fn key<'f>(fields: &'f SasFields<'_>) -> Result<DelegationKey<'f>, Failure> {
    let key = DelegationKey {
        object_id: fields.mandatory("skoid")?,
        tenant_id: fields.mandatory("sktid")?,
        start: fields.mandatory("skt")?,
        expiry: fields.mandatory("ske")?,
        service: fields.mandatory("sks")?,
        version: fields.version_in("skv", HAS_USER_DELEGATION)?,
        user_tenant: fields.optional("skdutid")?.unwrap_or_default(),
    };
    if key.service != DELEGATED_SERVICE {
        return Err(refused("the user delegation key of the SAS is for another service"));
    }
    Ok(key)
}

/// Checks that the user that the signature is bound to sent the request.
fn check_user(
    fields: &SasFields<'_>,
    key: &DelegationKey<'_>,
    user: Option<&TokenIdentity>,
) -> Result<(), Failure> {
    let Some(object_id) = fields.optional("sduoid")? else { return Ok(()) };
    let tenant_id = if key.user_tenant.is_empty() { key.tenant_id } else { key.user_tenant };
    let is_user = user.is_some_and(|user| {
        user.object_id.eq_ignore_ascii_case(object_id)
            && user.tenant_id.eq_ignore_ascii_case(tenant_id)
    });
    is_user
        .then_some(())
        .ok_or_else(|| refused("the SAS is bound to a user, whose token is missing"))
}
