//! The rows of a query as a CSV file in the form of Storage Explorer: a column for each property, and one for
//! its type.

use std::collections::{HashMap, HashSet};

use azure_table_client::client::Pages;
use azure_table_client::{DynamicEntity, Error};
use tokio::task::yield_now;

use super::fields::Fields;
use super::html::Html;
use super::rows::{self, time};
use super::values::shown;
use super::view::View;
use super::{Page, Reply};
use crate::accounts::Served;

/// The largest number of rows.
const ROWS: u64 = 10_000;
/// The largest number of properties, each of which has two columns.
const PROPERTIES: usize = 1_000;
/// The largest size of the file.
pub(super) const BYTES: usize = 32 * 1024 * 1024;
/// The rows that are written before other connections continue.
const PAGE_ROWS: u32 = 100;

/// Returns the file, or a page with the reason why there is none.
pub(super) async fn file(account: &Served, table: &str, fields: &Fields) -> Option<Reply> {
    let Served { name, service, .. } = account;
    service.row_count(table)?;
    match text(account, table, &View::of(fields)).await {
        Ok(text) => Some(Reply::Csv(format!("{table}.csv"), text)),
        Err(error) => {
            let mut body = Html::default();
            body.trail(name, table, Some("export")).raw("<h1>Export</h1>").alert(&error);
            Some(Reply::ok(Page { title: format!("Export - {table} - {name}"), body }))
        }
    }
}

/// Reads the rows twice unless columns are selected, since the header names all properties. Only the text and
/// a few rows are in memory. A property that is added meanwhile is missing.
///
/// The text is complete before the response starts, so that the page can report a file that is too large. A
/// streamed download would only end early. [`BYTES`] bounds the text, and it holds a share of the page's byte budget.
/// The control API streams all rows.
async fn text(account: &Served, table: &str, view: &View) -> Result<String, String> {
    let client = account.service.direct_client().table_named::<DynamicEntity>(table);
    let pages = || rows::query(&client, view).max_rows(ROWS).page_size(PAGE_ROWS).pages();
    let mut columns = Columns::default();
    for name in &view.columns {
        columns.add(name)?;
    }
    if view.columns.is_empty() {
        let mut pages = pages();
        while let Some(rows) = next(&mut pages).await? {
            for (name, _) in rows.iter().flat_map(DynamicEntity::properties) {
                columns.add(name)?;
            }
        }
    }
    let mut csv = Csv::new(&columns.names);
    let mut pages = pages();
    while let Some(rows) = next(&mut pages).await? {
        for row in &rows {
            csv.push(row)?;
        }
    }
    Ok(csv.text)
}

/// Returns the rows of the next page after other tasks have run.
async fn next(pages: &mut Pages<DynamicEntity>) -> Result<Option<Vec<DynamicEntity>>, String> {
    yield_now().await;
    let page = pages.next().await.transpose();
    page.map(|page| page.map(|page| page.entities)).map_err(|error: Error| error.to_string())
}

/// The names of the properties in the order in which they were found.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    known: HashSet<String>,
}

impl Columns {
    fn add(&mut self, name: &str) -> Result<(), String> {
        if self.known.contains(name) {
            return Ok(());
        }
        if self.names.len() == PROPERTIES {
            return Err(format!(
                "the rows have more than {PROPERTIES} properties: select columns, or narrow the query"
            ));
        }
        self.known.insert(name.to_owned());
        self.names.push(name.to_owned());
        Ok(())
    }
}

struct Csv<'c> {
    /// The position of each property.
    positions: HashMap<&'c str, usize>,
    text: String,
}

impl<'c> Csv<'c> {
    fn new(columns: &'c [String]) -> Self {
        let mut text = "PartitionKey,RowKey,Timestamp".to_owned();
        for name in columns {
            text.extend([",", &cell(name), ",", &cell(&format!("{name}@type"))]);
        }
        text.push_str("\r\n");
        let positions = columns.iter().enumerate().map(|(at, name)| (&**name, at)).collect();
        Self { positions, text }
    }

    fn push(&mut self, row: &DynamicEntity) -> Result<(), String> {
        let key = row.key();
        let keys = [cell(&key.partition_key), cell(&key.row_key), cell(&time(row))];
        self.text.push_str(&keys.join(","));
        let mut values = vec![None; self.positions.len()];
        for (name, value) in row.properties() {
            if let Some(&at) = self.positions.get(name) {
                values[at] = Some(value);
            }
        }
        for value in values {
            match value {
                Some(value) => {
                    let kind = value.edm_type().to_string();
                    self.text.extend([",", &cell(&shown(value)), ",", &kind]);
                }
                None => self.text.push_str(",,"),
            }
        }
        self.text.push_str("\r\n");
        if self.text.len() > BYTES {
            return Err(format!(
                "the file has more than {BYTES} bytes: narrow the query, or select columns"
            ));
        }
        Ok(())
    }
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(columns: &[&str]) -> String {
        let columns: Vec<_> = columns.iter().map(|&name| name.to_owned()).collect();
        let mut csv = Csv::new(&columns);
        csv.push(&DynamicEntity::new("a,\"b", "1").with("N", 5_i64).with("D", f64::NAN)).unwrap();
        csv.push(&DynamicEntity::new("p", "2").with("T", "x\ny").with("D", 5.0)).unwrap();
        csv.text
    }

    #[test]
    fn csv_has_the_form_of_storage_explorer() {
        assert_eq!(
            csv(&["N", "D", "T"]),
            "PartitionKey,RowKey,Timestamp,N,N@type,D,D@type,T,T@type\r\n\
             \"a,\"\"b\",1,,5,Edm.Int64,NaN,Edm.Double,,\r\n\
             p,2,,,,5.0,Edm.Double,\"x\ny\",Edm.String\r\n"
        );
        assert!(csv(&["T"]).starts_with("PartitionKey,RowKey,Timestamp,T,T@type\r\n"));
    }

    #[test]
    fn the_columns_and_the_size_are_limited() {
        let mut columns = Columns::default();
        for at in 0..PROPERTIES {
            columns.add(&format!("P{at}")).unwrap();
        }
        columns.add("P0").unwrap();
        assert!(columns.add("Other").unwrap_err().contains("select columns"));
        let text = ["Text".to_owned()];
        let mut csv = Csv::new(&text);
        let row = DynamicEntity::new("p", "1").with("Text", "x".repeat(BYTES / 2));
        csv.push(&row).unwrap();
        assert!(csv.push(&row).unwrap_err().contains("narrow the query"));
    }
}
