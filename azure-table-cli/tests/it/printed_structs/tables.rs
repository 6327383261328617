//! Tables of different origin: rows of recordings of the service, rows of other tests, and generated ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, limits};
use serde_json::Value;
use uuid::Uuid;

use crate::chaos::{self, Random};
use crate::diff;

/// Returns the tables with their names.
pub(super) fn all() -> Vec<(&'static str, Vec<DynamicEntity>)> {
    let mut tables = vec![
        ("CosmosPython2020", recorded("cosmos-python-2020")),
        ("CosmosPython2021", recorded("cosmos-python-2021")),
        ("Go2021", recorded("go-2021")),
        ("Go2022", recorded("go-2022")),
        ("Js2022", recorded("js-2022")),
        ("Python2017", recorded("python-2017-11")),
        ("Python2020", recorded("python-2020")),
        ("Python2021", recorded("python-2021")),
        ("Chaos", (0..20).map(|n| chaos::row(n, 30)).collect()),
        ("Diff", (0..20).map(diff::row).collect()),
        ("Timeline", timeline()),
        ("Names", vec![names()]),
        ("Wide", wide()),
        ("Keys", (0..3).map(|n| DynamicEntity::new("p", n.to_string())).collect()),
    ];
    tables.extend(
        (0..).zip(["Mixed1", "Mixed2", "Mixed3"]).map(|(seed, name)| (name, mixed(seed, &[]))),
    );
    let kinds = [("Kinds1", 0..5), ("Kinds2", 4..9), ("Kinds3", 7..12)];
    tables.extend((3..).zip(kinds).map(|(seed, (name, kinds))| (name, mixed(seed, &KINDS[kinds]))));
    tables
}

/// The rows in the requests and responses of a set of recordings.
fn recorded(set: &str) -> Vec<DynamicEntity> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/recordings");
    let text = fs::read_to_string(folder.join(set).with_extension("jsonl")).unwrap();
    let mut rows = BTreeMap::new();
    for recording in text.lines() {
        let recording: Value = serde_json::from_str(recording).unwrap();
        for exchange in recording["exchanges"].as_array().unwrap() {
            for body in [&exchange["body"], &exchange["response"]["body"]] {
                for row in rows_of(body.as_str().unwrap_or_default()) {
                    rows.entry(row.key().to_string()).or_insert(row);
                }
            }
        }
    }
    rows.into_values().collect()
}

/// The rows of a body of JSON.
fn rows_of(body: &str) -> Vec<DynamicEntity> {
    let Ok(body) = serde_json::from_str::<Value>(body.trim_start_matches('\u{feff}')) else {
        return Vec::new();
    };
    let rows = body["value"].as_array().cloned().unwrap_or_else(|| vec![body]);
    let rows = rows.iter().filter_map(|row| DynamicEntity::from_json(&row.to_string()).ok());
    // Names and values that the service refused, and large values, which would only fill the files.
    let is_stored = |(name, value): (&str, &EdmValue)| {
        limits::check_property_name(name).is_ok() && value.to_string().len() < 200
    };
    rows.filter(|row| row.properties().all(is_stored)).map(without_etag).collect()
}

/// The service writes some rows with metadata, which is not a property.
fn without_etag(row: DynamicEntity) -> DynamicEntity {
    let new = DynamicEntity::new(&row.key().partition_key, &row.key().row_key);
    row.into_iter().fold(new, |new, (name, value)| new.with(name, value))
}

/// Posts, photos and rows of kinds that are not text or missing.
fn timeline() -> Vec<DynamicEntity> {
    let post = |n: i32| {
        let row = DynamicEntity::new("joe", format!("{n:03}")).with("EntityType", "Post");
        let row = row.with("Text", "Hello").with("Rating", n);
        if n % 2 == 0 { row.with("Reply", true) } else { row }
    };
    let photo = |n: i32| {
        let row = DynamicEntity::new("joe", format!("{n:03}")).with("EntityType", "photo");
        row.with("Uri", "https://example.com/\"a\"").with("Rating", f64::from(n) / 2.0)
    };
    (0..6).map(post).chain((6..9).map(photo)).collect()
}

/// Names that are keywords, that differ only in their case, or that have no letter in ASCII.
fn names() -> DynamicEntity {
    let names = [
        "type",
        "Type",
        "TYPE",
        "self",
        "Self",
        "crate",
        "gen",
        "async",
        "fn",
        "_",
        "__",
        "_1",
        "Text",
        "text",
        "TEXT",
        "text_2",
        "Etag",
        "ETag",
        "Timestamp_",
        "partition_key",
        "RowKey_",
        "Extra",
        "extra",
        "Größe",
        "größe",
        "日本",
        "中国",
        "Cafe\u{301}",
        "Caf\u{e9}",
        "a\u{ad}b",
        "ab",
        "HTTPStatus",
        "HttpStatus",
        "Http_Status",
        "columns",
        "key",
        "Option",
        "String",
        "Vec",
        "Some",
        "row",
        "__row",
        "writer",
        "ﬁ",
        "K\u{212a}",
        "KK",
        "Ωhm",
    ];
    (0..).zip(names).fold(DynamicEntity::new("p", "r"), |row, (n, name)| row.with(name, n))
}

/// More columns than one row may have.
fn wide() -> Vec<DynamicEntity> {
    let row = |from: usize| {
        let row = DynamicEntity::new("p", from.to_string());
        (from..from + 140).fold(row, |row, n| row.with(format!("Column{n}"), format!("{n}")))
    };
    vec![row(0), row(130)]
}

const KINDS: &[&str] = &[
    "Other",
    "Kind",
    "other",
    "Self",
    "order.created",
    "order-created",
    "1",
    "日本",
    "a\"b\\c\n",
    "Row",
    "String",
    "Etag",
];
const COLUMNS: &[&str] = &[
    "Kind",
    "Name",
    "rating",
    "type",
    "Größe",
    "TotalViews",
    "totalViews",
    "Data",
    "A1",
    "Ready",
    "Posted",
];

/// Rows whose columns and types are random. The columns of rows with kinds depend on the kind.
fn mixed(seed: u64, kinds: &[&str]) -> Vec<DynamicEntity> {
    let mut random = Random(seed);
    let row = |n: u64| {
        let mut row = DynamicEntity::new(format!("p{}", n % 3), format!("{n:04}"));
        let kind = usize::try_from(n).unwrap() % kinds.len().max(1);
        if let Some(name) = kinds.get(kind) {
            row.set("EntityType", *name);
        }
        for (at, column) in COLUMNS.iter().enumerate() {
            let is_of_kind = kinds.is_empty() || (at + kind).is_multiple_of(3);
            // Half of the columns are in each row of their kind, and a third of them has several types.
            if is_of_kind && (at % 2 == 0 || random.below(3) > 0) {
                let ty = if at % 3 == 0 { random.below(8) } else { at as u64 % 8 };
                row.set(*column, value(ty, &mut random));
            }
        }
        row
    };
    (0..60).map(row).collect()
}

fn value(ty: u64, random: &mut Random) -> EdmValue {
    let number = u32::try_from(random.below(1 << 31)).unwrap();
    let at = number as usize;
    match ty {
        0 => EdmValue::String(["", "text", "a \"b\"\n", "\u{1f600}"][at % 4].to_owned()),
        1 => EdmValue::Boolean(number.is_multiple_of(2)),
        2 => EdmValue::Int32(i32::try_from(number % 1_000_000).unwrap() - 500_000),
        3 => EdmValue::Int64(i64::MIN + i64::from(number)),
        4 => EdmValue::Double([0.0, -0.0, 1.5, f64::NAN, f64::INFINITY][at % 5]),
        5 => EdmValue::DateTime(
            EdmDateTime::from_ticks(633_752_640_000_000_000 + i64::from(number)).unwrap(),
        ),
        6 => EdmValue::Guid(Uuid::from_u128(number.into())),
        _ => EdmValue::Binary(number.to_be_bytes().to_vec().into()),
    }
}
