//! Links to files that are replaced.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// Follows a link to the file that it names, so that the link stays. Anything but a file, such as a pipe, cannot be
/// replaced: `advice` states what to do instead.
pub fn followed(path: &Path, advice: &str) -> Result<PathBuf> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(Failure::usage(format!("{} is not a regular file: {advice}", path.display())))
        }
        Err(error) if is_link => Err(Failure::file("follow the link", path, error)),
        _ if is_link => {
            fs::canonicalize(path).map_err(|error| Failure::file("follow the link", path, error))
        }
        _ => Ok(path.to_owned()),
    }
}
