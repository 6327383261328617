//! Enums as values and keys.

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, TableEntity, TableEnum};

use super::fields::table;
use super::{read, refusal};

#[derive(Debug, Clone, PartialEq, TableEnum)]
#[table(rename_all = "snake_case")]
enum Status {
    Draft,
    #[table(rename = "live", alias = "published")]
    InReview,
    #[table(other)]
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
enum Level {
    Low = -1,
    Next,
    High = 5,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Choices {
    #[table(partition_key)]
    status: Status,
    #[table(row_key)]
    level: Level,
    was: Status,
    next: Option<Level>,
}

#[tokio::test]
async fn enums_are_values_and_keys() {
    let table = table::<Choices>().await;
    for (status, level) in [
        (Status::Draft, Level::Low),
        (Status::InReview, Level::Next),
        (Status::Other("x".into()), Level::High),
    ] {
        let entity =
            Choices { status: status.clone(), level, was: status.clone(), next: Some(level) };
        table.insert(&entity).await.unwrap();
        assert_eq!(table.get(Choices::key(&status, level).unwrap()).await.unwrap().entity, entity);
    }
    let numbers: Vec<_> = table.with_entity::<DynamicEntity>().query().await.unwrap().into_vec();
    let numbers: Vec<_> =
        numbers.iter().map(|row| row.get::<i32>("next").unwrap().unwrap()).collect();
    assert_eq!(numbers, [-1, 0, 5]);

    let entity: Choices =
        read(r#""PartitionKey":"draft","RowKey":"00000000005","was":"published""#).await.unwrap();
    assert_eq!((entity.was, entity.next), (Status::InReview, None));
    let error = refusal::<Choices>(
        r#""PartitionKey":"draft","RowKey":"00000000005","was":"live","next":7"#,
    )
    .await;
    assert!(error.to_string().contains("7 is not one of Low, Next, High"), "{error}");
    for (value, expected) in [
        (EdmValue::from(Status::Other("x".into())), EdmValue::String("x".into())),
        (EdmValue::from(Status::InReview), EdmValue::String("live".into())),
        (EdmValue::from(Level::Low), EdmValue::Int32(-1)),
    ] {
        assert_eq!(value, expected, "for filters and dynamic entities");
    }
    // The text of an alias is the key of another row.
    let entity: Choices =
        read(r#""PartitionKey":"published","RowKey":"00000000005","was":"live""#).await.unwrap();
    assert_eq!(entity.status, Status::Other("published".into()));
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
#[repr(u8)]
enum Letter {
    A = b'a',
    B,
}

const TEN: i32 = 10;
const BASE: isize = -7;

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
enum Based {
    A = BASE,
    B,
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
#[repr(i32)]
enum Counted {
    First = TEN,
    #[table(other)]
    Other(i32),
    AfterOther,
}

#[test]
fn variants_have_their_rust_discriminants() {
    assert_eq!(EdmValue::from(Letter::A), EdmValue::Int32(97));
    assert_eq!(EdmValue::from(Letter::B), EdmValue::Int32(98));
    assert_eq!(EdmValue::from(Based::A), EdmValue::Int32(-7));
    assert_eq!(EdmValue::from(Based::B), EdmValue::Int32(-6));
    assert_eq!(EdmValue::from(Counted::First), EdmValue::Int32(10));
    assert_eq!(EdmValue::from(Counted::AfterOther), EdmValue::Int32(12));
    assert_eq!(EdmValue::Int32(12).get::<Counted>(), Ok(Counted::AfterOther));
    assert_eq!(EdmValue::Int32(11).get::<Counted>(), Ok(Counted::Other(11)));
}
