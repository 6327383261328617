//! The data file: a log of changes in which any damage is noticed.
//!
//! | offset | content |
//! |---|---|
//! | 0 | the header: [`MAGIC`], the format (`u16`), the dialect (`u16`), a random number (16 bytes), their checksum |
//! | 512 | the mark: the length of the file up to the last commit (`u64`), its length after the last compaction (`u64`), the checksum of the last record, the checksum of these fields |
//! | 4096 | records: the length of the content (`u32`), the checksum, the content |
//!
//! Numbers are little-endian. A checksum is the first half of a SHA-256 hash. The checksum of a record also
//! covers the checksum of the record before it, or that of the header: a missing or moved record is noticed.
//!
//! A commit appends records, waits for the disk, and then writes the mark without waiting. Every record before
//! the mark must be valid. Records after the mark belong to a commit that a crash interrupted: valid records
//! are kept, and the rest of the file is removed.
//!
//! The log is our own because the rows are in memory anyway: an embedded database would add indexes and pages that nothing
//! reads, and would repair or accept damage that this file must report.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use sha2::{Digest, Sha256};

use super::files::{is_intact, lock, make_private, open_locked, replacement_path, sync_folder};
use super::open_error::OpenError;
use crate::dialect::ServiceDialect;

const MAGIC: [u8; 16] = *b"azure-table-data";
/// The version of this layout and of the content of records.
const FORMAT: u16 = 2;
const HEADER_BYTES: usize = 16 + 2 + 2 + 16 + CHECKSUM_BYTES;
const MARK_AT: u64 = 512;
const MARK_BYTES: usize = 8 + 8 + 2 * CHECKSUM_BYTES;
const RECORDS_AT: u64 = 4096;
const CHECKSUM_BYTES: usize = 16;
/// Records are passed to the thread that applies them once they have this size together.
const BATCH_BYTES: usize = 64 * 1024;
/// The number of batches that wait for it.
const BATCHES_AHEAD: usize = 4;

type Checksum = [u8; CHECKSUM_BYTES];

/// A position between two records: its offset, and the checksum of the record before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogPosition {
    offset: u64,
    checksum: Checksum,
}

/// An open and locked data file.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    path: PathBuf,
    /// The file is new and not at its path yet, but next to it.
    is_aside: bool,
    /// The end of the last commit.
    end: LogPosition,
    /// The length after the last compaction.
    compacted: u64,
    /// The records since the last commit, and the position after them.
    pending: Vec<u8>,
    next: LogPosition,
    /// The file was renamed, and its folder is not on disk yet.
    is_renamed: bool,
}

impl Log {
    /// Opens the file, or creates it if it does not exist. Calls `read` with the content of each record,
    /// which returns `None` if the content is invalid.
    pub(super) fn open(
        path: &Path,
        dialect: ServiceDialect,
        read: impl FnMut(&[u8]) -> Option<()>,
    ) -> Result<Self, OpenError> {
        // A compaction replaces the file that a symbolic link names, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(file) = open_locked(&path)? {
            return Self::read(file, path, dialect, read);
        }
        let new = Self::create(&path, dialect)?;
        // Another process may have created the file meanwhile.
        if let Some(file) = open_locked(&path)? {
            new.discard();
            return Self::read(file, path, dialect, read);
        }
        let mut log = new.put_in_place()?;
        log.commit()?;
        Ok(log)
    }

    fn read(
        file: File,
        path: PathBuf,
        dialect: ServiceDialect,
        mut read: impl FnMut(&[u8]) -> Option<()>,
    ) -> Result<Self, OpenError> {
        make_private(&file)?;
        let length = file.metadata()?.len();
        let header = read_header(&file, dialect)?;
        let mark = Mark::read(&file)?;
        let start = LogPosition { offset: RECORDS_AT, checksum: header };
        let mut is_marked = false;
        let (to_apply, batches) = sync_channel(BATCHES_AHEAD);
        let end = thread::scope(|scope| {
            let mut records = Records::new(&file, start, length)?;
            let read_all = move || records.read_ahead(&to_apply).map(|()| records.at);
            let reader = thread::Builder::new().spawn_scoped(scope, read_all)?;
            for (at, content) in batches.into_iter().flatten() {
                is_marked |= at == mark.end;
                read(&content).ok_or(OpenError::Damaged { at: at.offset })?;
            }
            let end = reader.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            is_marked |= end == mark.end;
            Ok::<_, OpenError>(end)
        })?;
        if !is_marked {
            return Err(OpenError::Damaged { at: end.offset.min(mark.end.offset) });
        }
        let compacted = mark.compacted;
        let log = Self::at(file, path, end, compacted);
        if end.offset < length {
            log.file.set_len(end.offset)?;
        }
        if end != mark.end {
            // The records after the mark may not be on disk yet.
            log.file.sync_data()?;
            log.write_mark()?;
        }
        // A compaction that a crash interrupted left it.
        if is_replacement(&replacement_path(&log.path)) {
            let _ = fs::remove_file(replacement_path(&log.path));
        }
        Ok(log)
    }

    /// A log at its path that ends at this position.
    fn at(file: File, path: PathBuf, end: LogPosition, compacted: u64) -> Self {
        Self {
            file,
            path,
            is_aside: false,
            end,
            compacted,
            pending: Vec::new(),
            next: end,
            is_renamed: false,
        }
    }

    /// Creates an empty log next to the file that [`put_in_place`](Self::put_in_place) replaces.
    pub(super) fn create(path: &Path, dialect: ServiceDialect) -> Result<Self, OpenError> {
        let place = replacement_path(path);
        if fs::symlink_metadata(&place).is_ok() && !is_replacement(&place) {
            return Err(OpenError::Occupied(place));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&place)?;
        lock(&file)?;
        make_private(&file)?;
        file.set_len(0)?;
        let header = header(FORMAT, number_of(dialect), fastrand::u128(..));
        let checksum = array(&header, HEADER_BYTES - CHECKSUM_BYTES);
        file.write_all(&header)?;
        file.set_len(RECORDS_AT)?;
        let end = LogPosition { offset: RECORDS_AT, checksum };
        let path = path.to_owned();
        let log = Self { is_aside: true, ..Self::at(file, path, end, RECORDS_AT) };
        log.write_mark()?;
        log.file.sync_all()?;
        Ok(log)
    }

    /// Replaces the file of `old` by a log from [`create`](Self::create). A file that another program has put at
    /// the path is not replaced.
    pub(super) fn replace(self, old: &Self) -> io::Result<Self> {
        if let Err(error) = old.check_file() {
            self.discard();
            return Err(error);
        }
        self.put_in_place()
    }

    /// Renames a log from [`create`](Self::create). Its next commit writes the folder.
    fn put_in_place(mut self) -> io::Result<Self> {
        if let Err(error) = fs::rename(replacement_path(&self.path), &self.path) {
            self.discard();
            return Err(error);
        }
        self.is_aside = false;
        self.is_renamed = true;
        Ok(self)
    }

    /// Removes a log from [`create`](Self::create).
    pub(super) fn discard(self) {
        let _ = fs::remove_file(replacement_path(&self.path));
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The end of the last commit.
    pub(super) fn end(&self) -> LogPosition {
        self.end
    }

    pub(super) fn length(&self) -> u64 {
        self.end.offset
    }

    /// The length after the last compaction.
    pub(super) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The number of bytes that are not committed yet.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Adds a record to the next commit.
    pub(super) fn add(&mut self, content: &[u8]) {
        // The largest content is one transaction or a few rows of a snapshot, far below 4 GiB.
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes();
        let checksum = checksum(&[&self.next.checksum, &length, content]);
        for bytes in [&length[..], &checksum, content] {
            self.pending.extend_from_slice(bytes);
            self.next.offset += bytes.len() as u64;
        }
        self.next.checksum = checksum;
    }

    /// Writes all added records. After a failure, the next call writes them again.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        self.check_file()?;
        if self.is_renamed {
            sync_folder(&self.path)?;
            self.is_renamed = false;
        }
        // A failed write may have left some bytes, and after a failed sync the system forgets its changes.
        self.file.seek(SeekFrom::Start(self.end.offset))?;
        self.file.write_all(&self.pending)?;
        self.file.sync_data()?;
        // It may have been moved meanwhile.
        self.check_file()?;
        self.end = self.next;
        self.pending.clear();
        self.pending.shrink_to(1 << 20);
        self.write_mark()
    }

    /// Fails if the file is damaged or not at its path. The system accepts writes to a file that a restart does not
    /// find.
    fn check_file(&self) -> io::Result<()> {
        let place = if self.is_aside { replacement_path(&self.path) } else { self.path.clone() };
        if is_intact(&self.file, &place, self.end.offset)? {
            return Ok(());
        }
        Err(io::Error::other(
            "the data file was removed, moved, replaced or cut while it was in use: restore it and restart",
        ))
    }

    /// Writes a mark by which the file was compacted to its present length.
    pub(super) fn mark_compacted(&mut self) -> io::Result<()> {
        self.compacted = self.end.offset;
        self.write_mark()
    }

    /// Adds the committed records from this position on to another log.
    pub(super) fn copy_from(&self, from: LogPosition, to: &mut Self) -> io::Result<()> {
        let mut records = Records::new(&self.file, from, self.end.offset)?;
        while let Some(content) = records.next()? {
            to.add(&content);
            to.commit_if_large()?;
        }
        if records.at != self.end {
            return Err(io::Error::new(ErrorKind::InvalidData, "the data file was changed"));
        }
        Ok(())
    }

    pub(super) fn commit_if_large(&mut self) -> io::Result<()> {
        const LARGE: usize = 8 << 20;
        if self.pending.len() >= LARGE { self.commit() } else { Ok(()) }
    }

    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }

    fn write_mark(&self) -> io::Result<()> {
        let mark = Mark { end: self.end, compacted: self.compacted };
        (&self.file).seek(SeekFrom::Start(MARK_AT))?;
        (&self.file).write_all(&mark.bytes())
    }
}

/// Returns `true` for a file that a compaction has left: it begins like a data file, or a crash has lost its first bytes.
fn is_replacement(path: &Path) -> bool {
    let mut begin = Vec::new();
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
        && File::open(path)
            .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut begin))
            .is_ok_and(|_| MAGIC.starts_with(&begin) || begin.iter().all(|byte| *byte == 0))
}

struct Mark {
    end: LogPosition,
    compacted: u64,
}

impl Mark {
    fn bytes(&self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        let (fields, sum) = bytes.split_at_mut(MARK_BYTES - CHECKSUM_BYTES);
        fields[..8].copy_from_slice(&self.end.offset.to_le_bytes());
        fields[8..16].copy_from_slice(&self.compacted.to_le_bytes());
        fields[16..].copy_from_slice(&self.end.checksum);
        sum.copy_from_slice(&checksum(&[fields]));
        bytes
    }

    fn read(mut file: &File) -> Result<Self, OpenError> {
        let damaged = OpenError::Damaged { at: MARK_AT };
        let mut bytes = [0; MARK_BYTES];
        file.seek(SeekFrom::Start(MARK_AT))?;
        if !read_fully(&mut file, &mut bytes)? {
            return Err(damaged);
        }
        let (number, checksum) = (array::<8>, array::<CHECKSUM_BYTES>);
        let end = LogPosition {
            offset: u64::from_le_bytes(number(&bytes, 0)),
            checksum: checksum(&bytes, 16),
        };
        let mark = Self { end, compacted: u64::from_le_bytes(number(&bytes, 8)) };
        if mark.bytes() == bytes { Ok(mark) } else { Err(damaged) }
    }
}

/// The number of a dialect in the header.
const fn number_of(dialect: ServiceDialect) -> u16 {
    match dialect {
        ServiceDialect::AzureStorage => 0,
        ServiceDialect::CosmosDb => 1,
    }
}

pub(super) fn header(format: u16, dialect: u16, number: u128) -> Vec<u8> {
    let mut header = Vec::from(MAGIC);
    header.extend(format.to_le_bytes());
    header.extend(dialect.to_le_bytes());
    header.extend(number.to_le_bytes());
    header.extend(checksum(&[&header]));
    header
}

/// Reads the header and returns its checksum. Fails if the file has another dialect.
fn read_header(mut file: &File, dialect: ServiceDialect) -> Result<Checksum, OpenError> {
    let mut header = [0; HEADER_BYTES];
    if !read_fully(&mut file, &mut header)? || header[..16] != MAGIC {
        return Err(OpenError::Foreign);
    }
    let sum = array(&header, HEADER_BYTES - CHECKSUM_BYTES);
    if sum != checksum(&[&header[..HEADER_BYTES - CHECKSUM_BYTES]]) {
        return Err(OpenError::Damaged { at: 0 });
    }
    let format = u16::from_le_bytes(array(&header, 16));
    if format != FORMAT {
        return Err(OpenError::Format { found: format, known: FORMAT });
    }
    let number = u16::from_le_bytes(array(&header, 18));
    let dialects = [ServiceDialect::AzureStorage, ServiceDialect::CosmosDb];
    match dialects.into_iter().find(|dialect| number_of(*dialect) == number) {
        Some(found) if found == dialect => Ok(sum),
        Some(found) => Err(OpenError::Dialect { found, expected: dialect }),
        None => Err(OpenError::Damaged { at: 18 }),
    }
}

/// The valid records from a position on.
struct Records<'f> {
    reader: BufReader<&'f File>,
    at: LogPosition,
    length: u64,
}

/// Some records, each with its position.
type Batch = Vec<(LogPosition, Vec<u8>)>;

impl<'f> Records<'f> {
    fn new(mut file: &'f File, at: LogPosition, length: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(at.offset))?;
        let reader = BufReader::with_capacity(1 << 18, file);
        Ok(Self { reader, at, length })
    }

    /// Sends the records up to the first invalid one to the thread that applies them, until it stops.
    fn read_ahead(&mut self, to_apply: &SyncSender<Batch>) -> io::Result<()> {
        let mut is_end = false;
        while !is_end {
            let (mut batch, mut bytes) = (Batch::new(), 0);
            while bytes < BATCH_BYTES && !is_end {
                let at = self.at;
                match self.next()? {
                    Some(content) => {
                        bytes += content.len();
                        batch.push((at, content));
                    }
                    None => is_end = true,
                }
            }
            if to_apply.send(batch).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the content of the next record. `None` if there is no valid one.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut head = [0; 4 + CHECKSUM_BYTES];
        if !read_fully(&mut self.reader, &mut head)? {
            return Ok(None);
        }
        let length = u64::from(u32::from_le_bytes(array(&head, 0)));
        let end = self.at.offset + head.len() as u64 + length;
        if length == 0 || end > self.length {
            return Ok(None);
        }
        let mut content = Vec::new();
        // Grows with the bytes that exist, since the length is not checked yet.
        let read = self.reader.by_ref().take(length).read_to_end(&mut content)?;
        let sum = checksum(&[&self.at.checksum, &head[..4], &content]);
        if read as u64 != length || sum != array(&head, 4) {
            return Ok(None);
        }
        self.at = LogPosition { offset: end, checksum: sum };
        Ok(Some(content))
    }
}

/// Fills the buffer. `false` if the file ends before.
fn read_fully(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn checksum(parts: &[&[u8]]) -> Checksum {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    array(&hash.finalize(), 0)
}
