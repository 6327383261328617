//! Time and chance come from the clock of a client or a service, so that a run can repeat itself.

use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 4] = [
    "azure-table-client/src",
    "azure-table-mock/src",
    "azure-table-patterns/src",
    "azure-table-protocol/src",
];

/// What reads the time or draws a number by itself, and what leaves an order to chance.
const SOURCES: [&str; 16] = [
    "Instant::now",
    "SystemTime::now",
    "Utc::now",
    "tokio::time::",
    "thread::sleep",
    "select!",
    "getrandom",
    "RandomState",
    "new_v4",
    "Rng::new()",
    "fastrand::bool",
    "fastrand::f",
    "fastrand::i",
    "fastrand::seed",
    "fastrand::shuffle",
    "fastrand::u",
];

/// Files that use one of them, with the reason.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("azure-table-client/src/auth/bearer/issuer.rs", "a helper of tests"),
    ("azure-table-client/src/mock/explore.rs", "the limit of a test on a runtime with paused time"),
    ("azure-table-mock/src/store/disk/log.rs", "the name of a data file"),
    ("azure-table-patterns/src/schema/file.rs", "the name of a temporary file"),
    ("azure-table-protocol/src/clock.rs", "the clock itself"),
    (
        "azure-table-protocol/src/edm/datetime.rs",
        "EdmDateTime::now, which a program calls by itself",
    ),
];

#[test]
fn time_and_chance_come_from_the_clock() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in FOLDERS {
        visit(&root.join(folder), &mut |path| {
            let text = fs::read_to_string(path).unwrap();
            if SOURCES.iter().any(|source| code(&text).any(|line| line.contains(source))) {
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
                found.push(path.replace(std::path::MAIN_SEPARATOR, "/"));
            }
        });
    }
    found.sort();
    assert_eq!(found, EXCEPTIONS.map(|(path, _)| path.to_owned()));
}

/// The lines without comments, up to the tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().take_while(|line| line.trim() != "mod tests {");
    code.filter(|line| !line.trim_start().starts_with("//"))
}

/// Visits all files except tests.
fn visit(folder: &Path, file: &mut impl FnMut(&PathBuf)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() { visit(&path, file) } else { file(&path) }
    }
}
