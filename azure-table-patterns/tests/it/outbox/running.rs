//! Workers that run until they are stopped.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::mock::Fault;
use azure_table_client::{DynamicEntity, Operation};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::Item;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::{Copy, TTL, copy, mock_with_table, outbox};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_worker_repeats_failed_items_until_it_is_stopped() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let passes = Arc::<Mutex<Vec<_>>>::default();
    let seen = Arc::clone(&passes);
    let worker = outbox.worker("w").ttl(TTL).unwrap().waits(SECOND * 3, TTL).interval(SECOND);
    let mut worker = worker.on_pass(move |pass| seen.lock().unwrap().push(pass.clone()));
    let running = tokio::spawn(async move {
        let mut attempts = 0;
        let steps = |item: Item<Copy>| {
            attempts += 1;
            let has_target = attempts >= 3;
            async move {
                item.renew().await.map_err(|error| error.to_string())?;
                if has_target { Ok(()) } else { Err("no target".to_owned()) }
            }
        };
        let stopped = async { drop(stopped.await) };
        worker.run(steps, stopped).await
    });
    sleep(SECOND * 30).await;
    assert_eq!(mock.row_count("Orders"), Some(0));
    // A query that fails does not end the worker.
    let busy = mock.faults().add(Fault::busy().on(Operation::Query).times(10));
    outbox.insert(&copy("8")).await.unwrap();
    sleep(SECOND * 60).await;
    assert_eq!((mock.row_count("Orders"), busy.struck()), (Some(0), 10));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    let passes = passes.lock().unwrap();
    assert_eq!(passes.iter().map(|pass| pass.failed.len()).sum::<usize>(), 2);
    assert_eq!(passes.iter().map(|pass| pass.done).sum::<usize>(), 2);
    let interrupted: Vec<_> = passes.iter().filter(|pass| pass.error.is_some()).collect();
    assert!(!interrupted.is_empty() && interrupted.iter().all(|pass| !pass.is_drained()));
}

/// The lease ends with the item, but not the steps.
#[tokio::test(start_paused = true)]
async fn steps_that_finish_their_item_run_to_their_end() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w").ttl(TTL).unwrap();
    let steps = async |mut item: Item<Copy>| {
        item.finish(|transaction| transaction).await?;
        sleep(TTL * 2).await;
        Ok::<_, Error>(())
    };
    let start = Instant::now();
    worker.run(steps, sleep(SECOND)).await.unwrap();
    assert_eq!((start.elapsed(), worker.pass().done), (TTL * 2, 1));
    assert!(worker.pass().is_drained(), "{:?}", worker.pass());
}

#[tokio::test(start_paused = true)]
async fn a_worker_completes_the_present_item_when_it_is_stopped() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    for id in ["7", "8"] {
        outbox.insert(&copy(id)).await.unwrap();
    }
    let reported = Arc::<Mutex<Vec<_>>>::default();
    let seen = Arc::clone(&reported);
    let worker = outbox.worker("w").ttl(TTL).unwrap();
    let mut worker = worker.on_pass(move |pass| seen.lock().unwrap().push(pass.done));
    let steps = async |_| {
        sleep(TTL / 2).await;
        Ok::<_, Error>(())
    };
    let start = Instant::now();
    worker.run(steps, sleep(SECOND)).await.unwrap();
    assert_eq!((start.elapsed(), worker.pass().done), (TTL / 2, 1));
    assert_eq!(*reported.lock().unwrap(), [1], "the pass that was stopped");
    assert!(!outbox.contains(&copy("7")).await.unwrap());
    assert!(outbox.contains(&copy("8")).await.unwrap());
    // While it waits for the next pass, it stops at once.
    let start = Instant::now();
    let mut worker = worker.interval(TTL);
    worker.run(steps, sleep(TTL)).await.unwrap();
    assert_eq!(start.elapsed(), TTL);
    assert_eq!(*reported.lock().unwrap(), [1, 1], "each item is reported once");
}

#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_pass_ends_a_worker() {
    let mock = mock_with_table().await;
    let steps = async |_| Ok::<_, Error>(());
    mock.client().delete_table("Orders").await.unwrap();
    let mut worker = outbox(&mock).worker("w");
    let error = timeout(TTL, worker.run(steps, pending())).await.unwrap().unwrap_err();
    assert!(error.client().unwrap().is_not_found(), "{error}");
}

/// Steps of many times the time to live, whose item stays held.
#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_steps_run_and_commit() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let steps = async |mut item: Item<Copy>| {
        for step in 1..=3 {
            sleep(TTL * 5).await;
            assert!(item.is_valid());
            item.work.step = step;
            let done = DynamicEntity::new("oslo", format!("step-{step}"));
            item.commit(|transaction| transaction.insert(&done)).await?;
        }
        Ok::<_, Error>(())
    };
    let (mut worker, mut other) =
        (outbox.worker("w").ttl(TTL).unwrap(), outbox.worker("other").ttl(TTL).unwrap());
    let others = async {
        sleep(SECOND).await;
        while other.next().await.unwrap().is_none() {
            if other.pass().waiting == 0 {
                return;
            }
            sleep(SECOND).await;
        }
        panic!("another worker took the item over");
    };
    let (ran, ()) = tokio::join!(worker.run(steps, sleep(SECOND)), others);
    ran.unwrap();
    assert_eq!((worker.pass().done, mock.row_count("Orders")), (1, Some(3)));
}

#[tokio::test(start_paused = true)]
async fn an_item_is_renewed_by_a_task_until_it_ends() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w").ttl(TTL).unwrap();
    let item = worker.next().await.unwrap().unwrap();
    let renewed = tokio::spawn(item.renewal());
    sleep(TTL * 5).await;
    assert!(item.is_valid() && !renewed.is_finished());
    worker.end(item, Err("again")).await;
    let sent = mock.requests().total();
    sleep(TTL).await;
    assert!(renewed.is_finished());
    assert_eq!(mock.requests().total(), sent);
}

#[tokio::test(start_paused = true)]
async fn steps_are_dropped_when_the_lease_is_lost() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w").ttl(TTL).unwrap();
    mock.faults().add(Fault::hang().on(Operation::Merge).skip(1));
    let steps = async |_| pending::<Result<(), Error>>().await;
    let start = Instant::now();
    let running = worker.run(steps, sleep(TTL / 2));
    let take_over = async {
        let mut other = outbox.worker("other").ttl(TTL).unwrap();
        sleep(TTL / 2).await;
        assert!(other.next().await.unwrap().is_none());
        sleep(TTL).await;
        mock.faults().clear();
        other.next().await.unwrap().unwrap()
    };
    let (ended, item) = tokio::join!(running, take_over);
    ended.unwrap();
    assert!(start.elapsed() < TTL * 5 && item.token() == 2, "{:?}", start.elapsed());
    assert_eq!((worker.pass().lost, worker.pass().done), (1, 0));
}
