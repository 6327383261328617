//! Time and chance come from the clock of a client or a service, so that a run can repeat itself.

use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 4] = [
    "azure-table-client/src",
    "azure-table-mock/src",
    "azure-table-patterns/src",
    "azure-table-protocol/src",
];

/// Names of functions and types that read the time, wait, draw a number or order values at random.
const SOURCES: [&str; 21] = [
    "Instant::now",
    "SystemTime::now",
    "Utc::now",
    "EdmDateTime::now",
    "SystemClock",
    ".elapsed()",
    "tokio::time",
    "thread::sleep",
    "thread::spawn",
    "spawn_blocking",
    "select!",
    "getrandom",
    "RandomState",
    "new_v4",
    "Rng::new()",
    "Rng::default()",
    "fastrand::bool",
    "fastrand::f",
    "fastrand::i",
    "fastrand::seed",
    "fastrand::u",
];

/// Files that use one of them, with the reason.
const EXCEPTIONS: [(&str, &str, &str); 18] = [
    ("azure-table-client/src/auth/bearer/issuer.rs", "SystemTime::now", "a helper of tests"),
    ("azure-table-client/src/auth/bearer/issuer.rs", "tokio::time", "a helper of tests"),
    ("azure-table-client/src/client/builder.rs", "SystemClock", "the clock of a client by default"),
    ("azure-table-client/src/mock/explore.rs", "tokio::time", "the longest time of a test"),
    ("azure-table-client/src/operation.rs", "SystemClock", "a helper of tests"),
    ("azure-table-client/src/transport/hyper/connect.rs", "SystemClock", "a socket transport"),
    ("azure-table-client/src/transport/hyper/pool.rs", "SystemClock", "a socket transport"),
    ("azure-table-client/src/transport/loopback.rs", "spawn_blocking", "a socket transport"),
    (
        "azure-table-mock/src/builder.rs",
        "SystemClock",
        "the start of the clock of a service by default",
    ),
    ("azure-table-mock/src/store/disk/log.rs", "fastrand::u", "the id of a data file"),
    ("azure-table-patterns/src/schema/file.rs", "fastrand::u", "the name of a temporary file"),
    ("azure-table-protocol/src/clock.rs", ".elapsed()", "the clock itself"),
    ("azure-table-protocol/src/clock.rs", "Instant::now", "the clock itself"),
    ("azure-table-protocol/src/clock.rs", "SystemClock", "the clock itself"),
    ("azure-table-protocol/src/clock.rs", "SystemTime::now", "the clock itself"),
    ("azure-table-protocol/src/clock.rs", "getrandom", "the clock itself"),
    ("azure-table-protocol/src/clock.rs", "tokio::time", "the clock itself"),
    (
        "azure-table-protocol/src/edm/datetime.rs",
        "SystemTime::now",
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
            let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
            let path = path.replace(std::path::MAIN_SEPARATOR, "/");
            let code: Vec<_> = code(&text).collect();
            let code = code.join("\n");
            let used = SOURCES.iter().filter(|it| code.contains(**it));
            found.extend(used.map(|source| (path.clone(), *source)));
        });
    }
    found.sort();
    let mut exceptions: Vec<_> = EXCEPTIONS.iter().map(|it| (it.0.to_owned(), it.1)).collect();
    exceptions.sort();
    assert_eq!(found, exceptions);
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
