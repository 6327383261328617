//! Rows outside the partition of a lease, which refuse the tokens of earlier holders.

use azure_table_client::{
    DynamicEntity, EntityKey, Outcome, Proof, TableClient, TableEntity, Written,
};

use crate::delivery::was_never_applied;
use crate::{Error, backoff};

const TOKEN: &str = "LeaseToken";
/// The number of times that another write may intervene.
const ROUNDS: u32 = 10;

/// The column of a fenced row.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Fenced {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    lease_token: Option<i64>,
}

/// Merges an entity into its row, in any table, unless the row has seen a newer token. Inserts the row if it does not
/// exist.
///
/// The row carries the newest token that it has seen in its column `LeaseToken` (Int64). After a write with a token, no
/// write with an older token is applied to the row, not even late. The row refuses nothing before that: a new holder
/// first writes each row that it will rely on. A row that is deleted forgets its token.
///
/// If the outcome is unknown, the call can be repeated: it sets the same values.
///
/// ```
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # use azure_table_patterns::lease::{self, Lease};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let service = MockTableService::new().client();
/// # let locks = service.table_named::<DynamicEntity>("Locks");
/// # let devices = service.table_named::<DynamicEntity>("Devices");
/// # locks.create().await?;
/// # devices.create().await?;
/// let mut first = Lease::new(&locks, ("devices", "7"), Duration::from_secs(30))?;
/// let mut second = Lease::new(&locks, ("devices", "7"), Duration::from_secs(30))?;
/// let Some(guard) = first.acquire_now().await? else { return Ok(()) };
/// let old = guard.token();
/// guard.release().await?;
///
/// let Some(guard) = second.acquire_now().await? else { return Ok(()) };
/// let state = DynamicEntity::new("devices", "7").with("State", "on");
/// lease::merge_fenced(&devices, &state, guard.token()).await?;
/// let refused = lease::merge_fenced(&devices, &state, old).await;
/// assert!(refused.is_err());
/// # guard.release().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Lost`](Error::Lost) if the row has seen a newer token. 412, with an unknown outcome, after 10 rounds if other
/// programs write the row: unlike for [`Contended`](Error::Contended), a proxy may have delivered one of the writes twice.
/// A request failed. [`InvalidInput`](Error::InvalidInput), before anything is sent: the
/// entity has a column `LeaseToken`.
pub async fn merge_fenced<T: TableEntity>(
    table: &TableClient<T>,
    entity: &T,
    token: i64,
) -> Result<Written, Error> {
    let row = DynamicEntity::from_entity(entity)?;
    if row.value(TOKEN).is_some() {
        return Err(Error::invalid_input(format!("only `merge_fenced` writes `{TOKEN}`")));
    }
    let row = row.with(TOKEN, token);
    let key: &EntityKey = row.key();
    let (rows, fenced) = (table.with_entity::<DynamicEntity>(), table.with_entity::<Fenced>());
    let mut round = 1;
    loop {
        // A proxy that delivers a request twice returns the refusal of the second delivery.
        let report = |error| Error::from(error).unless_proved(round > 1);
        let found = fenced.get_if_exists(key).primary_only().await.map_err(report)?;
        if found.as_ref().and_then(|found| found.lease_token).is_some_and(|seen| seen > token) {
            let outcome = if round == 1 { Outcome::NotApplied } else { Outcome::Unknown };
            return Err(Error::Lost { token, outcome });
        }
        let written = match &found {
            Some(found) => rows.merge(&row, &found.etag).proof(Proof::MatchingUpdate).await,
            None => rows.insert(&row).await,
        };
        match written {
            Ok(written) => return Ok(written),
            Err(error) => {
                let is_lost_race =
                    error.is_conflict() || error.is_precondition_failed() || error.is_not_found();
                if !is_lost_race || error.outcome() != Outcome::NotApplied || round == ROUNDS {
                    let is_open = round > 1 || !was_never_applied(&error);
                    return Err(Error::from(error).unless_proved(is_open));
                }
            }
        }
        backoff::pause(table.clock(), round).await;
        round += 1;
    }
}
