//! `get`: one row.

use azure_table_client::{DynamicEntity, EntityKey};

use crate::args::{Get, Globals};
use crate::failure::Result;
use crate::output::{Format, Rows, properties};

pub(crate) async fn run(args: Get, globals: &Globals) -> Result<()> {
    let table = globals.service()?.table_named::<DynamicEntity>(args.table);
    let key = EntityKey::new(args.partition_key, args.row_key);
    let mut row = table.get(key).await?.into_inner();
    if !args.select.is_empty() {
        let others: Vec<_> = row.properties().map(|(name, _)| name.to_owned()).collect();
        for name in others.iter().filter(|name| !args.select.contains(name)) {
            row.remove(name);
        }
    }
    if args.output == Format::Table {
        return properties::print(&row, args.system);
    }
    let mut rows = Rows::new(args.output, args.system, &args.select);
    rows.put(&row)?;
    rows.finish(globals)
}
