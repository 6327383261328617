//! The tests of the suite that a version or a format of the protocol cannot pass, and why.

use azure_table_client::{Metadata, PayloadFormat, ServiceVersion};

use crate::Spoken;

/// Why a test, `area::name`, is left out; `None` if it is not.
pub fn reason(spoken: Spoken, test: &str) -> Option<&'static str> {
    lists(spoken).find_map(|(why, tests)| tests.contains(&test).then_some(why))
}

/// Reasons, and the tests that they hold for.
pub fn lists(spoken: Spoken) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let is_atom = spoken.format == PayloadFormat::Atom;
    let is_untyped = spoken.format == PayloadFormat::Json(Metadata::None);
    let is_first = spoken.version < ServiceVersion::V2011_08_18;
    [
        (is_atom, "it asks for levels of JSON", JSON),
        (is_untyped, "it reads what needs types", TYPES),
        (is_first, "it upserts, which came with 2011-08-18", UPSERTS),
        (is_first, "it selects properties, which came with 2011-08-18", SELECT),
    ]
    .into_iter()
    .filter_map(|(is_so, why, tests)| is_so.then_some((why, tests)))
}

const JSON: &[&str] = &[];

const TYPES: &[&str] = &[];

const UPSERTS: &[&str] = &[];

const SELECT: &[&str] = &[];
