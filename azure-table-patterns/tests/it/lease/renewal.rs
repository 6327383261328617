//! Guards that commit while they are renewed.

use std::time::Duration;

use azure_table_client::mock::Fault;
use azure_table_client::{DynamicEntity, Operation, Outcome};
use azure_table_patterns::Error;
use azure_table_patterns::lease::Lease;
use tokio::time::sleep;

use super::{KEY, LEASES, TTL, acquired, lease, stored, table};

fn row(name: &str) -> DynamicEntity {
    DynamicEntity::new(KEY.0, name)
}

#[tokio::test(start_paused = true)]
async fn a_guard_commits_while_it_holds_work() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let mut contender = lease(&table);
    let work = async {
        for step in 0..10 {
            sleep(TTL).await;
            guard.commit(|tx| tx.insert(&row(&format!("step{step}")))).await?;
        }
        Ok::<_, Error>(())
    };
    let (held, acquired) = tokio::join!(guard.hold(work), contender.acquire(TTL * 10));
    held.unwrap().unwrap();
    assert!(acquired.unwrap().is_none());
    assert_eq!(mock.row_count(LEASES), Some(11));
}

#[tokio::test(start_paused = true)]
async fn a_task_renews_a_guard_until_the_guard_is_dropped() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let renewed = tokio::spawn(guard.renewal());
    for step in 0..5 {
        sleep(TTL * 2).await;
        assert!(guard.is_valid());
        guard.commit(|tx| tx.insert(&row(&format!("step{step}")))).await.unwrap();
    }
    assert!(!renewed.is_finished());
    // No renewal is in flight.
    sleep(Duration::from_secs(1)).await;
    drop(guard);
    let sent = mock.requests().total();
    sleep(TTL).await;
    assert!(renewed.is_finished());
    assert_eq!(mock.requests().total(), sent);
    // The renewal that is dropped first leaves the guard alone.
    let guard = acquired(&mut Lease::new(&table, ("p", "other"), TTL).unwrap()).await;
    drop(guard.renewal());
    sleep(TTL).await;
    assert!(!guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_commit_fails_once_the_renewed_lease_is_lost() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let renewed = tokio::spawn(guard.renewal());
    mock.faults().add(Fault::lose_request().on(Operation::Merge));
    sleep(TTL * 2).await;
    assert!(renewed.is_finished() && !guard.is_valid());
    mock.faults().clear();
    let next = lease(&table).acquire(TTL * 2).await.unwrap().unwrap();
    let error = guard.commit(|tx| tx.insert(&row("late"))).await.unwrap_err();
    assert!(matches!(error, Error::Lost { token: 1, outcome: Outcome::NotApplied }), "{error:?}");
    assert!(error.to_string().starts_with("lease lost: another program may hold it"), "{error}");
    assert_eq!((next.token(), mock.row_count(LEASES)), (2, Some(1)));
}

/// The renewal is due while the release is in flight, and still waits when its response arrives.
#[tokio::test(start_paused = true)]
async fn a_renewal_does_not_follow_a_release() {
    let (mock, table) = table().await;
    let late = TTL / 2;
    for fault in [Fault::delay_request(late), Fault::delay_reply(late)] {
        let guard = acquired(&mut lease(&table)).await;
        let (token, sent) = (guard.token(), mock.requests().count(Operation::Merge));
        let renewed = tokio::spawn(guard.renewal());
        mock.faults().add(fault.on(Operation::Merge).times(1));
        guard.release().await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert!(renewed.is_finished());
        assert_eq!(mock.requests().count(Operation::Merge), sent + 1);
        assert!(stored::<bool>(&mock, "Released"));
        let next = acquired(&mut lease(&table)).await;
        assert_eq!(next.token(), token + 1);
        next.release().await.unwrap();
    }
}
