//! Transactions whose responses are lost.

use azure_table_client::Confirmation;
use azure_table_client::mock::Fault;

use super::*;

const KEYS: [(&str, &str); 3] = [(BANK, "ann"), (BANK, "bob"), (BANK, "limit")];

/// A bank whose first response to a transaction is lost.
async fn lossy(write_ids: bool) -> (MockTableService, TableClient<Account>, TableClient<Account>) {
    let (mock, _, other) = bank(&[], &[("ann", 10), ("bob", 0), ("limit", 5)]).await;
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    let builder = mock.client_builder().retry(RetryPolicy::fixed(1, Duration::from_secs(1)));
    let builder = if write_ids { builder.write_id_column("WriteId") } else { builder };
    (mock, builder.build().unwrap().table_named("Accounts"), other)
}

#[tokio::test(start_paused = true)]
async fn a_change_with_a_lost_response_is_applied_once() {
    let (_, table, other) = lossy(false).await;
    let error = table.try_update_rows_with(KEYS, pay).await.unwrap_err();
    let Refused::Table(error) = error else { panic!("{error:?}") };
    assert!(error.is_precondition_failed(), "{error}");
    assert_eq!((error.outcome(), error.rounds(), error.attempts()), (Outcome::Unknown, 1, 2));
    assert_eq!(balances(&other).await, named(&[("ann", 7), ("bob", 3), ("limit", 5)]));
}

#[tokio::test(start_paused = true)]
async fn a_write_id_proves_a_change_with_a_lost_response() {
    let (_, table, other) = lossy(true).await;
    let paid = table.try_update_rows_with(KEYS, pay).await.unwrap();
    assert_eq!(balances(&other).await, named(&[("ann", 7), ("bob", 3), ("limit", 5)]));
    for row in &paid {
        assert_eq!((row.rounds(), row.response().confirmation), (1, Confirmation::WriteId));
        assert_eq!(row.etag, other.get(key(&row.name)).await.unwrap().etag);
    }
}

/// The id in the fence is enough if all changed rows are gone.
#[tokio::test(start_paused = true)]
async fn a_fence_has_the_write_id_too() {
    let (_, table, other) = lossy(true).await;
    let delete = |rows: &mut PartitionRows<Account>| {
        rows.delete("ann");
        rows.delete("bob");
    };
    let rows = table.update_rows_with(KEYS, delete).await.unwrap();
    assert_eq!(balances(&other).await, named(&[("limit", 5)]));
    let confirmations: Vec<_> = rows.iter().map(|row| row.response().confirmation).collect();
    assert_eq!(confirmations, [Confirmation::WriteId]);
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_change_continues_after_a_lost_response() {
    let set = |rows: &mut PartitionRows<Account>| {
        rows.get_mut("ann").unwrap().balance = 1;
        rows.get_mut("bob").unwrap().balance = 9;
    };
    let (_, table, other) = lossy(false).await;
    let rows = table.update_rows_with(KEYS, set).idempotent().await.unwrap();
    assert_eq!(balances(&other).await, named(&[("ann", 1), ("bob", 9), ("limit", 5)]));
    assert_eq!((rows.len(), rows[0].rounds()), (3, 1));
    assert_eq!(rows[0].response().confirmation, Confirmation::Comparison);
}

/// The transaction is applied and cannot be read back, and neither can the next round.
#[tokio::test(start_paused = true)]
async fn a_failed_read_after_a_lost_response_leaves_the_outcome_unknown() {
    let (mock, table, other) = lossy(false).await;
    let set = |rows: &mut PartitionRows<Account>| {
        rows.get_mut("ann").unwrap().balance = 1;
        mock.faults().add(Fault::error(403, "AuthorizationFailure").on_reads());
    };
    let error = table.update_rows_with(KEYS, set).idempotent().await.unwrap_err();
    assert_eq!((error.status(), error.rounds()), (Some(403), 2), "{error}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    mock.faults().remove_all();
    assert_eq!(balances(&other).await, named(&[("ann", 1), ("bob", 0), ("limit", 5)]));
}

/// A throttled transaction was not applied, so that its retry conflicts with nothing.
#[tokio::test(start_paused = true)]
async fn a_refused_transaction_is_sent_again() {
    let (mock, table, other) = bank(&[], &[("ann", 10), ("bob", 0)]).await;
    mock.faults().add(Fault::busy().on(Operation::Transaction).times(1));
    let paid = table.try_update_rows_with([KEYS[0], KEYS[1]], pay).await;
    assert!(paid.is_ok(), "{paid:?}");
    assert_eq!(balances(&other).await, named(&[("ann", 7), ("bob", 3)]));
}
