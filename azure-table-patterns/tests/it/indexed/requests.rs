//! The number of requests of each call, as the guide page states them.

use azure_table_client::mock::MockTableService;
use azure_table_patterns::Error;
use azure_table_patterns::indexed::Indexed;

use super::examples::users;
use super::users::User;

async fn counted<T>(mock: &MockTableService, call: impl Future<Output = T>) -> (T, usize) {
    mock.requests().clear();
    let result = call.await;
    (result, mock.requests().total())
}

#[tokio::test]
async fn requests_of_each_call() {
    let mock = MockTableService::new();
    let (created, count) =
        counted(&mock, Indexed::<User>::new(&mock.client()).unwrap().create()).await;
    created.unwrap();
    assert_eq!(count, 2);
    let users = users(&mock).await;

    // An insert: one, and two for each index across partitions with a value.
    let plain = User::new("a", "0").nick("n").team("t");
    let (etag, count) = counted(&mock, users.insert(&plain)).await;
    assert_eq!(count, 1);
    let etag = etag.unwrap().unwrap();
    let both = User::new("a", "1").email("x").city("c");
    let (_, count) = counted(&mock, users.insert(&both)).await;
    assert_eq!(count, 5);

    // An update: two, and four for each index across partitions whose value changes.
    let same = User { stamp: 1, ..plain.clone() };
    let (etag, count) = counted(&mock, users.replace(&same, &etag.clone())).await;
    let etag = etag.unwrap().unwrap();
    assert_eq!(count, 2);
    let (etag, count) = counted(&mock, users.merge(&plain.clone().nick("m"), &etag.clone())).await;
    let etag = etag.unwrap().unwrap();
    assert_eq!(count, 2);
    let (etag, count) = counted(&mock, users.replace(&plain.clone().email("y"), &etag)).await;
    let etag = etag.unwrap().unwrap();
    assert_eq!(count, 4, "a new value");
    let (etag, count) = counted(&mock, users.replace(&plain.clone().email("z"), &etag)).await;
    let etag = etag.unwrap().unwrap();
    assert_eq!(count, 6, "another value");

    // A taken value, and a version that has changed.
    let thief = User::new("b", "9").email("x");
    let (taken, count) = counted(&mock, users.insert(&thief)).await;
    assert!(matches!(taken, Err(Error::ValueTaken { .. })));
    assert_eq!(count, 4);
    let (changed, count) = counted(&mock, users.replace(&plain, &"W/\"1\"".into())).await;
    assert!(matches!(changed, Err(Error::Conflict { .. })));
    assert_eq!(count, 1);

    // Reads.
    let (_, count) = counted(&mock, users.get(("a", "1"))).await;
    assert_eq!(count, 1);
    let (found, count) = counted(&mock, users.by(|u| u.email, "x").one()).await;
    assert_eq!((found.unwrap().is_some(), count), (true, 2));
    let (found, count) = counted(&mock, users.by(|u| u.email, "nobody").one()).await;
    assert_eq!((found.unwrap().is_some(), count), (false, 1));
    users.insert(&User::new("b", "2").city("c")).await.unwrap();
    let (found, count) = counted(&mock, users.by(|u| u.city, "c").all()).await;
    assert_eq!((found.unwrap().len(), count), (2, 3));
    let lookup = users.by(|u| u.team, "t").partition("a");
    assert_eq!(
        lookup.plan().unwrap().to_string(),
        "row range of the index, and a get of each entity"
    );
    let (found, count) = counted(&mock, lookup.all()).await;
    assert_eq!((found.unwrap().len(), count), (1, 2));

    // A deletion: two, and two for each index across partitions with a value.
    let (deleted, count) = counted(&mock, users.delete(("a", "0"), &etag)).await;
    deleted.unwrap();
    assert_eq!(count, 4);

    // A sweep: one for each page, one for each index row, three for the markers.
    let (swept, count) = counted(&mock, users.sweep()).await;
    assert_eq!((swept.unwrap().scanned, count), (3, 1 + 3 + 3));
}
