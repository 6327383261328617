//! `count --all-tables`: the rows of each table.

use azure_table_client::TableServiceClient;
use serde_json::json;

use crate::args::{Count, Globals, Lines};
use crate::engine::account::{check_filter, of_table, table_names};
use crate::engine::no_match::note_reasons;
use crate::failure::Result;
use crate::output::{Out, note, one_line, without_controls};
use crate::progress::{counted, grouped};

pub(crate) async fn run(
    args: &Count,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    check_filter(service, args.filter.as_deref())?;
    let tables = args.selection.of(table_names(service).await?, globals)?;
    let mut out = Out::new();
    let mut all = 0;
    for table in &tables {
        let args = Count { table: table.clone(), ..args.clone() };
        let found = super::table(&args, service, globals).await;
        let (rows, _) = found.map_err(of_table(table))?;
        all += rows;
        out.put(&match args.output {
            Lines::Text => format!("{:>13}  {}\n", grouped(rows), one_line(table)),
            Lines::Jsonl => {
                let line = json!({ "table": table, "rows": rows }).to_string();
                format!("{}\n", without_controls(&line))
            }
        })?;
        // Counting a table may take long.
        out.flush()?;
    }
    let tables = counted(tables.len() as u64, "table");
    note(globals, &format!("{} in {tables}", counted(all, "row")));
    note_reasons(args.filter.as_deref(), all, globals);
    Ok(())
}
