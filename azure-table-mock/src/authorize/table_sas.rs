//! Shared access signatures for one table.
//!
//! Source: [Create a service SAS][sas]. The checks are in the order of the old storage emulator.
//!
//! [sas]: https://learn.microsoft.com/rest/api/storageservices/create-service-sas

use super::fields::{Restrictions, SasFields};
use super::grant::{Access, GrantedKeys, TableAccess};
use super::refused;
use crate::auth::sas_signature::{RESTRICTS_ORIGIN, for_table};
use crate::core::Core;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::policies::{AccessPolicy, TABLE_PERMISSIONS, are_ordered};
use crate::request::RawRequest;
use crate::wire::ServiceVersion;

/// The first version with table signatures.
const FIRST_VERSION: &str = "2012-02-12";

pub(super) fn check(
    core: &Core,
    fields: &SasFields<'_>,
    request: &RawRequest<'_>,
    now: EdmDateTime,
) -> Result<Access, Failure> {
    let identifier = fields.optional("si")?;
    let table = fields.mandatory("tn")?;
    let keys = key_range(fields)?;
    let version = fields.version(FIRST_VERSION)?;
    let mut restrictions = Restrictions::read(fields, version)?;
    let mut permissions = permissions(fields)?;
    restrictions.check_time(now)?;
    let text = for_table(core.rules.account(), &|name| fields.text(name));
    if !core.rules.keys.verify(&text, fields.mandatory("sig")?) {
        return Err(refused("the signature of the SAS does not match"));
    }
    if let Some(identifier) = identifier {
        let policies = core.store.read().table(table).map(|table| table.policies());
        let policy = policies.as_ref().and_then(|policies| policies.find(identifier));
        let policy = policy.ok_or_else(|| refused("the stored access policy does not exist"))?;
        apply(policy, &mut restrictions, &mut permissions)?;
        restrictions.check_time(now)?;
    }
    let (Some(permissions), Some(_)) = (permissions, restrictions.expiry) else {
        return Err(refused("neither the SAS nor its policy has permissions and an expiry"));
    };
    restrictions.check_origin(request)?;
    access(table, permissions, keys, request, version)
}

/// The access of a valid signature of this version.
pub(super) fn access(
    table: &str,
    permissions: String,
    keys: GrantedKeys,
    request: &RawRequest<'_>,
    version: &str,
) -> Result<Access, Failure> {
    let requested = request.version()?;
    let version = requested.as_ref().map_or(version, ServiceVersion::as_str);
    let reports_reason = version >= RESTRICTS_ORIGIN;
    Ok(Access::Table(TableAccess { table: table.to_owned(), permissions, keys, reports_reason }))
}

/// The permissions of the signature, if they are not in a policy.
pub(super) fn permissions(fields: &SasFields<'_>) -> Result<Option<String>, Failure> {
    let letters = fields.optional("sp")?;
    if letters.is_some_and(|letters| !are_ordered(letters, TABLE_PERMISSIONS)) {
        return Err(refused("the permissions of the SAS are unknown or in the wrong order"));
    }
    Ok(letters.map(str::to_owned))
}

/// Adds the fields of a policy. The signature must not have the same fields.
fn apply(
    policy: &AccessPolicy,
    restrictions: &mut Restrictions,
    permissions: &mut Option<String>,
) -> Result<(), Failure> {
    restrictions.start = either(restrictions.start, policy.start)?;
    restrictions.expiry = either(restrictions.expiry, policy.expiry)?;
    *permissions = either(permissions.take(), policy.permissions.clone())?;
    Ok(())
}

fn either<T>(of_signature: Option<T>, of_policy: Option<T>) -> Result<Option<T>, Failure> {
    if of_signature.is_some() && of_policy.is_some() {
        return Err(refused("the SAS and its stored access policy have the same field"));
    }
    Ok(of_signature.or(of_policy))
}

/// The key range. A RowKey needs a PartitionKey.
pub(super) fn key_range(fields: &SasFields<'_>) -> Result<GrantedKeys, Failure> {
    let bound = |partition: &str, row: &str| match (fields.get(partition), fields.get(row)) {
        (None, Some(_)) => Err(refused("the SAS has a RowKey without a PartitionKey")),
        (None, None) => Ok(None),
        (Some(partition), row) => Ok(Some((partition.to_owned(), row.map(str::to_owned)))),
    };
    Ok(GrantedKeys { first: bound("spk", "srk")?, last: bound("epk", "erk")? })
}
