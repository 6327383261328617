//! Contents of responses, and the rows of a query.

use serde_json::Value;

use super::super::sent::{Odd, Resource};
use super::recognise::{in_rows, member_differs, nulls_of_the_first, pages_differ, put_aside};
use super::{DOCUMENTED, Fault, Known, RECORDED};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "names the metadata of tables, or leaves out $select, in odata.metadata",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |sent, mock, azurite| {
            let told =
                azurite.body.get("odata.metadata").and_then(Value::as_str).unwrap_or_default();
            let is_wrong = told.ends_with("#Tables/@Element") || sent.option("$select").is_some();
            is_wrong && member_differs(&mut mock.body, &mut azurite.body, "odata.metadata")
        },
    },
    Known {
        name: "omits the metadata of a requested table",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |sent, mock, azurite| {
            let is_found = mock.status == 200 && azurite.status == 200;
            matches!(sent.resource, Resource::Table(_)) && is_found && put_aside(mock, azurite)
        },
    },
    Known {
        name: "neither doubles quotes nor encodes keys in links",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_rows(mock, azurite, |a, b| {
                member_differs(a, b, "odata.id") | member_differs(a, b, "odata.editLink")
            })
        },
    },
    Known {
        name: "looks for a property called *",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let is_found = mock.status == 200 && azurite.status == 200;
            sent.option("$select").is_some_and(|it| it.contains('*'))
                && is_found
                && put_aside(mock, azurite)
        },
    },
    Known {
        name: "omits missing properties that were selected",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |sent, mock, azurite| {
            sent.option("$select").is_some() && in_rows(mock, azurite, nulls_of_the_first)
        },
    },
    Known {
        name: "looks for a later row that matches before it returns a token",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let is_limited = sent.option("$filter").is_some() && sent.option("$top").is_some();
            let is_last = !azurite.is_continued() && mock.rows() == azurite.rows();
            is_limited && is_last && mock.forget_tokens()
        },
    },
    Known {
        name: "compares missing properties and other types",
        fault: Fault::Open,
        source: "sources contradict each other",
        recognise: |sent, mock, azurite| sent.is(Odd::Types) && pages_differ(mock, azurite),
    },
    Known {
        name: "returns 500 for a comparison of unordered types",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let is_odd = sent.is(Odd::Types) || sent.is(Odd::Order);
            is_odd && mock.status == 200 && azurite.status == 500 && put_aside(mock, azurite)
        },
    },
    Known {
        name: "compares Binary and Guid for equality only",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| sent.is(Odd::Order) && pages_differ(mock, azurite),
    },
];
