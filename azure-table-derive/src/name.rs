//! The service's rules for names, the same as in `azure_table_client::limits`.

/// Checks the name of a table.
pub(crate) fn check_table(name: &str) -> Result<(), String> {
    // The service keeps tables of its own under names like `$MetricsCapacityBlob`.
    let plain = if name.starts_with("$Metrics") { &name[1..] } else { name };
    let refused =
        |(at, c): &(usize, char)| !(c.is_ascii_alphabetic() || *at > 0 && c.is_ascii_digit());
    if let Some((_, c)) = plain.chars().enumerate().find(refused) {
        return Err(format!(
            "`{name}` is not a table name: {}; use ASCII letters and digits, a letter first",
            misplaced(c)
        ));
    }
    if !(3..=63).contains(&plain.len()) {
        return Err(format!("a table name has 3 to 63 characters; this one has {}", plain.len()));
    }
    if name.eq_ignore_ascii_case("tables") {
        return Err(format!("`{name}` is the service's own list of tables; choose another name"));
    }
    Ok(())
}

/// Whether the service has a property of this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "PartitionKey" | "RowKey" | "Timestamp")
}

/// Checks the name of a property.
pub(crate) fn check_property(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a property name cannot be empty".to_owned());
    }
    let refused = |(at, c): &(usize, char)| {
        !(*c == '_' || c.is_alphabetic() || *at > 0 && c.is_alphanumeric())
    };
    if let Some((_, c)) = name.chars().enumerate().find(refused) {
        return Err(format!(
            "`{name}` is not a property name: {}; use letters, digits and `_`, no digit first",
            misplaced(c)
        ));
    }
    let length = name.chars().count();
    if length > 255 {
        return Err(format!("a property name has at most 255 characters; this one has {length}"));
    }
    let role = match name {
        "PartitionKey" => "partition_key",
        "RowKey" => "row_key",
        "Timestamp" => "timestamp",
        _ => return Ok(()),
    };
    Err(format!(
        "`{name}` belongs to the service: write #[table({role})] on the field that holds it, \
         or store this one under another name with #[table(rename = \"…\")]"
    ))
}

/// A character that may not be where it is.
fn misplaced(c: char) -> String {
    if c.is_numeric() { format!("it begins with `{c}`") } else { format!("it has `{c}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        for good in ["abc", "Blogs2", &"a".repeat(63), "$MetricsCapacityBlob"] {
            assert_eq!(check_table(good), Ok(()));
        }
        for bad in ["", "ab", &"a".repeat(64), "my-blogs", "1blogs", "Blögs", "Tables", "$Blogs"] {
            assert!(check_table(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn properties() {
        for good in ["Text", "_x1", "Größe", "日本", &"x".repeat(255), "rowkey", "timestamp"] {
            assert_eq!(check_property(good), Ok(()));
        }
        for bad in ["", "1a", "a-b", "a b", "a.b", "@x", "RowKey", "Timestamp", &"x".repeat(256)] {
            assert!(check_property(bad).is_err(), "{bad}");
        }
    }
}
