//! Values and keys at the limits, and input that is refused before anything is sent.

use azure_table_client::mock::MockTableService;
use azure_table_client::{ErrorKind, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::indexed::Indexed;

use super::examples::users;
use super::users::{User, differences};

#[tokio::test]
async fn values_and_keys_of_any_characters() {
    let mock = MockTableService::new();
    let users = users(&mock).await;
    let values =
        ["/", "\\", "#", "?", "\0", "\u{7f}", "!", "!!", " ", ".", "%2F", "'", "é", "🦀", "a/b"];
    for (number, value) in values.into_iter().enumerate() {
        let number = number.to_string();
        let user = User::new("a'!", &number).email(value).city(value).nick(value).team(value);
        users.insert(&user).await.unwrap();
    }
    assert_eq!(differences(&mock), [""; 0]);
    for (number, value) in values.into_iter().enumerate() {
        let number = number.to_string();
        let found = [
            users.by(|u| u.email, value).all().await.unwrap(),
            users.by(|u| u.city, value).all().await.unwrap(),
            users.by(|u| u.nick, value).partition("a'!").all().await.unwrap(),
            users.by(|u| u.team, value).partition("a'!").all().await.unwrap(),
        ];
        for found in found {
            let ids: Vec<_> = found.iter().map(|user| &*user.id).collect();
            assert_eq!(ids, [&*number], "{value:?}");
        }
    }
}

#[tokio::test]
async fn empty_keys_and_large_properties() {
    #[derive(TableEntity)]
    #[table(name = "Notes", index(by = "title", unique))]
    struct Note {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        title: String,
        text: String,
    }
    let mock = MockTableService::new();
    let notes = Indexed::<Note>::new(&mock.client()).unwrap();
    notes.create().await.unwrap();
    let text = |length| Note {
        p: String::new(),
        r: String::new(),
        title: "t".repeat(1_018),
        text: "x".repeat(length),
    };
    notes.insert(&text(32 * 1024)).await.unwrap();
    assert!(notes.by(|n| n.title, "t".repeat(1_018)).one().await.unwrap().is_some());
    mock.requests().clear();
    let too_long = Note { title: "t".repeat(1_019), ..text(1) };
    refused(notes.insert(&too_long).await, "1025");
    refused(notes.insert(&text(32 * 1024 + 1)).await, "32768");
    assert_eq!(mock.requests().total(), 0);
}

fn refused<T>(result: Result<T, Error>, text: &str) {
    let Err(error) = result else { panic!("not refused: {text}") };
    match &error {
        Error::InvalidInput { .. } => {}
        Error::Client { error } if error.kind() == ErrorKind::InvalidInput => {}
        error => panic!("{error:?}"),
    }
    assert!(error.to_string().contains(text), "{error}");
}

#[tokio::test]
async fn invalid_input_is_refused_before_anything_is_sent() {
    #[derive(Default, TableEntity)]
    #[table(name = "Odd", rename_all = "PascalCase")]
    #[table(index(by = "price"), index(by = "hash", unique), index(by = "name", in_partition))]
    struct Odd {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        price: Option<f64>,
        hash: Option<Vec<u8>>,
        name: Option<String>,
        other: String,
    }
    let mock = MockTableService::new();
    let odd = Indexed::<Odd>::new(&mock.client()).unwrap();
    let etag = &"W/\"1\"".into();
    let empty = Odd { name: Some(String::new()), ..Odd::default() };
    refused(odd.insert(&empty).await, "the value of Name cannot be in an index: it is empty");
    refused(odd.replace(&empty, etag).await, "it is empty");
    refused(odd.merge(&empty, etag).await, "it is empty");
    let double = Odd { price: Some(1.0), ..Odd::default() };
    refused(odd.insert(&double).await, "the value of Price cannot be in an index: equal");
    let binary = Odd { hash: Some(vec![1]), ..Odd::default() };
    refused(odd.insert(&binary).await, "the value of Hash cannot be in an index: it is binary");
    let reserved = Odd { r: "!!x".into(), ..Odd::default() };
    refused(odd.insert(&reserved).await, "are reserved for the rows of indexes: (\"\", \"!!x\")");
    refused(odd.replace(&reserved, etag).await, "are reserved");
    refused(odd.delete(("a", "!!x"), etag).await, "are reserved");
    refused(odd.get(("a", "!!x")).await, "are reserved");
    refused(odd.insert(&Odd { p: "/".into(), ..Odd::default() }).await, "PartitionKey");
    refused(odd.delete(("/", "a"), etag).await, "PartitionKey");
    refused(odd.by(|o| o.other, "x").all().await, "Other has no index");
    refused(odd.by(|o| o.name, "x").all().await, "name one by `.partition(…)`");
    refused(odd.by(|o| o.name, "x").partition("p").one().await, "not unique: call `all`");
    refused(odd.by(|o| o.hash, vec![1]).partition("p").one().await, "it is binary");
    refused(odd.by(|o| o.price, 1.0).all().await, "equal numbers");
    let long = "x".repeat(1_100);
    refused(odd.insert(&Odd { name: Some(long), ..Odd::default() }).await, "1024");
    let users = Indexed::<User>::new(&mock.client()).unwrap();
    refused(users.by(|u| u.email, "x").partition("p").one().await, "remove `.partition(…)`");
    refused(users.by(|u| u.email, "").one().await, "it is empty");
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test]
async fn names_of_tables_are_checked_at_the_start() {
    let client = MockTableService::new().client();
    for name in ["", "no name", &"x".repeat(59)] {
        assert!(Indexed::<User>::named(&client, name).unwrap_err().is_invalid_input(), "{name}");
    }
    Indexed::<User>::named(&client, "x".repeat(58)).unwrap();
}
