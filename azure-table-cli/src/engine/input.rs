//! Reads the rows of a file on a thread of its own.

use std::iter;
use std::path::PathBuf;
use std::thread;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;
use tokio::sync::{mpsc, oneshot};

use crate::engine::checksum::Checksum;
use crate::failure::{Exit, Failure, Result};
use crate::format::list::Lists;
use crate::format::{Format, Rows, rows_or_list};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, counted};

/// The limits on the rows that pass between the threads at once.
const CHUNK_ROWS: usize = 256;
const CHUNK_BYTES: usize = 1024 * 1024;
const CHUNKS: usize = 4;

/// A file of rows, which may be a list of rows that did not get through.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// What is taken of a list; `None` if the file cannot be one.
    pub(crate) lists: Option<Lists>,
}

impl Input {
    fn rows(&self) -> Result<Rows> {
        rows_or_list(&self.path, self.format, self.lists.as_ref())
    }
}

/// Some rows. An error is the last one.
pub(crate) type Chunk = Vec<Result<DynamicEntity>>;

/// A file without a damaged row.
pub(crate) struct Checked {
    pub(crate) rows: u64,
    /// The size and the hash of the file. The positions of a checkpoint count the rows of this content.
    pub(crate) content: String,
}

/// Reads a whole file. It is an error if a row is damaged.
pub(crate) async fn check(
    input: &Input,
    interrupt: &Interrupt,
    progress: Progress,
) -> Result<Checked> {
    let (sender, receiver) = oneshot::channel();
    let (input, stop) = (input.clone(), interrupt.clone());
    let shown = progress.clone();
    thread::spawn(move || {
        let checked = Checksum::of_file(&input.path, &stop).and_then(|content| {
            let content = content.to_string();
            let rows = count(&input, &stop, &shown)?;
            Ok(Checked { rows, content })
        });
        _ = sender.send(checked);
    });
    let checked = receiver.await;
    progress.finish();
    checked.unwrap_or_else(|_| Err(Failure::new(Exit::Failed, "reading the file failed")))
}

fn count(input: &Input, interrupt: &Interrupt, progress: &Progress) -> Result<u64> {
    let mut count = 0_u64;
    for row in input.rows()? {
        row?;
        count += 1;
        progress.add_rows(1);
        interrupt.check("before anything was sent")?;
    }
    Ok(count)
}

/// Begins to read a file. It is an error if a checked file has another number of rows now. The thread ends once the
/// receiver is dropped; a read of standard input does not keep the program from ending.
pub(crate) fn read(input: &Input, checked: Option<u64>) -> mpsc::Receiver<Chunk> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let input = input.clone();
    thread::spawn(move || match (input.rows(), checked) {
        (Ok(rows), Some(number)) => send(exactly(rows, number, input.path), &sender),
        (Ok(rows), None) => send(rows, &sender),
        (Err(error), _) => _ = sender.blocking_send(vec![Err(error)]),
    });
    receiver
}

fn send(mut rows: impl Iterator<Item = Result<DynamicEntity>>, sender: &mpsc::Sender<Chunk>) {
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

/// Ends with an error if the rows are more or fewer than this number.
fn exactly(
    mut rows: impl Iterator<Item = Result<DynamicEntity>>,
    number: u64,
    path: PathBuf,
) -> impl Iterator<Item = Result<DynamicEntity>> {
    let (mut read, mut is_over) = (0, false);
    iter::from_fn(move || {
        if is_over {
            return None;
        }
        let end = match rows.next() {
            Some(Ok(row)) if read < number => {
                read += 1;
                return Some(Ok(row));
            }
            None if read == number => None,
            Some(Err(error)) => Some(Err(error)),
            _ => {
                let why =
                    format!("it changed during the import (it had {})", counted(number, "row"));
                Some(Err(Failure::file("read", &path, why)))
            }
        };
        is_over = true;
        end
    })
}

/// The approximate size of the long values of a row.
fn size(row: &DynamicEntity) -> usize {
    let size = |value: &EdmValue| match value {
        EdmValue::String(text) => text.len(),
        EdmValue::Binary(bytes) => bytes.len(),
        _ => 0,
    };
    row.properties().map(|(_, value)| size(value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_appear_or_disappear_after_the_check_are_an_error() {
        for (rows, is_changed) in [(0, true), (1, true), (2, false), (3, true)] {
            let row = || Ok(DynamicEntity::new("p", "r"));
            let rows = iter::repeat_with(row).take(rows);
            let read: Vec<_> = exactly(rows, 2, "rows.jsonl".into()).collect();
            let sent = read.iter().filter(|row| row.is_ok()).count();
            assert!(sent <= 2 && read.iter().any(Result::is_err) == is_changed, "{read:?}");
        }
        let damaged = || Err(Failure::new(Exit::Failed, "damaged"));
        let read: Vec<_> = exactly(iter::once_with(damaged), 2, "rows.jsonl".into()).collect();
        assert_eq!(read, [damaged()]);
    }
}
