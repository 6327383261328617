//! Tests of seeds and exports.

use super::*;
use crate::edm::EdmDateTime;
use crate::entity::DynamicEntity;

#[test]
fn written_json_seeds_the_same_rows() {
    let mock = TableService::new();
    let mut entity = DynamicEntity::new("it's", "\u{1f600}");
    entity.set("Text", "a\"b\\").set("Big", i64::MAX).set("Whole", 5.0).set("Nan", f64::NAN);
    mock.seed("Blogs", [&entity, &DynamicEntity::new("", "")]).unwrap();
    mock.seed::<DynamicEntity>("Empty", []).unwrap();
    let text = mock.to_json();
    assert_eq!(
        text,
        concat!(
            "{\n  \"Blogs\": [\n    {\"PartitionKey\":\"\",\"RowKey\":\"\"},\n    ",
            r#"{"PartitionKey":"it's","RowKey":"\ud83d\ude00","Big@odata.type":"Edm.Int64","#,
            r#""Big":"9223372036854775807","Nan@odata.type":"Edm.Double","Nan":"NaN","#,
            r#""Text":"a\"b\\","Whole":5.0}"#,
            "\n  ],\n  \"Empty\": []\n}\n",
        )
    );
    let again = TableService::new();
    again.seed_json(&text).unwrap();
    assert_eq!(again.to_json(), text);
}

#[test]
fn an_existing_row_is_replaced() {
    let mock = TableService::new();
    for value in [1, 2] {
        let row = format!(r#"{{"T23":[{{"PartitionKey":"p","RowKey":"r","V":{value}}}]}}"#);
        mock.seed_json(&row).unwrap();
    }
    assert!(mock.to_json().contains(r#""V":2}"#) && mock.row_count("T23") == Some(1));
}

#[test]
fn an_error_names_the_line_and_stores_nothing() {
    for (text, expected) in [
        ("[5]", "line 1: the line is not a JSON object"),
        ("{\"table\":\"Blogs\"}\n\n{", "line 3: EOF while parsing an object"),
        ("{\n\"Blogs\":[\n5]}", "line 3: row 0 of Blogs: One of the request inputs is not valid"),
        (r#"{"Blogs":{}}"#, "line 1: unknown member \"Blogs\": a line has account, table"),
        (r#"{"Blogs":[],"Posts":5}"#, "line 1: unknown member \"Blogs\""),
        (r#"{"a":[]}"#, "line 1: the table \"a\": "),
        (r#"{"Blogs":[{"PartitionKey":"p"}]}"#, "row 0 of Blogs: The values are not specified"),
        (
            r#"{"Blogs":[{"PartitionKey":"p","RowKey":"r"},{"PartitionKey":"p","RowKey":"/"}]}"#,
            "row 1 of Blogs: One of the request inputs is out of range",
        ),
        (r#"{"PartitionKey":"p","RowKey":"r"}"#, "line 1: the row names no table"),
        (r#"{"account":"x"}"#, "line 1: the line names no table"),
        (r#"{"table":5}"#, "line 1: table must be a string"),
        (
            "{}\n{\"account\":\"x\",\"table\":\"Blogs\"}",
            "line 2: the account x is not devstoreaccount1",
        ),
        (r#"{"table":"Blogs","policies":"<a/>"}"#, "line 1: policies: "),
        (r#"{"service_properties":"<a/>"}"#, "line 1: service_properties: "),
        (&row(r#""Timestamp":"today""#), "the Timestamp \"today\" is malformed"),
        (&row(r#""odata.etag":"W/\"1\"""#), "the odata.etag \"W/\\\"1\\\"\" is not of the form"),
        (
            &row(&format!(r#""Timestamp":"2017-11-10T02:43:56Z","odata.etag":{ETAG}"#)),
            "the odata.etag differs from the Timestamp",
        ),
    ] {
        let mock = TableService::new();
        let text = format!("{{\"Other\":[]}} {text}");
        let error = mock.seed_json(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(mock.table_names().is_empty(), "{text}");
    }
}

/// The ETag of 2017-11-10T02:43:55Z.
const ETAG: &str = r#""W/\"datetime'2017-11-10T02%3A43%3A55Z'\"""#;

fn row(members: &str) -> String {
    format!(r#"{{"table":"Blogs","entity":{{"PartitionKey":"p","RowKey":"r",{members}}}}}"#)
}

#[test]
fn a_row_keeps_its_timestamp_and_its_etag() {
    let time = "2017-11-10T02:43:55Z";
    for members in [
        format!(r#""Timestamp":"{time}""#),
        format!(r#""odata.etag":{ETAG}"#),
        format!(r#""Timestamp":"{time}","odata.etag":{ETAG}"#),
    ] {
        let mock = TableService::new();
        mock.seed_json(&row(&members)).unwrap();
        let stored = mock.row("Blogs", "p", "r").unwrap();
        assert_eq!(stored.timestamp(), Some(time.parse().unwrap()), "{members}");
        let etag: String = serde_json::from_str(ETAG).unwrap();
        assert_eq!(stored.etag().unwrap().to_string(), etag, "{members}");
    }
}

/// A service with all types, several partitions, an empty table, policies and properties.
fn full() -> TableService {
    let mock = TableService::builder().loose(true).build();
    let mut entity = DynamicEntity::new("it's", "\u{1f600}");
    entity.set("Text", "a\"b\\\n").set("Big", i64::MAX).set("Whole", 5.0).set("Nan", f64::NAN);
    entity.set("No", -0.0).set("Yes", true).set("account", "x").set("Bytes", vec![0_u8, 255]);
    entity.set("Id", uuid::Uuid::from_u128(7)).set("é", EdmDateTime::MAX);
    mock.seed("Blogs", [&entity, &DynamicEntity::new("", "")]).unwrap();
    let many: Vec<_> = (0..600).map(|n| DynamicEntity::new("p", format!("{n:03}"))).collect();
    mock.seed("Many", &many).unwrap();
    mock.seed::<DynamicEntity>("Empty", []).unwrap();
    mock.seed_json(
        r#"{"table":"Blogs","policies":"<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>"}
        {"service_properties":"<StorageServiceProperties><Cors /><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics></StorageServiceProperties>"}"#,
    )
    .unwrap();
    mock
}

#[test]
fn an_export_restores_the_same_rows_with_their_versions() {
    let mock = full();
    let pieces: Vec<String> = mock.export(None).collect();
    let text = pieces.concat();
    assert!(pieces.len() > 3, "{}", pieces.len());
    assert_eq!(text.lines().count(), 1 + 3 + 602);
    assert!(text.contains("\"policies\":") && text.contains("\"service_properties\":"));
    let rows = mock.rows("Blogs").unwrap();
    let order = "\"Text\"";
    assert!(text.contains(order));

    mock.reset();
    assert!(mock.table_names().is_empty());
    assert_eq!(mock.export(None).count(), 0);
    mock.seed_json(&text).unwrap();
    assert_eq!(mock.export(None).collect::<String>(), text);
    assert_eq!(mock.rows("Blogs").unwrap(), rows);
    assert_eq!(mock.row_count("Many"), Some(600));

    let other = TableService::builder().account("other", "b25l").unwrap().build();
    assert!(other.seed_json(&text).is_err());
    let seed = Seed::read(&text, None).unwrap();
    assert_eq!(seed.rows(), 602);
    let [(account, seed)] = seed.by_account().try_into().unwrap();
    assert_eq!(account.as_deref(), Some("devstoreaccount1"));
    other.restore(seed).unwrap();
    assert_eq!(other.rows("Many"), mock.rows("Many"));
}

#[test]
fn a_piece_of_an_export_ends_after_256_kib() {
    let mock = TableService::new();
    let large = |n: u8| DynamicEntity::new("p", n.to_string()).with("Text", "x".repeat(30_000));
    mock.seed("Large", &(0..100).map(large).collect::<Vec<_>>()).unwrap();
    let pieces: Vec<String> = mock.export(None).collect();
    let largest = pieces.iter().map(String::len).max();
    assert!(largest < Some((256 + 32) * 1024), "{largest:?}");
    assert_eq!(pieces.concat().lines().count(), 101);
}

#[test]
fn one_table_can_be_exported_and_removed() {
    let mock = full();
    let text: String = mock.export(Some("blogs")).collect();
    assert_eq!(text.lines().count(), 3);
    assert!(text.lines().all(|line| line.contains(r#""table":"Blogs""#)), "{text}");
    assert!(mock.remove_table("BLOGS") && !mock.remove_table("Blogs"));
    assert_eq!(mock.table_names(), ["Empty", "Many"]);
    mock.seed_json(&text).unwrap();
    assert_eq!(mock.export(Some("Blogs")).collect::<String>(), text);
}

#[test]
fn plain_rows_belong_to_the_given_table() {
    let text = "\u{feff}{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n[{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}]";
    let mock = TableService::new();
    mock.restore(Seed::read(text, Some("Blogs")).unwrap()).unwrap();
    assert_eq!(mock.row_count("Blogs"), Some(2));
    assert!(Seed::read(text, Some("a/b")).is_err());
}

#[test]
fn a_seed_honours_the_limit_of_keys() {
    let mock = TableService::builder().max_key_units(3).build();
    let text = r#"{"Blogs":[{"PartitionKey":"p","RowKey":"r"}]} {"Blogs":[{"PartitionKey":"long","RowKey":"r"}]}"#;
    let error = mock.seed_json(text).unwrap_err().to_string();
    assert!(error.contains("line 1: The 'PartitionKey' property exceeds"), "{error}");
    assert!(mock.table_names().is_empty());
}

#[test]
fn the_database_of_azurite_is_read_with_types_versions_and_accounts() {
    let text = include_str!("azurite.json");
    let parts = Seed::read(text, None).unwrap().by_account();
    let accounts: Vec<_> = parts.iter().map(|(account, _)| account.as_deref()).collect();
    assert_eq!(accounts, [Some("devstoreaccount1"), Some("two")]);
    let mock = TableService::new();
    let mut parts = parts.into_iter();
    mock.restore(parts.next().unwrap().1).unwrap();
    let exported: String = mock.export(None).collect();
    let expected = include_str!("azurite.jsonl");
    assert_eq!(exported, expected);

    let two = TableService::new();
    two.restore(parts.next().unwrap().1).unwrap();
    assert_eq!(two.table_names(), ["Blogs", "Empty1"]);
    assert_eq!(two.row_count("Blogs"), Some(2));
}

#[test]
fn a_damaged_database_of_azurite_is_an_error() {
    let text = include_str!("azurite.json");
    for (from, to, expected) in [
        ("\"account\":\"two\"", "\"account\":2", "a table of Azurite has no account"),
        ("\"2020-01-02T03:04:05Z\"", "\"x\"", "row \"p é\" \"r\" of Blogs: "),
        ("\"collections\":[", "\"collections\":5,\"x\":[", "are not an array"),
        ("[{\"name\"", "[5,{\"name\"", ""),
    ] {
        let damaged = text.replace(from, to);
        assert_ne!(damaged, text, "{from}");
        match Seed::read(&damaged, None) {
            Ok(_) => assert_eq!(expected, ""),
            Err(error) => assert!(error.to_string().contains(expected), "{error}"),
        }
    }
}

#[test]
fn arrays_in_arrays_are_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in ["[[]]", &deep] {
        let error = Seed::read(text, None).unwrap_err();
        assert!(error.to_string().contains("not a JSON object"), "{error}");
    }
}
