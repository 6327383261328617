//! Proxies that deliver a request twice, at once or late.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, Operation, Outcome};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::Outbox;
use tokio::time::sleep;

use super::{Copy, TTL, copy, mock_with_table, orders, outbox, pass};
use crate::hostile::repeating;

fn is_stored(mock: &MockTableService, row: &str) -> bool {
    mock.row("Orders", "oslo", row).is_some()
}

#[tokio::test(start_paused = true)]
async fn a_cause_and_its_item_that_are_delivered_twice_are_confirmed() {
    let mock = mock_with_table().await;
    let (table, outbox) = (orders(&mock), outbox(&mock));
    mock.faults().add(Fault::deliver_twice().on_writes());
    let order = DynamicEntity::new("oslo", "order-7");
    outbox.enqueue(table.transaction().insert(&order), &copy("7")).await.unwrap();
    outbox.insert(&copy("8")).await.unwrap();
    assert!(
        is_stored(&mock, "order-7") && is_stored(&mock, "copy!7") && is_stored(&mock, "copy!8")
    );
    // The item is recognized while a worker holds it.
    mock.faults().clear();
    mock.faults().add(Fault::deliver_twice().on(Operation::Transaction).times(1));
    mock.faults().add(Fault::delay_request(TTL / 2).on(Operation::Get).times(1));
    let changed = orders(&mock).transaction().insert(&DynamicEntity::new("oslo", "order-9"));
    let (enqueue, worker) = (outbox.clone(), outbox.worker("w").ttl(TTL).unwrap());
    let held = async {
        sleep(TTL / 4).await;
        let mut worker = worker;
        let mut item = worker.next().await.unwrap().unwrap();
        item.work.step = 3;
        item.save().await.unwrap();
    };
    let work = copy("6");
    let (enqueued, ()) = tokio::join!(enqueue.enqueue(changed, &work), held);
    enqueued.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_done_before_it_is_read_back_is_unknown() {
    let mock = mock_with_table().await;
    let (table, outbox) = (orders(&mock), outbox(&mock));
    mock.faults().add(Fault::deliver_twice().on(Operation::Transaction).times(1));
    mock.faults().add(Fault::delay_request(TTL / 2).on(Operation::Get).times(1));
    let cause = table.transaction().insert(&DynamicEntity::new("oslo", "order-7"));
    let mut worker = outbox.worker("w").ttl(TTL).unwrap();
    let done = async {
        sleep(TTL / 4).await;
        pass(&mut worker, async |_| Ok::<(), Error>(())).await;
    };
    let work = copy("7");
    let (enqueued, ()) = tokio::join!(outbox.enqueue(cause, &work), done);
    let error = enqueued.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(error.client().unwrap().is_conflict() && is_stored(&mock, "order-7"), "{error}");
    assert_eq!(worker.pass().done, 1);
}

#[tokio::test(start_paused = true)]
async fn an_item_of_another_call_does_not_confirm_this_one() {
    let mock = mock_with_table().await;
    let (table, outbox) = (orders(&mock), outbox(&mock));
    outbox.insert(&copy("7")).await.unwrap();
    let cause = table.transaction().insert(&DynamicEntity::new("oslo", "order-7"));
    let error = outbox.enqueue(cause, &copy("7")).await.unwrap_err();
    assert!(error.client().unwrap().is_conflict() && !is_stored(&mock, "order-7"), "{error}");
    // A request that the service refuses for its content was not applied by any delivery.
    mock.faults().add(Fault::error(403, "AuthorizationFailure").on(Operation::Transaction));
    assert_eq!(outbox.insert(&copy("8")).await.unwrap_err().outcome(), Outcome::NotApplied);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_item_that_is_delivered_twice_is_confirmed() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w").attempts(1);
    pass(&mut worker, async |_| Err("fails")).await;
    let key = worker.pass().parked[0].clone();
    mock.faults().add(Fault::deliver_twice().on(Operation::Merge).times(1));
    outbox.resume(&key).await.unwrap();
    assert!(worker.next().await.unwrap().is_some());
}

/// A busy service refuses the first delivery, and the second one arrives later.
#[tokio::test(start_paused = true)]
async fn a_busy_service_does_not_refuse_a_delivery_that_is_late() {
    let mock = mock_with_table().await;
    let (first, second_after) = (Fault::busy(), Duration::from_secs(5));
    let repeating = repeating(&mock, "Archive", first, second_after);
    let outbox =
        Outbox::<Copy>::new(&repeating.table_named::<DynamicEntity>("Orders"), "copy").unwrap();
    let error = outbox.insert(&copy("7")).await.unwrap_err();
    assert!(error.is_throttled() && !is_stored(&mock, "copy!7"));
    sleep(TTL).await;
    assert!(is_stored(&mock, "copy!7"));
    assert_eq!(error.outcome(), Outcome::Unknown);
}
