//! The store on disk. Every change is written to a data file before a response shows it.

mod entry;
mod files;
mod log;
mod open_error;
mod writer;

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::watch;

use self::log::Log;
pub(crate) use self::open_error::OpenError;
use self::writer::{Compaction, LogMessage, LogWriter};
use super::{DiskStatus, JournalEntry, Store};
use crate::dialect::ServiceDialect;
use crate::lock::lock;

/// A file is compacted after it has grown by this number of bytes at least.
const LEAST_GROWTH: u64 = if cfg!(test) { 64 << 10 } else { 16 << 20 };

/// The data file. Its thread writes all changes since the previous commit in one commit. Dropping it
/// waits for the last commit.
#[derive(Debug)]
pub(crate) struct Disk {
    queue: Mutex<Queue>,
    progress: watch::Receiver<WriterProgress>,
    writer: Option<JoinHandle<()>>,
}

/// A data file and its content.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) disk: Disk,
    pub(super) store: Arc<RwLock<Store>>,
}

#[derive(Debug)]
struct Queue {
    /// The number of changes sent to the writer.
    added: u64,
    /// `None` tells the writer to stop.
    to_writer: Option<Arc<Sender<LogMessage>>>,
}

#[derive(Debug, Default)]
struct WriterProgress {
    /// The number of changes on disk.
    written: u64,
    commits: u64,
    /// The reason why the latest commit failed. The writer repeats it.
    failure: Option<Arc<str>>,
}

/// The changes so far are not on disk.
#[derive(Debug)]
pub(crate) struct DiskFailed;

impl Disk {
    /// Opens or creates this file.
    pub(crate) fn open(path: &Path, dialect: ServiceDialect) -> Result<Opened, OpenError> {
        let mut store = Store::new(dialect);
        let log = Log::open(path, dialect, |content| {
            drop(store.replay(entry::read(content)?));
            Some(())
        })?;
        let store = Arc::new(RwLock::new(store));
        let (to_writer, messages) = channel();
        let to_writer = Arc::new(to_writer);
        let (report, progress) = watch::channel(WriterProgress::default());
        let compaction = Compaction {
            store: Arc::clone(&store),
            to_writer: Arc::downgrade(&to_writer),
            attempted: log.compacted(),
            running_from: None,
        };
        let writer = LogWriter { log, report, pending: 0, has_failed: false, compaction };
        let writer = thread::Builder::new()
            .name("mock-table-data".to_owned())
            .spawn(move || writer.run(&messages))?;
        let queue = Mutex::new(Queue { added: 0, to_writer: Some(to_writer) });
        Ok(Opened { disk: Self { queue, progress, writer: Some(writer) }, store })
    }

    pub(super) fn add(&self, entry: JournalEntry) {
        let mut queue = lock(&self.queue);
        queue.added += 1;
        if let Some(to_writer) = &queue.to_writer {
            // `written` reports a writer that has stopped.
            let _ = to_writer.send(LogMessage::Change(entry));
        }
    }

    /// Waits until all changes so far are on disk. Fails if they cannot be written now.
    pub(crate) async fn written(&self) -> Result<(), DiskFailed> {
        let added = lock(&self.queue).added;
        let mut progress = self.progress.clone();
        let is_decided = |state: &WriterProgress| state.written >= added || state.failure.is_some();
        match progress.wait_for(is_decided).await {
            Ok(state) if state.written >= added => Ok(()),
            _ => Err(DiskFailed),
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.progress.borrow().failure.is_some()
    }

    pub(crate) fn status(&self) -> DiskStatus {
        let progress = self.progress.borrow();
        let failure = progress.failure.as_deref().map(str::to_owned);
        DiskStatus { commits: progress.commits, failure }
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

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
