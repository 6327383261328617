//! A result as a table with borders.

use std::io::{self, Write};

use azure_table_cli::terminal::{padded, width};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;

use super::{doubles, guids};

/// Writes the rows, and their number.
pub(super) fn write(
    output: &mut dyn Write,
    schema: &Schema,
    batches: &[RecordBatch],
) -> Result<()> {
    let options = FormatOptions::default().with_null("");
    let mut rows = vec![schema.fields().iter().map(|field| lines(field.name())).collect()];
    for batch in batches {
        let batch = doubles::as_texts(&guids::as_texts(batch)?)?;
        let columns =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| Ok(lines(&column.value(row).try_to_string()?)));
            rows.push(cells.collect::<Result<_>>()?);
        }
    }
    write_rows(output, &rows)?;
    let count = rows.len() - 1;
    Ok(writeln!(output, "{count} {}", if count == 1 { "row" } else { "rows" })?)
}

/// The lines of a cell.
type Cell = Vec<String>;

fn write_rows(output: &mut dyn Write, rows: &[Vec<Cell>]) -> io::Result<()> {
    let count = rows.first().map_or(0, Vec::len);
    let columns = |column: usize| {
        let lines = rows.iter().filter_map(|row| row.get(column)).flatten();
        lines.map(|line| width(line)).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..count).map(columns).collect();
    let dashes: Vec<_> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let border = format!("+{}+", dashes.join("+"));
    writeln!(output, "{border}")?;
    for (at, row) in rows.iter().enumerate() {
        for line in 0..row.iter().map(Vec::len).max().unwrap_or_default() {
            for (cell, width) in row.iter().zip(&widths) {
                let text = cell.get(line).map_or("", String::as_str);
                write!(output, "| {} ", padded(text, *width))?;
            }
            writeln!(output, "|")?;
        }
        if at == 0 {
            writeln!(output, "{border}")?;
        }
    }
    if rows.len() > 1 { writeln!(output, "{border}") } else { Ok(()) }
}

/// Divides a text into lines, and escapes other control characters, which would change the terminal.
fn lines(text: &str) -> Cell {
    let escape = |c: char| -> String {
        if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
    };
    let line = |line: &str| line.chars().map(escape).collect();
    text.trim_end_matches('\n').split('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_are_aligned() {
        let rows = [["Name", "n"], ["東京", "1"], ["Zu\u{308}rich", "2"]];
        let rows = rows.map(|row| row.map(lines).to_vec());
        let mut output = Vec::new();
        write_rows(&mut output, &rows).unwrap();
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "+--------+---+\n\
             | Name   | n |\n\
             +--------+---+\n\
             | 東京   | 1 |\n\
             | Zu\u{308}rich | 2 |\n\
             +--------+---+\n"
        );
    }
}
