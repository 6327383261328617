//! The thread that writes changes to the data file, and the compaction of the file.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, RwLock, Weak};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tracing::{error, info, warn};

use super::super::snapshot::snapshot;
use super::super::{JournalEntry, Store};
use super::log::{Log, LogPosition};
use super::{LEAST_GROWTH, WriterProgress, entry};
use crate::lock::read;

/// The largest number of changes in one commit.
const MAX_CHANGES: usize = 10_000;
/// The number of bytes after which a commit accepts no further change.
const MAX_BYTES: usize = 8 << 20;
/// The pause before a failed commit is repeated.
const RETRY: Duration = Duration::from_millis(500);

/// A message to the writer.
#[derive(Debug)]
pub(super) enum LogMessage {
    Change(JournalEntry),
    /// The end of a compaction: a file with all rows.
    Compacted(io::Result<Log>),
}

/// The writer of a data file.
pub(super) struct LogWriter {
    pub(super) log: Log,
    pub(super) report: watch::Sender<WriterProgress>,
    /// The number of changes since the last successful commit.
    pub(super) pending: u64,
    pub(super) has_failed: bool,
    pub(super) compaction: Compaction,
}

/// When and how the file is compacted.
pub(super) struct Compaction {
    pub(super) store: Arc<RwLock<Store>>,
    pub(super) to_writer: Weak<Sender<LogMessage>>,
    /// The length of the file after the latest attempt.
    pub(super) attempted: u64,
    /// The end of the file at the start of the compaction that runs now.
    pub(super) running_from: Option<LogPosition>,
}

impl LogWriter {
    /// Writes changes until the queue is closed.
    pub(super) fn run(mut self, messages: &Receiver<LogMessage>) {
        loop {
            let first = if self.has_failed {
                messages.recv_timeout(RETRY)
            } else {
                messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match first {
                Ok(first) => {
                    self.accept(first);
                    for _ in 1..MAX_CHANGES {
                        if self.log.pending() >= MAX_BYTES {
                            break;
                        }
                        let Ok(next) = messages.try_recv() else { break };
                        self.accept(next);
                    }
                    self.commit();
                }
                Err(RecvTimeoutError::Timeout) => _ = self.commit(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.start_compaction();
        }
        if self.has_failed && !self.commit() {
            let path = self.log.path().display();
            error!(%path, changes = self.pending, "changes that no client saw are lost");
        }
    }

    fn accept(&mut self, message: LogMessage) {
        match message {
            LogMessage::Change(change) => {
                self.pending += 1;
                entry::write(&change, |content| self.log.add(content));
            }
            LogMessage::Compacted(compacted) => self.end_compaction(compacted),
        }
    }

    /// Commits all changes so far. A failed commit is repeated later.
    fn commit(&mut self) -> bool {
        match self.log.commit() {
            Ok(()) => {
                if std::mem::take(&mut self.has_failed) {
                    let path = self.log.path().display();
                    info!(%path, "the changes are written again");
                }
                let changes = std::mem::take(&mut self.pending);
                self.report.send_modify(|state| {
                    state.written += changes;
                    state.commits += u64::from(changes > 0);
                    state.failure = None;
                });
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    let path = self.log.path().display();
                    error!(%path, %error, "the changes cannot be written");
                }
                let failure = Some(Arc::from(error.to_string()));
                self.report.send_if_modified(|state| {
                    let is_new = state.failure != failure;
                    state.failure = failure;
                    is_new
                });
                false
            }
        }
    }

    fn start_compaction(&mut self) {
        let compaction = &mut self.compaction;
        let limit = (2 * compaction.attempted).max(compaction.attempted + LEAST_GROWTH);
        if self.has_failed || compaction.running_from.is_some() || self.log.length() < limit {
            return;
        }
        // The emulator is about to stop if the queue is closed.
        let Some(to_writer) = compaction.to_writer.upgrade() else { return };
        let (store, path) = (Arc::clone(&compaction.store), self.log.path().to_owned());
        compaction.running_from = Some(self.log.end());
        let thread = thread::Builder::new().name("mock-table-compaction".to_owned());
        let started = thread.spawn(move || {
            let compacted = compact(&store, &path);
            // The writer ends after it has received this.
            let _ = to_writer.send(LogMessage::Compacted(compacted));
        });
        if let Err(error) = started {
            self.end_compaction(Err(error));
        }
    }

    /// Replaces the file. The queue delivers every change that the new file may show before this: a change
    /// is sent under the lock under which it was made.
    fn end_compaction(&mut self, compacted: io::Result<Log>) {
        let Some(start) = self.compaction.running_from.take() else { return };
        let replaced = compacted.and_then(|mut new| {
            let copied = if self.commit() {
                self.log.copy_from(start, &mut new).and_then(|()| new.commit())
            } else {
                Err(io::Error::other("the changes before it are not written"))
            };
            match copied {
                Ok(()) => new.replace(&self.log),
                Err(error) => {
                    new.discard();
                    Err(error)
                }
            }
        });
        match replaced {
            Ok(new) => self.log = new,
            Err(error) => {
                warn!(path = %self.log.path().display(), %error, "the file cannot be compacted");
            }
        }
        self.compaction.attempted = self.log.length();
    }
}

/// Writes all rows into a new file next to the file.
fn compact(store: &RwLock<Store>, path: &Path) -> io::Result<Log> {
    let dialect = read(store).dialect;
    let mut log = Log::create(path, dialect).map_err(io::Error::other)?;
    let written = snapshot(store, |change| {
        entry::write(&change, |content| log.add(content));
        log.commit_if_large()
    });
    let written = written.and_then(|()| log.commit()).and_then(|()| log.mark_compacted());
    match written {
        Ok(()) => Ok(log),
        Err(error) => {
            log.discard();
            Err(error)
        }
    }
}
