//! Workers that stall, and programs that write between two requests of a worker.

use std::sync::Arc;

use azure_table_client::mock::MockTableService;
use azure_table_client::{ErrorCode, TableServiceClient};
use azure_table_tests::scripted::{Scripted, Step, in_turn, on};
use tokio::sync::Notify;

use super::*;

/// Signals that a client has reached a request, and lets it continue.
#[derive(Debug, Default)]
struct Stall {
    reached: Notify,
    resumed: Notify,
}

impl Stall {
    /// Returns a client that stops at a request, before or after it is applied, until it is resumed: the request with this
    /// number, from 0, among those with this method and this text in the path.
    fn client(
        mock: &MockTableService,
        (method, path, number): (&'static str, &'static str, usize),
        is_done: bool,
    ) -> (TableServiceClient, Arc<Self>) {
        let stall = Arc::new(Self::default());
        let stopped = Arc::clone(&stall);
        let stop = async move {
            stopped.reached.notify_one();
            stopped.resumed.notified().await;
        };
        let stop = if is_done { Step::pass().then(stop) } else { Step::pass().after(stop) };
        let steps = (0..number).map(|_| Step::pass()).chain([stop]);
        let script = on(
            move |request| request.method == method && request.uri.path().contains(path),
            in_turn(steps),
        );
        let transport = Scripted::new(mock.transport(), script);
        (mock.client_builder().transport(transport).build().unwrap(), stall)
    }
}

/// Runs a worker that stalls, and `meanwhile` while it does. Returns `false` if it does not stall.
async fn stalled(
    mock: &MockTableService,
    stop: (&'static str, &'static str, usize),
    is_done: bool,
    meanwhile: impl Future<Output = ()>,
) -> Option<Pass> {
    let (service, stall) = Stall::client(mock, stop, is_done);
    let mut first = worker(&service, "first");
    let meanwhile = async {
        stall.reached.notified().await;
        meanwhile.await;
        stall.resumed.notify_one();
    };
    tokio::select! {
        biased;
        (polled, ()) = async { tokio::join!(poll(&mut first, &service), meanwhile) } => Some(polled),
        () = tokio::time::sleep(TTL * 100) => None,
    }
}

/// A worker stalls for longer than its lease. Meanwhile another worker completes the deletion, and a new channel of the
/// same name is created.
#[tokio::test(start_paused = true)]
async fn a_stalled_worker_leaves_a_new_channel_alone() {
    let mut stalls = 0;
    for (method, path) in [("GET", ""), ("MERGE", ""), ("POST", "")] {
        for (number, is_done) in (0..10).flat_map(|number| [(number, false), (number, true)]) {
            let mock = mock();
            let database = fill(&mock, 50).await;
            request_deletion(&database, "Doomed").await.unwrap();
            let polled = stalled(&mock, (method, path, number), is_done, async {
                work(&mock.client(), "second").await;
                assert_eq!(contents(&database, "Doomed").await, DONE);
                tokio::time::sleep(TTL).await;
                fill(&mock, 50).await;
            });
            let polled = Box::pin(polled).await;
            stalls += usize::from(polled.is_some());
            if polled.is_none() {
                break;
            }
            let channel = database.channels.get(("Doomed", "channel")).await.unwrap();
            assert!(!channel.deleted, "{method} {number} {is_done}: marked without any work");
            let found = contents(&database, "Doomed").await;
            assert_eq!(found, (true, 50, false), "{method} {number} {is_done}: {polled:?}");
        }
    }
    println!("stalls: delete_channel: {stalls}");
    // The poll, the lease, the blogs, the renewal, their deletion, the blogs again, the channel and the end.
    assert_eq!(stalls, 2 * 8);
}

/// The channel is created again after its deletion, and its deletion is requested again.
#[tokio::test(start_paused = true)]
async fn a_second_request_is_not_lost() {
    let mock = mock();
    let database = fill(&mock, 50).await;
    request_deletion(&database, "Doomed").await.unwrap();
    assert_eq!(work(&mock.client(), "first").await, 1);
    tokio::time::sleep(TTL).await;
    fill(&mock, 50).await;
    request_deletion(&database, "Doomed").await.unwrap();
    // A request for a channel that is marked already changes nothing.
    request_deletion(&database, "Doomed").await.unwrap();
    assert_eq!(work(&mock.client(), "second").await, 1);
    assert_eq!(contents(&database, "Doomed").await, DONE);
}

/// A request for a deletion arrives after the channel was deleted and created again.
#[tokio::test(start_paused = true)]
async fn a_late_request_is_not_about_a_new_channel() {
    let mock = mock();
    let database = fill(&mock, 50).await;
    let (service, stall) = Stall::client(&mock, ("POST", "$batch", 0), false);
    let late = Database::open(&service);
    let meanwhile = async {
        stall.reached.notified().await;
        request_deletion(&database, "Doomed").await.unwrap();
        work(&mock.client(), "first").await;
        tokio::time::sleep(TTL).await;
        fill(&mock, 50).await;
        stall.resumed.notify_one();
    };
    let (requested, ()) = tokio::join!(request_deletion(&late, "Doomed"), meanwhile);
    let error = requested.unwrap_err();
    let refused = error.client().unwrap();
    assert_eq!(refused.code(), Some(&ErrorCode::UpdateConditionNotSatisfied));
    assert_eq!(work(&mock.client(), "second").await, 0);
    assert_eq!(contents(&database, "Doomed").await, (true, 50, false));
    // A channel that does not exist needs no deletion.
    request_deletion(&database, "Nobody").await.unwrap();
    assert_eq!(contents(&database, "Nobody").await, DONE);
}

/// Another program writes a channel during its deletion: this deletion is left for later, the others continue.
#[tokio::test(start_paused = true)]
async fn a_disturbed_deletion_does_not_delay_others() {
    let mock = mock();
    let database = fill(&mock, 50).await;
    for channel in ["Doomed", "Kept"] {
        request_deletion(&database, channel).await.unwrap();
    }
    // The second transaction of the worker ends the item.
    let polled = stalled(&mock, ("POST", "$batch", 1), false, async {
        let rename = |channel: &mut Channel| channel.owner = "jane".to_owned();
        database.channels.update_with(("Doomed", "channel"), rename).await.unwrap();
    });
    let polled = polled.await.unwrap();
    assert_eq!((polled.done, polled.failed.len()), (1, 1), "{polled:?}");
    assert_eq!(contents(&database, "Doomed").await, (true, 0, true));
    assert_eq!(contents(&database, "Kept").await, DONE);
    assert_eq!(work(&mock.client(), "second").await, 1);
    assert_eq!(contents(&database, "Doomed").await, DONE);
}

/// A blog that is changed during its deletion is deleted in the next round.
#[tokio::test(start_paused = true)]
async fn a_blog_that_is_changed_concurrently_is_deleted_too() {
    let mock = mock();
    let database = fill(&mock, 50).await;
    request_deletion(&database, "Doomed").await.unwrap();
    let polled = stalled(&mock, ("POST", "$batch", 0), false, async {
        let changed = blog("Doomed", 7).with("Text", "Hi");
        database.blogs.insert_or_replace(&changed).await.unwrap();
    });
    assert_eq!(polled.await.unwrap().done, 1);
    assert_eq!(contents(&database, "Doomed").await, DONE);
}
