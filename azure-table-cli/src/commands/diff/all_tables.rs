//! `diff --all-tables`: the differences between the tables of two accounts, or of a backup and an account.

mod first;

use std::collections::BTreeMap;

use azure_table_client::Dialect;

use super::compare;
use super::printer::Printer;
use crate::args::{Diff, Globals};
use crate::engine::account::{
    Names, check_different_accounts, check_filter, of_table, one_table, table_names,
};
use crate::engine::compare::{Counts, Side};
use crate::failure::{Exit, Failure, Result};
use crate::output::note;
use crate::progress::{counted, grouped};
use crate::side_table::SideTable;
use first::First;

pub(crate) async fn run(args: &Diff, globals: &Globals) -> Result<()> {
    let a = First::open(args, globals)?;
    let b = args.sides.second(&globals.connection)?;
    if let First::Account(a) = &a {
        check_different_accounts(a, &b)?;
    }
    check_filter(&b, args.filter.as_deref())?;
    // Names are case-sensitive only if those of both sides are.
    let names = Names::new(match &a {
        First::Account(a) if a.dialect() != Dialect::CosmosDb => a,
        _ => &b,
    });
    let tables = [a.tables().await?, table_names(&b).await?];
    let pairs = pairs(args, tables, &names, globals)?;
    let mut printer = Printer::new(args.output);
    let (mut counts, mut only_in_a, mut only_in_b) = (Counts::default(), 0_u64, 0_u64);
    for pair in &pairs {
        match pair {
            (Some(in_a), Some(in_b)) => {
                let table = SideTable::new(b.clone(), in_b);
                let sides = (
                    a.side(in_a)?,
                    Side::Table { table, option: "--to-dialect", unreadable: None },
                );
                let both = (&sides.0, &sides.1);
                let found = compare(both, Some(in_a), args, &mut printer, globals).await;
                counts += found.map_err(of_table(in_a))?;
            }
            (Some(table), None) => {
                only_in_a += 1;
                printer.table(table, 'A')?;
            }
            (None, Some(table)) => {
                only_in_b += 1;
                printer.table(table, 'B')?;
            }
            (None, None) => {}
        }
    }
    printer.flush()?;
    let Counts { a, b, only_in_a: rows_in_a, only_in_b: rows_in_b, changed } = counts;
    let rows = format!("{} in A, {} in B", counted(a, "row"), grouped(b));
    let differences = counts.differences() + only_in_a + only_in_b;
    if differences == 0 {
        note(globals, &format!("no differences: {}, {rows}", counted(pairs.len() as u64, "table")));
        return Ok(());
    }
    let message = format!(
        "{}: {} only in A, {only_in_b} only in B; {} only in A, {} only in B, {} different; {rows}",
        counted(differences, "difference"),
        counted(only_in_a, "table"),
        counted(rows_in_a, "row"),
        grouped(rows_in_b),
        grouped(changed),
    );
    Err(Failure::new(Exit::Different, message))
}

type Pair = (Option<String>, Option<String>);

/// Returns the selected tables of both sides, in the order of their names.
fn pairs(
    args: &Diff,
    [in_a, in_b]: [Vec<String>; 2],
    names: &Names,
    globals: &Globals,
) -> Result<Vec<Pair>> {
    let selected = args.selection.of(in_a.iter().chain(&in_b).cloned().collect(), globals)?;
    let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
    for (tables, is_a) in [(in_a, true), (in_b, false)] {
        for table in tables.into_iter().filter(|table| selected.contains(table)) {
            let (of_a, of_b) = pairs.entry(names.form(&table)).or_default();
            if let Some(other) = (if is_a { of_a } else { of_b }).replace(table) {
                return Err(one_table(&other));
            }
        }
    }
    Ok(pairs.into_values().collect())
}
