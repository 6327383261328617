//! The seeds of the fuzz targets, and the inputs of bugs found by fuzzing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use azure_table_tests::fuzz::TARGETS;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn all_seeds_pass() {
    for (name, target) in TARGETS {
        let seeds = files(&seeds().join(name));
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            // The name of the seed is shown only if the target panics.
            println!("{}", seed.display());
            target(&fs::read(seed).unwrap());
        }
    }
}

#[test]
fn every_target_is_replayed() {
    let stems = |directory: PathBuf| -> BTreeSet<String> {
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        files(&directory).into_iter().map(stem).collect()
    };
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stems(seeds()), names);
    assert_eq!(stems(seeds().join("../fuzz_targets")), names);
}
