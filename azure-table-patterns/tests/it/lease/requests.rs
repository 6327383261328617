//! The requests of each call: the table in the guide page.

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, Operation};
use azure_table_patterns::lease::merge_fenced;

use super::{DEVICES, KEY, LEASES, TTL, acquired, lease, table};
use crate::hostile::touching;

/// Counts the requests of a call.
async fn requests<T>(mock: &MockTableService, call: impl Future<Output = T>) -> (usize, T) {
    let before = mock.requests().total();
    let output = call.await;
    (mock.requests().total() - before, output)
}

#[tokio::test(start_paused = true)]
async fn each_call() {
    let (mock, table) = table().await;
    mock.client().table_named::<DynamicEntity>(DEVICES).create().await.unwrap();
    let (mut first, mut second) = (lease(&table), lease(&table));
    let (count, guard) = requests(&mock, acquired(&mut first)).await;
    assert_eq!(count, 2, "acquire a new row");
    assert_eq!(requests(&mock, second.acquire_now()).await.0, 1, "held by another");
    assert_eq!(requests(&mock, guard.renew()).await.0, 1, "renew");
    let columns = DynamicEntity::new(KEY.0, KEY.1).with("Done", 1);
    assert_eq!(requests(&mock, guard.update(&columns)).await.0, 1, "update");
    let work = DynamicEntity::new(KEY.0, "work");
    assert_eq!(requests(&mock, guard.commit(|tx| tx.insert(&work))).await.0, 1, "commit");

    // Another program writes the row without the lease.
    table.insert_or_merge(&columns).await.unwrap();
    assert_eq!(requests(&mock, guard.renew()).await.0, 3, "renew after another write");
    table.insert_or_merge(&columns).await.unwrap();
    let work = DynamicEntity::new(KEY.0, "more");
    assert_eq!(requests(&mock, guard.commit(|tx| tx.insert(&work))).await.0, 3, "commit again");

    let devices = mock.client().table_named::<DynamicEntity>(DEVICES);
    let state = DynamicEntity::new("p", "device").with("On", true);
    for _ in 0..2 {
        let (count, done) = requests(&mock, merge_fenced(&devices, &state, 1)).await;
        assert!(count == 2 && done.is_ok(), "{count} of merge_fenced");
    }
    let (count, refused) = requests(&mock, merge_fenced(&devices, &state, 0)).await;
    assert!(count == 1 && refused.is_err(), "{count} of merge_fenced");

    assert_eq!(requests(&mock, guard.release()).await.0, 1, "release");
    let (count, guard) = requests(&mock, acquired(&mut second)).await;
    assert_eq!(count, 2, "acquire a released row");
    let (count, held) = requests(&mock, guard.hold(tokio::time::sleep(TTL))).await;
    assert!(count == 2 && held.is_ok(), "{count} renewals");

    assert!(first.acquire_now().await.unwrap().is_none());
    tokio::time::sleep(TTL).await;
    // Another program writes the row between the read and the write.
    let (row, before) = (KEY, ("MERGE", KEY.1));
    let touching = touching(&mock, LEASES, row, before);
    let mut slow = lease(&touching.table_named(LEASES));
    assert!(slow.acquire_now().await.unwrap().is_none());
    tokio::time::sleep(TTL).await;
    let touched = mock.requests().count(Operation::Merge);
    let (count, lost) = requests(&mock, slow.acquire_now()).await;
    let touched = mock.requests().count(Operation::Merge) - touched - 1;
    assert!(count - touched == 3 && lost.unwrap().is_none(), "{count} of a lost race");
    assert!(first.acquire_now().await.unwrap().is_none());
    tokio::time::sleep(TTL).await;
    let (count, next) = requests(&mock, acquired(&mut first)).await;
    assert_eq!(count, 2, "take over");
    let (count, lost) = requests(&mock, guard.renew()).await;
    assert!(count == 2 && lost.is_err(), "{count} of a lost guard");
    assert_eq!(requests(&mock, guard.renew()).await.0, 0, "renew again");
    assert_eq!(requests(&mock, next.delete(|tx| tx)).await.0, 1, "delete");
}
