//! The policies for properties that are missing, null, mistyped or unknown.

use azure_table_client::TableEntity;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{DecodeError, DecodeReason};
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{KEYS, read, refusal};

#[derive(Debug, PartialEq, TableEntity)]
struct ByField {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(on_missing = "default")]
    a: i32,
    #[table(on_null = "default", default = "five", on_missing = "error")]
    b: i32,
    #[table(on_mistyped = "default", default = "five")]
    c: i32,
    #[table(on_mistyped = "none")]
    d: Option<i32>,
    #[table(on_missing = "error")]
    e: Option<i32>,
    #[table(on_mistyped = "collect", on_missing = "collect")]
    f: i32,
    #[table(errors)]
    errors: Vec<DecodeError>,
}

fn five() -> i32 {
    5
}

const FINE: &str = r#""a":1,"b":1,"c":1,"d":1,"e":1,"f":1"#;

#[tokio::test]
async fn each_field_has_its_own_policies() {
    let of = |from: &str, to: &str| format!("{KEYS},{}", FINE.replace(from, to));
    let entity: ByField = read(&of("", "")).await.unwrap();
    assert_eq!(
        (entity.a, entity.b, entity.c, entity.d, entity.e, entity.f),
        (1, 1, 1, Some(1), Some(1), 1)
    );
    assert_eq!(entity.errors, []);

    let value = async |from: &str, to: &str| read::<ByField>(&of(from, to)).await.unwrap();
    let error = async |from: &str, to: &str| {
        let error = refusal::<ByField>(&of(from, to)).await;
        (error.property().to_owned(), error.reason().clone())
    };
    assert_eq!(value(r#""a":1,"#, "").await.a, 0);
    assert_eq!(error(r#""a":1"#, r#""a":null"#).await, ("a".into(), DecodeReason::Null));
    assert_eq!(error(r#""a":1"#, r#""a":"1""#).await.0, "a");
    assert_eq!(value(r#""b":1"#, r#""b":null"#).await.b, 5);
    assert_eq!(error(r#""b":1,"#, "").await, ("b".into(), DecodeReason::Missing));
    assert_eq!(value(r#""c":1"#, r#""c":"x""#).await.c, 5);
    assert_eq!(
        value(r#""c":1"#, r#""c":"\ud800""#).await.c,
        5,
        "a lone surrogate is a mistyped value"
    );
    assert_eq!(value(r#""c":1,"#, "").await.c, 5);
    assert_eq!(value(r#""d":1"#, r#""d":1.5"#).await.d, None);
    assert_eq!(value(r#""d":1"#, r#""d":null"#).await.d, None);
    assert_eq!(error(r#""e":1,"#, "").await, ("e".into(), DecodeReason::Missing));
    assert_eq!(value(r#""e":1"#, r#""e":null"#).await.e, None);

    let entity = value(r#""f":1"#, r#""f":"many""#).await;
    assert_eq!(entity.f, 0);
    let [error] = &entity.errors[..] else { panic!("one error: {:?}", entity.errors) };
    assert_eq!(
        error.to_string(),
        r#"property "f" of entity ("p", "r"): expected Edm.Int32, found Edm.String"#
    );
    assert_eq!(value(r#","f":1"#, "").await.errors[0].reason(), &DecodeReason::Missing);
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(on_missing = "default", on_null = "default", on_mistyped = "collect", accept = "widened")]
struct ByStruct {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    text: String,
    #[table(on_missing = "error")]
    rating: i32,
    views: i64,
    score: Option<f64>,
    #[table(accept = "exact")]
    exact: i64,
    #[table(errors)]
    errors: Vec<DecodeError>,
}

#[tokio::test]
async fn the_struct_sets_policies_for_all_fields() {
    let entity: ByStruct = read(&format!(r#"{KEYS},"rating":1,"text":null"#)).await.unwrap();
    assert_eq!((&*entity.text, entity.views, entity.score, entity.errors.len()), ("", 0, None, 0));
    assert_eq!(refusal::<ByStruct>(KEYS).await.property(), "rating");

    let entity: ByStruct =
        read(&format!(r#"{KEYS},"rating":1,"views":7,"score":3,"exact":7,"text":1.5"#))
            .await
            .unwrap();
    assert_eq!((entity.views, entity.score, entity.exact), (7, Some(3.0), 0));
    let collected: Vec<&str> = entity.errors.iter().map(DecodeError::property).collect();
    assert_eq!(collected, ["text", "exact"]);
}

#[derive(Debug, PartialEq, TableEntity)]
struct Exact {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    views: Option<i64>,
    score: Option<f64>,
}

#[tokio::test]
async fn numbers_are_widened_on_request_only() {
    for (property, value) in [("views", "7"), ("score", "7"), ("views", "7.0")] {
        let error = refusal::<Exact>(&format!(r#"{KEYS},"{property}":{value}"#)).await;
        assert_eq!(error.property(), property);
    }
}

/// Rows that `azure_data_tables` 0.21 wrote, which sends the plain JSON of serde.
#[derive(Debug, PartialEq, TableEntity)]
#[table(accept = "lenient")]
struct Lenient {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    views: i64,
    score: f64,
    seen: DateTime<Utc>,
    id: Uuid,
    data: Option<Vec<u8>>,
    exact: Option<EdmDateTime>,
}

#[tokio::test]
async fn the_rows_of_the_abandoned_client_are_read() {
    let row = |views: &str, seen: &str| {
        format!(
            r#"{KEYS},"views":{views},"score":5,"seen":"{seen}","id":"c9da6455-213d-42c9-9a79-3e9149a57833","data":"AAE=""#
        )
    };
    for (views, expected) in
        [("5000000000.0", 5_000_000_000), ("5", 5), ("-9007199254740992.0", -9_007_199_254_740_992)]
    {
        let entity: Lenient = read(&row(views, "2024-05-01T12:00:00.123456789Z")).await.unwrap();
        assert_eq!(entity.views, expected);
        assert_eq!((entity.score, entity.data), (5.0, Some(vec![0, 1])));
        assert_eq!(entity.seen, "2024-05-01T12:00:00.1234567Z".parse::<DateTime<Utc>>().unwrap());
    }
    let entity: Lenient = read(&row("5", "2024-05-01T12:00:00+02:00")).await.unwrap();
    assert_eq!(entity.seen, "2024-05-01T10:00:00Z".parse::<DateTime<Utc>>().unwrap());

    let entity: Lenient = read(&row("5", "2024-05-01 9:00:00.5 +00:00:00")).await.unwrap();
    assert_eq!(entity.seen, "2024-05-01T09:00:00.5Z".parse::<DateTime<Utc>>().unwrap());

    // An entity that lost something is an error all the same.
    for views in ["5.5", "9007199254740994.0", "1e300", "\"5\"", "true"] {
        let error = refusal::<Lenient>(&row(views, "2024-05-01T12:00:00Z")).await;
        assert_eq!(error.property(), "views", "{views}");
    }
    for seen in ["yesterday", "2024-05-01", "1500-01-01T00:00:00Z"] {
        assert_eq!(refusal::<Lenient>(&row("5", seen)).await.property(), "seen");
    }
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(deny_unknown)]
struct Strict {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(alias = "old")]
    text: String,
}

/// The paper's `IgnoreMissingProperties = false`.
#[tokio::test]
async fn unknown_properties_are_an_error_on_request() {
    for fine in [r#""text":"""#, r#""old":"""#, r#""text":"","gone":null"#] {
        assert!(read::<Strict>(&format!("{KEYS},{fine}")).await.is_ok(), "{fine}");
    }
    let error = refusal::<Strict>(&format!(r#"{KEYS},"text":"","rating":3"#)).await;
    assert_eq!((error.property(), error.reason()), ("rating", &DecodeReason::Unknown));
    assert_eq!(error.key(), Some(&("p", "r").into()));
}
