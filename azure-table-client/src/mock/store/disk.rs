//! The store on disk: an embedded database. Every change is written before a response shows it.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use tokio::sync::watch;
use tracing::error;

use super::super::policies::Policies;
use super::super::service_properties::ServiceProperties;
use super::{JournalEntry, StoredEntity, StoredKey, Written};
use crate::edm::EdmDateTime;
use crate::lock::lock;

/// Table names in their original case, by lower-case name.
const TABLES: TableDefinition<'_, &str, &str> = TableDefinition::new("tables");
/// The Timestamp in ticks and the properties, by lower-case table name and keys.
const ROWS: TableDefinition<'_, (&str, &str, &str), (i64, &str)> = TableDefinition::new("rows");
/// Stored access policies in the service's XML, by lower-case table name.
const POLICIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("policies");
/// The settings of the service in its XML.
const SERVICE: TableDefinition<'_, (), &[u8]> = TableDefinition::new("service");
/// The latest Timestamp of a deleted row, in ticks.
const LAST_DELETED: TableDefinition<'_, (), i64> = TableDefinition::new("gone");

/// The largest number of changes in one commit.
const MAX_COMMIT: usize = 10_000;

/// The database. Its thread writes all changes since the previous commit in one commit. Dropping the
/// database waits for the last commit.
#[derive(Debug)]
pub(in crate::mock) struct Disk {
    queue: Mutex<Queue>,
    progress: watch::Receiver<Progress>,
    writer: Option<JoinHandle<()>>,
}

/// A database and its content.
#[derive(Debug)]
pub(in crate::mock) struct Opened {
    pub(super) disk: Disk,
    pub(super) entries: Vec<JournalEntry>,
    /// The latest Timestamp of a deleted row.
    pub(super) last_deleted: EdmDateTime,
}

#[derive(Debug)]
struct Queue {
    /// The number of changes sent to the writer.
    added: u64,
    /// `None` tells the writer to stop.
    to_writer: Option<Sender<JournalEntry>>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The number of changes on disk.
    written: u64,
    /// A commit failed, and no further change is written.
    has_failed: bool,
}

/// A commit failed.
#[derive(Debug)]
pub(in crate::mock) struct DiskFailed;

impl Disk {
    /// Opens or creates the database in this file.
    pub(in crate::mock) fn open(path: &Path) -> Result<Opened, redb::Error> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(TABLES)?;
        transaction.open_table(ROWS)?;
        transaction.open_table(POLICIES)?;
        transaction.open_table(SERVICE)?;
        transaction.open_table(LAST_DELETED)?;
        transaction.commit()?;
        let (entries, last_deleted) = load(&database)?;

        let (to_writer, changes) = channel();
        let (report, progress) = watch::channel(Progress::default());
        let writer = thread::Builder::new()
            .name("mock-table-data".to_owned())
            .spawn(move || write_all(&database, &changes, &report))
            .map_err(redb::Error::Io)?;
        let queue = Mutex::new(Queue { added: 0, to_writer: Some(to_writer) });
        let disk = Self { queue, progress, writer: Some(writer) };
        Ok(Opened { disk, entries, last_deleted })
    }

    pub(super) fn add(&self, entry: JournalEntry) {
        let mut queue = lock(&self.queue);
        queue.added += 1;
        if let Some(to_writer) = &queue.to_writer {
            // `written` reports a writer that has stopped.
            let _ = to_writer.send(entry);
        }
    }

    /// Waits until all changes so far are on disk.
    pub(in crate::mock) async fn written(&self) -> Result<(), DiskFailed> {
        let added = lock(&self.queue).added;
        let mut progress = self.progress.clone();
        let state = progress.wait_for(|state| state.written >= added || state.has_failed).await;
        match state {
            Ok(state) if state.written >= added => Ok(()),
            _ => Err(DiskFailed),
        }
    }

    pub(in crate::mock) fn has_failed(&self) -> bool {
        self.progress.borrow().has_failed
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        lock(&self.queue).to_writer = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Writes changes until the queue is closed or the disk fails.
fn write_all(
    database: &Database,
    changes: &Receiver<JournalEntry>,
    report: &watch::Sender<Progress>,
) {
    while let Ok(first) = changes.recv() {
        let batch: Vec<_> =
            std::iter::once(first).chain(changes.try_iter().take(MAX_COMMIT - 1)).collect();
        if let Err(error) = commit(database, &batch) {
            error!(%error, "writing to the disk failed");
            report.send_modify(|state| state.has_failed = true);
            return;
        }
        report.send_modify(|state| state.written += batch.len() as u64);
    }
}

fn commit(database: &Database, batch: &[JournalEntry]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    for entry in batch {
        write(&transaction, entry)?;
    }
    transaction.commit()?;
    Ok(())
}

fn write(transaction: &WriteTransaction, entry: &JournalEntry) -> Result<(), redb::Error> {
    match entry {
        JournalEntry::Created(name) => {
            transaction.open_table(TABLES)?.insert(&*name.to_ascii_lowercase(), &**name)?;
        }
        JournalEntry::Deleted(name) => {
            let name = name.to_ascii_lowercase();
            transaction.open_table(TABLES)?.remove(&*name)?;
            transaction.open_table(POLICIES)?.remove(&*name)?;
            // Table names do not contain this character.
            let end = format!("{name}\0");
            let mut last = EdmDateTime::MIN.ticks();
            let rows = (&*name, "", "")..(&*end, "", "");
            transaction.open_table(ROWS)?.retain_in(rows, |_, (time, _)| {
                last = last.max(time);
                false
            })?;
            store_last_deleted(transaction, last)?;
        }
        JournalEntry::Policies { table, policies } => {
            let (name, text) = (table.to_ascii_lowercase(), policies.write());
            transaction.open_table(POLICIES)?.insert(&*name, &*text)?;
        }
        JournalEntry::ServiceProperties(properties) => {
            transaction.open_table(SERVICE)?.insert((), &*properties.write(None))?;
        }
        JournalEntry::Written { table, rows } => {
            let name = table.to_ascii_lowercase();
            let mut stored = transaction.open_table(ROWS)?;
            let mut last = EdmDateTime::MIN.ticks();
            for Written { key, row } in rows {
                let key = (&*name, &*key.partition, &*key.row);
                match row {
                    Some(row) => {
                        let time = row.version.time().ticks();
                        stored.insert(key, (time, row.properties().text()))?;
                    }
                    None => {
                        let old = stored.remove(key)?;
                        last = old.map_or(last, |old| last.max(old.value().0));
                    }
                }
            }
            store_last_deleted(transaction, last)?;
        }
    }
    Ok(())
}

/// A version must not be repeated after a restart.
fn store_last_deleted(transaction: &WriteTransaction, time: i64) -> Result<(), redb::Error> {
    if time > EdmDateTime::MIN.ticks() {
        let mut stored = transaction.open_table(LAST_DELETED)?;
        let last = stored.get(())?.map_or(time, |last| time.max(last.value()));
        stored.insert((), last)?;
    }
    Ok(())
}

fn load(database: &Database) -> Result<(Vec<JournalEntry>, EdmDateTime), redb::Error> {
    let transaction = database.begin_read()?;
    let last_deleted =
        transaction.open_table(LAST_DELETED)?.get(())?.map(|last| time_of(last.value()));
    let mut entries = Vec::new();
    let rows = transaction.open_table(ROWS)?;
    let policies = transaction.open_table(POLICIES)?;
    for table in transaction.open_table(TABLES)?.iter()? {
        let (lower, name) = table?;
        let name: Arc<str> = name.value().into();
        entries.push(JournalEntry::Created(Arc::clone(&name)));
        let end = format!("{}\0", lower.value());
        let mut written = Vec::new();
        for row in rows.range((lower.value(), "", "")..(&*end, "", ""))? {
            let (key, row) = row?;
            let ((_, partition_key, row_key), (time, properties)) = (key.value(), row.value());
            written.push(Written {
                key: StoredKey::new(partition_key, row_key),
                row: Some(StoredEntity::from_parts(time_of(time), row_key, properties)),
            });
        }
        entries.push(JournalEntry::Written { table: Arc::clone(&name), rows: written });
        let policies = policies.get(lower.value())?;
        if let Some(text) = policies {
            let policies = Policies::read(text.value()).map_err(|_| corrupted("policies"))?;
            entries.push(JournalEntry::Policies { table: name, policies: Arc::new(policies) });
        }
    }
    let mut properties = ServiceProperties::default();
    if let Some(text) = transaction.open_table(SERVICE)?.get(())? {
        properties.update(text.value(), None).map_err(|_| corrupted("settings"))?;
        entries.push(JournalEntry::ServiceProperties(Arc::new(properties)));
    }
    Ok((entries, last_deleted.unwrap_or(EdmDateTime::MIN)))
}

fn corrupted(name: &str) -> redb::Error {
    redb::Error::Corrupted(format!("the stored {name} cannot be read"))
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
    async fn a_disk_failure_is_reported_in_the_accepted_format() {
        let name = format!("mock-disk-{}.redb", uuid::Uuid::from_u128(fastrand::u128(..)));
        let path = std::env::temp_dir().join(name);
        let service = MockTableService::builder().loose(true).data(&path).unwrap().build();
        let create = |name: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, "application/json".parse().unwrap());
            headers.insert("x-ms-version", "2019-02-02".parse().unwrap());
            service.receive(HttpRequest {
                headers,
                body: format!("{{\"TableName\":\"{name}\"}}").into(),
                ..HttpRequest::new(
                    Method::POST,
                    http::Uri::from_static("http://127.0.0.1:1/devstoreaccount1/Tables"),
                )
            })
        };
        assert_eq!(create("Blogs").await.unwrap().status, 201);
        // A writer that stops early reports a disk failure.
        let disk = service.core().store.journal.disk.as_ref().unwrap();
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
