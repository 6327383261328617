//! `tables`: the names of the tables.

use azure_table_client::Error;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::json;

use crate::args::{Globals, Tables};
use crate::failure::Result;
use crate::output::{Format, Out, one_line, without_controls};

pub(crate) async fn run(args: Tables, globals: &Globals) -> Result<()> {
    let prefix = args.prefix.unwrap_or_default().to_ascii_lowercase();
    let names = globals.service()?.list_tables().stream();
    // The names of tables are case-insensitive.
    let names =
        names.try_filter(|name| std::future::ready(name.to_ascii_lowercase().starts_with(&prefix)));
    let mut names = std::pin::pin!(names);
    let mut out = Out::new();
    // The first response comes before the header, so that a failure prints nothing.
    let mut next_name: Option<std::result::Result<String, Error>> = names.next().await;
    if !matches!(next_name, Some(Err(_))) {
        out.put(match args.output {
            Format::Table | Format::Csv => "TableName\n",
            Format::Json => "[",
            Format::Jsonl | Format::Raw => "",
        })?;
    }
    let mut separator = "\n";
    while let Some(next) = next_name {
        let name = next?;
        let json = || without_controls(&json!({ "TableName": name }).to_string()).into_owned();
        match args.output {
            Format::Table | Format::Csv | Format::Raw => {
                out.put(&format!("{}\n", one_line(&name)))?;
            }
            Format::Jsonl => out.put(&format!("{}\n", json()))?,
            Format::Json => out.put(&format!("{separator}{}", json()))?,
        }
        separator = ",\n";
        next_name = names.next().await;
    }
    if args.output == Format::Json {
        out.put("\n]\n")?;
    }
    out.flush()
}
