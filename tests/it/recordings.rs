//! Recordings of the services, replayed against the mock. `tests/recordings/README.md` lists them.
//!
//! `differences.tsv` (Azure Storage) and `cosmos.tsv` name the recordings that differ when they are replayed from an empty
//! account. Any other difference fails the test, and so does a listed recording that does not differ. Most depend on state
//! that they do not have. The fourth column states how to restore it, and then they must not differ. The columns are the set,
//! the recording, the rule, the way to restore the state, and the reason. The ways are
//!
//! | way | |
//! |---|---|
//! | `-` | none |
//! | `accept` | adds `Accept: */*` to requests without `Accept` |
//! | `after NAME…` | replays these recordings of the set first |
//! | `clock TIME` | stops the clock of the mock at this time |
//! | `fault PLAN` | adds this plan of faults |
//! | `rows` | stores the rows that the recording lists |
//! | `settings` | sets the service properties that the recording reads first |
//! | `storage` | replays the recording against Azure Storage, which it comes from |
//! | `tables` | creates the tables that the recording lists, in the order of its longest list |
//!
//! The tables that a recording uses without creating them always exist when it starts, and service properties last until
//! the end of a set. A recording has no keys, so requests are signed again: with a wrong key if the service refused the
//! signature.

mod compare;
mod multipart;
mod paths;
mod session;
mod sign;
mod state;

use std::collections::BTreeMap;

use azure_table_client::Dialect;
use azure_table_tests::recordings::{self, Recording, Response};

use session::Session;

#[test]
fn recordings_of_azure_storage() {
    check(Dialect::AzureStorage, include_str!("../recordings/differences.tsv"));
}

#[test]
fn recordings_of_cosmos_db() {
    check(Dialect::CosmosDb, include_str!("../recordings/cosmos.tsv"));
}

/// Replays each recording. One that differs must be listed, and a listed one must differ. With its state, it must not.
fn check(dialect: Dialect, list: &str) {
    let mut differences = differences(list);
    let (mut passed, mut with_state, mut total, mut errors) = (0, 0, 0, Vec::new());
    for (set, recordings) in recordings::sets() {
        if set.starts_with("cosmos-") != (dialect == Dialect::CosmosDb) {
            continue;
        }
        // The service properties last until the end of the set.
        let mock = session::mock(dialect);
        for Recording { name, exchanges } in &recordings {
            total += 1;
            let mut session = Session::new(&mock);
            session.replay(exchanges);
            mock.table_names().iter().for_each(|table| assert!(mock.remove_table(table)));
            let name = format!("{set}/{name}");
            let with = match (differences.remove(&name), session.differences.first()) {
                (None, None) => {
                    passed += 1;
                    continue;
                }
                (None, Some(first)) => Some(format!("differs: {first}")),
                (Some(_), None) => Some("is listed and does not differ".to_owned()),
                (Some("-"), Some(_)) => continue,
                (Some(way), Some(_)) => state::restored(dialect, way, exchanges, &recordings)
                    .first()
                    .map(|first| format!("differs with its state: {first}")),
            };
            with_state += usize::from(with.is_none());
            errors.extend(with.map(|error| format!("{name} {error}")));
        }
    }
    println!("{dialect:?}: {passed} of {total} recordings, {with_state} more with their state");
    assert!(total > 50, "recordings are missing");
    let missing = differences.keys().filter(|_| recordings::complete().is_some());
    errors.extend(missing.map(|name| format!("{name} is listed and not in its set")));
    assert!(errors.is_empty(), "{errors:#?}");
}

/// The recordings that differ, as `set/name`, with the way to restore the state of each one.
fn differences(list: &str) -> BTreeMap<String, &str> {
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| line.split('\t').collect::<Vec<_>>());
    rows.map(|row| (format!("{}/{}", row[0], row[1]), row[3])).collect()
}

#[test]
fn changed_responses_differ() {
    for recording in recordings::in_repository("python-2017-11") {
        for (at, exchange) in recording.exchanges.iter().enumerate() {
            let differs = |change: &dyn Fn(&mut Response)| {
                let mut exchanges = recording.exchanges.clone();
                change(&mut exchanges[at].response);
                let mut session = Session::new(&session::mock(Dialect::AzureStorage));
                session.replay(&exchanges);
                !session.differences.is_empty()
            };
            assert!(differs(&|it| it.status += 1));
            for name in ["content-type", "etag", "location", "preference-applied", "x-ms-version"] {
                let is_compared = exchange.response.header(name).is_some();
                assert_eq!(differs(&|it| drop(it.headers.remove(name))), is_compared, "{name}");
            }
            // A text, and the status of a part of a batch.
            let body = exchange.response.body.replace("\":\"", "\":\"x").replace("204 ", "205 ");
            let is_changed = body != exchange.response.body;
            assert_eq!(differs(&|it| it.body.clone_from(&body)), is_changed, "{body}");
        }
    }
}
