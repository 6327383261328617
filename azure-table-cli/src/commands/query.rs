//! `query`: the rows that match a filter.

use azure_table_client::DynamicEntity;

use crate::args::{Globals, Query};
use crate::failure::Result;
use crate::output::{Out, Rows};

pub(crate) async fn run(args: Query, globals: &Globals) -> Result<()> {
    let table = globals.service()?.table_named::<DynamicEntity>(args.table);
    let mut query = table.query();
    if let Some(filter) = &args.filter {
        query = query.filter_text(filter);
    }
    if !args.select.is_empty() {
        query = query.select_names(args.select.iter().map(String::as_str));
    }
    if let Some(top) = args.top {
        query = query.take(top);
    }
    if args.plan {
        let mut out = Out::new();
        out.put(&format!("{}\n", query.plan()?))?;
        return out.flush();
    }
    let mut rows = Rows::new(args.output, args.system, &args.select);
    let mut pages = query.pages();
    while let Some(page) = pages.next().await {
        for row in page? {
            rows.put(&row)?;
        }
        // A page may take long, and its rows are shown before the next one.
        rows.flush()?;
    }
    rows.finish(globals)
}
