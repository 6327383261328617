//! Direct writes to the tables, to fill them before a test.

mod azurite;
mod content;
mod parser;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

pub use self::content::{Seed, SeedError};
use self::content::{SeedContent, SeedItem};
use crate::Dialect;
use crate::check::check_keys;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::failure::Failure;
use crate::handlers::entity_with_keys;
use crate::json::{push_member, push_text};
use crate::request::RequestBody;
use crate::service::TableService;
use crate::service_properties::ServiceProperties;
use crate::step;
use crate::store::{JournalEntry, Precondition, RowChange, RowUpdate, StagedWrite};
use crate::wire::json_write;

impl TableService {
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
    /// For a file, `include_str!` or `std::fs::read_to_string`. The lines of [`export`](Self::export) and the
    /// other forms of a [`Seed`] are accepted too.
    ///
    /// # Errors
    /// The document is malformed, a row is invalid, or a line belongs to another account. Nothing is stored
    /// then.
    pub fn seed_json(&self, document: &str) -> Result<(), Error> {
        let seed = Seed::read(document, None)?;
        let is_other =
            |item: &&SeedItem| item.account.as_deref().is_some_and(|of| of != self.account());
        if let Some(item) = seed.items.iter().find(is_other) {
            let account = item.account.as_deref().unwrap_or_default();
            let message = format!("the account {account} is not {}", self.account());
            return Err(SeedError::new(item.line, message).into());
        }
        self.restore(seed)?;
        Ok(())
    }

    /// Stores tables, rows, access policies and the properties of the service, whatever account they name. A
    /// row that was read with its Timestamp keeps it. Existing rows are replaced, and other rows stay.
    /// No request is recorded, and no fault strikes.
    ///
    /// # Errors
    /// A key is longer than [`max_key_units`](crate::TableServiceBuilder::max_key_units), or the name of a
    /// deleted table [cannot be used yet](crate::Fault::table_being_deleted). No row is stored then.
    pub fn restore(&self, seed: Seed) -> Result<(), Error> {
        self.deliver_due();
        let rules = &self.core().rules;
        for SeedItem { line, table, content, .. } in &seed.items {
            // The properties of the service have no table.
            if !table.is_empty() {
                rules.dialect.check_own_table_name(table).map_err(|error| {
                    SeedError::new(*line, format!("the table {table:?}: {error}"))
                })?;
            }
            if let SeedContent::Row(key, _) = content {
                check_keys(rules.dialect, key, rules.max_key_units)
                    .map_err(|failure| SeedError::new(*line, failure.message))?;
            }
        }
        let tables: BTreeSet<&str> = seed.items.iter().map(|item| &*item.table).collect();
        // The properties of the service have no table.
        tables
            .into_iter()
            .filter(|name| !name.is_empty())
            .try_for_each(|name| self.seed_table(name))?;
        for SeedItem { line, table, content, .. } in seed.items {
            match content {
                SeedContent::Table => {}
                SeedContent::Row(key, change) => {
                    self.put(&table, StagedWrite::new(key, change))
                        .map_err(|message| SeedError::new(line, message))?;
                }
                SeedContent::Policies(policies) => {
                    let store = self.core().store.write();
                    if let Some(table) = store.table(&table) {
                        table.set_policies(Arc::clone(&policies));
                        let table = table.name();
                        self.core().log(|| JournalEntry::Policies {
                            table: Arc::clone(table),
                            policies: Arc::clone(&policies),
                        });
                    }
                }
                SeedContent::ServiceProperties(properties) => self.set_properties(&properties),
            }
        }
        Ok(())
    }

    /// Removes a table at once, and any hold on its name. Returns `false` if it does not exist. The secondary location
    /// shows it until the change arrives there.
    ///
    /// Nothing of the table counts from then on: if the clock does not advance, a table of the same name repeats its
    /// ETags. Delete it by a request if they must differ.
    pub fn remove_table(&self, name: &str) -> bool {
        self.deliver_due();
        let core = self.core();
        let mut store = core.store.write();
        let Some(table) = store.forget(name) else {
            return false;
        };
        core.log(|| JournalEntry::Deleted(Arc::clone(table.name())));
        core.log(|| JournalEntry::LastDeleted(store.last_deleted()));
        drop(store);
        core.store.journal.deleted.add(table);
        self.drop_deleted();
        true
    }

    /// Removes all tables and restores the default properties of the service, at the secondary location too. The names
    /// of deleted tables can be used again, requests that a fault delays are never applied, and nothing that was stored
    /// before has an effect on later Timestamps. The recorded requests, the faults and the clock stay.
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    ///
    /// let mock = MockTableService::new();
    /// mock.seed_json(r#"{"Blogs":[{"PartitionKey":"Channel9","RowKey":"1"}]}"#)?;
    /// let saved: String = mock.export(None).collect();
    /// mock.reset();
    /// assert!(mock.table_names().is_empty());
    /// mock.seed_json(&saved)?;
    /// assert_eq!(mock.export(None).collect::<String>(), saved);
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    pub fn reset(&self) {
        self.0.faults.delayed.clear();
        self.core().store.reset();
        self.drop_deleted();
    }

    fn drop_deleted(&self) {
        let deleted = &self.core().store.journal.deleted;
        while deleted.pop().is_some() {}
    }

    fn set_properties(&self, properties: &Arc<ServiceProperties>) {
        let mut store = self.core().store.write();
        store.set_service_properties(Arc::clone(properties));
        self.core().log(|| JournalEntry::ServiceProperties(Arc::clone(properties)));
    }

    /// Returns all tables with their rows, in order, in the form of [`seed_json`](Self::seed_json). It has no
    /// Timestamps and ETags, so that a test can compare it with an expected document.
    pub fn to_json(&self) -> String {
        self.deliver_due();
        let tables = self.core().store.read().all();
        let mut out = b"{".to_vec();
        for (at, table) in tables.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"\n  " } else { b",\n  " });
            push_text(&mut out, table.name());
            out.extend_from_slice(b": [");
            let mut is_first = true;
            table.scan(("", ""), &mut |(partition_key, row_key), row| {
                out.extend_from_slice(if is_first { b"\n    {" } else { b",\n    {" });
                is_first = false;
                push_member(&mut out, "PartitionKey", partition_key);
                push_member(&mut out, "RowKey", row_key);
                row.properties().push_to(&mut out, true);
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
        let core = self.core();
        core.rules
            .dialect
            .check_new_table_name(name)
            .map_err(|failure| Error::invalid_input(failure.message))?;
        let mut store = core.store.write();
        if store.table(name).is_none() {
            let table = store
                .create(name, core.clock.now())
                .map_err(|failure| Error::invalid_input(failure.message))?;
            core.log(|| JournalEntry::created(table));
        }
        Ok(())
    }

    fn seed_row(&self, table: &str, index: usize, body: &[u8]) -> Result<(), Error> {
        let rules = &self.core().rules;
        let read = entity_with_keys(rules.dialect, rules.max_key_units, RequestBody::Json(body));
        let (key, properties) = read.map_err(|failure| refused(table, index, &failure.message))?;
        let change =
            RowChange::Update(RowUpdate::replace(&key.row, properties), Precondition::None);
        self.put(table, StagedWrite::new(key, change))
            .map_err(|error| refused(table, index, &error))
    }

    fn put(&self, table: &str, write: StagedWrite<'_>) -> Result<(), String> {
        let core = self.core();
        let written = step::run(core.apply(table, vec![write])).map(drop).map_err(Failure::from);
        written.map_err(|failure| failure.message.into_owned())
    }
}

fn refused(table: &str, index: usize, reason: &dyn fmt::Display) -> Error {
    Error::invalid_input(format!("row {index} of {table}: {reason}"))
}
