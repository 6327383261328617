//! A lock that keeps two runs from using the same files.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// An exclusive lock on a file of its own, which exists only while a run holds it. After a crash the file may stay; a
/// later run can lock it.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Acquires the lock. It is a usage error if another run holds it.
    pub(crate) fn acquire(path: PathBuf) -> Result<Self> {
        let failed = |error| Failure::file("lock", &path, error);
        loop {
            let mut options = OpenOptions::new();
            let file = options.create(true).append(true).open(&path).map_err(failed)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let path = path.display();
                    let message = format!("another run uses these files ({path} is locked)");
                    return Err(Failure::usage(message));
                }
                // Some network file systems have no locks.
                Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => {
                    return Err(failed(error));
                }
                _ => {}
            }
            // The run that held the lock may have removed the file since it was opened.
            if is_at(&file, &path).map_err(failed)? {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays does not block other runs.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns whether the path is that of the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Windows keeps the path of an open file.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
fn is_at(_: &File, _: &Path) -> std::io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        // A crashed run left it.
        fs::write(&path, "").unwrap();
        let lock = Lock::acquire(path.clone()).unwrap();
        let error = Lock::acquire(path.clone()).unwrap_err();
        assert!(error.message().starts_with("another run uses"), "{error:?}");
        drop(lock);
        assert!(!path.exists());
        drop(Lock::acquire(path.clone()).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn runs_that_begin_and_end_at_the_same_time_exclude_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let (holders, acquired) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = Lock::acquire(path.clone()) else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        acquired.fetch_add(1, Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(acquired.into_inner() > 0);
    }
}
