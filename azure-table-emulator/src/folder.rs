//! The folders of data and keys.

use std::path::Path;
use std::{fs, io};

/// Creates a folder that only this user can read. An existing folder keeps its permissions.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
