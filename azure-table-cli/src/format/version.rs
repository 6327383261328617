//! The number of the form of checkpoints and lists, which other programs read: a new form gets another number.

use serde_json::Value;

use crate::failure::{Failure, Result};

/// The form that this program writes and reads.
pub(crate) const FORMAT: u64 = 1;
/// The version of this program.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Checks the `format` of a file. `noun` is what a file without one is not.
pub(crate) fn check_format(name: &str, noun: &str, stored: &Value) -> Result<()> {
    match stored["format"].as_u64() {
        Some(FORMAT) => Ok(()),
        Some(format) => {
            let program = stored["program"].as_str().unwrap_or("of a later version");
            Err(Failure::usage(format!(
                "{name} has the format {format}, written by azure-table {program}; this is azure-table {PROGRAM}, which reads format {FORMAT}"
            )))
        }
        None => Err(Failure::usage(format!("{name} is not {noun}"))),
    }
}
