//! Headers of responses.

use super::recognise::{content_type, header_differs, in_all, only_in};
use super::{Fault, Known, LIVE, RECORDED};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "states its own version in x-ms-version",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| header_differs(mock, azurite, "x-ms-version"),
    },
    Known {
        name: "sends no Cache-Control",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| in_all(mock, azurite, |a, b| only_in(a, b, "cache-control")),
    },
    Known {
        name: "sends no X-Content-Type-Options",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| only_in(a, b, "x-content-type-options"))
        },
    },
    Known {
        name: "sends x-ms-error-code with a refusal",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| only_in(b, a, "x-ms-error-code"))
        },
    },
    Known {
        name: "leaves streaming and charset out of the type of the content",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| in_all(mock, azurite, content_type),
    },
    Known {
        name: "states the content type of an empty body",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| a.status == 204 && only_in(b, a, "content-type"))
        },
    },
    Known {
        name: "sends no Location and no DataServiceId",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| {
                let is_success = a.status < 300 && b.status < 300;
                is_success && only_in(a, b, "location") | only_in(a, b, "dataserviceid")
            })
        },
    },
    Known {
        name: "sends Preference-Applied without a Prefer header",
        fault: Fault::Azurite,
        source: LIVE,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| a.status == 201 && only_in(b, a, "preference-applied"))
        },
    },
    Known {
        name: "omits Preference-Applied in a refusal",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| a.status >= 400 && only_in(a, b, "preference-applied"))
        },
    },
    Known {
        name: "neither doubles quotes nor encodes keys in addresses",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            in_all(mock, azurite, |a, b| {
                let is_success = a.status < 300 && b.status < 300;
                is_success
                    && header_differs(a, b, "location") | header_differs(a, b, "dataserviceid")
            })
        },
    },
    Known {
        name: "omits the id of the client in a refusal",
        fault: Fault::Azurite,
        source: RECORDED,
        recognise: |_, mock, azurite| {
            mock.status >= 400 && only_in(mock, azurite, "x-ms-client-request-id")
        },
    },
];
