//! The export of all tables as JSON lines.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::json::{push_member, push_text};
use crate::policies::Policies;
use crate::service::TableService;
use crate::service_properties::ServiceProperties;
use crate::store::{StoredEntity, Table};

/// The largest number of rows in a piece of an export.
const PIECE_ROWS: usize = 256;
/// A piece ends after the row with which it reaches this size.
const PIECE_BYTES: usize = 64 * 1024;

impl TableService {
    /// Returns the tables, their rows and access policies, and the properties of the service as JSON lines,
    /// which [`seed_json`](Self::seed_json) and [`restore`](Self::restore) read. They keep the types of all
    /// properties, the Timestamps and thus the ETags:
    ///
    /// ```json
    /// {"account":"devstoreaccount1","table":"Blogs"}
    /// {"account":"devstoreaccount1","table":"Blogs","entity":{"odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55Z'\"","PartitionKey":"Channel9","RowKey":"1","Timestamp":"2017-11-10T02:43:55Z","Rating":3}}
    /// ```
    ///
    /// A table's name selects that table alone. The iterator returns pieces of many lines, and reads the rows
    /// of a piece when it is requested. Writes between two pieces may be missing. A table that is created
    /// meanwhile is not exported, and the rows of a table that is deleted meanwhile end there.
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    ///
    /// let mock = MockTableService::new();
    /// mock.seed_json(r#"{"Blogs":[{"PartitionKey":"Channel9","RowKey":"1"}],"Posts":[]}"#)?;
    /// let text: String = mock.export(Some("Blogs")).collect();
    /// assert_eq!(text.lines().count(), 2, "the table and its row");
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    pub fn export(&self, table: Option<&str>) -> impl Iterator<Item = String> + Send + use<> {
        self.deliver_due();
        let service = self.clone();
        let store = self.core().store.read();
        let (tables, properties) = match table {
            None => (store.all(), Arc::clone(store.service_properties())),
            Some(name) => (store.table(name).cloned().into_iter().collect(), Arc::default()),
        };
        drop(store);
        let mut export = Export { service, tables: tables.into(), next: None };
        let first = export.of_service(&properties);
        first.into_iter().chain(std::iter::from_fn(move || export.piece()))
    }
}

struct Export {
    service: TableService,
    /// The current table and the tables after it.
    tables: VecDeque<Arc<Table>>,
    /// The PartitionKey and RowKey from which on the current table continues. `None` before its first row.
    next: Option<(String, String)>,
}

impl Export {
    /// The line of the service's properties, unless they are the default.
    fn of_service(&self, properties: &ServiceProperties) -> Option<String> {
        (*properties != ServiceProperties::default()).then(|| {
            let mut line = self.begin();
            push_member(&mut line, "service_properties", &text_of(&properties.write(None)));
            end(&mut line);
            String::from_utf8(line).unwrap_or_default()
        })
    }

    fn piece(&mut self) -> Option<String> {
        loop {
            let table = Arc::clone(self.tables.front()?);
            let mut piece = Vec::new();
            let mut rows = 0;
            let mut last = None;
            // The rows of a deleted table disappear step by step, so none of them follows.
            if !table.is_deleted() {
                if self.next.is_none() {
                    self.table_line(&mut piece, table.name(), &table.policies());
                }
                let (partition_key, row_key) = self.next.take().unwrap_or_default();
                table.scan((&partition_key, &row_key), &mut |keys, entity| {
                    self.row_line(&mut piece, table.name(), keys, entity);
                    rows += 1;
                    if rows < PIECE_ROWS && piece.len() < PIECE_BYTES {
                        return ControlFlow::Continue(());
                    }
                    // The next key in the order of the service.
                    last = Some((keys.0.to_owned(), format!("{}\0", keys.1)));
                    ControlFlow::Break(())
                });
            }
            if last.is_none() {
                self.tables.pop_front();
            }
            self.next = last;
            if !piece.is_empty() {
                return String::from_utf8(piece).ok();
            }
        }
    }

    fn table_line(&self, out: &mut Vec<u8>, name: &str, policies: &Policies) {
        out.extend_from_slice(&self.begin());
        push_member(out, "table", name);
        if *policies != Policies::default() {
            push_member(out, "policies", &text_of(&policies.write()));
        }
        end(out);
    }

    fn row_line(
        &self,
        out: &mut Vec<u8>,
        name: &str,
        (partition_key, row_key): (&str, &str),
        row: &StoredEntity,
    ) {
        out.extend_from_slice(&self.begin());
        push_member(out, "table", name);
        push_text(out, "entity");
        out.extend_from_slice(b":{");
        push_member(out, "odata.etag", &row.version.etag());
        push_member(out, "PartitionKey", partition_key);
        push_member(out, "RowKey", row_key);
        push_member(out, "Timestamp", row.version.text().as_str());
        row.properties().push_to(out, true);
        // Remove the comma of the last member.
        out.pop();
        out.push(b'}');
        out.push(b',');
        end(out);
    }

    /// `{"account":"devstoreaccount1",`
    fn begin(&self) -> Vec<u8> {
        let mut line = b"{".to_vec();
        push_member(&mut line, "account", self.service.account());
        line
    }
}

/// The text of an XML document without its byte order mark.
fn text_of(document: &[u8]) -> String {
    String::from_utf8_lossy(document).trim_start_matches('\u{feff}').to_owned()
}

/// Replaces the comma of the last member by the end of the line.
fn end(out: &mut Vec<u8>) {
    out.pop();
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 3 * PIECE_ROWS;

    fn filled() -> TableService {
        let service = TableService::new();
        let rows: Vec<_> = (0..ROWS)
            .map(|row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:04}\"}}"))
            .collect();
        let rows = rows.join(",");
        service.seed_json(&format!("{{\"Blogs\":[{rows}],\"Posts\":[{rows}]}}")).unwrap();
        service
    }

    #[test]
    fn an_export_ends_the_rows_of_a_table_that_is_deleted_meanwhile() {
        let service = filled();
        let mut export = service.export(None);
        let first = export.next().unwrap();
        assert_eq!(first.lines().count(), 1 + PIECE_ROWS);
        // A new table with the same name is another table.
        assert!(service.remove_table("Blogs"));
        let row = r#"{"PartitionKey":"p","RowKey":"9999"}"#;
        service.seed_json(&format!("{{\"Blogs\":[{row}]}}")).unwrap();
        let rest: String = export.collect();
        assert_eq!(rest.lines().count(), 1 + ROWS);
        assert!(!rest.contains("Blogs"), "{}", &rest[..200]);
        // The part is a valid seed.
        let copy = TableService::new();
        copy.seed_json(&format!("{first}{rest}")).unwrap();
        assert_eq!(copy.row_count("Blogs"), Some(PIECE_ROWS));
    }

    #[test]
    fn an_export_has_no_line_of_a_table_that_is_deleted_before() {
        let service = filled();
        let mut export = service.export(None);
        let first = export.next().unwrap();
        assert!(service.remove_table("Posts"));
        service.seed_json(r#"{"Quotes":[]}"#).unwrap();
        let all = first + &export.collect::<String>();
        assert_eq!(all.lines().count(), 1 + ROWS);
        assert!(!all.contains("Posts") && !all.contains("Quotes"));
        assert_eq!(service.export(Some("posts")).count(), 0);
    }
}
