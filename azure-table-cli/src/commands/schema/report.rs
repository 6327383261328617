//! The columns as tables for readers, or as JSON lines.

use serde_json::json;

use super::kinds::Kinds;
use super::profile::{Column, Profile};
use crate::args::Lines;
use crate::output::{aligned, one_line, shortened, without_controls};
use crate::progress::{counted, grouped};

const NAME_WIDTH: usize = 40;

/// Returns the columns of all rows, and of each kind.
pub(super) fn text(whole: &Profile, kinds: Option<&Kinds>, lines: Lines) -> String {
    let mut text = String::new();
    let mut add = |kind: Option<&str>, title: String, profile: &Profile| match lines {
        Lines::Text => {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.extend([gap, &title, "\n", &table(profile)]);
        }
        Lines::Jsonl => profile.columns().iter().for_each(|column| {
            text.push_str(&json_line(kind, column, profile.rows));
        }),
    };
    add(None, counted(whole.rows, "row"), whole);
    let Some(Kinds { column, list, others }) = kinds else { return text };
    for (kind, profile) in list {
        let title = format!("{} with {} {kind:?}", counted(profile.rows, "row"), one_line(column));
        add(Some(kind), title, profile);
    }
    if others.rows > 0 {
        let title =
            format!("{} without a kind in {}", counted(others.rows, "row"), one_line(column));
        add(Some(""), title, others);
    }
    text
}

fn table(profile: &Profile) -> String {
    let header = ["Column", "Type", "Rows", "Examples"].map(str::to_owned).to_vec();
    let mut lines = vec![header];
    lines.extend(profile.columns().iter().map(|column| {
        let types = match column.single_type() {
            Some(edm_type) => edm_type.to_string(),
            None => format!("mixed: {}", mixed(column)),
        };
        vec![
            shortened(one_line(&column.name), NAME_WIDTH),
            types,
            share(column.rows(), profile.rows),
            column.examples.join(", "),
        ]
    }));
    let mut table = aligned(&lines);
    if profile.has_more {
        table.push_str("… and more columns\n");
    }
    table
}

/// `Edm.Int32 (12), Edm.String (1)`
fn mixed(column: &Column) -> String {
    let types =
        column.types.iter().map(|(edm_type, values)| format!("{edm_type} ({})", grouped(*values)));
    types.collect::<Vec<_>>().join(", ")
}

/// The percentage, rounded down, so that only all rows are 100 %.
fn share(rows: u64, all: u64) -> String {
    match u128::from(rows) * 1000 / u128::from(all.max(1)) {
        0 if rows > 0 => "<0.1 %".to_owned(),
        tenths if tenths % 10 == 0 => format!("{} %", tenths / 10),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

fn json_line(kind: Option<&str>, column: &Column, all: u64) -> String {
    let types: serde_json::Map<_, _> = column
        .types
        .iter()
        .map(|(edm_type, values)| (edm_type.to_string(), json!(values)))
        .collect();
    let mut line = json!({
        "column": column.name,
        "types": types,
        "rows": column.rows(),
        "of": all,
        "examples": column.examples,
    });
    if let Some(kind) = kind {
        line["kind"] = json!(kind);
    }
    format!("{}\n", without_controls(&line.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_rows_are_a_hundred_percent() {
        let shares = [(0, 3), (1, 3), (1, 2), (9_999, 10_000), (1, 9_999), (3, 3), (0, 0)];
        let shares = shares.map(|(rows, all)| share(rows, all));
        assert_eq!(shares, ["0 %", "33.3 %", "50 %", "99.9 %", "<0.1 %", "100 %", "0 %"]);
    }
}
