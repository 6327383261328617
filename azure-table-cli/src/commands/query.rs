//! `query`: the rows that match a filter.

mod plan;

use azure_table_client::client::Query;
use azure_table_client::{DynamicEntity, TableServiceClient};

use crate::args::{Globals, Query as Arguments};
use crate::engine::no_match::{note_missing, note_reasons};
use crate::failure::Result;
use crate::output::{Out, Rows, is_system};

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    if args.dry_run {
        let mut out = Out::new();
        out.put(&plan::describe(&service, &args).await?)?;
        return out.flush();
    }
    let mut rows = Rows::new(args.output, args.system, &args.select);
    let mut pages = query(&service, &args).pages();
    let mut count = 0;
    let names = args.select.iter().map(String::as_str);
    let mut missing: Vec<_> = names.filter(|name| !is_system(name)).collect();
    while let Some(page) = pages.next().await {
        for row in page? {
            rows.put(&row)?;
            missing.retain(|name| row.value(name).is_none());
            count += 1;
        }
        // A page may take long, and its rows are shown before the next one.
        rows.flush()?;
    }
    rows.finish(globals)?;
    if args.top != Some(0) {
        note_reasons(args.filter.as_deref(), count, globals);
    }
    if count > 0 {
        note_missing(&missing, globals);
    }
    Ok(())
}

fn query(service: &TableServiceClient, args: &Arguments) -> Query<DynamicEntity> {
    let query = service.table_named::<DynamicEntity>(&args.table).query();
    let mut query = args.rate.limit_query(query);
    if let Some(filter) = &args.filter {
        query = query.filter_text(filter);
    }
    if !args.select.is_empty() {
        query = query.select_names(args.select.iter().map(String::as_str));
    }
    if let Some(top) = args.top {
        query = query.take(top);
    }
    query
}
