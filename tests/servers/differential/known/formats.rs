//! Formats and versions that a request names.

use super::super::sent::Odd;
use super::recognise::put_aside;
use super::{DOCUMENTED, Fault, Known};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "knows only some texts of Accept and $format",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let refused = azurite.status == 415 && mock != azurite;
            sent.is(Odd::Accept) && refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "ignores Accept where a response has no content",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            sent.is(Odd::Accept) && mock.status == 415 && put_aside(mock, azurite)
        },
    },
    Known {
        name: "writes an error in another format than Accept states",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let same = mock.status >= 400 && mock.status == azurite.status;
            sent.is(Odd::Accept) && same && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "takes a body of another Content-Type for an empty one",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            sent.is(Odd::ContentType) && mock.status == 415 && put_aside(mock, azurite)
        },
    },
    Known {
        name: "accepts JSON in versions before 2013-08-15",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let is_old = sent.header("x-ms-version").is_some_and(|version| version < "2013-08-15");
            is_old && mock.status == 400 && mock != azurite && put_aside(mock, azurite)
        },
    },
    Known {
        name: "refuses versions of the future",
        fault: Fault::Open,
        source: "the mock accepts every version, so that new clients can use it",
        recognise: |sent, mock, azurite| {
            let refused = azurite.status == 400 && mock != azurite;
            sent.is(Odd::Version) && refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "ignores DataServiceVersion and MaxDataServiceVersion",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let refused = [400, 415].contains(&mock.status) && mock != azurite;
            sent.is(Odd::DataServiceVersion) && refused && put_aside(mock, azurite)
        },
    },
    Known {
        name: "accepts a timeout of 0, and refuses others without a code",
        fault: Fault::Azurite,
        source: DOCUMENTED,
        recognise: |sent, mock, azurite| {
            let refused = mock.status == 400 && mock != azurite;
            sent.is(Odd::Timeout) && refused && put_aside(mock, azurite)
        },
    },
];
