//! What the tables hold before a test begins, past the protocol.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::MockTableService;
use super::body::Sent;
use super::json::{push_member, push_text};
use super::store::{Change, Condition, Entry, Update, Write};
use crate::dialect::Dialect;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::limits::check_own_table_name;
use crate::wire::json_write;

impl MockTableService {
    /// Puts entities into a table, which is created if it is not there; a row that is there is
    /// replaced. No request is recorded and no fault strikes.
    ///
    /// # Errors
    /// The service would not store an entity; those before it are stored.
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

    /// Puts the rows of a JSON document into their tables, as [`seed`](Self::seed) does. The
    /// document has an array for each table, and in it the rows as the service writes them, with
    /// the types that JSON does not show:
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
    /// The document has another form, or the service would not store a row; those before it are
    /// stored.
    pub fn seed_json(&self, document: &str) -> Result<(), Error> {
        let document: Document<'_> = serde_json::from_str(document)
            .map_err(|error| Error::invalid_input(format!("no tables of rows: {error}")))?;
        for (table, rows) in document.0 {
            self.seed_table(&table)?;
            for (index, row) in rows.iter().enumerate() {
                self.seed_row(&table, index, row.get().as_bytes())?;
            }
        }
        Ok(())
    }

    /// All tables with their rows, in order, in the form that [`seed_json`](Self::seed_json) takes:
    /// without Timestamps and ETags, so that a test can compare it with what it expects.
    pub fn to_json(&self) -> String {
        self.settle();
        let store = self.store();
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
                out.extend_from_slice(row.properties.text().as_bytes());
                // The comma behind the last member.
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
        let mut store = self.store_mut();
        if store.table(name).is_none() {
            store
                .create(name, self.now())
                .map_err(|failure| Error::invalid_input(failure.message))?;
            self.note(|| Entry::Created(name.into()));
        }
        Ok(())
    }

    fn seed_row(&self, table: &str, index: usize, body: &[u8]) -> Result<(), Error> {
        let done = self.whole(Sent::Json(body)).and_then(|(key, properties)| {
            let change = Change::Update(Update::replace(properties), Condition::None);
            let store = self.store();
            let table = store.entities_of(table, self.now())?;
            self.apply(table, vec![Write { key, change }]).map_err(|(_, failure)| failure)
        });
        done.map(drop).map_err(|failure| refused(table, index, &failure.message))
    }
}

fn refused(table: &str, index: usize, reason: &dyn fmt::Display) -> Error {
    Error::invalid_input(format!("row {index} of {table}: {reason}"))
}

/// Tables and their rows in the order of the document; a table may be there twice.
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
    fn what_was_written_as_json_seeds_the_same() {
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
    fn a_row_that_is_there_is_replaced() {
        let mock = MockTableService::new();
        for value in [1, 2] {
            let row = format!(r#"{{"T23":[{{"PartitionKey":"p","RowKey":"r","V":{value}}}]}}"#);
            mock.seed_json(&row).unwrap();
        }
        assert!(mock.to_json().contains(r#""V":2}"#) && mock.row_count("T23") == Some(1));
    }

    #[test]
    fn what_cannot_be_stored_says_where_it_stands() {
        let mock = MockTableService::new();
        for (document, text) in [
            ("[]", "no tables of rows"),
            (r#"{"Blogs":{}}"#, "no tables of rows"),
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
