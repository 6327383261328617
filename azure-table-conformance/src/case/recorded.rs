//! The recordings of `tests/recordings` as cases, as far as they can be repeated on a server with any tables: requests with a
//! key, on tables that the recording names.

mod exchange;
mod json;

use std::collections::HashSet;

use serde::Deserialize;

use self::exchange::{Exchange, Names};
use super::{Case, ParseError};
use crate::wire::Dialect;

macro_rules! sets {
    ($($set:literal),* $(,)?) => {
        const SETS: &[(&str, &str)] =
            &[$(($set, include_str!(concat!("../../../tests/recordings/", $set, ".jsonl")))),*];
    };
}

sets! {
    "python-2017-11",
    "python-2020",
    "python-2021",
    "go-2021",
    "go-2022",
    "js-2022",
    "cosmos-python-2020",
    "cosmos-python-2021",
}

/// Recordings that depend on a state, the first two columns.
const LEFT_OUT: [&str; 2] = [
    include_str!("../../../tests/recordings/differences.tsv"),
    include_str!("../../../tests/recordings/cosmos.tsv"),
];

#[derive(Deserialize)]
struct Recording {
    name: String,
    exchanges: Vec<Exchange>,
}

/// Returns the recordings that can be repeated.
pub(super) fn cases() -> Result<Vec<Case>, ParseError> {
    let left_out: HashSet<(&str, &str)> = LEFT_OUT
        .iter()
        .flat_map(|list| list.lines())
        .filter_map(|line| line.split_once('\t'))
        .map(|(set, rest)| (set, rest.split('\t').next().unwrap_or_default()))
        .collect();
    let mut cases = Vec::new();
    for (set, text) in SETS {
        for (number, line) in text.lines().enumerate() {
            let place = || format!("{set}.jsonl:{}", number + 1);
            let recording: Recording = serde_json::from_str(line)
                .map_err(|error| ParseError { place: place(), reason: error.to_string() })?;
            if !left_out.contains(&(*set, recording.name.as_str())) {
                let error = |reason: &str| ParseError { place: place(), reason: reason.to_owned() };
                cases.extend(case(set, recording).map_err(error)?);
            }
        }
    }
    Ok(cases)
}

/// Converts a recording, or returns `None` if it cannot be repeated.
fn case(set: &str, recording: Recording) -> Result<Option<Case>, &'static str> {
    // The set has recordings of Azure Storage that the suite of Cosmos DB made, which `cosmos.tsv` lists.
    let dialect = if set.starts_with("cosmos") { Dialect::Cosmos } else { Dialect::Storage };
    let exchanges: Vec<_> =
        recording.exchanges.into_iter().filter(|it| !it.depends_on_the_account()).collect();
    if exchanges.is_empty() || !exchanges.iter().all(Exchange::can_be_repeated) {
        return Ok(None);
    }
    let names = Names::of(&exchanges);
    let steps: Option<Vec<_>> = exchanges.iter().map(|exchange| exchange.step(&names)).collect();
    Ok(Some(Case {
        name: format!("recorded/{set}/{}", recording.name),
        title:
            "Status, body and the headers that depend on the operation are those of the recording"
                .to_owned(),
        sources: vec![format!("recording {set} {}", recording.name)],
        is_settled: true,
        dialects: vec![dialect],
        restores_properties: false,
        is_delayed: false,
        has_bare_lines: true,
        rows: Vec::new(),
        steps: steps.ok_or("malformed batch")?,
    }))
}
