//! Rows survive each format, and no file causes a panic.

mod forms;

use std::fs;
use std::path::{Path, PathBuf};

use azure_table_client::edm::{EdmDateTime, EdmValue};
use proptest::prelude::*;
use uuid::Uuid;

use super::csv::Columns;
use super::parquet::{Datetimes, Mixed};
use super::*;

/// Texts that formats easily lose.
const TEXTS: [&str; 16] = [
    "",
    "\\",
    "\\N",
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r\n",
    "\r",
    " padded ",
    "=1+1",
    "\u{feff}mark",
    "\u{1f600}\u{10ffff}\u{e000}",
    "\u{0}\u{1}\u{7f}\u{85}\u{2028}",
    "null",
    "true",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        "[ -~\u{e9}\u{1f600}\t\r\n]{0,12}",
        any::<String>(),
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        proptest::sample::select(vec![
            f64::NAN,
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            0.1 + 0.2,
        ]),
    ]
}

fn value() -> impl Strategy<Value = EdmValue> {
    let ticks = EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks();
    prop_oneof![
        text().prop_map(EdmValue::from),
        any::<bool>().prop_map(EdmValue::from),
        prop_oneof![any::<i32>(), Just(i32::MIN), Just(i32::MAX)].prop_map(EdmValue::from),
        prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX)].prop_map(EdmValue::from),
        double().prop_map(EdmValue::from),
        prop_oneof![ticks, Just(EdmDateTime::MIN.ticks()), Just(EdmDateTime::MAX.ticks())]
            .prop_map(|ticks| EdmDateTime::from_ticks(ticks).unwrap().into()),
        any::<u128>().prop_map(|id| Uuid::from_u128(id).into()),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(EdmValue::from),
    ]
}

fn row() -> impl Strategy<Value = DynamicEntity> {
    let name = "[A-E]|[A-Za-z_\u{e9}][A-Za-z0-9_]{0,6}";
    let properties = proptest::collection::vec((name, value()), 0..8);
    (text(), text(), properties).prop_map(|(partition_key, row_key, properties)| {
        let mut row = DynamicEntity::new(partition_key, row_key);
        for (name, value) in properties {
            row.set(name, value);
        }
        row
    })
}

fn file(folder: &tempfile::TempDir, name: &str) -> (PathBuf, Output) {
    let path = folder.path().join(name);
    let out = Output::file(File::create(&path).unwrap(), &path);
    (path, out)
}

fn columns(rows: &[DynamicEntity]) -> Columns {
    let mut columns = Columns::default();
    for row in rows {
        columns.add_row(row);
    }
    columns
}

fn write(mut writer: Box<dyn RowWriter>, rows: &[DynamicEntity], path: &Path) {
    for row in rows {
        writer.write(row).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), fs::metadata(path).unwrap().len());
}

fn read(path: &Path, format: Format) -> Vec<DynamicEntity> {
    rows(path, format).unwrap().collect::<Result<_>>().unwrap()
}

/// The rows with their properties in the order of names: CSV and Parquet have the order of their columns.
fn sorted(rows: &[DynamicEntity]) -> Vec<DynamicEntity> {
    let sorted = |row: &DynamicEntity| {
        let mut properties: Vec<_> = row.properties().collect();
        properties.sort_by_key(|(name, _)| *name);
        let mut sorted = DynamicEntity::new(&row.key().partition_key, &row.key().row_key);
        for (name, value) in properties {
            sorted.set(name, value.clone());
        }
        sorted
    };
    rows.iter().map(sorted).collect()
}

proptest! {
    #[test]
    fn json_lines_keep_every_row(rows in proptest::collection::vec(row(), 0..8)) {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = file(&folder, "rows.jsonl");
        write(Box::new(jsonl::Writer::new(out, false)), &rows, &path);
        prop_assert_eq!(&read(&path, Format::JsonLines), &rows);
        // The lines are the JSON of the client, where that accepts the row.
        for (line, row) in fs::read_to_string(&path).unwrap().split('\n').zip(&rows) {
            if let Ok(json) = row.to_json() {
                prop_assert_eq!(line, json);
            }
        }
    }

    #[test]
    fn csv_keeps_every_row(rows in proptest::collection::vec(row(), 0..8)) {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = file(&folder, "rows.csv");
        let writer = csv::Writer::new(out, &columns(&rows), false).unwrap();
        write(Box::new(writer), &rows, &path);
        prop_assert_eq!(sorted(&read(&path, Format::Csv)), sorted(&rows));
        // Programs often write other line breaks, and a byte order mark.
        if !rows.iter().any(|row| format!("{row:?}").contains("\\n")) {
            let text = fs::read_to_string(&path).unwrap().replace('\n', "\r\n");
            fs::write(&path, format!("\u{feff}{text}")).unwrap();
            prop_assert_eq!(sorted(&read(&path, Format::Csv)), sorted(&rows));
        }
    }

    #[test]
    fn parquet_keeps_every_row(rows in proptest::collection::vec(row(), 0..8)) {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = file(&folder, "rows.parquet");
        let options =
            parquet::Options { datetimes: Datetimes::Ticks, mixed: Mixed::Rest, system: false };
        let mut columns = parquet::Inference::new(options);
        for row in &rows {
            columns.add(row);
        }
        write(Box::new(columns.writer(out).unwrap()), &rows, &path);
        prop_assert_eq!(sorted(&read(&path, Format::Parquet)), sorted(&rows));
    }

    #[test]
    fn no_file_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[\"\\\\,@:{}a-dEkP0-9\r\n]{0,80}") {
        let folder = tempfile::tempdir().unwrap();
        let header = b"PartitionKey,RowKey,A@Edm.Int32,A@Edm.String,B@Edm.Double\n";
        for content in [&bytes[..], text.as_bytes(), &[header, &bytes[..]].concat(), &[header, text.as_bytes()].concat()] {
            let (path, _) = file(&folder, "rows");
            fs::write(&path, content).unwrap();
            for format in [Format::JsonLines, Format::Csv, Format::Parquet] {
                if let Ok(rows) = rows(&path, format) {
                    let _ = rows.take(1000).filter(Result::is_err).count();
                }
            }
        }
    }
}
