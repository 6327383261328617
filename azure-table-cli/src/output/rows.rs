//! Rows in the chosen format.

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, ETag};

use super::table::Table;
use super::{Format, Out, note, one_line, without_controls};
use crate::args::Globals;
use crate::failure::{Failure, Result};
use crate::format::{Output, RowWriter, csv, jsonl};

/// The rows that determine the columns of CSV.
const CSV_HEAD_ROWS: usize = 1_000;

/// Prints rows one after another.
pub(crate) struct Rows {
    out: Out,
    system: bool,
    printer: Printer,
}

enum Printer {
    Table(Table),
    Json {
        rows: u64,
    },
    Jsonl,
    Csv(Csv),
    /// The selected names; without them each row has its own.
    Raw(Vec<String>),
}

impl Rows {
    pub(crate) fn new(format: Format, system: bool, select: &[String]) -> Self {
        let printer = match format {
            Format::Table => Printer::Table(Table::new(system, select)),
            Format::Json => Printer::Json { rows: 0 },
            Format::Jsonl => Printer::Jsonl,
            Format::Csv => Printer::Csv(Csv { system, ..Csv::default() }),
            Format::Raw => Printer::Raw(select.to_vec()),
        };
        Self { out: Out::new(), system, printer }
    }

    pub(crate) fn put(&mut self, row: &DynamicEntity) -> Result<()> {
        let mut line = Vec::new();
        match &mut self.printer {
            Printer::Table(table) => return table.put(&mut self.out, row),
            Printer::Csv(csv) => return csv.put(row),
            Printer::Json { rows } => {
                line.extend_from_slice(if *rows == 0 { b"[\n" } else { b",\n" });
                *rows += 1;
                jsonl::push_row(&mut line, row, self.system);
            }
            Printer::Jsonl => {
                jsonl::push_row(&mut line, row, self.system);
                line.push(b'\n');
            }
            Printer::Raw(names) => line = raw(row, self.system, names).into_bytes(),
        }
        // The bytes are JSON or a line without control characters.
        self.out.put(&without_controls(&String::from_utf8_lossy(&line)))
    }

    /// Shows the rows so far. A table and CSV wait for the rows that determine their columns.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }

    pub(crate) fn finish(mut self, globals: &Globals) -> Result<()> {
        match self.printer {
            Printer::Table(mut table) => {
                table.start(&mut self.out)?;
                self.out.flush()?;
                let missing: Vec<_> = table.missing().collect();
                if !missing.is_empty() {
                    let text = format!(
                        "later rows have more properties, which the table does not show ({}); \
                         pass --select or --output jsonl",
                        missing.join(", ")
                    );
                    note(globals, &text);
                }
                return Ok(());
            }
            Printer::Csv(csv) => return csv.finish(),
            Printer::Json { rows: 0 } => self.out.put("[]\n")?,
            Printer::Json { .. } => self.out.put("\n]\n")?,
            Printer::Jsonl | Printer::Raw(_) => {}
        }
        self.out.flush()
    }
}

/// The values of a row, separated by tabs. A missing value is empty.
fn raw(row: &DynamicEntity, system: bool, names: &[String]) -> String {
    let mut values: Vec<String> = Vec::new();
    if names.is_empty() {
        values.extend([row.key().partition_key.clone(), row.key().row_key.clone()]);
        if system {
            values.extend([
                timestamp(row),
                row.etag().map(ETag::as_str).unwrap_or_default().to_owned(),
            ]);
        }
        values.extend(row.properties().map(|(_, value)| value.to_string()));
    }
    values.extend(names.iter().map(|name| match name.as_str() {
        "PartitionKey" => row.key().partition_key.clone(),
        "RowKey" => row.key().row_key.clone(),
        "Timestamp" => timestamp(row),
        name => row.value(name).map(EdmValue::to_string).unwrap_or_default(),
    }));
    let values: Vec<_> = values.iter().map(|value| one_line(value)).collect();
    format!("{}\n", values.join("\t"))
}

fn timestamp(row: &DynamicEntity) -> String {
    row.timestamp().map(|time| time.to_string()).unwrap_or_default()
}

/// CSV with the columns of the first rows. A later row with another column is an error, because CSV has its columns in
/// the header.
#[derive(Default)]
struct Csv {
    system: bool,
    head: Vec<DynamicEntity>,
    writer: Option<Box<csv::Writer>>,
}

impl Csv {
    fn put(&mut self, row: &DynamicEntity) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            self.head.push(row.clone());
            return if self.head.len() == CSV_HEAD_ROWS {
                self.start().map(|_| ())
            } else {
                Ok(())
            };
        };
        writer.write(row).map_err(|failure| match failure.message() {
            "" => failure,
            message => Failure::new(
                failure.exit(),
                format!(
                    "{message}; the columns are those of the first {CSV_HEAD_ROWS} rows \
                     (`azure-table export` reads all rows for them)"
                ),
            ),
        })
    }

    fn start(&mut self) -> Result<&mut Box<csv::Writer>> {
        let head = std::mem::take(&mut self.head);
        let mut columns = csv::Columns::default();
        for row in &head {
            columns.add_row(row);
        }
        let writer = csv::Writer::new(Output::stdout(), &columns, self.system)?;
        let writer = self.writer.insert(Box::new(writer));
        head.iter().try_for_each(|row| writer.write(row))?;
        Ok(writer)
    }

    fn finish(mut self) -> Result<()> {
        if self.writer.is_none() {
            self.start()?;
        }
        self.writer.map_or(Ok(()), |writer| writer.finish().map(|_| ()))
    }
}
