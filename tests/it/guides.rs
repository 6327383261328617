//! The programs on the documentation pages, which the documentation tests of the client compile and run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

/// The page whose blocks are parts of two files. `.ci/tutorial` tests them.
const TUTORIAL: &str = "tutorial.md";

#[test]
fn no_program_on_a_page_is_left_out_of_the_documentation_tests() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../azure-table-client/docs");
    let (mut folders, mut programs, mut left_out) = (vec![docs.clone()], 0, BTreeSet::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let page = path.strip_prefix(&docs).unwrap().to_str().unwrap();
            let page = page.replace(MAIN_SEPARATOR, "/");
            for line in fs::read_to_string(&path).unwrap().lines() {
                let Some(kind) = line.trim_start().strip_prefix("```rust") else { continue };
                programs += 1;
                if !kind.is_empty() {
                    left_out.insert(page.clone());
                }
            }
        }
    }
    assert!(programs > 15, "{programs} programs");
    assert!(left_out.iter().eq([TUTORIAL]), "{left_out:?}");
}

#[test]
fn the_page_on_testing_lists_each_fault() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("azure-table-client/docs/guide/testing.md")).unwrap();
    let interface = fs::read_to_string(root.join("azure-table-mock/public-api.txt")).unwrap();
    let constructors = interface.lines().filter_map(|line| {
        let (_, function) = line.split_once("azure_table_mock::Fault::")?;
        let (name, arguments) = function.split_once('(')?;
        let is_constructor = line.ends_with("-> Self") || line.ends_with("azure_table_mock::Fault");
        (is_constructor && !arguments.starts_with("self")).then(|| name.to_owned())
    });
    let (listed, missing): (Vec<_>, Vec<_>) = constructors
        .filter(|name| name != "clone")
        .partition(|name| page.contains(&format!("`{name}(")));
    assert!(missing.is_empty(), "{missing:?}");
    assert!(listed.len() > 15, "{listed:?}");
}
