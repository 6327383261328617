//! Refused requests, and their errors.

use super::super::answer::Answer;
use super::super::sent::{Condition, Odd};
use super::recognise::{in_all, is, put_aside};
use super::{DOCUMENTED, EMULATOR, Fault, Known, LIVE, RECORDED};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "accepts an invalid filter, or refuses it with another code",
        fault: Fault::Azurite,
        source: LIVE,
        recognise: |sent, mock, azurite| {
            let is_refused = mock.status == 400 || mock.status == 501;
            sent.is(Odd::Filter) && is_refused && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "takes a $top that is no number from 1 to 1000",
        fault: Fault::Azurite,
        source: LIVE,
        recognise: |sent, mock, azurite| {
            sent.is(Odd::Top) && is(mock, 400, "InvalidInput") && put_aside(mock, azurite)
        },
    },
    Known {
        name: "ignores a $top of 0 (Azurite#1428)",
        fault: Fault::Azurite,
        source: LIVE,
        recognise: |sent, mock, azurite| {
            let is_zero = sent.option("$top") == Some("0") && mock.status == 200;
            is_zero && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "knows no X-HTTP-Method",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |_, mock, azurite| {
            let is_misused = mock.code.as_ref().is_some_and(|code| code.starts_with("XMethod"));
            is_misused && mock.status == 400 && put_aside(mock, azurite)
        },
    },
    Known {
        name: "refuses a delete without If-Match without a code",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |_, mock, azurite| {
            let refused = is(mock, 400, "MissingRequiredHeader") && azurite.status == 400;
            refused && azurite.code.is_none() && put_aside(mock, azurite)
        },
    },
    Known {
        name: "returns another error for an invalid ETag",
        fault: Fault::Azurite,
        source: EMULATOR,
        recognise: |sent, mock, azurite| {
            let refused = |answer: &Answer| [400, 404, 412].contains(&answer.status);
            let is_refused = refused(mock) && refused(azurite) && mock != azurite;
            matches!(sent.condition, Condition::Text(_)) && is_refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "says TableNotFound of /Tables('x')",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            let is_missing = is(mock, 404, "ResourceNotFound") && is(azurite, 404, "TableNotFound");
            is_missing && put_aside(mock, azurite)
        },
    },
    Known {
        name: "has another code, or none, for an invalid table name",
        fault: Fault::Azurite,
        source: LIVE,
        recognise: |sent, mock, azurite| {
            let both = mock.status == 400 && [400, 500].contains(&azurite.status);
            sent.is(Odd::Name) && both && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "stores an invalid entity, or refuses it with another code",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let refused = |answer: &Answer| {
                answer.status == 400 || answer.parts.iter().any(|part| part.status == 400)
            };
            sent.is(Odd::Body) && refused(mock) && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "reports a refusal in other words",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| {
                let same = a.status >= 400 && a.status == b.status && a.code == b.code;
                let differs = same && a.message != b.message;
                if differs {
                    b.message.clone_from(&a.message);
                }
                differs
            })
        },
    },
];
