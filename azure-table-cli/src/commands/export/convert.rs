//! Converts downloaded rows from JSON lines to another format.

use std::path::Path;

use crate::args::Export as Arguments;
use crate::failure::{Failure, Result};
use crate::format::csv::{self, Columns};
use crate::format::{Format, Output, RowWriter, jsonl, parquet, rows};
use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// The form of the exported file.
pub(super) struct Conversion {
    pub(super) format: Format,
    /// The columns of CSV, if they are declared.
    columns: Option<Columns>,
    /// Whether the ETag and the Timestamp are written.
    pub(super) system: bool,
    parquet: parquet::Options,
}

impl Conversion {
    pub(super) fn of(format: Format, args: &Arguments) -> Self {
        let parquet =
            parquet::Options { datetimes: args.datetimes, mixed: args.mixed, system: args.system };
        Self { format, columns: args.columns.clone(), system: args.system, parquet }
    }

    /// The writer of a format whose first bytes do not depend on all rows.
    pub(super) fn streaming(
        &self,
        out: impl FnOnce() -> Output,
    ) -> Result<Option<Box<dyn RowWriter>>> {
        Ok(match (self.format, &self.columns) {
            (Format::JsonLines, _) => Some(Box::new(jsonl::Writer::new(out(), self.system))),
            (Format::Csv, Some(columns)) => {
                Some(Box::new(csv::Writer::new(out(), columns, self.system)?))
            }
            _ => None,
        })
    }
}

/// Reads the rows twice: first for the columns, then to write them.
pub(super) fn convert(
    path: &Path,
    out: Output,
    conversion: &Conversion,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<()> {
    let each = |visit: &mut dyn FnMut(azure_table_client::DynamicEntity) -> Result<()>| {
        for row in rows(path, Format::JsonLines)? {
            if let Some(exit) = interrupt.exit() {
                let message = "interrupted during the conversion: add --resume to repeat it";
                return Err(Failure::new(exit, message));
            }
            visit(row?)?;
        }
        Ok(())
    };
    let mut writer: Box<dyn RowWriter> = match conversion.format {
        Format::Parquet => {
            let mut schema = parquet::Inference::new(conversion.parquet);
            each(&mut |row| {
                schema.add(&row);
                Ok(())
            })?;
            Box::new(schema.writer(out)?)
        }
        _ => {
            let mut columns = conversion.columns.clone().unwrap_or_default();
            if conversion.columns.is_none() {
                each(&mut |row| {
                    columns.add_row(&row);
                    Ok(())
                })?;
            }
            Box::new(csv::Writer::new(out, &columns, conversion.system)?)
        }
    };
    each(&mut |row| {
        progress.add_rows(1);
        writer.write(&row)
    })?;
    progress.finish();
    writer.finish().map(|_| ())
}
