//! One side of a comparison: a table or a file.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use crate::format::STANDARD;

/// A table or a file, as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operand {
    Table(String),
    File(PathBuf),
}

/// Reads `table:NAME` and `file:PATH`. Without such a prefix, `-` (standard input), a name with a separator of paths and a
/// name with the extension of a format are files, and any other one is a table.
impl FromStr for Operand {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        const EXTENSIONS: [&str; 4] = ["jsonl", "ndjson", "csv", "parquet"];
        if let Some(name) = text.strip_prefix("table:") {
            return Ok(Self::Table(name.to_owned()));
        }
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(Self::File(path.into()));
        }
        let extension = text.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        let is_file = text == STANDARD
            || text.contains(['/', '\\'])
            || extension.is_some_and(|extension| EXTENSIONS.contains(&&*extension));
        Ok(if is_file { Self::File(text.into()) } else { Self::Table(text.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_a_separator_or_an_extension() {
        for (text, operand) in [
            ("Blogs", Operand::Table("Blogs".into())),
            ("a.b", Operand::Table("a.b".into())),
            ("table:a.csv", Operand::Table("a.csv".into())),
            ("blogs.JSONL", Operand::File("blogs.JSONL".into())),
            ("-", Operand::File("-".into())),
            ("./blogs", Operand::File("./blogs".into())),
            ("file:Blogs", Operand::File("Blogs".into())),
        ] {
            assert_eq!(text.parse(), Ok(operand));
        }
    }
}
