//! Shared access signatures for an account.
//!
//! Source: [Create an account SAS][sas]; the order of the checks is that of the old storage emulator.
//!
//! [sas]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas

use super::super::failure::Failure;
use super::super::request::Incoming;
use super::fields::Fields;
use super::grant::{AccountScope, Scope};
use super::refused;
use super::terms::Terms;
use crate::auth::{AccountSasFields, HAS_ENCRYPTION_SCOPE, RESTRICTS_ORIGIN, SharedKey};
use crate::edm::EdmDateTime;

/// Every permission that one of the services of an account has.
const PERMISSIONS: &str = "rwdlacuptfxyimeo";
const SERVICES: &str = "bqtf";
const RESOURCE_TYPES: &str = "sco";

pub(super) fn check(
    key: &SharedKey,
    fields: &Fields<'_>,
    request: &Incoming<'_>,
    now: EdmDateTime,
) -> Result<Scope, Failure> {
    let version = fields.version(RESTRICTS_ORIGIN)?;
    let terms = Terms::read(fields, version)?;
    let services = letters(fields, "ss", SERVICES)?;
    let resource_types = letters(fields, "srt", RESOURCE_TYPES)?;
    let permissions = letters(fields, "sp", PERMISSIONS)?;
    if fields.get("ses").is_some() && version < HAS_ENCRYPTION_SCOPE {
        return Err(refused("the version of the SAS has no encryption scopes"));
    }
    fields.mandatory("se")?;
    terms.check_time(now)?;
    let text = signed(key.account(), fields).string_to_sign();
    if !key.verify(&text, fields.mandatory("sig")?) {
        return Err(refused("the SAS has another signature"));
    }
    terms.check_origin(request)?;
    if !services.contains('t') {
        return Err(Failure::service_mismatch());
    }
    Ok(Scope::Account(AccountScope {
        resource_types: resource_types.to_owned(),
        permissions: permissions.to_owned(),
    }))
}

fn signed<'f>(account: &'f str, fields: &'f Fields<'_>) -> AccountSasFields<'f> {
    AccountSasFields {
        account,
        version: fields.text("sv"),
        permissions: fields.text("sp"),
        services: fields.text("ss"),
        resource_types: fields.text("srt"),
        start: fields.text("st"),
        expiry: fields.text("se"),
        ip: fields.text("sip"),
        protocol: fields.text("spr"),
        encryption_scope: fields.text("ses"),
    }
}

/// Some of the letters of `known`, each once, in any order.
fn letters<'f>(fields: &'f Fields<'_>, name: &str, known: &str) -> Result<&'f str, Failure> {
    let text = fields.mandatory(name)?;
    let is_new =
        |(at, letter): (usize, char)| known.contains(letter) && !text[..at].contains(letter);
    if !text.char_indices().all(is_new) {
        return Err(refused("a field of the SAS has a letter twice, or an unknown one"));
    }
    Ok(text)
}
