//! The names of the files of tables.

use std::collections::HashSet;
use std::fmt::Write as _;

/// The limit on an escaped name, since file systems have one of 255 bytes.
const MAX_BYTES: usize = 150;

/// Returns names of files without their extension, in the order of the tables: different on disks that ignore case, and
/// valid on Windows.
pub(crate) fn file_names<'t>(tables: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut used = HashSet::new();
    let unique = |table| {
        let name = escaped(table);
        let mut candidate = name.clone();
        let mut number = 1;
        while !used.insert(candidate.to_ascii_lowercase()) {
            number += 1;
            // No escaped name has this character.
            candidate = format!("{name}~{number}");
        }
        candidate
    };
    tables.into_iter().map(unique).collect()
}

/// Escapes all bytes but letters, digits, `-` and `_` as `%XX`, and the first letter of a name that Windows reserves.
fn escaped(table: &str) -> String {
    let mut name = String::new();
    for byte in table.bytes() {
        let is_kept = byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if is_kept && !(name.is_empty() && is_reserved(table)) {
            name.push(byte.into());
        } else {
            // Writing to a String cannot fail.
            let _ = write!(name, "%{byte:02X}");
        }
        if name.len() > MAX_BYTES {
            break;
        }
    }
    name
}

/// Whether Windows reserves the name for a device.
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_port = |port| {
        name.strip_prefix(port).is_some_and(|number| {
            number.len() == 1 && number.bytes().all(|digit| digit.is_ascii_digit())
        })
    };
    ["con", "prn", "aux", "nul"].contains(&&*name) || is_port("com") || is_port("lpt")
}

/// Whether the name of a file may be in a manifest: only those that [`file_names`] returns, with an extension, name a file
/// of the folder.
pub(crate) fn is_file_name(name: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_%~.".contains(&byte);
    !name.starts_with('.') && name.contains('.') && name.bytes().all(is_valid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_escaped_and_unique_without_case() {
        let long = "é".repeat(255);
        let tables =
            ["Blogs", "BLOGS", "blogs", "a.b", "../x", "con", "Lpt1", "com10", "ü", &long, &long];
        let names = file_names(tables);
        let expected = [
            "Blogs",
            "BLOGS~2",
            "blogs~3",
            "a%2Eb",
            "%2E%2E%2Fx",
            "%63on",
            "%4Cpt1",
            "com10",
            "%C3%BC",
        ];
        assert_eq!(names[..9], expected);
        assert!(names[9] != names[10] && names.iter().all(|name| name.len() < 160), "{names:?}");
    }

    #[test]
    fn no_name_leaves_the_folder() {
        for name in
            ["", ".", "..", "../a.jsonl", "a/b.jsonl", "a\\b.jsonl", "/a.b", "C:a.b", "a.b\0", "a"]
        {
            assert!(!is_file_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn each_name_of_a_file_is_valid_and_unique(tables in proptest::collection::vec(".{0,9}|[aA%.]{1,3}", 0..20)) {
            let names = file_names(tables.iter().map(|table| &**table));
            let names: Vec<_> = names.iter().map(|name| format!("{name}.jsonl")).collect();
            let different: HashSet<_> = names.iter().map(|name| name.to_lowercase()).collect();
            prop_assert_eq!(different.len(), tables.len());
            for (name, table) in names.iter().zip(&tables) {
                prop_assert!(table.is_empty() || is_file_name(name), "{}", name);
            }
        }
    }
}
