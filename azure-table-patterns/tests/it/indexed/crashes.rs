//! Programs that stop at each of their requests, and the programs that continue.

use std::time::Duration;

use azure_table_client::TableServiceClient;
use azure_table_client::mock::MockTableService;
use azure_table_patterns::Error;
use azure_table_patterns::indexed::Indexed;
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use azure_table_tests::sized;

use super::examples::users;
use super::users::{TABLE, User, differences};

fn old() -> User {
    User::new("a", "1").email("x").city("x").nick("x").team("x")
}

fn new() -> User {
    User::new("a", "1").email("y").city("y").nick("y").team("y")
}

async fn with_old(mock: &MockTableService) {
    users(mock).await.insert(&old()).await.unwrap();
}

async fn without(mock: &MockTableService) {
    users(mock).await;
}

async fn insert((): &(), client: TableServiceClient) {
    drop(Indexed::new(&client).unwrap().insert(&old()).await);
}

async fn insert_email((): &(), client: TableServiceClient) {
    drop(Indexed::new(&client).unwrap().insert(&User::new("a", "1").email("x")).await);
}

async fn change((): &(), client: TableServiceClient) {
    let users = Indexed::<User>::new(&client).unwrap();
    let etag = users.get(("a", "1")).await.unwrap().unwrap().etag;
    drop(users.replace(&new(), &etag).await);
}

async fn change_and_change_back((): &(), client: TableServiceClient) {
    let users = Indexed::<User>::new(&client).unwrap();
    for user in [new(), old()] {
        let etag = users.get(("a", "1")).await.unwrap().unwrap().etag;
        drop(users.replace(&user, &etag).await);
    }
}

async fn delete((): &(), client: TableServiceClient) {
    let users = Indexed::<User>::new(&client).unwrap();
    let etag = users.get(("a", "1")).await.unwrap().unwrap().etag;
    drop(users.delete(("a", "1"), &etag).await);
}

/// The owners of a unique value, without the code under test.
fn owners(mock: &MockTableService, email: &str) -> Vec<String> {
    let rows =
        mock.rows(TABLE).unwrap().into_iter().filter(|row| !row.key().row_key.starts_with("!!"));
    let users = rows.map(|row| row.to_entity::<User>().unwrap());
    users.filter(|user| user.email.as_deref() == Some(email)).map(|user| user.id).collect()
}

/// Other programs contend for both values, in the partition of the first entity or another one.
async fn contend(mock: &MockTableService) {
    let users = Indexed::<User>::new(&mock.client()).unwrap();
    for (id, group, value) in [("2", "b", "x"), ("3", "a", "y")] {
        let before = owners(mock, value);
        let found = users.by(|u| u.email, value).one().await.unwrap();
        assert_eq!(found.map(|it| it.entity.id).into_iter().collect::<Vec<_>>(), before);
        match users.insert(&User::new(group, id).email(value).nick(value)).await {
            Ok(_) => assert_eq!(owners(mock, value), [id]),
            // A second run of the same program.
            Err(Error::Client { error }) => assert!(error.is_conflict()),
            Err(Error::ValueTaken { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn check(mock: &MockTableService) {
    tokio::time::sleep(LATENESS * 2).await;
    for value in ["x", "y"] {
        assert!(owners(mock, value).len() <= 1, "{:?}", owners(mock, value));
    }
    let users = Indexed::<User>::new(&mock.client()).unwrap();
    users.sweep().await.unwrap();
    assert_eq!(differences(mock), [""; 0]);
    for value in ["x", "y"] {
        let found = users.by(|u| u.email, value).all().await.unwrap();
        let found: Vec<_> = found.into_iter().map(|it| it.entity.id).collect();
        assert_eq!(found, owners(mock, value));
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_stops_at_each_request() {
    let recover = async |(): &(), mock: &MockTableService, _| {
        contend(mock).await;
        check(mock).await;
    };
    let points = [
        ("insert", at_every_request(without, insert, recover).await),
        ("change", at_every_request(with_old, change, recover).await),
        ("change back", at_every_request(with_old, change_and_change_back, recover).await),
        ("delete", at_every_request(with_old, delete, recover).await),
    ];
    for (program, points) in points {
        println!("crashes: {program}: {points}");
    }
    assert_eq!(points.map(|(_, points)| points.requests), [5, 11, 22, 7]);
}

/// The second program contends for the former value, and cleans up.
async fn recover((): &(), client: TableServiceClient) {
    let users = Indexed::<User>::new(&client).unwrap().grace(Duration::from_secs(1));
    drop(users.insert(&User::new("b", "2").email("x")).await);
    drop(users.sweep().await);
}

#[tokio::test(start_paused = true)]
async fn two_programs_stop_one_after_the_other() {
    let check = async |(): &(), mock: &MockTableService, _| {
        contend(mock).await;
        check(mock).await;
    };
    let mut points =
        vec![("insert", at_every_pair_of_requests(without, insert_email, recover, check).await)];
    if sized(false, true) {
        points.push((
            "insert of all",
            at_every_pair_of_requests(without, insert, recover, check).await,
        ));
        points.push(("change", at_every_pair_of_requests(with_old, change, recover, check).await));
        points.push(("delete", at_every_pair_of_requests(with_old, delete, recover, check).await));
    }
    for (program, points) in points {
        println!("crashes: {program}, then its contender: {points}");
        assert!(points.runs > sized(40, 200), "{program}: {points}");
    }
}
