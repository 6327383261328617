//! Types of fields: newtypes, JSON, times, durations and bytes.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use azure_table_client::edm::{ConvertError, EdmType, EdmValue};
use azure_table_client::entity::{Descending, EncodeError, Escaped, KeyRange};
use azure_table_client::filter::Condition;
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, ErrorKind, TableClient, TableEntity, TableEnum, TableValue,
};
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{KEYS, read, refusal};

async fn table<T: TableEntity>() -> TableClient<T> {
    let table = MockTableService::new().client().table_named("Things");
    table.create().await.unwrap();
    table
}

/// A type whose text is for people.
#[derive(Debug, Clone, PartialEq)]
struct Rounded(f64);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "about {:.1}", self.0)
    }
}

impl FromStr for Rounded {
    type Err = std::num::ParseFloatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A type that reads another value than it wrote.
#[derive(Debug, Clone, PartialEq)]
struct Percent(u32);

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0 / 100)
    }
}

impl FromStr for Percent {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Texts {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(as_string)]
    at: Option<NaiveDateTime>,
    #[table(as_string)]
    rounded: Option<Rounded>,
    #[table(as_string)]
    percent: Option<Percent>,
    #[table(as_string)]
    fine: u64,
}

#[tokio::test]
async fn a_text_that_is_not_read_back_is_not_written() {
    let none =
        Texts { p: "p".into(), r: "r".into(), at: None, rounded: None, percent: None, fine: 7 };
    let time = NaiveDate::from_ymd_opt(2009, 4, 14).unwrap().and_hms_opt(1, 2, 3);
    let table = table::<Texts>().await;
    table.insert(&none).await.unwrap();
    for (entity, property, text, problem) in [
        (Texts { at: time, ..none.clone() }, "At", "2009-04-14 01:02:03", "input contains invalid"),
        (
            Texts { rounded: Some(Rounded(1.25)), ..none.clone() },
            "Rounded",
            "about 1.2",
            "invalid float",
        ),
        (
            Texts { percent: Some(Percent(250)), ..none.clone() },
            "Percent",
            "2",
            "it is read as \"0\"",
        ),
    ] {
        let error = DynamicEntity::from_entity(&entity).unwrap_err();
        let EncodeError::Convert { property: at, reason } = &error else { panic!("{error}") };
        assert_eq!(at, property);
        let ConvertError::NotReadBack { text: written, problem: found } = reason else {
            panic!("{error}")
        };
        assert_eq!(written, text);
        assert!(found.contains(problem), "{error}");
        let error = table.insert_or_replace(&entity).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("does not read it back"), "{error}");
    }
    // The value of a filter is refused as well.
    let query = table.query().filter(|t| t.percent.eq(Percent(250)));
    assert_eq!(query.await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(table.query().filter(|t| t.fine.eq(7)).await.unwrap().len(), 1);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Times {
    #[table(partition_key)]
    p: String,
    #[table(row_key, on_inexact = "error")]
    r: Descending<DateTime<Utc>>,
    dropped: DateTime<Utc>,
    #[table(on_inexact = "error")]
    exact: DateTime<Utc>,
    #[table(on_inexact = "error")]
    naive: Option<NaiveDateTime>,
}

#[tokio::test]
async fn digits_below_ticks_are_dropped_or_an_error() {
    let fine: DateTime<Utc> = "2009-04-14T01:02:03.123456789Z".parse().unwrap();
    let exact: DateTime<Utc> = "2009-04-14T01:02:03.1234567Z".parse().unwrap();
    let times = Times { p: String::new(), r: Descending(exact), dropped: fine, exact, naive: None };
    let table = table::<Times>().await;
    table.insert(&times).await.unwrap();
    let stored = table.get(times.entity_key().unwrap()).await.unwrap().into_inner();
    assert_eq!(stored, Times { dropped: exact, ..times.clone() });
    let types = DynamicEntity::from_entity(&times).unwrap();
    assert!(types.properties().all(|(_, value)| value.edm_type() == EdmType::DateTime));

    for (entity, property) in [
        (Times { exact: fine, ..times.clone() }, "exact"),
        (Times { naive: Some(fine.naive_utc()), ..times.clone() }, "naive"),
    ] {
        let error = DynamicEntity::from_entity(&entity).unwrap_err();
        assert!(matches!(&error, EncodeError::Convert { property: at, .. } if at == property));
        assert!(error.to_string().contains("digits below the service's 100 ns"), "{error}");
    }
    let error = Times { r: Descending(fine), ..times }.entity_key().unwrap_err().to_string();
    assert!(error.starts_with("`r` has digits below 100 ns"), "{error}");

    let of = |time| table.query().filter(|t| t.exact.ge(time)).into_future();
    assert_eq!(of(exact).await.unwrap().len(), 1);
    assert!(of(fine).await.is_err(), "no row can have this value");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key(at, n))]
struct Reading {
    #[table(partition_key, on_inexact = "error")]
    day: NaiveDateTime,
    #[table(on_inexact = "error")]
    at: DateTime<Utc>,
    n: u8,
}

/// A key without the digits would be that of another row.
#[tokio::test]
async fn digits_below_ticks_are_an_error_in_comparisons_with_keys() {
    let fine: DateTime<Utc> = "2009-04-14T01:02:03.123456789Z".parse().unwrap();
    let exact: DateTime<Utc> = "2009-04-14T01:02:03.1234567Z".parse().unwrap();
    let times = Times::columns();
    let comparisons = |time: DateTime<Utc>| {
        [
            times.r.eq(time),
            times.r.ne(time),
            times.r.is_in([Descending(time)]),
            times.r.lt(Descending(time)),
            times.r.ge(Descending(time)),
            times.r.between(Descending(time), Descending(exact)),
            times.r.newer_than(time),
            times.r.older_or_equal(time),
            times.r.starts_with((time,)),
        ]
    };
    let readings = Reading::columns();
    let of_readings = |time: DateTime<Utc>| {
        [
            readings.day.eq(time.naive_utc()),
            readings.row_key.eq((time, 1)),
            readings.row_key.gt((time,)),
            readings.row_key.between((exact,), (&time, 1)),
            readings.row_key.starts_with((time,)),
        ]
    };
    let message = "the time has digits below 100 ns";
    let check = |name: String, found: Result<String, String>, is_exact: bool| match found {
        Ok(_) => assert!(is_exact, "{name}"),
        Err(error) => assert!(!is_exact && error.contains(message), "{name}: {error}"),
    };
    for (time, is_exact) in [(exact, true), (fine, false)] {
        let filters = comparisons(time).map(Condition::into_filter);
        let filters = filters.into_iter().chain(of_readings(time).map(Condition::into_filter));
        for (at, filter) in filters.enumerate() {
            let filter = filter.map(|it| it.to_string()).map_err(|error| error.to_string());
            check(format!("comparison {at}"), filter, is_exact);
        }
        let (day, text) = (exact.naive_utc(), |key: KeyRange| key.lower().to_owned());
        for (at, key) in [
            Times::key("", time).map(|key| key.row_key),
            Times::row_prefix((time,)).map(text),
            Reading::key(day, time, 1).map(|key| key.row_key),
            Reading::key(time.naive_utc(), exact, 1).map(|key| key.partition_key),
            Reading::partition(time.naive_utc()),
            Reading::partition_prefix((time.naive_utc(),)).map(text),
            Reading::row_prefix((time, 1)).map(text),
        ]
        .into_iter()
        .enumerate()
        {
            check(format!("key {at}"), key.map_err(|error| error.to_string()), is_exact);
        }
    }
    let table = table::<Times>().await;
    let error = table.query().filter(|t| t.r.eq(fine)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    // A projection reads the key as its value.
    let times =
        Times { p: String::new(), r: Descending(exact), dropped: exact, exact, naive: None };
    table.insert(&times).await.unwrap();
    assert_eq!(table.query().select(|t| t.r).await.unwrap(), [Descending(exact)]);
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, TableValue)]
struct UserId(String);

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, TableValue)]
struct Points {
    value: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, TableValue)]
struct Rank(u16);

#[derive(Debug, Clone, Copy, PartialEq, TableValue)]
struct Of<T>(T);

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key = "{rank:inv3}_{user}")]
struct Score {
    #[table(partition_key)]
    game: Of<UserId>,
    rank: Rank,
    user: UserId,
    points: Points,
    invited_by: Option<UserId>,
    #[table(series)]
    rounds: [Option<Points>; 3],
    best: Of<f64>,
}

#[tokio::test]
async fn newtypes_are_stored_as_their_fields() {
    let table = table::<Score>().await;
    let user = UserId("joe".into());
    let score = Score {
        game: Of(UserId("chess".into())),
        rank: Rank(7),
        user: user.clone(),
        points: Points { value: 5_000_000_000 },
        invited_by: Some(UserId("ann".into())),
        rounds: [Some(Points { value: 1 }), None, None],
        best: Of(1.5),
    };
    table.insert(&score).await.unwrap();
    let key = Score::key(&score.game, Rank(7), &user).unwrap();
    assert_eq!(key, ("chess", "992_joe").into());
    assert_eq!(table.get(&key).await.unwrap().entity, score);
    let stored = table.with_entity::<DynamicEntity>().get(&key).await.unwrap();
    assert_eq!(stored.value("points"), Some(&EdmValue::Int64(5_000_000_000)));
    assert_eq!(stored.get::<UserId>("invited_by"), Some(Ok(UserId("ann".into()))));

    let found = table
        .query()
        .filter(|s| {
            s.game.eq(Of(UserId("chess".into())))
                & s.points.gt(Points { value: 1 })
                & s.invited_by.starts_with("a")
                & s.invited_by.is_in([UserId("ann".into()), UserId("bob".into())])
                & s.best.lt(Of(2.0))
                & s.rounds.at(0).le(Points { value: 1 })
        })
        .await
        .unwrap();
    assert_eq!(found, [score]);
    let none = table.query().filter(|s| s.points.lt(Points { value: 1 })).await.unwrap();
    assert!(none.is_empty());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Link {
    title: String,
    weight: f64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Page {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(as_json, default)]
    links: Vec<Link>,
    #[table(as_json)]
    counts: Option<BTreeMap<String, u64>>,
}

#[tokio::test]
async fn values_as_json() {
    let table = table::<Page>().await;
    let link = |weight| vec![Link { title: "\"é\"".into(), weight }];
    let counts = Some(BTreeMap::from([("a".to_owned(), u64::MAX)]));
    let page = Page { p: String::new(), r: String::new(), links: link(0.1), counts };
    table.insert(&page).await.unwrap();
    assert_eq!(table.get(("", "")).await.unwrap().entity, page);
    let stored = DynamicEntity::from_entity(&page).unwrap();
    let json = r#"[{"title":"\"é\"","weight":0.1}]"#;
    assert_eq!(stored.value("links"), Some(&EdmValue::String(json.into())));
    let links = table.query().select(|p| p.links).await.unwrap();
    assert_eq!(links[0], page.links);

    let error = DynamicEntity::from_entity(&Page { links: link(f64::NAN), ..page.clone() });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("does not read it back"), "NaN would be null: {error}");
    let title = "x".repeat(40_000);
    let long = Page { links: vec![Link { title, weight: 0.0 }], ..page };
    let error = DynamicEntity::from_entity(&long).unwrap_err();
    assert!(
        matches!(&error, EncodeError::Limit(limit) if limit.to_string().contains("links")),
        "{error}"
    );
    let empty: Page = read(KEYS).await.unwrap();
    assert_eq!((empty.links, empty.counts), (Vec::new(), None));
    let error = refusal::<Page>(&format!(r#"{KEYS},"links":"[{{}}]""#)).await;
    assert_eq!(error.property(), "links");
    assert!(error.to_string().contains("not the expected JSON: missing field `title`"), "{error}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Kinds {
    #[table(partition_key)]
    span: Duration,
    #[table(row_key)]
    since: TimeDelta,
    digest: [u8; 4],
    boxed: Box<[u8]>,
    date: NaiveDate,
    local: NaiveDateTime,
    timeout: Duration,
    drift: Option<TimeDelta>,
    path: Escaped,
}

#[tokio::test]
async fn bytes_dates_and_durations() {
    let table = table::<Kinds>().await;
    let kinds = Kinds {
        span: Duration::from_millis(1500),
        since: TimeDelta::milliseconds(-1),
        digest: [0, 1, 254, 255],
        boxed: [7].into(),
        date: NaiveDate::from_ymd_opt(2009, 4, 14).unwrap(),
        local: NaiveDate::from_ymd_opt(2009, 4, 14).unwrap().and_hms_opt(1, 2, 3).unwrap(),
        timeout: Duration::new(93_784, 500_000_000),
        drift: Some(TimeDelta::nanoseconds(-1)),
        path: "a/b".into(),
    };
    table.insert(&kinds).await.unwrap();
    let key = Kinds::key(kinds.span, kinds.since).unwrap();
    let (span, since) = ("00000000000000000001.500000000", "-9223372036854775807.999000000");
    assert_eq!(key, (span, since).into());
    assert_eq!(table.get(&key).await.unwrap().entity, kinds);
    let stored = DynamicEntity::from_entity(&kinds).unwrap();
    let types: Vec<_> = stored.properties().map(|(_, value)| value.edm_type()).collect();
    let mut expected = vec![EdmType::Binary; 2];
    expected.extend([EdmType::DateTime; 2]);
    expected.extend([EdmType::String; 3]);
    assert_eq!(types, expected);
    assert_eq!(stored.get::<String>("timeout"), Some(Ok("P1DT2H3M4.5S".into())));
    assert_eq!(stored.get::<String>("drift"), Some(Ok("-PT0.000000001S".into())));
    assert_eq!(stored.get::<String>("path"), Some(Ok("a/b".into())));

    let found = table
        .query()
        .filter(|k| {
            k.digest.eq([0, 1, 254, 255])
                & k.date.between(kinds.date, kinds.date)
                & k.local.gt(kinds.date.and_hms_opt(0, 0, 0).unwrap())
                & k.timeout.eq(kinds.timeout)
                & k.drift.ne(TimeDelta::zero())
                & k.path.eq(Escaped::from("a/b"))
        })
        .await
        .unwrap();
    assert_eq!(found, [kinds]);
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, TableEnum)]
#[table(as_i32)]
enum Priority {
    Low = -1,
    Normal,
    High = 5,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Task {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    id: u32,
    priority: Priority,
    next: Option<Priority>,
}

#[tokio::test]
async fn enums_that_are_numbers_are_ordered() {
    let all = [Priority::Low, Priority::Normal, Priority::High];
    let table = table::<Task>().await;
    for (id, priority) in (0..).zip(all) {
        let task = Task { p: String::new(), id, priority, next: Some(priority) };
        table.insert(&task).await.unwrap();
    }
    for bound in all {
        let at_least = table.query().filter(|t| t.priority.ge(bound)).await.unwrap();
        assert_eq!(at_least.len(), all.iter().filter(|priority| **priority >= bound).count());
        let less = table.query().filter(|t| t.next.lt(bound)).await.unwrap();
        assert_eq!(less.len(), all.iter().filter(|priority| **priority < bound).count());
    }
}
