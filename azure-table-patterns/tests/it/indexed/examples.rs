//! Examples of use, and every error.

use std::time::Duration;

use azure_table_client::filter::PlanKind;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, EntityKey, IfMatch, Operation, Outcome};
use azure_table_patterns::Error;
use azure_table_patterns::indexed::Indexed;
use azure_table_tests::chaos;
use tokio::time::Instant;

use super::users::{INDEX, TABLE, User, differences};
use crate::hostile::{on_secondary, touching, with_secondary};

pub(super) async fn users(mock: &MockTableService) -> Indexed<User> {
    let users = Indexed::<User>::new(&mock.client()).unwrap();
    users.create().await.unwrap();
    users
}

fn joe() -> User {
    User::new("a", "joe").email("joe@x.example").city("Bonn").nick("joe").team("red")
}

#[tokio::test]
async fn entities_are_found_by_each_index() {
    let mock = MockTableService::new();
    let users = users(&mock).await;
    users.insert(&joe()).await.unwrap().unwrap();
    users.insert(&User::new("a", "ann").city("Bonn").team("red")).await.unwrap();
    users.insert(&User::new("b", "joe").city("Bonn").nick("joe").team("red")).await.unwrap();
    assert_eq!(differences(&mock), [""; 0]);

    let found = users.by(|u| u.email, "joe@x.example").one().await.unwrap().unwrap();
    assert_eq!(found.entity, joe());
    assert!(users.by(|u| u.email, "JOE@x.example").one().await.unwrap().is_none());
    let bonn = users.by(|u| u.city, "Bonn").all().await.unwrap();
    let keys: Vec<_> = bonn.iter().map(|it| (&*it.group, &*it.id)).collect();
    assert_eq!(keys, [("a", "ann"), ("a", "joe"), ("b", "joe")]);
    let nick = users.by(|u| u.nick, "joe").partition("b").one().await.unwrap().unwrap();
    assert_eq!((&*nick.group, &*nick.id), ("b", "joe"));
    let red = users.by(|u| u.team, "red").partition("a").all().await.unwrap();
    assert_eq!(red.len(), 2);
    assert!(users.by(|u| u.team, "red").partition("c").all().await.unwrap().is_empty());
}

#[tokio::test]
async fn changes_move_the_rows_of_the_indexes() {
    let mock = MockTableService::new();
    let users = users(&mock).await;
    let etag = users.insert(&joe()).await.unwrap().unwrap();
    let moved = User { city: Some("Ulm".into()), nick: None, ..joe() };
    let etag = users.replace(&moved, &etag).await.unwrap().unwrap();
    assert_eq!(differences(&mock), [""; 0]);
    // A merge keeps the values that it does not write.
    let renamed = User::new("a", "joe").email("joe@y.example");
    let etag = users.merge(&renamed, &etag).await.unwrap().unwrap();
    assert_eq!(differences(&mock), [""; 0]);
    let found = users.by(|u| u.email, "joe@y.example").one().await.unwrap().unwrap();
    assert_eq!((found.city.as_deref(), &found.etag), (Some("Ulm"), &etag));
    assert!(users.by(|u| u.email, "joe@x.example").one().await.unwrap().is_none());
    // The former value is free, and the value can return.
    users.insert(&User::new("b", "1").email("joe@x.example")).await.unwrap();
    let again = users.replace(&joe(), &etag).await.unwrap_err();
    assert!(matches!(again, Error::ValueTaken { index: "Email", .. }), "{again}");
    users.delete(("a", "joe"), &etag).await.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
    assert!(users.get(("a", "joe")).await.unwrap().is_none());
    users.insert(&User { email: None, ..joe() }).await.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
}

#[tokio::test]
async fn queries_return_entities_only() {
    let mock = MockTableService::new();
    let users = users(&mock).await;
    for id in ["", " ", "!", "!a", "\"", "joe", "é"] {
        users.insert(&User::new("a", id).team("red").nick(&format!("n{id}"))).await.unwrap();
    }
    assert_eq!(mock.row_count(TABLE), Some(7 * 4));
    assert_eq!(users.query().partition("a").await.unwrap().len(), 7);
    let joe = users.query().filter(|u| u.group.eq("a") & u.id.eq("joe"));
    assert_eq!(joe.plan().unwrap().kind, PlanKind::Point);
    assert_eq!(joe.await.unwrap().len(), 1);
    assert_eq!(users.query().allow_scan().count().await.unwrap(), 7);
}

#[tokio::test]
async fn a_unique_value_has_one_owner() {
    let mock = MockTableService::new();
    let users = users(&mock).await;
    users.insert(&joe()).await.unwrap();
    let error = users.insert(&User::new("b", "1").email("joe@x.example")).await.unwrap_err();
    assert!(
        matches!(&error, Error::ValueTaken { index: "Email", owner: Some(owner) } if *owner == EntityKey::new("a", "joe"))
    );
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(error.to_string(), r#"value taken: the entity ("a", "joe") has the value of Email"#);
    let error = users.insert(&User::new("a", "2").nick("joe").email("new")).await.unwrap_err();
    assert!(matches!(&error, Error::ValueTaken { index: "Nick", owner: None }), "{error}");
    // The value that the failed write had reserved is free again, and another partition has its own nicknames.
    users.insert(&User::new("b", "2").nick("joe").email("new")).await.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
}

#[tokio::test]
async fn refusals_of_the_entity() {
    let mock = MockTableService::new();
    let users = users(&mock).await;
    let old = users.insert(&joe()).await.unwrap().unwrap();
    let error = users.insert(&User { email: Some("other".into()), ..joe() }).await.unwrap_err();
    assert!(matches!(&error, Error::Client { error } if error.is_conflict()), "{error}");
    let etag = users.replace(&User { city: None, ..joe() }, &old).await.unwrap().unwrap();
    for error in [
        users.replace(&joe(), &old).await.unwrap_err(),
        users.merge(&joe(), &old).await.unwrap_err(),
        users.delete(("a", "joe"), &old).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Conflict { .. }), "{error}");
    }
    users.delete(("a", "joe"), &etag).await.unwrap();
    let error = users.replace(&joe(), &etag).await.unwrap_err();
    assert!(matches!(&error, Error::Client { error } if error.is_not_found()), "{error}");
    assert_eq!(differences(&mock), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_change_between_the_read_and_the_commit_is_noticed() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    let etag = users.insert(&joe()).await.unwrap().unwrap();
    // The transaction arrives after that of the other program.
    let seconds = Duration::from_secs(5);
    mock.faults().add(Fault::delay_request(seconds).on(Operation::Transaction).times(1));
    let slow = User { email: Some("slow".into()), ..joe() };
    let fast = User { email: Some("fast".into()), stamp: 1, ..joe() };
    let (slow, fast) = tokio::join!(users.replace(&slow, &etag), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        users.replace(&fast, &etag).await
    });
    assert!(matches!(slow, Err(Error::Conflict { .. })), "{slow:?}");
    fast.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn two_equal_updates_do_not_both_succeed() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    let etag = users.insert(&joe()).await.unwrap().unwrap();
    mock.faults().add(Fault::hang().on(Operation::Transaction).times(1));
    let counted = User { stamp: 1, ..joe() };
    let (slow, fast) = tokio::join!(users.replace(&counted, &etag), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        users.replace(&counted, &etag).await
    });
    fast.unwrap();
    assert_eq!(slow.unwrap_err().outcome(), Outcome::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_slow_writer_is_cancelled_and_its_late_commit_refused() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    mock.faults()
        .add(Fault::delay_request(Duration::from_secs(20)).on(Operation::Transaction).times(1));
    let (first, second) = (User::new("a", "1").email("x"), User::new("b", "2").email("x"));
    let (first, second) = tokio::join!(users.insert(&first), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        users.insert(&second).await
    });
    let error = first.unwrap_err();
    assert!(
        matches!(&error, Error::Failed { outcome: Outcome::NotApplied, error: Some(error) } if error.is_conflict()),
        "{error}"
    );
    assert_eq!(error.outcome(), Outcome::NotApplied);
    second.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
    let owner = users.by(|u| u.email, "x").one().await.unwrap().unwrap();
    assert_eq!(owner.group, "b");
}

#[tokio::test(start_paused = true)]
async fn a_contender_waits_for_a_writer_that_is_in_time() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    mock.faults()
        .add(Fault::delay_request(Duration::from_secs(3)).on(Operation::Transaction).times(1));
    let (first, second) = (User::new("a", "1").email("x"), User::new("b", "2").email("x"));
    let (first, second) = tokio::join!(users.insert(&first), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        users.insert(&second).await
    });
    first.unwrap();
    assert!(matches!(second, Err(Error::ValueTaken { .. })), "{second:?}");
    assert_eq!(differences(&mock), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_without_proof_is_unknown() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction));
    mock.faults().add(Fault::refuse_connection().on(Operation::Insert).table(TABLE));
    mock.faults().add(Fault::refuse_connection().on(Operation::Get).table(TABLE));
    mock.faults().add(Fault::refuse_connection().on(Operation::Query).table(TABLE));
    let error = users.insert(&joe()).await.unwrap_err();
    assert!(matches!(&error, Error::Failed { .. }), "{error}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    mock.faults().clear();
    // It was applied, and readers find it although its rows are not confirmed.
    assert!(users.by(|u| u.email, "joe@x.example").one().await.unwrap().is_some());
    let swept = users.sweep().await.unwrap();
    assert_eq!((swept.unfinished, swept.removed), (2, 0));
    assert_eq!(differences(&mock), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_is_resolved() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    for fault in [Fault::lose_reply(), Fault::deliver_twice()] {
        mock.faults().add(fault.on_writes());
        let etag = users.insert(&joe()).await.unwrap();
        let etag = match etag {
            Some(etag) => etag,
            None => users.get(("a", "joe")).await.unwrap().unwrap().etag,
        };
        mock.faults().clear();
        users.delete(("a", "joe"), &etag).await.unwrap();
        users.sweep().await.unwrap();
        assert_eq!(differences(&mock), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_removes_what_points_to_nothing_and_old_markers() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    users.insert(&joe()).await.unwrap();
    users.insert(&User::new("b", "1").email("x").city("Ulm")).await.unwrap();
    // A program that does not maintain the indexes.
    let plain = mock.client().table::<User>();
    plain.delete(("b", "1"), IfMatch::Any).await.unwrap();
    let swept = users.sweep().await.unwrap();
    assert_eq!((swept.scanned, swept.unfinished, swept.removed), (4, 0, 2));
    assert_eq!(mock.row_count(INDEX), Some(2));
    tokio::time::advance(azure_table_patterns::indexed::MARKER_RETENTION).await;
    users.insert(&User::new("b", "2").email("y")).await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let swept = users.sweep().await.unwrap();
    assert_eq!((swept.scanned, swept.unfinished, swept.removed), (3, 0, 2));
    assert_eq!(users.sweep().await.unwrap().removed, 0);
    assert_eq!(differences(&mock), [""; 0]);
}

/// After a lost response, the client reads the version that another program has left.
#[tokio::test(start_paused = true)]
async fn a_write_does_not_return_the_version_of_another_program() {
    for with_ids in [true, false] {
        let mock = chaos::mock();
        let others = users(&mock).await;
        let builder = mock.client_builder().deadline(Duration::from_secs(200));
        let builder = builder.try_timeout(Duration::from_secs(30));
        let builder = if with_ids { builder.write_id_column("WriteId") } else { builder };
        let users = Indexed::<User>::new(&builder.build().unwrap()).unwrap();
        let etag = users.insert(&joe()).await.unwrap().unwrap();
        let reply = Fault::delay_reply(Duration::from_secs(60));
        mock.faults().add(reply.on(Operation::Transaction).times(1));
        let moved = User::new("a", "joe").city("Ulm");
        let (written, other) = tokio::join!(users.merge(&moved, &etag), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let etag = others.get(("a", "joe")).await.unwrap().unwrap().etag;
            others.merge(&User::new("a", "joe").nick("other"), &etag).await.unwrap().unwrap()
        });
        let written = written.unwrap();
        assert_ne!(written.as_ref(), Some(&other), "with ids: {with_ids}");
        assert_eq!(written, None);
    }
}

/// The secondary would show an entity from before it had the value, so that its index row would be removed.
#[tokio::test]
async fn proofs_do_not_read_the_secondary() {
    let mock = MockTableService::new();
    users(&mock).await;
    let users = Indexed::<User>::new(&with_secondary(&mock)).unwrap().grace(Duration::ZERO);
    let etag = users.insert(&joe()).await.unwrap().unwrap();
    let taken = users.insert(&User::new("b", "1").email("joe@x.example")).await;
    assert!(matches!(taken, Err(Error::ValueTaken { .. })), "{taken:?}");
    users.by(|u| u.email, "joe@x.example").one().await.unwrap().unwrap();
    assert_eq!(users.by(|u| u.city, "Bonn").all().await.unwrap().len(), 1);
    let etag = users.replace(&joe().city("Ulm"), &etag).await.unwrap().unwrap();
    let etag = users.merge(&joe().city("Bonn"), &etag).await.unwrap().unwrap();
    users.sweep().await.unwrap();
    users.delete(("a", "joe"), &etag).await.unwrap();
    assert_eq!(on_secondary(&mock), 0);
}

/// A program that may not delete does not send the same request for an hour.
#[tokio::test(start_paused = true)]
async fn a_refused_cleaning_is_reported() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    users.insert(&User::new("a", "1").email("x")).await.unwrap();
    mock.client().table::<User>().delete(("a", "1"), IfMatch::Any).await.unwrap();
    let refused = Fault::error(403, "AuthorizationPermissionMismatch").on(Operation::Delete);
    mock.faults().add(refused.table(INDEX).times(100));
    let error = users.insert(&User::new("b", "2").email("x")).await.unwrap_err();
    assert!(matches!(&error, Error::Client { error } if error.status() == Some(403)), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    let error = users.sweep().await.unwrap_err();
    assert!(matches!(&error, Error::Client { error } if error.status() == Some(403)), "{error}");
    mock.faults().clear();
    users.insert(&User::new("b", "2").email("x")).await.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
}

/// Another program writes the entity before each transaction.
#[tokio::test(start_paused = true)]
async fn any_version_can_be_written() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    users.insert(&joe()).await.unwrap();
    users.replace(&User { city: Some("Ulm".into()), ..joe() }, IfMatch::Any).await.unwrap();
    let renamed = User::new("a", "joe").email("joe@y.example");
    users.merge(&renamed, IfMatch::Any).await.unwrap();
    let found = users.by(|u| u.email, "joe@y.example").one().await.unwrap().unwrap();
    assert_eq!(found.city.as_deref(), Some("Ulm"));

    let touching = touching(&mock, TABLE, ("a", "joe"), ("POST", "/$batch"));
    let slow = Indexed::<User>::new(&touching).unwrap();
    let errors = [
        slow.replace(&joe(), IfMatch::Any).await.unwrap_err(),
        slow.merge(&joe(), IfMatch::Any).await.unwrap_err(),
        slow.delete(("a", "joe"), IfMatch::Any).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Contended { rounds: 20, .. }), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
    assert_eq!(differences(&mock), [""; 0]);
    users.delete(("a", "joe"), IfMatch::Any).await.unwrap();
    assert_eq!(differences(&mock), [""; 0]);
    let missing = users.delete(("a", "joe"), IfMatch::Any).await.unwrap_err();
    assert!(matches!(&missing, Error::Client { error: it } if it.is_not_found()), "{missing:?}");
}

/// The row of the value exists for each insert, and is gone when it is read.
#[tokio::test(start_paused = true)]
async fn a_value_whose_row_comes_and_goes_is_contended() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    mock.faults().add(Fault::error(409, "EntityAlreadyExists").on(Operation::Insert).table(INDEX));
    let error = users.insert(&joe()).await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 20, .. }), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(mock.row_count(TABLE), Some(0));
}

/// Another program deleted the entity, and writes the row of its value before each take-over.
#[tokio::test(start_paused = true)]
async fn a_value_whose_row_always_changes_is_contended() {
    let mock = chaos::mock();
    let users = users(&mock).await;
    let joe = User::new("a", "joe").email("joe@x.example");
    users.insert(&joe).await.unwrap();
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    table.delete(("a", "joe"), IfMatch::Any).await.unwrap();
    let rows: Vec<DynamicEntity> = mock.rows(INDEX).unwrap();
    let EntityKey { partition_key, row_key } = rows[0].key().clone();
    let row = (&*partition_key.leak(), &*row_key.leak());
    let touching = touching(&mock, INDEX, row, ("PUT", INDEX));
    let slow = Indexed::<User>::new(&touching).unwrap();
    let (start, reads) = (Instant::now(), mock.requests().count(Operation::Get));
    let error = slow.insert(&joe).await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 20, .. }), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(mock.row(TABLE, "a", "joe").is_none());
    assert!(mock.requests().count(Operation::Get) - reads > 20 && !start.elapsed().is_zero());
}
