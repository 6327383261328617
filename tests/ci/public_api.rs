//! Prints the public interface in a JSON file of rustdoc: `public-api FILE`, one item per line.
//!
//! Leaves out what is derived, and the members of implementations of traits; `tests/it/public_types.rs` asserts the traits that programs rely on.

use std::collections::HashSet;
use std::error::Error;
use std::io::{Write as _, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("public-api FILE")?;
    let interface = public_api::Builder::from_rustdoc_json(file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    let mut out = stdout().lock();
    let is_trait_impl = |line: &str| line.starts_with("impl") && line.contains(" for ");
    let impls: HashSet<_> = interface
        .items()
        .filter(|item| is_trait_impl(&item.to_string()))
        .map(public_api::PublicItem::id)
        .collect();
    // An implementation is listed with its type and with its trait.
    let mut listed = HashSet::new();
    for item in interface.items() {
        let line = item.to_string();
        // The trait states the members of its implementations.
        if item.parent_id().is_some_and(|parent| impls.contains(&parent))
            || !listed.insert(line.clone())
        {
            continue;
        }
        if !line.starts_with("pub mod azure_table_client::guide") {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
