//! `sas`: shared access signatures.

use std::time::Duration;

use azure_table_client::auth::{
    AccountPermissions, AccountSas, ResourceTypes, SasProtocol, SasToken, TableSas,
};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::{DynamicEntity, RetryPolicy, TableServiceClient};

use crate::args::{Globals, Sas};
use crate::engine::permissions::{end, set, table_permissions};
use crate::failure::{Failure, Result};
use crate::output::{Out, note, one_line};

pub(crate) async fn run(args: Sas, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    check_protocol(service.endpoint(), &args, globals)?;
    let expiry = args.expires.map(end).transpose()?;
    let token = match &args.table {
        None => service.sign_account_sas(&account(&args, expiry)?)?,
        Some(name) => {
            let sas = table(name, &args, expiry)?;
            if args.user_delegation {
                delegated(&service, &sas, expiry).await?
            } else {
                service.sign_table_sas(&sas)?
            }
        }
    };
    let mut out = Out::new();
    if args.url {
        out.put(&format!("{}/{}?", service.endpoint(), args.table.as_deref().unwrap_or_default()))?;
    }
    out.put(token.as_query())?;
    out.put("\n")?;
    out.flush()?;
    if let (Some(table), Some(policy)) = (&args.table, &args.policy)
        && !globals.quiet
    {
        note_missing_policy(&service, table, policy, globals).await;
    }
    Ok(())
}

/// The longest time of the request for the policies. The signature is printed already, and needs none.
const POLICIES_DEADLINE: Duration = Duration::from_secs(3);

/// Notes that the table does not have the policy, if the service can be asked.
async fn note_missing_policy(
    service: &TableServiceClient,
    table: &str,
    policy: &str,
    globals: &Globals,
) {
    let policies = service.table_named::<DynamicEntity>(table).access_policies();
    let policies = policies.retry(RetryPolicy::none()).deadline(POLICIES_DEADLINE).await;
    if policies.is_ok_and(|policies| policies.iter().all(|known| known.id != policy)) {
        let text = format!(
            "the table {} has no policy {policy:?}: the signature is refused until `policies set` adds it",
            one_line(table)
        );
        note(globals, &text);
    }
}

/// A signature for HTTPS does not work at an address of plain HTTP, where emulators listen.
fn check_protocol(endpoint: &str, args: &Sas, globals: &Globals) -> Result<()> {
    if args.http || !endpoint.starts_with("http://") {
        return Ok(());
    }
    let message = "the signature permits HTTPS only, and the address of the service is plain HTTP: add --http";
    if args.url {
        return Err(Failure::usage(message));
    }
    note(globals, message);
    Ok(())
}

/// The setters that both kinds of signatures have.
macro_rules! terms {
    ($sas:expr, $args:expr, $expiry:expr) => {{
        let mut sas =
            $sas.protocol(if $args.http { SasProtocol::HttpsAndHttp } else { SasProtocol::Https });
        if let Some(expiry) = $expiry {
            sas = sas.expires_at(expiry);
        }
        if let Some(start) = $args.starts {
            sas = sas.starts_at(start);
        }
        if let Some(addresses) = &$args.ip {
            sas = sas.addresses(addresses.0.clone());
        }
        sas
    }};
}

/// A setter of `TableSas`.
type Setter = fn(TableSas, String) -> TableSas;

fn account(args: &Sas, expiry: Option<EdmDateTime>) -> Result<AccountSas> {
    let letters = args.permissions.as_deref().unwrap_or_default();
    let permissions = set(
        "permissions",
        letters,
        &[
            ('r', AccountPermissions::READ),
            ('w', AccountPermissions::WRITE),
            ('d', AccountPermissions::DELETE),
            ('l', AccountPermissions::LIST),
            ('a', AccountPermissions::ADD),
            ('c', AccountPermissions::CREATE),
            ('u', AccountPermissions::UPDATE),
        ],
    )?;
    let types =
        [('s', ResourceTypes::SERVICE), ('c', ResourceTypes::TABLE), ('o', ResourceTypes::ENTITY)];
    let types = args.resource_types.as_ref().map(|letters| set("resource types", letters, &types));
    Ok(terms!(
        AccountSas::new(permissions, types.transpose()?.unwrap_or(ResourceTypes::ALL)),
        args,
        expiry
    ))
}

fn table(name: &str, args: &Sas, expiry: Option<EdmDateTime>) -> Result<TableSas> {
    let permissions = table_permissions(args.permissions.as_deref().unwrap_or_default())?;
    let mut sas = terms!(TableSas::new(name).permissions(permissions), args, expiry);
    let fields: [(&Option<String>, Setter); 6] = [
        (&args.policy, TableSas::policy),
        (&args.partition_key, TableSas::partition_key),
        (&args.start_partition_key, TableSas::start_partition_key),
        (&args.start_row_key, TableSas::start_row_key),
        (&args.end_partition_key, TableSas::end_partition_key),
        (&args.end_row_key, TableSas::end_row_key),
    ];
    for (value, set) in fields {
        if let Some(value) = value {
            sas = set(sas, value.clone());
        }
    }
    Ok(sas)
}

#[cfg(feature = "entra")]
async fn delegated(
    service: &TableServiceClient,
    sas: &TableSas,
    expiry: Option<EdmDateTime>,
) -> Result<SasToken> {
    use azure_table_client::auth::UserDelegationKeyRequest;
    // clap requires an expiry without a policy.
    let request = UserDelegationKeyRequest::until(expiry.unwrap_or(EdmDateTime::MIN));
    let key = service.user_delegation_key(&request).await?;
    sas.sign_delegated(&key).map_err(|error| azure_table_client::Error::from(error).into())
}

#[cfg(not(feature = "entra"))]
#[expect(clippy::unused_async, reason = "the signature is that of the feature")]
async fn delegated(
    _: &TableServiceClient,
    _: &TableSas,
    _: Option<EdmDateTime>,
) -> Result<SasToken> {
    Err(crate::connect::without_entra())
}
