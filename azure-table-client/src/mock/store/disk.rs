//! The store on disk: an embedded database to which every change is written before it is answered.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use tokio::sync::watch;
use tracing::error;

use super::super::policies::Policies;
use super::super::service_properties::ServiceProperties;
use super::journal::{Entry, Journal};
use super::table::{StoredEntity, Written};
use super::{Store, StoredKey, StoredProperties, Version};
use crate::edm::EdmDateTime;

/// Names as they were given, by lower-case name.
const TABLES: TableDefinition<'_, &str, &str> = TableDefinition::new("tables");
/// Time of the version in ticks and properties, by lower-case name of the table and keys.
const ROWS: TableDefinition<'_, (&str, &str, &str), (i64, &str)> = TableDefinition::new("rows");
/// The stored access policies of tables, as the service's XML, by lower-case name.
const POLICIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("policies");
/// The settings of the service, as its XML.
const SERVICE: TableDefinition<'_, (), &[u8]> = TableDefinition::new("service");
/// The latest Timestamp of what was deleted, in ticks.
const GONE: TableDefinition<'_, (), i64> = TableDefinition::new("gone");

/// The most changes of one commit.
const BATCH: usize = 10_000;

/// The database. A thread of its own writes to it, as many changes in one commit as have come in the
/// meantime; dropping this waits for the last one.
#[derive(Debug)]
pub(in crate::mock) struct Disk {
    queue: Mutex<Queue>,
    progress: watch::Receiver<Progress>,
    writer: Option<JoinHandle<()>>,
}

/// A database and what is in it.
#[derive(Debug)]
pub(in crate::mock) struct Opened {
    disk: Disk,
    entries: Vec<Entry>,
    /// The latest Timestamp of what is in it no more.
    gone: EdmDateTime,
}

impl Opened {
    /// A store with what is in the database, and a journal that goes on with it.
    pub(in crate::mock) fn into_store(self, mut journal: Journal) -> (Store, Journal) {
        let mut store = Store::younger_than(self.gone);
        for entry in &self.entries {
            store.replay(entry);
            if let Some(replica) = &journal.replica {
                replica.replay(entry);
            }
        }
        journal.disk = Some(self.disk);
        (store, journal)
    }
}

#[derive(Debug)]
struct Queue {
    /// Changes that were given to the writer.
    added: u64,
    /// `None` when it is to end.
    to_writer: Option<Sender<Entry>>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Changes that are on disk.
    written: u64,
    /// Nothing is written any more.
    has_failed: bool,
}

/// The disk does not take what is written.
#[derive(Debug)]
pub(in crate::mock) struct DiskFailed;

impl Disk {
    /// Opens the database in this file, or makes one.
    pub(in crate::mock) fn open(path: &Path) -> Result<Opened, redb::Error> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(TABLES)?;
        transaction.open_table(ROWS)?;
        transaction.open_table(POLICIES)?;
        transaction.open_table(SERVICE)?;
        transaction.open_table(GONE)?;
        transaction.commit()?;
        let (entries, gone) = load(&database)?;

        let (to_writer, changes) = channel();
        let (report, progress) = watch::channel(Progress::default());
        let writer = thread::Builder::new()
            .name("mock-table-data".to_owned())
            .spawn(move || write_all(&database, &changes, &report))
            .map_err(redb::Error::Io)?;
        let queue = Mutex::new(Queue { added: 0, to_writer: Some(to_writer) });
        let disk = Self { queue, progress, writer: Some(writer) };
        Ok(Opened { disk, entries, gone })
    }

    pub(super) fn add(&self, entry: Entry) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.added += 1;
        if let Some(to_writer) = &queue.to_writer {
            // If it is gone, `written` says so.
            let _ = to_writer.send(entry);
        }
    }

    /// Waits until everything that was added before is on disk.
    pub(in crate::mock) async fn written(&self) -> Result<(), DiskFailed> {
        let added = self.queue.lock().unwrap_or_else(PoisonError::into_inner).added;
        let mut progress = self.progress.clone();
        let state = progress.wait_for(|state| state.written >= added || state.has_failed).await;
        match state {
            Ok(state) if state.written >= added => Ok(()),
            _ => Err(DiskFailed),
        }
    }
}

impl Disk {
    pub(in crate::mock) fn has_failed(&self) -> bool {
        self.progress.borrow().has_failed
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).to_writer = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Writes what comes until nobody is left who could add anything, or the disk fails.
fn write_all(database: &Database, changes: &Receiver<Entry>, report: &watch::Sender<Progress>) {
    while let Ok(first) = changes.recv() {
        let batch: Vec<_> =
            std::iter::once(first).chain(changes.try_iter().take(BATCH - 1)).collect();
        if let Err(error) = commit(database, &batch) {
            error!(%error, "the disk takes no changes any more");
            report.send_modify(|state| state.has_failed = true);
            return;
        }
        report.send_modify(|state| state.written += batch.len() as u64);
    }
}

fn commit(database: &Database, batch: &[Entry]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    for entry in batch {
        write(&transaction, entry)?;
    }
    transaction.commit()?;
    Ok(())
}

fn write(transaction: &WriteTransaction, entry: &Entry) -> Result<(), redb::Error> {
    match entry {
        Entry::Created(name) => {
            transaction.open_table(TABLES)?.insert(&*name.to_ascii_lowercase(), &**name)?;
        }
        Entry::Deleted(name) => {
            let name = name.to_ascii_lowercase();
            transaction.open_table(TABLES)?.remove(&*name)?;
            transaction.open_table(POLICIES)?.remove(&*name)?;
            // No name of a table has this character.
            let end = format!("{name}\0");
            let mut gone = EdmDateTime::MIN.ticks();
            let rows = (&*name, "", "")..(&*end, "", "");
            transaction.open_table(ROWS)?.retain_in(rows, |_, (time, _)| {
                gone = gone.max(time);
                false
            })?;
            note_gone(transaction, gone)?;
        }
        Entry::Policies { table, policies } => {
            let (name, text) = (table.to_ascii_lowercase(), policies.write());
            transaction.open_table(POLICIES)?.insert(&*name, &*text)?;
        }
        Entry::ServiceProperties(properties) => {
            transaction.open_table(SERVICE)?.insert((), &*properties.write(None))?;
        }
        Entry::Written { table, rows } => {
            let name = table.to_ascii_lowercase();
            let mut stored = transaction.open_table(ROWS)?;
            let mut gone = EdmDateTime::MIN.ticks();
            for Written { key, row } in rows {
                let key = (&*name, &*key.partition, &*key.row);
                match row {
                    Some(row) => {
                        let time = row.version.time().ticks();
                        stored.insert(key, (time, row.properties.text()))?;
                    }
                    None => {
                        let old = stored.remove(key)?;
                        gone = old.map_or(gone, |old| gone.max(old.value().0));
                    }
                }
            }
            note_gone(transaction, gone)?;
        }
    }
    Ok(())
}

/// No version of a row may come back, also not after a restart.
fn note_gone(transaction: &WriteTransaction, time: i64) -> Result<(), redb::Error> {
    if time > EdmDateTime::MIN.ticks() {
        let mut gone = transaction.open_table(GONE)?;
        let last = gone.get(())?.map_or(time, |last| time.max(last.value()));
        gone.insert((), last)?;
    }
    Ok(())
}

fn load(database: &Database) -> Result<(Vec<Entry>, EdmDateTime), redb::Error> {
    let transaction = database.begin_read()?;
    let gone = transaction.open_table(GONE)?.get(())?.map(|gone| time_of(gone.value()));
    let mut entries = Vec::new();
    let rows = transaction.open_table(ROWS)?;
    let policies = transaction.open_table(POLICIES)?;
    for table in transaction.open_table(TABLES)?.iter()? {
        let (lower, name) = table?;
        let name: Arc<str> = name.value().into();
        entries.push(Entry::Created(Arc::clone(&name)));
        let end = format!("{}\0", lower.value());
        let mut written = Vec::new();
        for row in rows.range((lower.value(), "", "")..(&*end, "", ""))? {
            let (key, row) = row?;
            let ((_, partition_key, row_key), (time, properties)) = (key.value(), row.value());
            let version = Version::at(time_of(time));
            let properties = StoredProperties::from_text(properties);
            written.push(Written {
                key: StoredKey::new(partition_key, row_key),
                row: Some(Arc::new(StoredEntity { version, properties })),
            });
        }
        entries.push(Entry::Written { table: Arc::clone(&name), rows: written });
        let policies = policies.get(lower.value())?;
        if let Some(text) = policies {
            let policies = Policies::read(text.value()).map_err(|_| corrupted("policies"))?;
            entries.push(Entry::Policies { table: name, policies: Arc::new(policies) });
        }
    }
    let mut properties = ServiceProperties::default();
    if let Some(text) = transaction.open_table(SERVICE)?.get(())? {
        properties.update(text.value(), None).map_err(|_| corrupted("settings"))?;
        entries.push(Entry::ServiceProperties(Arc::new(properties)));
    }
    Ok((entries, gone.unwrap_or(EdmDateTime::MIN)))
}

fn corrupted(what: &str) -> redb::Error {
    redb::Error::Corrupted(format!("the {what} in it cannot be read"))
}

fn time_of(ticks: i64) -> EdmDateTime {
    EdmDateTime::from_ticks(ticks).unwrap_or(EdmDateTime::MIN)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method, header};

    use super::super::super::MockTableService;
    use crate::transport::HttpRequest;

    #[tokio::test]
    async fn when_the_disk_fails_all_are_told_in_the_format_that_they_take() {
        let name = format!("mock-disk-{}.redb", uuid::Uuid::from_u128(fastrand::u128(..)));
        let path = std::env::temp_dir().join(name);
        let service = MockTableService::builder().loose(true).data(&path).unwrap().build();
        let create = |name: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, "application/json".parse().unwrap());
            headers.insert("x-ms-version", "2019-02-02".parse().unwrap());
            service.receive(HttpRequest {
                method: Method::POST,
                url: "http://127.0.0.1:1/devstoreaccount1/Tables".to_owned(),
                headers,
                body: format!("{{\"TableName\":\"{name}\"}}").into(),
            })
        };
        assert_eq!(create("Blogs").await.unwrap().status, 201);
        // A writer that ends before its time is one whose disk failed.
        let disk = service.0.journal.disk.as_ref().unwrap();
        disk.queue.lock().unwrap().to_writer = None;
        let refused = create("Posts").await.unwrap();
        assert_eq!(refused.status, 500);
        for (name, value) in [("content-type", "application/json;"), ("x-ms-version", "2019-02-02")]
        {
            assert!(refused.headers[name].to_str().unwrap().starts_with(value), "{name}");
        }
        let body = String::from_utf8(refused.body.to_vec()).unwrap();
        let id = refused.headers["x-ms-request-id"].to_str().unwrap();
        assert!(body.contains("\"InternalError\"") && body.contains(id), "{body}");
        drop(service);
        std::fs::remove_file(path).unwrap();
    }
}
