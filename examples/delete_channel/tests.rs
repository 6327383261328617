//! Workers that stall for longer than their lease, and concurrent writes of other programs.

use std::time::Duration;

use super::crashes::{Stage, Stop, at_every_request};
use super::{Blog, CHANNEL_KIND, Channel, LEASE, blog, contents, fill, request_deletion};

const DONE: (bool, u64, bool) = (false, 0, false);

#[tokio::test]
async fn the_deletion_survives_a_second_crash() {
    // A crash before a request is the same as a crash after the previous one.
    let mut recoveries = 0;
    for request in 0..at_every_request(&[], 5).await.unwrap() {
        recoveries += at_every_request(&[Stop::at(request, true)], 5).await.unwrap();
    }
    assert!(recoveries > 100, "{recoveries}");
}

/// A worker stalls for longer than its lease. Meanwhile another worker completes the deletion, and a new
/// channel of the same name is created.
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
        assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), DONE);
        fill(&stage.database, 50).await.unwrap();
        stopped.resume.notify_one();
    };
    let (first, ()) = tokio::join!(first.run(), meanwhile);
    first.unwrap();
    assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), (true, 50, false));
    let channel = stage.database.channels.get(("Doomed", CHANNEL_KIND)).await.unwrap();
    assert!(!channel.deleted, "the new channel is marked as deleted, without any work");
}

#[tokio::test]
async fn a_stalled_worker_leaves_a_new_channel_alone() {
    // All requests of a deletion of 50 blogs, except the last one.
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
            // Shown if the test fails.
            println!("{method} {url}, done: {is_done}");
            stall(method, url, is_done).await;
        }
    }
}

/// The worker dies after it deleted the channel and before it deleted the work. The channel is created
/// again, and its deletion is requested again.
#[tokio::test]
async fn a_second_request_is_not_lost() {
    let stage = Stage::new(50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    let stop = Stop { method: "DELETE", url: "ExampleDeleteWork(", number: 0, is_done: false };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let first = stage.worker("first", &service);
    tokio::select! {
        _ = first.run() => panic!("the worker does not stop"),
        () = stopped.reached.notified() => {}
    }
    fill(&stage.database, 50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    stage.clock.advance(LEASE + Duration::from_secs(1));
    let second = stage.worker("second", &stage.mock.client());
    assert_eq!(second.run().await.unwrap(), 2, "the old channel and the new one");
    assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), DONE);
}

/// A request for a deletion arrives after the channel was deleted and created again.
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
        stopped.resume.notify_one();
    };
    let (requested, ()) = tokio::join!(request_deletion(&late.database, "Doomed"), meanwhile);
    requested.unwrap();
    stage.worker("second", &stage.mock.client()).run().await.unwrap();
    assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), (true, 50, false));
    // A channel that does not exist needs no deletion.
    request_deletion(&stage.database, "Nobody").await.unwrap();
    assert_eq!(contents(&stage.database, "Nobody").await.unwrap(), DONE);
}

/// Another program writes a channel during its deletion: this deletion is left for later, the others continue.
#[tokio::test]
async fn a_disturbed_deletion_does_not_delay_others() {
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
        stopped.resume.notify_one();
    };
    let (first, ()) = tokio::join!(first.run(), meanwhile);
    assert_eq!(first.unwrap(), 1);
    assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), (true, 0, true));
    assert_eq!(contents(&stage.database, "Kept").await.unwrap(), DONE);
    stage.clock.advance(LEASE + Duration::from_secs(1));
    stage.worker("second", &stage.mock.client()).run().await.unwrap();
    assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), DONE);
}

/// A blog that is changed during its deletion is deleted in the next round.
#[tokio::test]
async fn a_blog_that_is_changed_concurrently_is_deleted_too() {
    let stage = Stage::new(50).await.unwrap();
    request_deletion(&stage.database, "Doomed").await.unwrap();
    let stop = Stop { method: "POST", url: "$batch", number: 0, is_done: false };
    let (service, stopped) = stage.stopping_at(stop).unwrap();
    let first = stage.worker("first", &service);
    let meanwhile = async {
        stopped.reached.notified().await;
        let changed = Blog { text: "Hi".to_owned(), ..blog("Doomed", 7) };
        stage.database.blogs.insert_or_replace(&changed).await.unwrap();
        stopped.resume.notify_one();
    };
    let (first, ()) = tokio::join!(first.run(), meanwhile);
    assert_eq!(first.unwrap(), 1);
    assert_eq!(contents(&stage.database, "Doomed").await.unwrap(), DONE);
}
