//! Prints the public interface in a JSON file of rustdoc: `public-api FILE`, one item per line.
//!
//! Lists the auto traits `Send` and `Sync`, since programs that spawn tasks rely on them.

use std::error::Error;
use std::io::{Write as _, stdout};

const LEFT_OUT: [&str; 5] = [
    "core::marker::Freeze for",
    "core::marker::Unpin for",
    "core::marker::UnsafeUnpin for",
    "core::panic::unwind_safe::",
    "core::marker::StructuralPartialEq for",
];

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("public-api FILE")?;
    let interface =
        public_api::Builder::from_rustdoc_json(file).omit_blanket_impls(true).build()?;
    let mut out = stdout().lock();
    for item in interface.items() {
        let line = item.to_string();
        let is_left_out = line.starts_with("pub mod azure_table_client::guide")
            || (line.starts_with("impl") && LEFT_OUT.iter().any(|part| line.contains(part)));
        if !is_left_out {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
