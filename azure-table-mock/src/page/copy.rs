//! Rows as text for other programs: JSON, OData, CSV, and a Rust struct.

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, Error};
use futures_util::TryStreamExt as _;

use super::entities::{self, time};
use super::fields::Fields;
use super::html::Html;
use super::values::shown;
use super::view::View;
use super::{Page, Reply, rust};
use crate::accounts::Served;

/// The formats of a copy, and their labels.
pub(super) const FORMATS: [(&str, &str); 3] =
    [("json", "JSON"), ("odata", "OData"), ("rust", "Rust struct")];
/// The largest number of rows in an export.
const EXPORTED: u64 = 10_000;

/// Returns the page with the text of the rows of a view, or of one entity.
pub(super) async fn page(account: &Served, table: &str, fields: &Fields) -> Option<Reply> {
    let Served { name, service, .. } = account;
    service.row_count(table)?;
    let rows = if fields.has("PartitionKey") {
        let (partition_key, row_key) = fields.keys();
        Ok(vec![service.row(table, partition_key, row_key)?])
    } else {
        entities::read(account, table, &View::of(fields)).await.map(|read| read.rows)
    };
    let (format, label) = FORMATS.into_iter().find(|(known, _)| *known == fields.get("as"))?;
    let mut body = Html::default();
    body.trail(name, table, Some("copy")).raw("<h1>Copy as ").raw(label).raw("</h1>");
    match rows.and_then(|rows| text(format, table, &rows)) {
        Ok(text) => {
            body.raw("<div class=\"tools\"><button class=\"main\" data-copy=\"copied\" hidden>");
            body.raw("Copy</button></div><pre id=\"copied\" tabindex=\"0\">").text(&text);
            body.raw("</pre>");
        }
        Err(error) => _ = body.alert(&error.to_string()),
    }
    Some(Reply::ok(Page { title: format!("Copy - {table} - {name}"), body }))
}

fn text(format: &str, table: &str, rows: &[DynamicEntity]) -> Result<String, Error> {
    match format {
        "rust" => Ok(rust::text(table, rows)),
        "odata" => {
            let rows: Result<Vec<_>, _> = rows.iter().map(DynamicEntity::to_json).collect();
            Ok(list(&rows?))
        }
        _ => Ok(list(&rows.iter().map(json).collect::<Vec<_>>())),
    }
}

/// One object as it is, several ones as an array with a line for each.
fn list(rows: &[String]) -> String {
    match rows {
        [one] => format!("{one}\n"),
        [] => "[]\n".to_owned(),
        rows => format!("[\n  {}\n]\n", rows.join(",\n  ")),
    }
}

/// The entity as plain JSON, without types: numbers as numbers, everything else as text.
fn json(row: &DynamicEntity) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let key = row.key();
    let mut members = vec![
        format!("\"PartitionKey\":{}", quoted(&key.partition_key)),
        format!("\"RowKey\":{}", quoted(&key.row_key)),
        format!("\"Timestamp\":{}", quoted(&time(row))),
    ];
    members.extend(row.properties().map(|(name, value)| {
        let text = shown(value);
        let is_bare = match value {
            EdmValue::Boolean(_) | EdmValue::Int32(_) | EdmValue::Int64(_) => true,
            EdmValue::Double(value) => value.is_finite(),
            _ => false,
        };
        format!("{}:{}", quoted(name), if is_bare { text } else { quoted(&text) })
    }));
    format!("{{{}}}", members.join(","))
}

/// Returns the rows of a query as a CSV file in the form of Storage Explorer: a column for each property, and
/// one for its type.
pub(super) async fn export(account: &Served, table: &str, fields: &Fields) -> Option<Reply> {
    let Served { name, service, .. } = account;
    service.row_count(table)?;
    let view = View::of(fields);
    match all(account, table, &view).await {
        Ok(rows) => Some(Reply::Csv(format!("{table}.csv"), csv(&rows, &view.columns))),
        Err(error) => {
            let mut body = Html::default();
            body.trail(name, table, Some("export"))
                .raw("<h1>Export</h1>")
                .alert(&error.to_string());
            Some(Reply::ok(Page { title: format!("Export - {table} - {name}"), body }))
        }
    }
}

async fn all(account: &Served, table: &str, view: &View) -> Result<Vec<DynamicEntity>, Error> {
    let client = account.service.direct_client().table_named::<DynamicEntity>(table);
    let query = entities::query(&client, view).max_rows(EXPORTED);
    query.stream().try_collect().await
}

fn csv(rows: &[DynamicEntity], selected: &[String]) -> String {
    let mut columns: Vec<&str> = selected.iter().map(String::as_str).collect();
    if columns.is_empty() {
        for (name, _) in rows.iter().flat_map(DynamicEntity::properties) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
    }
    let mut text = "PartitionKey,RowKey,Timestamp".to_owned();
    for column in &columns {
        text.extend([",", column, ",", column, "@type"]);
    }
    text.push_str("\r\n");
    for row in rows {
        let key = row.key();
        let mut fields = vec![cell(&key.partition_key), cell(&key.row_key), cell(&time(row))];
        for column in &columns {
            let value = row.value(column);
            fields.push(value.map(|value| cell(&shown(value))).unwrap_or_default());
            fields.push(value.map(|value| value.edm_type().to_string()).unwrap_or_default());
        }
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
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

    fn rows() -> Vec<DynamicEntity> {
        vec![
            DynamicEntity::new("a,\"b", "1").with("N", 5_i64).with("D", f64::NAN),
            DynamicEntity::new("p", "2").with("T", "x\ny").with("D", 5.0),
        ]
    }

    #[test]
    fn json_is_valid_and_plain() {
        let text = text("json", "T", &rows()).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read[0]["N"], 5);
        assert_eq!(read[0]["D"], "NaN");
        assert_eq!(
            read[1],
            serde_json::json!({
                "PartitionKey": "p", "RowKey": "2", "Timestamp": "", "T": "x\ny", "D": 5.0
            })
        );
    }

    #[test]
    fn odata_round_trips() {
        let one = text("odata", "T", &rows()[..1]).unwrap();
        assert_eq!(DynamicEntity::from_json(&one).unwrap(), rows()[0]);
        let all: Vec<serde_json::Value> =
            serde_json::from_str(&text("odata", "T", &rows()).unwrap()).unwrap();
        assert_eq!(all[0]["N@odata.type"], "Edm.Int64");
        assert_eq!(text("odata", "T", &[]).unwrap(), "[]\n");
    }

    #[test]
    fn csv_has_the_form_of_storage_explorer() {
        assert_eq!(
            csv(&rows(), &[]),
            "PartitionKey,RowKey,Timestamp,N,N@type,D,D@type,T,T@type\r\n\
             \"a,\"\"b\",1,,5,Edm.Int64,NaN,Edm.Double,,\r\n\
             p,2,,,,5.0,Edm.Double,\"x\ny\",Edm.String\r\n"
        );
        assert!(
            csv(&rows(), &["T".into()]).starts_with("PartitionKey,RowKey,Timestamp,T,T@type\r\n")
        );
    }
}
