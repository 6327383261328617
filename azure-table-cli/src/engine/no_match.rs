//! The notes on a filter that no row matches, and on columns that no row has.

use crate::args::Globals;
use crate::output::note;

const REASONS: &str = "no row matches the filter: names are case-sensitive, and a literal must have the type of its \
     property: 100 for Int32, 100L for Int64, 'text', datetime'2027-01-31T00:00:00Z', guid'…'; `azure-table schema TABLE` \
     lists names and types";

/// Notes the likely reasons if a filter found no rows: the service does not report a wrong name or type.
pub(crate) fn note_reasons(filter: Option<&str>, rows: u64, globals: &Globals) {
    if filter.is_some() && rows == 0 {
        note(globals, REASONS);
    }
}

/// Notes the selected columns that no printed row has: the service does not report a wrong name.
pub(crate) fn note_missing(names: &[&str], globals: &Globals) {
    if !names.is_empty() {
        let names = names.join(", ");
        let reason = "names are case-sensitive; `azure-table schema TABLE` lists them";
        note(globals, &format!("no printed row has a value of {names}: {reason}"));
    }
}
