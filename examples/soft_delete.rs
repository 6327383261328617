//! Soft delete: deleted rows stay for 30 days, invisible and restorable, and are then purged.
//!
//! A filter cannot find rows that lack a property, so `DeletedAt` alone does not show which rows are live. Each row
//! therefore has a Boolean too; [`Life`] keeps both in step, and any entity can have it by `flatten`. Rows that are older
//! than this property need one update first.
//!
//! The purge first finds the rows whose time is over, and then deletes the versions that it found: a row that was
//! restored meanwhile has another version, and stays.
//!
//! `cargo run -p azure-table-examples --example soft_delete` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator. Its tests run by
//! `cargo test -p azure-table-examples --examples`.

#[cfg(test)]
#[path = "soft_delete/tests.rs"]
mod tests;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::Query;
use azure_table_client::client::WriteOutcome;
use azure_table_client::clock::Clock;
use azure_table_client::entity::PropertyGroup;
use azure_table_client::{ETag, Outcome, Stored, TableClient, TableEntity};
use azure_table_examples::{Columns, plural};
use chrono::{DateTime, TimeDelta, Utc};

type TableResult<T> = Result<T, azure_table_client::Error>;

const RETENTION: TimeDelta = TimeDelta::days(30);

/// The version of a row that a purge has found: folder, name and ETag.
type Expired = (String, String, ETag);

/// The part of an entity that can be deleted and restored.
#[derive(Debug, Clone, PartialEq, PropertyGroup)]
#[table(rename_all = "PascalCase")]
struct Life {
    is_live: bool,
    deleted_at: Option<DateTime<Utc>>,
}

impl Life {
    const LIVE: Self = Self { is_live: true, deleted_at: None };

    /// A second deletion does not prolong the retention.
    fn end(&mut self, now: DateTime<Utc>) {
        *self = Self { is_live: false, deleted_at: self.deleted_at.or(Some(now)) };
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Document {
    #[table(partition_key)]
    folder: String,
    #[table(row_key)]
    name: String,
    text: String,
    #[table(flatten)]
    life: Life,
}

impl Document {
    fn new(folder: &str, name: &str, text: &str) -> Self {
        let [folder, name, text] = [folder, name, text].map(str::to_owned);
        Self { folder, name, text, life: Life::LIVE }
    }
}

/// The result of a purge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Purged {
    deleted: u64,
    /// The number of rows that were restored or changed since they were found.
    kept: u64,
}

/// The table of documents, without those that are deleted.
struct Documents {
    table: TableClient<Document>,
    clock: Arc<dyn Clock>,
}

impl Documents {
    fn now(&self) -> DateTime<Utc> {
        self.clock.now().into()
    }

    fn list(&self, folder: &str) -> Query<Document> {
        self.table.query().filter(|d| d.folder.eq(folder) & d.life.is_live)
    }

    fn trash(&self, folder: &str) -> Query<Document> {
        self.table.query().filter(|d| d.folder.eq(folder) & d.life.is_live.eq(false))
    }

    async fn get(&self, folder: &str, name: &str) -> TableResult<Option<Stored<Document>>> {
        let stored = self.table.get_if_exists((folder, name)).await?;
        Ok(stored.filter(|document| document.life.is_live))
    }

    /// Inserts a document. A deleted one of that name still has the keys, and is replaced.
    async fn create(&self, document: &Document) -> TableResult<()> {
        let Err(conflict) = self.table.insert(document).await else { return Ok(()) };
        // After a lost response, an earlier attempt may have been applied, and its row deleted since.
        if conflict.outcome() == Outcome::Unknown || !conflict.is_conflict() {
            return Err(conflict);
        }
        let stored = self.table.get_if_exists(document.entity_key()?).await?;
        match stored {
            Some(stored) if !stored.life.is_live => {
                self.table.replace(document, &stored.etag).await.map(drop)
            }
            _ => Err(conflict),
        }
    }

    async fn delete(&self, folder: &str, name: &str) -> TableResult<()> {
        let now = self.now();
        self.table.update_with((folder, name), |document| document.life.end(now)).await.map(drop)
    }

    async fn restore(&self, folder: &str, name: &str) -> TableResult<()> {
        self.table
            .update_with((folder, name), |document| document.life = Life::LIVE)
            .await
            .map(drop)
    }

    /// Queries the versions of the rows that were deleted more than 30 days ago. This reads the whole table, once a
    /// night, and transfers the rows that it finds.
    fn expired(&self) -> Query<Document, Expired> {
        let before = self.now() - RETENTION;
        let query = self.table.query().filter(|d| d.life.deleted_at.lt(before)).allow_scan();
        query.select(|d| (d.folder, d.name, d.etag))
    }

    /// Deletes these versions, up to 100 in a request.
    async fn purge(&self, found: Vec<Expired>) -> Result<Purged, Box<dyn Error>> {
        let deletes: Vec<_> = found
            .into_iter()
            .map(|(folder, name, etag)| {
                Ok(BulkOperation::DeleteIfExists(Document::key(folder, name)?, etag.into()))
            })
            .collect::<TableResult<_>>()?;
        let report = match self.table.bulk().run(deletes).await {
            Ok(report) => report,
            Err(error) => {
                let is_newer = |outcome: &WriteOutcome| matches!(outcome, WriteOutcome::Failed(error) if error.is_precondition_failed());
                let report = error.report();
                let is_expected = report.failures().all(|row| is_newer(&row.outcome));
                if report.stopped.is_some() || !is_expected {
                    return Err(error.into());
                }
                error.into_report()
            }
        };
        Ok(Purged { deleted: report.progress.applied, kept: report.progress.failed })
    }

    /// The job that runs every night: one scan, whose pages are purged one after the other.
    async fn purge_all(&self) -> Result<Purged, Box<dyn Error>> {
        let mut total = Purged::default();
        let mut pages = self.expired().pages();
        while let Some(page) = pages.next().await.transpose()? {
            let Purged { deleted, kept } = self.purge(page.entities).await?;
            total = Purged { deleted: total.deleted + deleted, kept: total.kept + kept };
        }
        Ok(total)
    }
}

/// The machine's clock, some days ahead.
#[derive(Debug, Default)]
struct Calendar {
    days: AtomicU64,
}

impl Calendar {
    fn advance(&self, days: u64) {
        self.days.fetch_add(days, Ordering::Relaxed);
    }
}

impl Clock for Calendar {
    fn now(&self) -> SystemTime {
        let days = self.days.load(Ordering::Relaxed);
        SystemTime::now() + Duration::from_secs(days * 24 * 60 * 60)
    }
}

const FOLDER: &str = "plans";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let calendar = Arc::new(Calendar::default());
    let table = service.table_named(azure_table_examples::unique("ExampleDocuments"));
    let documents = Documents { table, clock: Arc::<Calendar>::clone(&calendar) };
    documents.table.create().await?;
    for name in ["garden", "house", "pond", "shed"] {
        documents.create(&Document::new(FOLDER, name, "a first draft")).await?;
    }
    steps.done("write four documents", "");

    documents.delete(FOLDER, "house").await?;
    calendar.advance(10);
    for name in ["pond", "shed"] {
        documents.delete(FOLDER, name).await?;
    }
    assert!(documents.get(FOLDER, "pond").await?.is_none());
    let names = |found: &[Document]| found.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
    let live = names(&documents.list(FOLDER).await?);
    assert_eq!(live, ["garden"]);
    steps.done("delete one, and two others 10 days later", format!("live: {}", live.join(", ")));

    let mut columns = Columns::new(["trash", "deleted", "days left"]);
    for document in &documents.trash(FOLDER).await? {
        let deleted_at = document.life.deleted_at.ok_or("a deleted row without a time")?;
        let left = deleted_at + RETENTION - documents.now();
        let day = deleted_at.format("%Y-%m-%d").to_string();
        // A day that has begun counts as a whole one.
        columns.row([document.name.clone(), day, (left.num_hours() / 24 + 1).to_string()]);
    }
    steps.done("list the trash", columns.to_string());

    let again = Document::new(FOLDER, "shed", "another shed");
    documents.create(&again).await?;
    let Err(refused) = documents.create(&again).await else {
        return Err("a live document was inserted twice".into());
    };
    assert!(refused.is_conflict());
    steps.done("a new document by the name of a deleted one", "replaces it; a second is refused");

    calendar.advance(25);
    let Purged { deleted, kept } = documents.purge_all().await?;
    assert_eq!((deleted, kept), (1, 0));
    assert_eq!(names(&documents.trash(FOLDER).await?), ["pond"]);
    steps.done("purge, 25 days later", format!("{}: house", plural(1, "row")));

    calendar.advance(10);
    let found = documents.expired().await?.into_vec();
    assert_eq!(found.len(), 1);
    steps.done("10 days later, the purge finds the next row", &found[0].1);
    documents.restore(FOLDER, "pond").await?;
    steps.done("meanwhile, its owner restores it", "");
    let purged = documents.purge(found).await?;
    assert_eq!(purged, Purged { deleted: 0, kept: 1 });
    assert_eq!(names(&documents.list(FOLDER).await?), ["garden", "pond", "shed"]);
    steps.done("the purge deletes the version that it found", "which is gone: the row stays");

    documents.table.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}
