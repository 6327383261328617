//! Direct writes to the tables, to fill them before a test.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::MockTableService;
use super::handlers::entity_with_keys;
use super::json::{push_member, push_text};
use super::request::RequestBody;
use super::step;
use super::store::{Change, Condition, JournalEntry, Update, Write};
use crate::dialect::Dialect;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::limits::check_own_table_name;
use crate::wire::json_write;

impl MockTableService {
    /// Stores entities in a table, which is created if it does not exist. Existing rows are replaced. No
    /// request is recorded, and no fault strikes.
    ///
    /// # Errors
    /// An entity is invalid. The entities before it are stored.
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::DynamicEntity;
    ///
    /// let mock = MockTableService::new();
    /// let mut blog = DynamicEntity::new("Channel9", "1");
    /// blog.set("Rating", 3);
    /// mock.seed("Blogs", [&blog])?;
    /// assert_eq!(mock.row_count("Blogs"), Some(1));
    /// assert_eq!(mock.requests().total(), 0);
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    pub fn seed<'e, T: TableEntity + 'e>(
        &self,
        table: &str,
        entities: impl IntoIterator<Item = &'e T>,
    ) -> Result<(), Error> {
        self.seed_table(table)?;
        let mut body = Vec::new();
        for (index, entity) in entities.into_iter().enumerate() {
            body.clear();
            let key = entity.entity_key().map_err(|error| refused(table, index, &error))?;
            json_write::entity(
                &mut body,
                entity,
                &key.partition_key,
                &key.row_key,
                None,
                Dialect::default(),
            )
            .map_err(|error| refused(table, index, &error))?;
            self.seed_row(table, index, &body)?;
        }
        Ok(())
    }

    /// Stores the rows of a JSON document, like [`seed`](Self::seed). The document has an array of rows for
    /// each table. Rows have the service's JSON form, with annotations for types that JSON does not show:
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    ///
    /// let mock = MockTableService::new();
    /// mock.seed_json(r#"{
    ///     "Blogs": [
    ///         {
    ///             "PartitionKey": "Channel9", "RowKey": "1", "Rating": 3,
    ///             "Views@odata.type": "Edm.Int64", "Views": "5000000000"
    ///         }
    ///     ],
    ///     "Empty": []
    /// }"#)?;
    /// assert_eq!(mock.table_names(), ["Blogs", "Empty"]);
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    ///
    /// For a file, `include_str!` or `std::fs::read_to_string`.
    ///
    /// # Errors
    /// The document is malformed, or a row is invalid. The rows before it are stored.
    pub fn seed_json(&self, document: &str) -> Result<(), Error> {
        let document: Document<'_> = serde_json::from_str(document).map_err(|error| {
            Error::invalid_input(format!("the document is not an object of tables: {error}"))
        })?;
        for (table, rows) in document.0 {
            self.seed_table(&table)?;
            for (index, row) in rows.iter().enumerate() {
                self.seed_row(&table, index, row.get().as_bytes())?;
            }
        }
        Ok(())
    }

    /// Returns all tables with their rows, in order, in the form of [`seed_json`](Self::seed_json). It has no
    /// Timestamps and ETags, so that a test can compare it with an expected document.
    pub fn to_json(&self) -> String {
        self.deliver_due();
        let store = self.core().store.read();
        let mut out = b"{".to_vec();
        for (at, table) in store.tables().enumerate() {
            out.extend_from_slice(if at == 0 { b"\n  " } else { b",\n  " });
            push_text(&mut out, table.name());
            out.extend_from_slice(b": [");
            let mut is_first = true;
            table.scan(("", ""), &mut |(partition_key, row_key), row| {
                out.extend_from_slice(if is_first { b"\n    {" } else { b",\n    {" });
                is_first = false;
                push_member(&mut out, "PartitionKey", partition_key);
                push_member(&mut out, "RowKey", row_key);
                out.extend_from_slice(row.properties().text().as_bytes());
                // Remove the comma of the last member.
                out.pop();
                out.push(b'}');
                std::ops::ControlFlow::Continue(())
            });
            out.extend_from_slice(if is_first { b"]" } else { b"\n  ]" });
        }
        out.extend_from_slice(b"\n}\n");
        String::from_utf8(out).unwrap_or_default()
    }

    fn seed_table(&self, name: &str) -> Result<(), Error> {
        check_own_table_name(name)?;
        let core = self.core();
        let mut store = core.store.write();
        if store.table(name).is_none() {
            store
                .create(name, core.clock.now())
                .map_err(|failure| Error::invalid_input(failure.message))?;
            core.log(|| JournalEntry::Created(name.into()));
        }
        Ok(())
    }

    fn seed_row(&self, table: &str, index: usize, body: &[u8]) -> Result<(), Error> {
        let core = self.core();
        let body = RequestBody::Json(body);
        let stored = entity_with_keys(&core.rules, body).and_then(|(key, properties)| {
            let update = Update::replace(&key.row, properties);
            let change = Change::Update(update, Condition::None);
            Ok(step::run(core.apply(table, vec![Write { key, change }]))?)
        });
        stored.map(drop).map_err(|failure| refused(table, index, &failure.message))
    }
}

fn refused(table: &str, index: usize, reason: &dyn fmt::Display) -> Error {
    Error::invalid_input(format!("row {index} of {table}: {reason}"))
}

/// Tables and their rows in the order of the document. A table may occur twice.
struct Document<'d>(Vec<(String, Vec<&'d RawValue>)>);

impl<'de> Deserialize<'de> for Document<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables;
        impl<'de> Visitor<'de> for Tables {
            type Value = Document<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with an array of rows for each table")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut tables = Vec::new();
                while let Some(table) = map.next_entry()? {
                    tables.push(table);
                }
                Ok(Document(tables))
            }
        }
        deserializer.deserialize_map(Tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::DynamicEntity;

    #[test]
    fn written_json_seeds_the_same_rows() {
        let mock = MockTableService::new();
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
        let again = MockTableService::new();
        again.seed_json(&text).unwrap();
        assert_eq!(again.to_json(), text);
    }

    #[test]
    fn an_existing_row_is_replaced() {
        let mock = MockTableService::new();
        for value in [1, 2] {
            let row = format!(r#"{{"T23":[{{"PartitionKey":"p","RowKey":"r","V":{value}}}]}}"#);
            mock.seed_json(&row).unwrap();
        }
        assert!(mock.to_json().contains(r#""V":2}"#) && mock.row_count("T23") == Some(1));
    }

    #[test]
    fn an_error_names_the_table_and_the_row() {
        let mock = MockTableService::new();
        for (document, text) in [
            ("[]", "not an object of tables"),
            (r#"{"Blogs":{}}"#, "not an object of tables"),
            (r#"{"a":[]}"#, "table name"),
            (r#"{"Blogs":[{"PartitionKey":"p"}]}"#, "row 0 of Blogs: The values are not specified"),
            (
                r#"{"Blogs":[{"PartitionKey":"p","RowKey":"r"},{"PartitionKey":"p","RowKey":"/"}]}"#,
                "row 1 of Blogs: One of the request inputs is out of range",
            ),
            (r#"{"Blogs":[5]}"#, "row 0 of Blogs"),
        ] {
            let error = mock.seed_json(document).unwrap_err().to_string();
            assert!(error.contains(text), "{document}: {error}");
        }
    }
}
