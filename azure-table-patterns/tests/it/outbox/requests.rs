//! The requests of each call, as the page states them.

use azure_table_client::DynamicEntity;
use azure_table_client::mock::MockTableService;
use azure_table_patterns::Error;
use tokio::time::sleep;

use super::{TTL, copy, mock_with_table, orders, outbox};

/// The requests since the last call.
fn sent(mock: &MockTableService) -> usize {
    let total = mock.requests().total();
    mock.requests().clear();
    total
}

#[tokio::test(start_paused = true)]
async fn requests_when_all_goes_well() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    sent(&mock);
    let cause = DynamicEntity::new("oslo", "order-7");
    outbox.enqueue(orders(&mock).transaction().insert(&cause), &copy("7")).await.unwrap();
    assert_eq!(sent(&mock), 1, "enqueue, with its cause");
    outbox.insert(&copy("8")).await.unwrap();
    assert_eq!(sent(&mock), 1, "insert");
    assert!(outbox.contains(&copy("8")).await.unwrap());
    assert_eq!(sent(&mock), 1, "contains");

    let mut worker = outbox.worker("w").attempts(1);
    let mut item = worker.next().await.unwrap().unwrap();
    assert_eq!(sent(&mock), 2, "the query and the lease");
    item.renew().await.unwrap();
    assert_eq!(sent(&mock), 1, "renew");
    item.save().await.unwrap();
    assert_eq!(sent(&mock), 1, "save");
    item.commit(|transaction| transaction).await.unwrap();
    assert_eq!(sent(&mock), 1, "commit");
    worker.end(item, Ok::<(), Error>(())).await;
    assert_eq!(sent(&mock), 1, "end");
    let item = worker.next().await.unwrap().unwrap();
    assert_eq!(sent(&mock), 1, "the lease of the next item");
    let key = item.key().clone();
    worker.end(item, Err("no")).await;
    assert_eq!(sent(&mock), 1, "end after a failure");
    assert!(worker.next().await.unwrap().is_none());
    assert_eq!(sent(&mock), 0, "the end of the pass");
    assert!(worker.next().await.unwrap().is_none());
    assert_eq!(sent(&mock), 1, "a pass over parked items");
    outbox.resume(&key).await.unwrap();
    assert_eq!(sent(&mock), 2, "resume");
}

#[tokio::test(start_paused = true)]
async fn requests_under_a_conflict() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    for id in ["7", "8"] {
        outbox.insert(&copy(id)).await.unwrap();
    }
    let (mut first, mut second) =
        (outbox.worker("a").ttl(TTL).unwrap(), outbox.worker("b").ttl(TTL).unwrap());
    let mut old = first.next().await.unwrap().unwrap();
    sent(&mock);
    assert!(outbox.insert(&copy("7")).await.is_err());
    assert_eq!(sent(&mock), 2, "insert again: the refused write, and a read of the item");
    // The second worker looks at the item that is held, and acquires the other one.
    let other = second.next().await.unwrap().unwrap();
    assert_eq!(sent(&mock), 2);
    // The first worker finds that one held, by the version that its query returned.
    assert!(first.next().await.unwrap().is_none());
    assert_eq!(
        (sent(&mock), first.pass().waiting),
        (2, 1),
        "a refused lease, and a read of the row"
    );
    second.end(other, Ok::<(), Error>(())).await;
    while second.next().await.unwrap().is_none() {
        sleep(TTL / 2).await;
    }
    sent(&mock);
    assert!(old.save().await.is_err());
    assert_eq!(sent(&mock), 2, "the refused write, and a read of the row");
    assert!(old.commit(|transaction| transaction).await.is_err());
    assert_eq!(sent(&mock), 0, "the item is known to be lost");
    first.end(old, Err("lost")).await;
    assert_eq!((sent(&mock), first.pass().lost), (0, 1));
}
