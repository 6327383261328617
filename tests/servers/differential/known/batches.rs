//! Batches and their responses.

use super::super::answer::Answer;
use super::super::sent::Odd;
use super::recognise::{breaks_rule, header_differs, in_all, is, is_batch, only_in, put_aside};
use super::{DOCUMENTED, Fault, Known, RECORDED};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "reads a damaged batch, or returns 500",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let refused =
                mock.status >= 400 || mock.parts.first().is_some_and(|part| part.status >= 400);
            let reads = azurite.status == 202 || azurite.status == 500;
            sent.is(Odd::Batch) && refused && reads && put_aside(mock, azurite)
        },
    },
    Known {
        name: "omits Preference-Applied in a batch",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |sent, mock, azurite| {
            let is_in_batch = |a: &mut Answer, b: &mut Answer| only_in(a, b, "preference-applied");
            is_batch(sent) && in_all(mock, azurite, is_in_batch)
        },
    },
    Known {
        name: "returns 500 for an empty changeset, or for an invalid entity in a batch",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |sent, mock, azurite| {
            let is_odd = sent.parts().is_empty() || sent.is(Odd::Body) || sent.is(Odd::Value);
            is_batch(sent) && is_odd && azurite.status == 500 && put_aside(mock, azurite)
        },
    },
    Known {
        name: "writes no blank line before the content of a query in a batch",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            let [a] = &mock.parts[..] else { return false };
            let is_lost =
                azurite.parts.first().is_some_and(|b| b.status == 200 && b.body.is_null());
            a.status == 200 && is_lost && put_aside(mock, azurite)
        },
    },
    Known {
        name: "implements no query of an empty key in a batch",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let [part] = sent.parts() else { return false };
            let is_empty = part.row.as_ref().is_some_and(|row| row.key.is_empty());
            let refused = azurite.parts.first().is_some_and(|part| is(part, 501, "NotImplemented"));
            is_empty && refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "adds a Content-ID that no operation has",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| in_all(mock, azurite, |a, b| only_in(b, a, "content-id")),
    },
    Known {
        name: "states DataServiceVersion 3.0 in the part of an update",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| header_differs(a, b, "dataserviceversion"))
        },
    },
    Known {
        name: "sends a DataServiceId with the content of an insert, and not the content, in a batch",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| {
                let is_bare = a.status == 201 && b.status == 201 && b.body.is_null();
                if is_bare {
                    b.body.clone_from(&a.body);
                    b.headers.clone_from(&a.headers);
                }
                is_bare
            })
        },
    },
    Known {
        name: "states an index for a single operation",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |sent, mock, azurite| {
            sent.parts().len() == 1
                && in_all(mock, azurite, |a, b| {
                    let (Some(a), Some(b)) = (&a.message, &mut b.message) else { return false };
                    let has_index = !a.starts_with("0:") && b.starts_with("0:");
                    if has_index {
                        b.drain(..2);
                    }
                    has_index
                })
        },
    },
    Known {
        name: "accepts a delete without If-Match in a batch",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |_, mock, azurite| {
            let refused =
                mock.parts.first().is_some_and(|part| is(part, 400, "MissingRequiredHeader"));
            refused && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "accepts a batch that breaks a rule of batches",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |_, mock, azurite| {
            let is_done = azurite.parts.iter().all(|part| part.status < 300);
            breaks_rule(mock) && is_done && put_aside(mock, azurite)
        },
    },
    Known {
        name: "reports another of several mistakes in a batch",
        fault: Fault::Open,
        source: "no source states which comes first",
        recognise: |_, mock, azurite| {
            let refused = |answer: &Answer| answer.parts.iter().any(|part| part.status >= 400);
            let codes = |answer: &Answer| answer.parts.first().map(|part| part.code.clone());
            let differ = codes(mock) != codes(azurite);
            refused(mock) && refused(azurite) && differ && put_aside(mock, azurite)
        },
    },
];
