//! Derived structs: typed keys, groups, series, large values, several kinds.

use std::time::Duration;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::{Bucketed, Descending, Escaped, KeyPart, KeyRange, PropertyGroup};
use azure_table_client::filter::Filter;
use azure_table_client::{DynamicEntity, IfMatch, TableClient, TableEntity, TableEnum};
use chrono::{NaiveDate, TimeDelta};
use uuid::Uuid;

use crate::client::target::Target;

/// Stores the values in random order; the service returns them in theirs.
async fn in_order<K: KeyPart>(table: &TableClient<DynamicEntity>, partition: &str, values: &[K]) {
    let keys: Vec<String> = values.iter().map(|v| v.to_key().unwrap().into_owned()).collect();
    for at in (0..keys.len()).map(|at| (at * 7 + 3) % keys.len()) {
        table.insert_or_replace(&DynamicEntity::new(partition, &keys[at])).await.unwrap();
    }
    let rows = table.query().matching(&Filter::partition(partition)).await.unwrap();
    let stored: Vec<&str> = rows.iter().map(|row| row.key().row_key.as_str()).collect();
    assert_eq!(stored, keys, "{partition}");
}

/// Every type of key, in the order of its values.
pub(crate) async fn keys_of_every_type_are_in_order(target: &Target) {
    let table = target.table().await;
    in_order(&table, "u8", &[0_u8, 9, 10, 255]).await;
    in_order(&table, "u128", &[0, 9, 10, u128::MAX]).await;
    in_order(&table, "i32", &[i32::MIN, -10, -9, -1, 0, 1, 9, 10, i32::MAX]).await;
    in_order(&table, "i64", &[i64::MIN, -1, 0, i64::MAX]).await;
    in_order(&table, "newest", &[9_u32, 8, 1, 0].map(Descending)).await;
    in_order(&table, "largest", &[i16::MAX, 1, 0, -1, i16::MIN].map(Descending)).await;
    in_order(&table, "bool", &[false, true]).await;
    let days = [-1, 0, 30, 365].map(|n| NaiveDate::default() + TimeDelta::days(n));
    in_order(&table, "date", &days).await;
    let instants = days.map(|day| day.and_hms_nano_opt(1, 2, 3, 100).unwrap().and_utc());
    in_order(&table, "instant", &instants).await;
    in_order(&table, "naive", &instants.map(|instant| instant.naive_utc())).await;
    let spans = [0, 1, 999, 1_000, 1_001, u64::MAX].map(Duration::from_millis);
    in_order(&table, "duration", &spans).await;
    let deltas = [TimeDelta::MIN, TimeDelta::milliseconds(-1), TimeDelta::zero(), TimeDelta::MAX];
    in_order(&table, "delta", &deltas).await;
    let mut newest = [EdmDateTime::MIN, EdmDateTime::MAX].map(Descending);
    newest.reverse();
    in_order(&table, "newest instant", &newest).await;
    in_order(&table, "id", &[Uuid::nil(), Uuid::from_u128(1 << 64), Uuid::max()]).await;
    let texts = [
        "", "\0", "\u{1f}", " ", "!", "\"", "#", "\\", "a", "a b", "a/b", "ab", "~", "\u{7f}", "é",
    ];
    in_order(&table, "text", &texts.map(Escaped::from)).await;
    table.delete_table().await.unwrap();
}

/// A prefix query matches only keys with the prefix, also at the ends of Unicode.
pub(crate) async fn prefixes_hold_what_begins_so(target: &Target) {
    let table = target.table().await;
    let keys = [
        "P",
        "PDC",
        "PDC2008",
        "PDC\u{1f600}",
        "PDC\u{ffff}",
        "PDC\u{ffff}x",
        "PDD",
        "PDC\u{d7ff}",
        "PDC\u{10ffff}",
        "PDC\u{e000}",
    ];
    for key in keys {
        table.insert(&DynamicEntity::new("p", key)).await.unwrap();
    }
    for prefix in
        ["", "P", "PDC", "PDC\u{d7ff}", "PDC\u{10ffff}", "PDC\u{ffff}", "PDC\u{1f600}", "X"]
    {
        let range = KeyRange::of_prefix(prefix);
        let filter = Filter::partition("p") & Filter::rows_in(&range);
        let rows = table.query().matching(&filter).await.unwrap();
        let mut expected: Vec<&str> =
            keys.into_iter().filter(|key| key.starts_with(prefix)).collect();
        expected.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        let found: Vec<&str> = rows.iter().map(|row| row.key().row_key.as_str()).collect();
        assert_eq!(found, expected, "{prefix:?}");
    }
    table.delete_table().await.unwrap();
}

/// A blog of the paper's section 8.3.1.3.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key = "{channel}_{year:inv4}_{month:inv2(13)}", row_key(rating, id))]
pub(crate) struct Blog {
    channel: String,
    year: u16,
    month: u8,
    rating: Descending<u8>,
    id: String,
    text: String,
}

fn blog(month: u8, rating: u8, id: &str) -> Blog {
    Blog {
        channel: "Football".into(),
        year: 2008,
        month,
        rating: Descending(rating),
        id: id.into(),
        text: id.into(),
    }
}

/// Keys of several parts, and queries by the leading parts.
pub(crate) async fn keys_of_several_parts(target: &Target) {
    let table = target.table::<Blog>().await;
    let all = [blog(10, 5, "a/b"), blog(10, 5, "it's"), blog(10, 1, "x y"), blog(9, 5, "")];
    for blog in all.iter().rev() {
        table.insert(blog).await.unwrap();
    }
    assert_eq!(table.query().await.unwrap(), all);
    let october = Filter::partition(Blog::partition("Football", 2008_u16, 10_u8).unwrap());
    let best = Filter::rows_in(&Blog::row_prefix((5_u8,)).unwrap());
    assert_eq!(table.query().matching(&(october & best)).await.unwrap(), all[..2]);
    let key = Blog::key("Football", 2008_u16, 10_u8, 5_u8, "it's").unwrap();
    assert_eq!(table.get(&key).await.unwrap().entity, all[1]);
    table.delete(&key, IfMatch::Any).await.unwrap();
    let of_2008 = Filter::partitions_in(&Blog::partition_prefix(("Football", 2008_u16)).unwrap());
    assert_eq!(table.query().matching(&of_2008).await.unwrap().len(), 3);
    table.delete_table().await.unwrap();
}

/// A choice that is stored as text.
#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not yet.
    Draft,
    /// Now.
    Live,
}

/// Part of an entity.
#[derive(Debug, Clone, Default, PartialEq, PropertyGroup)]
pub(crate) struct Address {
    city: String,
    #[table(as_i64)]
    number: u64,
}

/// Every way to store a field.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(crate) struct Everything {
    #[table(partition_key)]
    p: Uuid,
    #[table(row_key)]
    r: u32,
    status: Status,
    #[table(as_string)]
    total: u128,
    #[table(flatten = "Home_")]
    home: Address,
    #[table(flatten = "Work_")]
    work: Option<Address>,
    #[table(series)]
    cpu: [Option<f64>; 24],
    #[table(split)]
    text: String,
    #[table(split)]
    data: Vec<u8>,
    #[table(extra)]
    others: Vec<(String, EdmValue)>,
}

/// Groups, series, split values and the bag of other properties are read back.
pub(crate) async fn fields_that_are_several_properties(target: &Target) {
    let table = target.table::<Everything>().await;
    let mut entity = Everything {
        p: Uuid::max(),
        r: 7,
        status: Status::Live,
        total: u128::MAX,
        home: Address { city: "Ulm".into(), number: 1 << 40 },
        work: None,
        cpu: std::array::from_fn(|hour| (hour % 2 == 0).then_some(5.0)),
        text: "x".repeat(40_000),
        data: vec![7; 70_000],
        others: vec![("Seen".into(), EdmValue::DateTime(EdmDateTime::MAX))],
    };
    table.insert(&entity).await.unwrap();
    let key = Everything::key(Uuid::max(), 7_u32).unwrap();
    assert!(table.get(&key).await.unwrap().entity == entity);
    entity.work = Some(Address::default());
    entity.text = String::new();
    entity.data.clear();
    table.merge(&entity, IfMatch::Any).await.unwrap();
    assert!(table.get(&key).await.unwrap().entity == entity);
    let live = table.query().filter_text("Status eq 'live'").await.unwrap();
    assert!(live == [entity]);
    table.delete_table().await.unwrap();
}

/// A kind of entity.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key = "{at:06}_Post")]
pub(crate) struct Post {
    #[table(partition_key)]
    user: String,
    at: u32,
    text: String,
}

/// Another kind.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key = "{at:06}_Photo")]
pub(crate) struct Photo {
    #[table(partition_key)]
    user: String,
    at: u32,
    bytes: i64,
}

/// Kinds with a discriminator property.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator = "Kind")]
pub(crate) enum Item {
    /// A post.
    Post(Post),
    /// A photo.
    Photo(Photo),
    /// A kind that newer programs write.
    #[table(other)]
    Other(DynamicEntity),
}

/// Kinds with different row key formats.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator_in_row_key)]
pub(crate) enum Keyed {
    /// A post.
    Post(Post),
    /// A photo.
    Photo(Photo),
}

/// Several kinds of entities in one table (the paper, 8.3.3).
pub(crate) async fn kinds_in_one_table(target: &Target) {
    let table = target.table::<Item>().await;
    let post = Post { user: "joe".into(), at: 1, text: "Hello".into() };
    let photo = Photo { user: "joe".into(), at: 2, bytes: 5 };
    let all = [Item::Post(post.clone()), Item::Photo(photo.clone())];
    for item in &all {
        table.insert(item).await.unwrap();
    }
    assert_eq!(table.query().await.unwrap(), all);
    let keyed = table.with_entity::<Keyed>();
    assert_eq!(keyed.query().await.unwrap(), [Keyed::Post(post), Keyed::Photo(photo)]);

    let mut video = DynamicEntity::new("joe", "000003_Video");
    video.set("Kind", "Video").set("Length", 90.0);
    table.insert(&Item::Other(video)).await.unwrap();
    let newest = table.get(("joe", "000003_Video")).await.unwrap().into_inner();
    let Item::Other(video) = newest else { panic!("{newest:?}") };
    assert_eq!(video.value("Length"), Some(&EdmValue::Double(90.0)));
    table.delete_table().await.unwrap();
}

/// A reading whose sensor is spread over several partitions.
#[derive(Debug, Clone, PartialEq, TableEntity)]
pub(crate) struct Reading {
    #[table(partition_key)]
    sensor: Bucketed<String, 5>,
    #[table(row_key)]
    at: u32,
}

/// Rows of one key in several partitions are read together.
pub(crate) async fn a_key_over_several_partitions(target: &Target) {
    let table = target.table::<Reading>().await;
    for at in 0..20 {
        for sensor in ["s1", "s2"] {
            let sensor = Bucketed::new(sensor.to_owned(), &at).unwrap();
            table.insert(&Reading { sensor, at }).await.unwrap();
        }
    }
    let key = Reading::key(Bucketed::new("s1".to_owned(), &7_u32).unwrap(), 7_u32).unwrap();
    assert_eq!(table.get(&key).await.unwrap().at, 7);
    let all = table.query().filter(|r| r.sensor.in_all_buckets("s1")).await.unwrap();
    let mut times: Vec<u32> = all.iter().map(|reading| reading.at).collect();
    times.sort_unstable();
    assert_eq!(times, (0..20).collect::<Vec<_>>());
    assert!(all.iter().all(|reading| *reading.sensor == "s1"));
    table.delete_table().await.unwrap();
}
