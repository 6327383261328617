//! Exports a table to JSON lines and imports them into another table, which then has the same rows, with
//! identical types and values. Also exports to CSV for a spreadsheet; CSV has no types, so it cannot be imported.
//!
//! A line is an entity in the JSON of the service, with each type that JSON does not show:
//! `{"PartitionKey":"part-0","RowKey":"000000","Views":"7","Views@odata.type":"Edm.Int64"}`.
//!
//! `cargo run -p azure-table-integrations --example export` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use azure_table_client::bulk::{BulkOperation, BulkReport};
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, EntityKey, TableClient};
use futures_util::{TryStreamExt as _, stream};

type AnyError = Box<dyn Error + Send + Sync>;

const ROWS: i32 = 1000;

/// Returns a row with each type, and with values that are easily lost.
fn row(n: i32) -> Result<DynamicEntity, AnyError> {
    let scores = [5.0, 0.1 + 0.2, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let day = EdmDateTime::from_ticks(633_752_640_000_000_000 + i64::from(n))?;
    let mut row = DynamicEntity::new(format!("part-{}", n % 4), format!("{n:06}"));
    row.set("Text", format!("line {n}\nand \"another\", with a comma"))
        .set("Rating", n - 500)
        .set("Views", i64::MAX - i64::from(n))
        .set("Score", scores[n.unsigned_abs() as usize % scores.len()])
        .set("Posted", day)
        .set("Id", EdmValue::Guid(format!("{n:032x}").parse()?))
        .set("Data", n.to_be_bytes().to_vec());
    // Rows of one table may have different properties.
    if n % 3 == 0 {
        row.set("IsRead", true);
    }
    Ok(row)
}

/// Writes row by row: at most a page is in memory.
async fn export(table: &TableClient<DynamicEntity>, path: &Path) -> Result<(), AnyError> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut rows = table.query().stream();
    while let Some(row) = rows.try_next().await? {
        writeln!(file, "{}", row.to_json()?)?;
    }
    Ok(file.flush()?)
}

fn read(path: &Path) -> Result<impl Iterator<Item = Result<DynamicEntity, AnyError>>, AnyError> {
    Ok(BufReader::new(File::open(path)?).lines().map(|line| Ok(DynamicEntity::from_json(&line?)?)))
}

async fn import(table: &TableClient<DynamicEntity>, path: &Path) -> Result<BulkReport, AnyError> {
    let rows = read(path)?.map(|row| row.map(BulkOperation::InsertOrReplace));
    Ok(table.bulk().try_run_stream(stream::iter(rows)).await?)
}

/// Writes a column for each property of any row. Reads the lines twice, first to find the columns.
fn to_csv(lines: &Path, path: &Path) -> Result<usize, AnyError> {
    let mut names = BTreeSet::new();
    for row in read(lines)? {
        names.extend(row?.properties().map(|(name, _)| name.to_owned()));
    }
    let mut file = csv::Writer::from_path(path)?;
    let keys = ["PartitionKey", "RowKey"];
    file.write_record(keys.into_iter().chain(names.iter().map(String::as_str)))?;
    for row in read(lines)? {
        let row = row?;
        let keys = [row.key().partition_key.clone(), row.key().row_key.clone()];
        let values =
            names.iter().map(|name| row.value(name).map(EdmValue::to_string).unwrap_or_default());
        file.write_record(keys.into_iter().chain(values))?;
    }
    file.flush()?;
    Ok(names.len() + 2)
}

/// Returns the properties of rows without versions and timestamps, which differ between tables.
fn contents(rows: &[DynamicEntity]) -> HashMap<&EntityKey, BTreeMap<&str, &EdmValue>> {
    rows.iter().map(|row| (row.key(), row.properties().collect())).collect()
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (service, mut steps) =
        azure_table_examples::connect().map_err(|error| error.to_string())?;
    let source = service.table_named::<DynamicEntity>("ExampleExport");
    let copy = service.table_named::<DynamicEntity>("ExampleImport");
    // Tables that only this run uses.
    source.create().await?;
    copy.create().await?;
    let written: Vec<DynamicEntity> = (0..ROWS).map(row).collect::<Result<_, _>>()?;
    source.bulk().run(written.iter().cloned().map(BulkOperation::Insert)).await?;
    steps.done("write 1,000 rows with properties of all types", "");

    let directory = std::env::temp_dir().join(format!("export-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let lines = directory.join("rows.jsonl");
    export(&source, &lines).await?;
    let text = fs::read_to_string(&lines)?;
    steps.done("export them to JSON lines", text.lines().next().unwrap_or_default());

    let report = import(&copy, &lines).await?;
    steps.done("import them into another table", report.to_string());
    let (before, after) = (source.query().await?, copy.query().await?);
    assert_eq!(contents(&before), contents(&written));
    assert_eq!(contents(&after), contents(&written));
    steps.done("compare them", "both tables have the 1,000 rows that were written");

    let document = format!(r#"{{"Rows":[{}]}}"#, text.lines().collect::<Vec<_>>().join(","));
    let mock = MockTableService::new();
    mock.seed_json(&document)?;
    let seeded = mock.client().table_named::<DynamicEntity>("Rows").query().await?;
    assert_eq!(contents(&seeded), contents(&written));
    steps.done("start a unit test with them", "the mock has the same rows");

    let columns = to_csv(&lines, &directory.join("rows.csv"))?;
    let mut csv = csv::Reader::from_path(directory.join("rows.csv"))?;
    assert_eq!((columns, csv.records().count()), (10, written.len()));
    steps.done("write them as CSV", format!("{columns} columns"));

    fs::remove_dir_all(directory)?;
    source.delete_table().await?;
    copy.delete_table().await?;
    steps.done("delete both tables and the files", "");
    steps.total();
    Ok(())
}
