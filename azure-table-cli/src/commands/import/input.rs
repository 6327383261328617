//! Reads the rows of a file on a thread of its own.

use std::path::Path;
use std::thread;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;
use tokio::sync::{mpsc, oneshot};

use crate::failure::{Exit, Failure, Result};
use crate::format::{Format, rows};
use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// The limits on the rows that pass between the threads at once.
const CHUNK_ROWS: usize = 256;
const CHUNK_BYTES: usize = 1024 * 1024;
const CHUNKS: usize = 4;

/// Some rows. An error is the last one.
pub(super) type Chunk = Vec<Result<DynamicEntity>>;

/// Reads all rows of a file. Returns their number, or the error of the first damaged row.
pub(super) async fn check(
    path: &Path,
    format: Format,
    interrupt: &Interrupt,
    progress: Progress,
) -> Result<u64> {
    let (sender, receiver) = oneshot::channel();
    let (path, stop) = (path.to_owned(), interrupt.clone());
    let shown = progress.clone();
    thread::spawn(move || _ = sender.send(count(&path, format, &stop, &shown)));
    let count = receiver.await;
    progress.finish();
    count.unwrap_or_else(|_| Err(Failure::new(Exit::Failed, "reading the file failed")))
}

fn count(path: &Path, format: Format, interrupt: &Interrupt, progress: &Progress) -> Result<u64> {
    let mut count = 0_u64;
    for row in rows(path, format)? {
        row?;
        count += 1;
        progress.add_rows(1);
        if interrupt.is_set() {
            return Err(Failure::new(Exit::Interrupted, "interrupted before anything was sent"));
        }
    }
    Ok(count)
}

/// Begins to read a file. The thread ends once the receiver is dropped; a read of standard input does not keep the
/// program from ending.
pub(super) fn read(path: &Path, format: Format) -> mpsc::Receiver<Chunk> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let path = path.to_owned();
    thread::spawn(move || send(&path, format, &sender));
    receiver
}

fn send(path: &Path, format: Format, sender: &mpsc::Sender<Chunk>) {
    let mut rows = match rows(path, format) {
        Ok(rows) => rows,
        Err(error) => {
            let _ = sender.blocking_send(vec![Err(error)]);
            return;
        }
    };
    loop {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        while chunk.len() < CHUNK_ROWS && bytes < CHUNK_BYTES {
            let Some(row) = rows.next() else { break };
            bytes += row.as_ref().map_or(0, size);
            chunk.push(row);
        }
        if chunk.is_empty() || sender.blocking_send(chunk).is_err() {
            return;
        }
    }
}

/// The approximate memory of the long values of a row.
fn size(row: &DynamicEntity) -> usize {
    let size = |value: &EdmValue| match value {
        EdmValue::String(text) => text.len(),
        EdmValue::Binary(bytes) => bytes.len(),
        _ => 0,
    };
    row.properties().map(|(_, value)| size(value)).sum()
}
