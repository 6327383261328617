//! A web server stops at each of its requests; then others load, save, delete and sweep.

use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use azure_table_tests::sized;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::SessionStore as _;

use super::{HOUR, is_missing, prepare, record, store, value};

/// More than the time that a request can be in flight.
const GRACE: Duration = Duration::from_secs(2 * LATENESS.as_secs());

/// Returns the next version of the session.
async fn prepare_session(mock: &MockTableService) -> Record {
    prepare(mock).await;
    store(&mock.client()).create(&mut record(mock, 1, 1, HOUR)).await.unwrap();
    record(mock, 1, 2, HOUR)
}

/// Another web server loads, saves and deletes the session; after that it stays away, and no rows are left.
async fn take_over(mock: &MockTableService, allowed: &[Option<i64>]) {
    let store = store(&mock.client()).margin(Duration::ZERO);
    let at_once = value(&store, 1).await;
    assert!(allowed.contains(&at_once), "{at_once:?}");
    let saved = store.save(&record(mock, 1, 9, HOUR)).await;
    match at_once {
        Some(_) => {
            saved.unwrap();
            assert_eq!(value(&store, 1).await, Some(9));
        }
        None => assert!(is_missing(&saved.unwrap_err())),
    }
    tokio::time::sleep(LATENESS * 2).await;
    let later = value(&store, 1).await;
    match at_once {
        Some(_) => assert_eq!(later, Some(9)),
        None => assert!(allowed.contains(&later), "{later:?}"),
    }
    store.delete(&Id(1)).await.unwrap();
    tokio::time::sleep(2 * HOUR).await;
    store.sweep(GRACE).await.unwrap();
    assert_eq!(value(&store, 1).await, None);
    assert_eq!(mock.row_count("Sessions"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_web_server_stops_at_each_request() {
    let created = at_every_request(
        async |mock| {
            prepare(mock).await;
            record(mock, 1, 2, HOUR)
        },
        async |new, client| store(&client).create(&mut new.clone()).await.unwrap(),
        async |_, mock, _| take_over(mock, &[None, Some(2)]).await,
    )
    .await;
    println!("sessions: create: {created}");
    let saved = at_every_request(
        prepare_session,
        async |new, client| store(&client).save(new).await.unwrap(),
        async |_, mock, _| take_over(mock, &[Some(1), Some(2)]).await,
    )
    .await;
    println!("sessions: save: {saved}");
    let deleted = at_every_request(
        prepare_session,
        async |_, client| store(&client).delete(&Id(1)).await.unwrap(),
        async |_, mock, _| take_over(mock, &[Some(1), None]).await,
    )
    .await;
    println!("sessions: delete: {deleted}");
    assert_eq!([created.requests, saved.requests, deleted.requests], [2, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_sweeper_stops_at_each_request() {
    let prepare = async |mock: &MockTableService| {
        prepare_session(mock).await;
        let store = store(&mock.client());
        for (id, ttl) in [(2, Duration::ZERO), (3, Duration::ZERO), (4, HOUR)] {
            store.create(&mut record(mock, id, 1, ttl)).await.unwrap();
        }
        store.delete(&Id(4)).await.unwrap();
    };
    let points = at_every_request(
        prepare,
        async |(), client| {
            let swept = store(&client).margin(Duration::ZERO).sweep(GRACE).await;
            assert_eq!(swept.unwrap(), 2);
        },
        async |(), mock, _| {
            assert_eq!(value(&store(&mock.client()), 2).await, None);
            take_over(mock, &[Some(1)]).await;
        },
    )
    .await;
    println!("sessions: sweep: {points}");
    assert!(points.requests > 35);
}

#[tokio::test(start_paused = true)]
async fn a_web_server_and_then_another_one_stop_at_each_request() {
    let points = at_every_pair_of_requests(
        prepare_session,
        async |new, client| store(&client).save(new).await.unwrap(),
        async |_, client| store(&client).delete(&Id(1)).await.unwrap(),
        async |_, mock, _| take_over(mock, &[Some(1), Some(2), None]).await,
    )
    .await;
    println!("sessions: save, then delete: {points}");
    assert_eq!((points.requests, points.runs), (3, sized(3 * 4, 9 * 10)));
}
