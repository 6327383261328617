//! Rows as a table whose columns are those of the first rows.

use std::collections::BTreeSet;

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, ETag};
use unicode_width::UnicodeWidthChar as _;

use super::{Out, one_line, padded, width};
use crate::failure::Result;

/// The rows that determine the columns and their widths.
const HEAD_ROWS: usize = 100;
const MAX_WIDTH: usize = 40;
/// The most names of properties without a column that are kept.
const MAX_MISSING: usize = 10;

pub(super) struct Table {
    system: bool,
    /// The names after the system columns.
    names: Vec<String>,
    /// Whether `names` is the user's selection.
    selected: bool,
    /// The first rows, until the columns are known.
    head: Vec<DynamicEntity>,
    widths: Option<Vec<usize>>,
    /// Properties of later rows that have no column.
    missing: BTreeSet<String>,
}

impl Table {
    pub(super) fn new(system: bool, select: &[String]) -> Self {
        let names = select.iter().filter(|name| !is_system(name)).cloned().collect();
        let (head, widths, missing) = (Vec::new(), None, BTreeSet::new());
        Self { system, names, selected: !select.is_empty(), head, widths, missing }
    }

    pub(super) fn put(&mut self, out: &mut Out, row: &DynamicEntity) -> Result<()> {
        if self.widths.is_some() {
            return self.print(out, row);
        }
        self.head.push(row.clone());
        if self.head.len() == HEAD_ROWS { self.start(out) } else { Ok(()) }
    }

    /// Prints the rows so far.
    pub(super) fn start(&mut self, out: &mut Out) -> Result<()> {
        if self.widths.is_some() || self.head.is_empty() {
            return Ok(());
        }
        let head = std::mem::take(&mut self.head);
        if !self.selected {
            for (name, _) in head.iter().flat_map(DynamicEntity::properties) {
                if !self.names.iter().any(|known| known == name) {
                    self.names.push(name.to_owned());
                }
            }
        }
        let header = self.header();
        let mut widths: Vec<_> = header.iter().map(|name| width(name)).collect();
        for row in &head {
            for (columns, cell) in widths.iter_mut().zip(self.cells(row)) {
                *columns = (*columns).max(width(&cell));
            }
        }
        out.put(&line(&header, &widths))?;
        let rules: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
        out.put(&line(&rules, &widths))?;
        self.widths = Some(widths);
        head.iter().try_for_each(|row| self.print(out, row))
    }

    /// The properties of rows that were not printed.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    fn print(&mut self, out: &mut Out, row: &DynamicEntity) -> Result<()> {
        if !self.selected {
            for (name, _) in row.properties() {
                if self.missing.len() < MAX_MISSING && !self.names.iter().any(|known| known == name)
                {
                    self.missing.insert(name.to_owned());
                }
            }
        }
        out.put(&line(&self.cells(row), self.widths.as_deref().unwrap_or_default()))
    }

    fn header(&self) -> Vec<String> {
        let system: &[_] = if self.system { &["Timestamp", "ETag"] } else { &[] };
        let keys = ["PartitionKey", "RowKey"].iter().chain(system);
        let names = self.names.iter().map(|name| cut(name));
        keys.map(|name| (*name).to_owned()).chain(names).collect()
    }

    fn cells(&self, row: &DynamicEntity) -> Vec<String> {
        let mut cells = vec![cut(&row.key().partition_key), cut(&row.key().row_key)];
        if self.system {
            cells.push(row.timestamp().map(|time| time.to_string()).unwrap_or_default());
            // Cut, it would be of no use.
            cells.push(row.etag().map(ETag::as_str).map(one_line).unwrap_or_default());
        }
        let values = self.names.iter().map(|name| row.value(name));
        cells.extend(values.map(|value| {
            value.map(EdmValue::to_string).map(|value| cut(&value)).unwrap_or_default()
        }));
        cells
    }
}

/// Whether each row has this column.
pub(crate) fn is_system(name: &str) -> bool {
    matches!(name, "PartitionKey" | "RowKey" | "Timestamp")
}

fn cut(text: &str) -> String {
    shortened(one_line(text), MAX_WIDTH)
}

/// Cuts a line that fills more columns.
pub(crate) fn shortened(line: String, most: usize) -> String {
    if width(&line) <= most {
        return line;
    }
    let mut columns = 0;
    let kept = line.chars().take_while(|c| {
        columns += c.width().unwrap_or_default();
        columns < most
    });
    kept.chain(['…']).collect()
}

/// Aligns a header and the lines below it.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width_of =
        |at: usize| lines.iter().filter_map(|cells| cells.get(at)).map(|cell| width(cell)).max();
    let widths: Vec<_> = (0..columns).filter_map(width_of).collect();
    let rules = widths.iter().map(|width| "-".repeat(*width)).collect();
    let (header, rest) = lines.split_at(lines.len().min(1));
    let all = header.iter().chain(std::iter::once(&rules)).chain(rest);
    all.map(|cells| line(cells, &widths)).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).map(|(cell, width)| padded(cell, *width));
    let line = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_and_control_characters_escaped() {
        assert_eq!(cut("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(cut(&"x".repeat(40)), "x".repeat(40));
        assert_eq!(cut(&"ü".repeat(41)), format!("{}…", "ü".repeat(39)));
        assert_eq!(cut(&"京".repeat(20)), "京".repeat(20));
        assert_eq!(cut(&"京".repeat(21)), format!("{}…", "京".repeat(19)));
    }

    #[test]
    fn cells_are_aligned_and_lines_have_no_trailing_spaces() {
        let cells = ["a", "", ""].map(str::to_owned);
        assert_eq!(line(&cells, &[3, 2, 4]), "a\n");
        let cells = ["a", "b", ""].map(str::to_owned);
        assert_eq!(line(&cells, &[3, 2, 4]), "a    b\n");
        // A wide character takes two columns, a combining one none.
        let cells = ["京", "u\u{308}", "c"].map(str::to_owned);
        assert_eq!(line(&cells, &[3, 2, 1]), "京   u\u{308}   c\n");
    }
}
