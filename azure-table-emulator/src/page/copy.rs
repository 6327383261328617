//! Rows as text for other programs: JSON, OData and a Rust struct.

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, Error};

use super::fields::Fields;
use super::html::Html;
use super::rows::{self, time};
use super::values::shown;
use super::view::View;
use super::{Page, Reply};
use crate::accounts::Served;
use crate::structs;

/// The formats of a copy, and their labels.
pub(super) const FORMATS: [(&str, &str); 3] =
    [("json", "JSON"), ("odata", "OData"), ("rust", "Rust struct")];

/// Returns the page with the text of the rows of a view, or of one entity.
pub(super) async fn page(account: &Served, table: &str, fields: &Fields) -> Option<Reply> {
    let Served { name, service, .. } = account;
    service.row_count(table)?;
    let rows = if fields.has("PartitionKey") {
        let (partition_key, row_key) = fields.keys();
        Ok(vec![service.row(table, partition_key, row_key)?])
    } else {
        rows::read(account, table, &View::of(fields)).await.map(|read| read.entities)
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
        "rust" => Ok(structs::of_rows(table, rows)),
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
}
