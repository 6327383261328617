//! Fields of keys: spread over partitions, in both keys, and stored as properties too.

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::{Bucketed, DecodeReason, Descending, EncodeError};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use chrono::{DateTime, NaiveDate, Utc};

use super::{read, refusal};

async fn table<T: TableEntity>() -> TableClient<T> {
    let table = MockTableService::new().client().table_named("Things");
    table.create().await.unwrap();
    table
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Event {
    #[table(partition_key)]
    day: Bucketed<NaiveDate, 12>,
    #[table(row_key)]
    id: u32,
}

#[tokio::test]
async fn a_partition_is_spread_over_buckets() {
    let table = table::<Event>().await;
    let days = [1, 2].map(|day| NaiveDate::from_ymd_opt(2009, 4, day).unwrap());
    for (day, id) in days.into_iter().flat_map(|day| (0..40).map(move |id| (day, id))) {
        let event = Event { day: Bucketed::new(day, &id).unwrap(), id };
        table.insert(&event).await.unwrap();
        let key = Event::key(Bucketed::new(day, &id).unwrap(), id).unwrap();
        assert_eq!(table.get(key).await.unwrap().entity, event);
    }
    let query = table.query().filter(|e| e.day.in_all_buckets(days[0]));
    let plan = query.plan().unwrap().to_string();
    assert_eq!(plan, "12 partitions: the filter lists the PartitionKeys");
    let all = query.await.unwrap();
    assert_eq!(all.len(), 40);
    assert!(all.iter().all(|event| *event.day == days[0]));
    let mut of_buckets = 0;
    for bucket in Bucketed::<_, 12>::all(&days[1]) {
        of_buckets += table.query().filter(|e| e.day.eq(bucket)).await.unwrap().len();
    }
    assert_eq!(of_buckets, 40);
    let error = refusal::<Event>(r#""PartitionKey":"12_2009-04-01","RowKey":"0000000001""#).await;
    assert!(error.to_string().contains("a bucket of 2 digits from 0 to 11"), "{error}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key(at, user))]
struct Both {
    #[table(partition_key)]
    user: String,
    at: u32,
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Same {
    #[table(partition_key, row_key)]
    id: u32,
    text: String,
}

#[tokio::test]
async fn a_field_in_both_keys() {
    let table = table::<Both>().await;
    let both = Both { user: "a/b".replace('/', "!"), at: 7, text: "x".into() };
    table.insert(&both).await.unwrap();
    let key = Both::key("a!b", 7).unwrap();
    assert_eq!(key, ("a!b", "0000000007!a\"Xb").into());
    assert_eq!(table.get(&key).await.unwrap().entity, both);
    let error =
        refusal::<Both>(r#""PartitionKey":"joe","RowKey":"0000000007!ann","text":"x""#).await;
    assert_eq!(error.property(), "RowKey");
    let reason = "`user` is \"joe\" in the PartitionKey and \"ann\" in the RowKey";
    assert_eq!(error.reason(), &DecodeReason::Key(reason.into()));

    let table = table.with_entity::<Same>();
    let same = Same { id: 5, text: "x".into() };
    table.insert(&same).await.unwrap();
    assert_eq!(Same::key(5).unwrap(), ("0000000005", "0000000005").into());
    assert_eq!(table.get(Same::key(5)).await.unwrap().entity, same);
    let error =
        refusal::<Same>(r#""PartitionKey":"0000000005","RowKey":"0000000006","text":"x""#).await;
    assert!(error.to_string().contains("`id` is \"0000000005\" in the PartitionKey"), "{error}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{day}_{id:06}")]
struct Copied {
    #[table(partition_key, also_property, rename = "Owner")]
    user: String,
    #[table(also_property)]
    day: Descending<NaiveDate>,
    #[table(also_property, as_string)]
    id: u64,
    text: String,
}

fn copied() -> Copied {
    let day = Descending(NaiveDate::from_ymd_opt(2009, 4, 14).unwrap());
    Copied { user: "joe".into(), day, id: 7, text: "x".into() }
}

#[tokio::test]
async fn a_key_that_is_also_a_property() {
    let table = table::<Copied>().await;
    let copied = copied();
    table.insert(&copied).await.unwrap();
    assert_eq!(Copied::COLUMNS, ["Owner", "Day", "Id", "Text"]);
    let stored = DynamicEntity::from_entity(&copied).unwrap();
    let midnight: EdmDateTime = "2009-04-14T00:00:00Z".parse().unwrap();
    assert_eq!(stored.value("Owner"), Some(&EdmValue::String("joe".into())));
    assert_eq!(stored.value("Day"), Some(&EdmValue::DateTime(midnight)));
    assert_eq!(stored.value("Id"), Some(&EdmValue::String("7".into())));

    let found = table
        .query()
        .filter(|c| c.user_property.eq("joe") & c.day.eq(copied.day) & c.id.eq(7))
        .await
        .unwrap();
    assert_eq!(found.into_vec(), std::slice::from_ref(&copied));
    let selected = table.query().select(|c| (c.user_property, c.day, c.id)).await.unwrap();
    assert_eq!(selected[0], ("joe".to_owned(), copied.day, 7));
}

#[tokio::test]
async fn a_copy_that_differs_from_its_key_is_an_error() {
    let key = copied().entity_key().unwrap();
    let keys = format!(r#""PartitionKey":"joe","RowKey":"{}","Text":"x""#, key.row_key);
    // Rows that are older than the attribute do not have the properties.
    assert_eq!(read::<Copied>(&keys).await.unwrap(), copied());
    assert_eq!(read::<Copied>(&format!(r#"{keys},"Owner":null"#)).await.unwrap(), copied());
    for (property, value) in [("Owner", "\"ann\""), ("Id", "\"8\""), ("Owner", "5")] {
        let error = refusal::<Copied>(&format!(r#"{keys},"{property}":{value}"#)).await;
        assert_eq!(error.property(), property);
        assert_eq!(error.key(), Some(&key));
    }
    let error = refusal::<Copied>(&format!(r#"{keys},"Owner":"ann""#)).await;
    let reason = "the property is \"ann\" and the key has \"joe\": another program has changed it";
    assert_eq!(error.reason(), &DecodeReason::Other(reason.into()));
}

/// Nanoseconds since 1970, of which a key holds hundreds.
mod nanos {
    use azure_table_client::edm::ConvertError;
    use azure_table_client::entity::Descending;
    use chrono::{DateTime, Utc};

    pub(super) fn encode(time: &Descending<DateTime<Utc>>) -> Result<i64, ConvertError> {
        time.0.timestamp_nanos_opt().ok_or_else(|| ConvertError::Other("out of range".into()))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the signature of a codec")]
    pub(super) fn decode(nanos: i64) -> Result<Descending<DateTime<Utc>>, ConvertError> {
        Ok(Descending(DateTime::from_timestamp_nanos(nanos)))
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key(newest, at, tick))]
struct FineCopies {
    #[table(partition_key)]
    p: String,
    #[table(also_property, with = "nanos")]
    newest: Descending<DateTime<Utc>>,
    #[table(also_property, as_string)]
    at: DateTime<Utc>,
    #[table(also_property)]
    tick: DateTime<Utc>,
}

#[tokio::test]
async fn a_copy_that_holds_more_than_its_key_is_not_written() {
    let table = table::<FineCopies>().await;
    let exact: DateTime<Utc> = "2024-05-01T12:00:00.1234567Z".parse().unwrap();
    let fine: DateTime<Utc> = "2024-05-01T12:00:00.123456789Z".parse().unwrap();
    let row = |newest, at| FineCopies { p: "p".into(), newest: Descending(newest), at, tick: fine };
    table.insert(&row(exact, exact)).await.unwrap();
    let stored = table.query().filter(|c| c.at.eq(exact) & c.tick.eq(fine)).await.unwrap();
    assert_eq!(stored.into_vec(), [FineCopies { tick: exact, ..row(exact, exact) }]);
    for (refused, property, problem) in [
        (row(exact, fine), "at", r#"the key holds "2024-05-01 12:00:00.123456700 UTC""#),
        (row(fine, exact), "newest", r#"the key holds "1714564800123456700""#),
    ] {
        let error = DynamicEntity::from_entity(&refused).unwrap_err();
        let EncodeError::Convert { property: found, reason } = &error else { panic!("{error}") };
        assert_eq!(found, property);
        assert!(reason.to_string().contains(problem), "{error}");
    }
}
