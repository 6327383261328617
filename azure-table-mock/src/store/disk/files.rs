//! Opening, locking and protecting the data file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;

/// Opens and locks an existing file.
pub(super) fn open_locked(path: &Path) -> Result<Option<File>, OpenError> {
    loop {
        // A read from a pipe would never end.
        if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(OpenError::NotAFile);
        }
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        lock(&file)?;
        // A compaction by another process may have replaced the file before the lock.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
}

pub(super) fn lock(file: &File) -> Result<(), OpenError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse),
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// The path of the new file during a compaction.
pub(super) fn replacement_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".new");
    name.into()
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let file = file.metadata()?;
    match fs::metadata(path) {
        Ok(other) => Ok((file.dev(), file.ino()) == (other.dev(), other.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The standard library has no stable number of a file here.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Returns `true` if the file has at least this length and is still the one at this path. A device is always
/// intact.
pub(super) fn is_intact(file: &File, path: &Path, length: u64) -> io::Result<bool> {
    let found = file.metadata()?;
    Ok(!found.is_file() || found.len() >= length && is_at(file, path).unwrap_or(false))
}

/// Removes the permissions of other users. Only the owner of the file can do that.
#[cfg(unix)]
pub(super) fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        let _ = file.set_permissions(fs::Permissions::from_mode(mode & 0o700));
    }
    Ok(())
}

/// A file has the permissions of its folder.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(super) fn make_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// Waits until the name of the file is on disk.
#[cfg(unix)]
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Windows cannot open a folder as a file; NTFS logs the change of a name.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
