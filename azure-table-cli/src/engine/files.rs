//! Names and replacement of the files of a run.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::args::Globals;
use crate::failure::{Failure, Result};
use crate::output::note;

/// The extension of the file that replaces another one.
pub(super) const TEMPORARY: &str = ".tmp";

/// A file of a run, with its name in messages.
pub(crate) type Named<'p> = (&'static str, &'p Path);

/// Checks that no two paths are the same file: a run would destroy one of them with the other.
pub(crate) fn check_distinct(files: &[Named<'_>]) -> Result<()> {
    let places: Vec<_> = files.iter().map(|(_, path)| resolved(path)).collect();
    for (at, place) in places.iter().enumerate() {
        if let Some(other) = places[..at].iter().position(|other| other == place) {
            let (a, b) = (files[other].0, files[at].0);
            let message = format!("{a} and {b} are the same file: {}", files[at].1.display());
            return Err(Failure::usage(message));
        }
    }
    Ok(())
}

/// Notes the files of a run that are in the current folder, so that the user knows where to continue.
pub(crate) fn note_current_folder(files: &[&Path], globals: &Globals) {
    let is_here = |path: &&&Path| path.parent().is_some_and(|folder| folder.as_os_str().is_empty());
    let names: Vec<_> =
        files.iter().filter(is_here).map(|path| path.display().to_string()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        note(globals, &format!("files of this run in the current folder: {names}"));
    }
}

/// Follows links and removes `.` and `..`, also if the file does not exist.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::canonicalize(path).unwrap_or_else(|_| match (fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    })
}

/// Returns the path with text after its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Replaces a file as a whole: a crash leaves the old or the new one.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    replace_by(path, |file| {
        file.write_all(text.as_bytes()).map_err(|error| Failure::file("write", path, error))
    })
}

/// Replaces a file as a whole by what `write` writes.
pub(crate) fn replace_by(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let temporary = with_suffix(path, TEMPORARY);
    let created = || {
        // A link in its place would lead elsewhere.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::create_new(&temporary)
    };
    let failed = |error| Failure::file("write", path, error);
    let mut file = BufWriter::new(created().map_err(failed)?);
    write(&mut file)?;
    let replaced = || {
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, path)?;
        sync_folder(path)
    };
    replaced().map_err(failed)
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::file("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Makes a rename durable.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_are_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let spelled = folder.path().join(".").join("a");
        check_distinct(&[("the output", &a), ("the checkpoint", &b)]).unwrap();
        for _ in 0..2 {
            let files: [Named<'_>; 3] =
                [("the output", &a), ("the list", &b), ("the checkpoint", &spelled)];
            let error = check_distinct(&files).unwrap_err();
            let expected = "the output and the checkpoint are the same file: ";
            assert!(error.message().starts_with(expected), "{error:?}");
            // Then the same for an existing file.
            fs::write(&a, "").unwrap();
        }
    }
}
