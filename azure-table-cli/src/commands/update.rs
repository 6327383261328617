//! `update`: some properties of the rows that match a filter.

use azure_table_client::limits::check_property_name;
use azure_table_client::{DynamicEntity, Error, TableServiceClient};

use crate::args::{Globals, Update};
use crate::engine::found_rows::{self, Change, Consent, Task};
use crate::failure::{Failure, Result};
use crate::row;

pub(crate) async fn run(args: Update, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    let mut set = DynamicEntity::new("", "");
    row::set(&mut set, &args.set, globals)?;
    check(&set, &args.unset, &service)?;
    let change = Change::Update { set, unset: args.unset };
    let (filter, consent) = (Some(args.filter), Consent::Yes);
    let task = Task { command: "update", service, table: args.table, filter, change, consent };
    found_rows::run(task, args.found_rows, globals).await
}

/// Checks the names and the values before a row is read. Each row would be refused for them.
fn check(set: &DynamicEntity, unset: &[String], service: &TableServiceClient) -> Result<()> {
    set.to_json().map_err(Error::from)?;
    for (name, _) in set.properties() {
        service.dialect().check_property(name).map_err(Error::from)?;
    }
    for name in unset {
        check_property_name(name).map_err(Error::from)?;
        if set.value(name).is_some() {
            return Err(Failure::usage(format!("the property {name:?} is both set and removed")));
        }
    }
    Ok(())
}
