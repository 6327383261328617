//! The import of `__azurite_db_table__.json`, the database of Azurite (`LokiJS`).
//!
//! Its collection `$TABLES_COLLECTION$` has the accounts, the tables and their access policies. Each table has
//! a collection `account$table` of rows. The `properties` of a row are in the service's JSON form, except that
//! GUIDs are in base64. Source: `LokiTableMetadataStore.ts` of Azurite, and a file that version 3.37.0 wrote.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::content::{SeedContent, SeedError};
use super::parser::{SeedParser, parse};
use crate::xml;

const TABLES: &str = "$TABLES_COLLECTION$";

pub(super) fn read(parser: &mut SeedParser<'_>, text: &str, line: usize) -> Result<(), SeedError> {
    let mut database: Map<String, Value> = parse(text, line)?;
    let Some(Value::Array(collections)) = database.remove("collections") else {
        return Err(SeedError::new(line, "the collections of Azurite are not an array"));
    };
    let mut collections: Vec<(String, Vec<Value>)> = collections
        .into_iter()
        .filter_map(|mut collection| {
            match (take(&mut collection, "name"), take(&mut collection, "data")) {
                (Value::String(name), Value::Array(data)) => Some((name, data)),
                _ => None,
            }
        })
        .collect();
    let tables = collections.iter_mut().find(|(name, _)| name == TABLES);
    let tables = tables.map(|(_, tables)| std::mem::take(tables)).unwrap_or_default();
    for entry in tables {
        let (Some(account), Some(name)) = (entry["account"].as_str(), entry["table"].as_str())
        else {
            return Err(SeedError::new(line, "a table of Azurite has no account or no name"));
        };
        let table = parser.table(name, line)?;
        let owner = Some(parser.name(account));
        parser.add(line, owner.clone(), &table, SeedContent::Table);
        if let Some(policies) = entry["tableAcl"].as_array().filter(|policies| !policies.is_empty())
        {
            parser.policies(owner.clone(), &table, &xml_of(policies), line)?;
        }
        let collection = format!("{account}${name}");
        let rows = collections.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&collection));
        for row in rows.into_iter().flat_map(|(_, rows)| std::mem::take(rows)) {
            add_row(parser, owner.clone(), &table, row, line)?;
        }
    }
    Ok(())
}

fn add_row(
    parser: &mut SeedParser<'_>,
    account: Option<Arc<str>>,
    table: &Arc<str>,
    mut row: Value,
    line: usize,
) -> Result<(), SeedError> {
    let keys = format!("{} {}", row["PartitionKey"], row["RowKey"]);
    let refused = |message: &str| SeedError::new(line, format!("row {keys} of {table}: {message}"));
    let (partition_key, row_key) = (take(&mut row, "PartitionKey"), take(&mut row, "RowKey"));
    let (etag, time) = (take(&mut row, "eTag"), take(&mut row, "lastModifiedTime"));
    let Value::Object(mut entity) = take(&mut row, "properties") else {
        return Err(refused("it has no properties"));
    };
    for guid in names_of_guids(&entity) {
        if let Some(Value::String(text)) = entity.get_mut(&guid)
            && let Some(decoded) =
                STANDARD.decode(&*text).ok().and_then(|v| String::from_utf8(v).ok())
        {
            *text = decoded;
        }
    }
    entity.insert("PartitionKey".into(), partition_key);
    entity.insert("RowKey".into(), row_key);
    // Both are the time of the last write. The text of the ETag is what clients have seen.
    entity.insert("odata.etag".into(), etag);
    entity.insert("Timestamp".into(), time);
    entity.remove("Timestamp@odata.type");
    let entity = Value::Object(entity).to_string();
    parser.row_of(account, table, &entity, line).map_err(|error| refused(error.message()))
}

/// Removes a member of an object. A missing member is null.
fn take(object: &mut Value, name: &str) -> Value {
    object.get_mut(name).map(Value::take).unwrap_or_default()
}

fn names_of_guids(entity: &Map<String, Value>) -> Vec<String> {
    let annotations = entity.iter().filter(|(_, value)| *value == "Edm.Guid");
    annotations.filter_map(|(name, _)| Some(name.strip_suffix("@odata.type")?.to_owned())).collect()
}

/// The policies in the service's XML.
fn xml_of(policies: &[Value]) -> Vec<u8> {
    xml::document("SignedIdentifiers", |document| {
        for policy in policies {
            document.element("SignedIdentifier", |document| {
                document.leaf("Id", policy["id"].as_str().unwrap_or_default());
                let fields = &policy["accessPolicy"];
                if !fields.is_object() {
                    return;
                }
                document.element("AccessPolicy", |document| {
                    let names =
                        [("Start", "start"), ("Expiry", "expiry"), ("Permission", "permission")];
                    for (element, field) in names {
                        if let Some(text) = fields[field].as_str() {
                            document.leaf(element, text);
                        }
                    }
                });
            });
        }
    })
}
