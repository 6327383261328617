//! Literals and values in the texts of a request.

use super::super::answer::Answer;
use super::super::sent::Odd;
use super::recognise::{in_rows, pages_differ, put_aside, texts_differ};
use super::{DOCUMENTED, Fault, Known};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "reads a text that no source settles in another way",
        fault: Fault::Open,
        source: "no source states whether it is valid",
        recognise: |sent, mock, azurite| {
            sent.is(Odd::Doubtful) && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "returns 500 for a literal of another type",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let fails = mock.status == 200 && azurite.status == 500;
            sent.is(Odd::Cast) && fails && put_aside(mock, azurite)
        },
    },
    Known {
        name: "matches a value by a literal of another type",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| sent.is(Odd::Cast) && pages_differ(mock, azurite),
    },
    Known {
        name: "compares the text of a literal, and not its value",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| sent.is(Odd::Spelling) && pages_differ(mock, azurite),
    },
    Known {
        name: "refuses `not not`",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let is_refused = mock.status == 200 && azurite.status == 400;
            sent.is(Odd::Spelling) && is_refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "refuses a null, number or text that has a type",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let refused = |answer: &Answer| {
                answer.status >= 400 || answer.parts.iter().any(|part| part.status >= 400)
            };
            let is_refused = refused(azurite) && mock != azurite;
            sent.is(Odd::Value) && is_refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "stores the text of a value, or an annotation, as it was sent",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            sent.is(Odd::Value) && in_rows(mock, azurite, texts_differ)
        },
    },
];
