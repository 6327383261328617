//! Examples of use, and the columns of the rows.

use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, Outcome};
use azure_table_patterns::Error;
use azure_table_patterns::lease::merge_fenced;
use azure_table_patterns::outbox::Item;
use tokio::time::sleep;

use super::{Copy, TTL, copy, mock_with_table, orders, outbox, pass};

fn row(mock: &MockTableService) -> Option<DynamicEntity> {
    mock.row("Orders", "oslo", "copy!7")
}

#[tokio::test(start_paused = true)]
async fn a_cause_and_its_item_are_applied_together() {
    let mock = mock_with_table().await;
    let (table, outbox) = (orders(&mock), outbox(&mock));
    let order = DynamicEntity::new("oslo", "order-7").with("Total", 12);
    outbox.enqueue(table.transaction().insert(&order), &copy("7")).await.unwrap();
    assert!(outbox.contains(&copy("7")).await.unwrap());
    let item = row(&mock).unwrap();
    let columns: Vec<_> = item.properties().map(|(name, _)| name).collect();
    assert_eq!(columns, ["Target", "Step", "EnqueueId"]);

    // The cause fails, and no item is inserted.
    let again = outbox.enqueue(table.transaction().insert(&order), &copy("8")).await;
    assert!(again.unwrap_err().client().unwrap().is_conflict());
    assert!(!outbox.contains(&copy("8")).await.unwrap());
    // The item exists, and the cause is not applied.
    let order = DynamicEntity::new("oslo", "order-8");
    let again = outbox.enqueue(table.transaction().insert(&order), &copy("7")).await.unwrap_err();
    let refusal = again.client().unwrap();
    assert!(refusal.is_conflict() && refusal.batch_index() == Some(1));
    assert!(mock.row("Orders", "oslo", "order-8").is_none());
}

#[tokio::test(start_paused = true)]
async fn steps_end_an_item() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let twice = outbox.insert(&copy("7")).await.unwrap_err();
    assert!(twice.client().unwrap().is_conflict());
    let mut worker = outbox.worker("w1").ttl(TTL).unwrap();
    let mut item = worker.next().await.unwrap().unwrap();
    assert_eq!((item.token(), item.attempts(), item.is_valid()), (1, 1, true));
    assert_eq!((&*item.key().row_key, &item.work), ("copy!7", &copy("7")));

    item.work.step = 1;
    item.save().await.unwrap();
    item.work.step = 2;
    let copied = DynamicEntity::new("oslo", "copied");
    item.commit(|transaction| transaction.insert(&copied)).await.unwrap();
    let stored = row(&mock).unwrap();
    assert_eq!(stored.get("Step"), Some(Ok(2)));
    assert_eq!(stored.get("Progress"), Some(Ok(1_i64)));
    assert_eq!(stored.get::<String>("Holder"), Some(Ok("w1".to_owned())));
    assert_eq!(item.hold(async { 7 }).await.unwrap(), 7);
    worker.end(item, Ok::<(), Error>(())).await;
    assert!(row(&mock).is_none());
    assert!(worker.next().await.unwrap().is_none());
    assert_eq!(worker.pass().done, 1);
    assert!(worker.pass().is_drained());
    assert!(mock.row("Orders", "oslo", "copied").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_failed_item_waits_and_is_parked_after_the_last_attempt() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let waits = (Duration::from_secs(2), Duration::from_secs(3));
    let mut worker = outbox.worker("w1").ttl(TTL).unwrap().attempts(3).waits(waits.0, waits.1);
    let fail = async |item: &mut Item<Copy>| {
        item.work.step = 9;
        Err("no space".to_owned())
    };
    for (attempt, wait) in [(1, 2), (2, 3)] {
        pass(&mut worker, fail).await;
        assert_eq!(worker.pass().failed[0].error, "no space");
        let stored = row(&mock).unwrap();
        assert_eq!(stored.get("RetryMs"), Some(Ok(wait * 1_000_i64)));
        assert_eq!(stored.get("Step"), Some(Ok(0)), "unsaved progress is not kept");
        // The worker sees the failure, waits, and begins the next attempt.
        for wait in [0, wait - 1] {
            sleep(Duration::from_secs(u64::try_from(wait).unwrap())).await;
            pass(&mut worker, fail).await;
            assert_eq!((worker.pass().waiting, worker.pass().failed.len()), (1, 0), "{attempt}");
        }
        sleep(Duration::from_secs(1)).await;
    }
    pass(&mut worker, fail).await;
    let key = worker.pass().parked[0].clone();
    let stored = row(&mock).unwrap();
    assert_eq!(stored.get("Parked"), Some(Ok(true)));
    assert_eq!(stored.get::<String>("Failure"), Some(Ok("no space".to_owned())));
    sleep(TTL * 2).await;
    pass(&mut worker, fail).await;
    assert_eq!((&worker.pass().parked, worker.pass().failed.len()), (&vec![key.clone()], 0));

    outbox.resume(&key).await.unwrap();
    let item = worker.next().await.unwrap().unwrap();
    assert_eq!((item.attempts(), item.token()), (1, 4));
    worker.end(item, Ok::<(), Error>(())).await;
    assert_eq!(row(&mock), None);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_stops_its_workers_is_parked() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    for attempt in 1..=2 {
        let mut worker = outbox.worker("w1").ttl(TTL).unwrap().attempts(2);
        // The first pass sees the lease of the worker that stopped.
        while worker.next().await.unwrap().is_none() {
            assert!(attempt == 2 && worker.pass().waiting == 1);
            sleep(TTL / 2).await;
        }
    }
    let mut worker = outbox.worker("w1").ttl(TTL).unwrap().attempts(2);
    for _ in 0..4 {
        assert!(worker.next().await.unwrap().is_none());
        sleep(TTL / 2).await;
    }
    assert_eq!(worker.pass().parked.len(), 1);
    let failure = row(&mock).unwrap().get::<String>("Failure").unwrap().unwrap();
    assert_eq!(failure, "2 attempts ended without a result");
}

#[tokio::test(start_paused = true)]
async fn saved_progress_starts_the_attempts_again() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w1").attempts(1).waits(Duration::ZERO, Duration::ZERO);
    for step in 1..=5 {
        let mut item = worker.next().await.unwrap().unwrap();
        assert_eq!((item.work.step, item.attempts()), (step - 1, 1));
        item.work.step = step;
        item.save().await.unwrap();
        assert_eq!(item.attempts(), 0);
        worker.end(item, Err("again")).await;
        assert!(worker.next().await.unwrap().is_none());
    }
    assert!(worker.pass().parked.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_lost_its_item_is_refused() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut first = outbox.worker("first").ttl(TTL).unwrap();
    let mut second = outbox.worker("second").ttl(TTL).unwrap();
    let mut old = first.next().await.unwrap().unwrap();
    while second.next().await.unwrap().is_none() {
        assert!(old.is_valid() || second.pass().waiting == 1);
        sleep(TTL / 4).await;
    }
    assert!(!old.is_valid());
    let effect = DynamicEntity::new("oslo", "late");
    old.work.step = 5;
    let refused = old.commit(|transaction| transaction.insert_or_replace(&effect)).await;
    assert!(matches!(refused, Err(Error::Lost { token: 1, .. })), "{refused:?}");
    for refused in [old.renew().await, old.save().await] {
        assert_eq!(refused.unwrap_err().outcome(), Outcome::NotApplied);
    }
    assert!(old.finish(|end| end.insert_or_replace(&effect)).await.is_err());
    first.end(old, Ok::<(), Error>(())).await;
    assert_eq!((first.pass().done, first.pass().lost), (0, 1));
    assert!(mock.row("Orders", "oslo", "late").is_none());
    assert_eq!(row(&mock).unwrap().get("Step"), Some(Ok(0)));
}

#[tokio::test(start_paused = true)]
async fn partitions_limit_a_pass() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    for (city, id) in [("oslo", "1"), ("rome", "2"), ("wien", "3")] {
        outbox.insert(&Copy { city: city.to_owned(), ..copy(id) }).await.unwrap();
    }
    // Rows of other outboxes and of causes are not items.
    let table = orders(&mock);
    for row_key in ["copx", "copy", "copy 2!1", "order"] {
        table.insert(&DynamicEntity::new("oslo", row_key)).await.unwrap();
    }
    let mut worker = outbox.worker("w").partitions(["wien", "oslo"]);
    let mut found = Vec::new();
    while let Some(item) = worker.next().await.unwrap() {
        found.push(item.work.city.clone());
        worker.end(item, Ok::<(), Error>(())).await;
    }
    assert_eq!(found, ["wien", "oslo"]);
    let mut worker = outbox.worker("w");
    pass(&mut worker, async |_| Ok::<(), Error>(())).await;
    assert_eq!(worker.pass().done, 1);
    assert_eq!(mock.row_count("Orders"), Some(4));
}

/// Another program may read it: a newer version, which is started before the attempts are used up.
#[tokio::test(start_paused = true)]
async fn an_item_that_is_not_decoded_waits_and_is_parked() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    let table = orders(&mock);
    let row = DynamicEntity::new("oslo", "copy!6").with("Target", "Archive").with("Step", "x");
    table.insert(&row).await.unwrap();
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w").attempts(3).waits(TTL, TTL);
    let mut failures = 0;
    for at in 0..10 {
        pass(&mut worker, async |_| Ok::<(), Error>(())).await;
        assert_eq!(worker.pass().done, usize::from(at == 0));
        failures += worker.pass().failed.len();
        if !worker.pass().parked.is_empty() {
            break;
        }
        sleep(TTL / 2).await;
    }
    assert_eq!((failures, worker.pass().parked.len()), (2, 1));
    let row = mock.row("Orders", "oslo", "copy!6").unwrap();
    let failure = row.get::<String>("Failure").unwrap().unwrap();
    assert!(failure.contains("Step"), "{failure}");
    assert_eq!(row.get::<i64>("Token"), Some(Ok(3)));

    // Once the row is corrected, the item can be resumed.
    table.merge(&DynamicEntity::new("oslo", "copy!6").with("Step", 1), IfMatch::Any).await.unwrap();
    outbox.resume(row.key()).await.unwrap();
    pass(&mut worker, async |_| Ok::<(), Error>(())).await;
    assert_eq!(worker.pass().done, 1);
}

#[tokio::test(start_paused = true)]
async fn an_item_whose_own_columns_are_invalid_is_parked_at_once() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    let table = orders(&mock);
    let row = |id: &str| DynamicEntity::new("oslo", format!("copy!{id}")).with("Step", 0);
    for (id, row) in [
        ("1", row("1").with("Token", "x")),
        ("2", row("2").with("Token", 1_i64)),
        ("3", row("3").with("Parked", "yes")),
        ("4", row("4").with("Token", i64::MAX).with("Released", true)),
    ] {
        table.insert(&row).await.unwrap();
        let mut worker = outbox.worker("w");
        for _ in 0..2 {
            assert!(worker.next().await.unwrap().is_none());
            let pass = worker.pass();
            assert_eq!((pass.failed.len(), pass.parked.len()), (0, 1), "{id}: {pass:?}");
        }
        let row = mock.row("Orders", "oslo", &format!("copy!{id}")).unwrap();
        assert!(row.get::<String>("Failure").unwrap().is_ok());
        table.delete(row.key(), IfMatch::Any).await.unwrap();
    }
}

/// The page therefore requires that only one item writes a fenced row.
#[tokio::test]
async fn a_fenced_row_refuses_a_later_item_of_the_same_key() {
    let mock = mock_with_table().await;
    let rows = orders(&mock);
    let row = DynamicEntity::new("bergen", "7");
    let mut worker = outbox(&mock).worker("w").attempts(9).waits(Duration::ZERO, Duration::ZERO);
    outbox(&mock).insert(&copy("7")).await.unwrap();
    pass(&mut worker, async |_| Err("fails")).await;
    pass(&mut worker, async |item| merge_fenced(&rows, &row, item.token()).await.map(drop)).await;
    assert_eq!(worker.pass().done, 1);

    outbox(&mock).insert(&copy("7")).await.unwrap();
    pass(&mut worker, async |item| merge_fenced(&rows, &row, item.token()).await.map(drop)).await;
    assert_eq!((worker.pass().done, worker.pass().failed.len()), (0, 1));
}
