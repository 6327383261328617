//! Shared access signatures for one table.
//!
//! Source: [Create a service SAS][sas]; the order of the checks is that of the old storage emulator.
//!
//! [sas]: https://learn.microsoft.com/rest/api/storageservices/create-service-sas

use super::super::MockTableService;
use super::super::failure::Failure;
use super::super::policies::{Policy, TABLE_PERMISSIONS, are_ordered};
use super::super::request::Incoming;
use super::fields::Fields;
use super::grant::{KeyRange, Scope, TableScope};
use super::refused;
use super::terms::Terms;
use crate::auth::{RESTRICTS_ORIGIN, TableSasFields};
use crate::edm::EdmDateTime;
use crate::wire::ServiceVersion;

/// The first version with signatures for tables.
const FIRST_VERSION: &str = "2012-02-12";

pub(super) fn check(
    service: &MockTableService,
    fields: &Fields<'_>,
    request: &Incoming<'_>,
    now: EdmDateTime,
) -> Result<Scope, Failure> {
    let identifier = fields.optional("si")?;
    let table = fields.mandatory("tn")?;
    let keys = key_range(fields)?;
    let version = fields.version(FIRST_VERSION)?;
    let mut terms = Terms::read(fields, version)?;
    let mut permissions = fields.optional("sp")?.map(str::to_owned);
    if permissions.as_deref().is_some_and(|letters| !are_ordered(letters, TABLE_PERMISSIONS)) {
        return Err(refused("the permissions of the SAS are none, or in another order"));
    }
    terms.check_time(now)?;
    let text = signed(service.account(), fields).string_to_sign();
    if !service.0.credential.verify(&text, fields.mandatory("sig")?) {
        return Err(refused("the SAS has another signature"));
    }
    if let Some(identifier) = identifier {
        let policies = service.store().table(table).map(|table| table.policies());
        let policy = policies.as_ref().and_then(|policies| policies.find(identifier));
        let policy = policy.ok_or_else(|| refused("there is no such stored access policy"))?;
        apply(policy, &mut terms, &mut permissions)?;
        terms.check_time(now)?;
    }
    let (Some(permissions), Some(_)) = (permissions, terms.expiry) else {
        return Err(refused("neither the SAS nor a policy says its permissions and its expiry"));
    };
    terms.check_origin(request)?;
    let spoken = request.version()?;
    Ok(Scope::Table(TableScope {
        table: table.to_owned(),
        permissions,
        keys,
        is_found_out: spoken.as_ref().map_or(version, ServiceVersion::as_str) >= RESTRICTS_ORIGIN,
    }))
}

fn signed<'f>(account: &'f str, fields: &'f Fields<'_>) -> TableSasFields<'f> {
    TableSasFields {
        account,
        table: fields.text("tn"),
        version: fields.text("sv"),
        permissions: fields.text("sp"),
        start: fields.text("st"),
        expiry: fields.text("se"),
        identifier: fields.text("si"),
        ip: fields.text("sip"),
        protocol: fields.text("spr"),
        start_partition_key: fields.text("spk"),
        start_row_key: fields.text("srk"),
        end_partition_key: fields.text("epk"),
        end_row_key: fields.text("erk"),
    }
}

/// Adds what a policy says; the signature may not say it too.
fn apply(
    policy: &Policy,
    terms: &mut Terms,
    permissions: &mut Option<String>,
) -> Result<(), Failure> {
    terms.start = either(terms.start, policy.start)?;
    terms.expiry = either(terms.expiry, policy.expiry)?;
    *permissions = either(permissions.take(), policy.permissions.clone())?;
    Ok(())
}

fn either<T>(of_signature: Option<T>, of_policy: Option<T>) -> Result<Option<T>, Failure> {
    if of_signature.is_some() && of_policy.is_some() {
        return Err(refused("both the SAS and its stored access policy say the same field"));
    }
    Ok(of_signature.or(of_policy))
}

/// The keys that can be reached. A RowKey is a bound only beside its PartitionKey.
fn key_range(fields: &Fields<'_>) -> Result<KeyRange, Failure> {
    let bound = |partition: &str, row: &str| match (fields.get(partition), fields.get(row)) {
        (None, Some(_)) => Err(refused("the SAS bounds RowKeys without a PartitionKey")),
        (None, None) => Ok(None),
        (Some(partition), row) => Ok(Some((partition.to_owned(), row.map(str::to_owned)))),
    };
    Ok(KeyRange { first: bound("spk", "srk")?, last: bound("epk", "erk")? })
}
