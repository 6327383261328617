//! Workers that stall for longer than their lease, and who else may be in the way.

use std::time::Duration;

use super::crashes::{Stage, Stop, at_every_request};
use super::{Blog, CHANNEL_KIND, Channel, LEASE, blog, fill, request_deletion, what_is_there};

const DONE: (bool, u64, bool) = (false, 0, false);

#[tokio::test]
async fn a_second_crash_on_the_way_back_is_survived_too() {
    // To die before a request is to die after the one before it.
    let mut recoveries = 0;
    for request in 0..at_every_request(&[], 5).await.unwrap() {
        recoveries += at_every_request(&[Stop::at(request, true)], 5).await.unwrap();
    }
    assert!(recoveries > 100, "{recoveries}");
}

/// A worker stalls for longer than its lease; meanwhile another one does it all, and there is a new
/// channel of the same name.
async fn stall(method: &'static str, url: &'static str, is_done: bool) {
    let stage = Stage::new(50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    let stop = Stop { method, url, number: 0, is_done };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let first = stage.worker("first", &service);
    let meanwhile = async {
        stopped.reached.notified().await;
        stage.clock.advance(LEASE + Duration::from_secs(1));
        let second = stage.worker("second", &stage.mock.client());
        second.run().await.unwrap();
        assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), DONE);
        fill(&stage.database, 50).await.unwrap();
        stopped.go_on.notify_one();
    };
    let (first, ()) = tokio::join!(first.run(), meanwhile);
    first.unwrap();
    assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), (true, 50, false));
    let channel = stage.database.channels.get(("Doomed", CHANNEL_KIND)).await.unwrap();
    assert!(!channel.deleted, "it is marked, and there is no work");
}

#[tokio::test]
async fn a_stalled_worker_leaves_a_new_channel_alone() {
    // Each of the requests of a deletion of 50 blogs, but the last one.
    for (method, url) in [
        ("GET", "ExampleDeleteWork("),
        ("MERGE", "ExampleDeleteWork("),
        ("GET", "ExampleDeleteChannels("),
        ("MERGE", "ExampleDeleteChannels("),
        ("GET", "ExampleDeleteBlogs("),
        ("POST", "$batch"),
        ("DELETE", "ExampleDeleteChannels("),
        ("DELETE", "ExampleDeleteWork("),
    ] {
        for is_done in [false, true] {
            // Shown if it fails.
            println!("{method} {url}, done: {is_done}");
            stall(method, url, is_done).await;
        }
    }
}

/// The worker dies when the channel is gone and the work is not; the channel is made again, and its
/// deletion is requested again.
#[tokio::test]
async fn a_second_request_is_not_lost() {
    let stage = Stage::new(50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    let stop = Stop { method: "DELETE", url: "ExampleDeleteWork(", number: 0, is_done: false };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let first = stage.worker("first", &service);
    tokio::select! {
        _ = first.run() => panic!("it does not stop"),
        () = stopped.reached.notified() => {}
    }
    fill(&stage.database, 50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    stage.clock.advance(LEASE + Duration::from_secs(1));
    let second = stage.worker("second", &stage.mock.client());
    assert_eq!(second.run().await.unwrap(), 2, "the old channel and the new one");
    assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), DONE);
}

/// The request for a deletion is done while the channel is deleted, and made again.
#[tokio::test]
async fn a_late_request_is_not_about_a_new_channel() {
    let stage = Stage::new(50).await.unwrap();
    let stop = Stop { method: "POST", url: "ExampleDeleteWork", number: 0, is_done: false };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let late = stage.worker("late", &service);
    let meanwhile = async {
        stopped.reached.notified().await;
        request_deletion(&stage.database, "Doomed").await.unwrap();
        stage.worker("first", &stage.mock.client()).run().await.unwrap();
        fill(&stage.database, 50).await.unwrap();
        stopped.go_on.notify_one();
    };
    let (requested, ()) = tokio::join!(request_deletion(&late.database, "Doomed"), meanwhile);
    requested.unwrap();
    stage.worker("second", &stage.mock.client()).run().await.unwrap();
    assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), (true, 50, false));
    // There is nothing to delete any more.
    request_deletion(&stage.database, "Nobody").await.unwrap();
    assert_eq!(what_is_there(&stage.database, "Nobody").await.unwrap(), DONE);
}

/// Somebody writes a channel that is about to be deleted: that one is left for later, and not the others.
#[tokio::test]
async fn one_deletion_that_is_disturbed_holds_no_other_up() {
    let stage = Stage::new(50).await.unwrap();
    for channel in ["Doomed", "Kept"] {
        request_deletion(&stage.database, channel).await.unwrap();
    }
    let stop = Stop { method: "DELETE", url: "ExampleDeleteChannels(", number: 0, is_done: false };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let first = stage.worker("first", &service);
    let meanwhile = async {
        stopped.reached.notified().await;
        let rename = |channel: &mut Channel| channel.owner = "jane".to_owned();
        stage.database.channels.update_with(("Doomed", CHANNEL_KIND), rename).await.unwrap();
        stopped.go_on.notify_one();
    };
    let (first, ()) = tokio::join!(first.run(), meanwhile);
    assert_eq!(first.unwrap(), 1);
    assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), (true, 0, true));
    assert_eq!(what_is_there(&stage.database, "Kept").await.unwrap(), DONE);
    stage.clock.advance(LEASE + Duration::from_secs(1));
    stage.worker("second", &stage.mock.client()).run().await.unwrap();
    assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), DONE);
}

/// A blog that is changed while it is about to be deleted is deleted in the next round.
#[tokio::test]
async fn a_blog_that_is_changed_in_between_is_deleted_too() {
    let stage = Stage::new(50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    let stop = Stop { method: "POST", url: "$batch", number: 0, is_done: false };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let first = stage.worker("first", &service);
    let meanwhile = async {
        stopped.reached.notified().await;
        let changed = Blog { text: "Hi".to_owned(), ..blog("Doomed", 7) };
        stage.database.blogs.insert_or_replace(&changed).await.unwrap();
        stopped.go_on.notify_one();
    };
    let (first, ()) = tokio::join!(first.run(), meanwhile);
    assert_eq!(first.unwrap(), 1);
    assert_eq!(what_is_there(&stage.database, "Doomed").await.unwrap(), DONE);
}
