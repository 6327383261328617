//! Shared access signatures for an account.
//!
//! Source: [Create an account SAS][sas]. The checks are in the order of the old storage emulator.
//!
//! [sas]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas

use super::fields::{Restrictions, SasFields};
use super::grant::{Access, AccountAccess};
use super::refused;
use crate::auth::sas_signature::{HAS_ENCRYPTION_SCOPE, RESTRICTS_ORIGIN, for_account};
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::keys::AccountKeys;
use crate::request::RawRequest;

/// The permissions of all services of an account.
const PERMISSIONS: &str = "rwdlacuptfxyimeo";
const SERVICES: &str = "bqtf";
const RESOURCE_TYPES: &str = "sco";

pub(super) fn check(
    keys: &AccountKeys,
    fields: &SasFields<'_>,
    request: &RawRequest<'_>,
    now: EdmDateTime,
) -> Result<Access, Failure> {
    let version = fields.version(RESTRICTS_ORIGIN)?;
    let restrictions = Restrictions::read(fields, version)?;
    let services = letters(fields, "ss", SERVICES)?;
    let resource_types = letters(fields, "srt", RESOURCE_TYPES)?;
    let permissions = letters(fields, "sp", PERMISSIONS)?;
    if fields.get("ses").is_some() && version < HAS_ENCRYPTION_SCOPE {
        return Err(refused("the version of the SAS does not support encryption scopes"));
    }
    fields.mandatory("se")?;
    restrictions.check_time(now)?;
    let text = for_account(keys.account(), &|name| fields.text(name));
    if !keys.verify(&text, fields.mandatory("sig")?) {
        return Err(refused("the signature of the SAS does not match"));
    }
    restrictions.check_origin(request)?;
    if !services.contains('t') {
        return Err(Failure::service_mismatch());
    }
    Ok(Access::Account(AccountAccess {
        resource_types: resource_types.to_owned(),
        permissions: permissions.to_owned(),
    }))
}

/// A field with letters of `known`, each at most once, in any order.
fn letters<'f>(fields: &'f SasFields<'_>, name: &str, known: &str) -> Result<&'f str, Failure> {
    let text = fields.mandatory(name)?;
    let is_new =
        |(at, letter): (usize, char)| known.contains(letter) && !text[..at].contains(letter);
    if !text.char_indices().all(is_new) {
        return Err(refused("a field of the SAS has a duplicate or unknown letter"));
    }
    Ok(text)
}
