//! Query options and headers.

use super::super::sent::{Odd, Sent};
use super::Generator;

/// The headers `Accept` that both services know by other rules.
const ACCEPTS: [&str; 12] = [
    "*/*",
    "application/*",
    "application/json",
    "application/json; odata=nometadata",
    "APPLICATION/JSON;ODATA=NOMETADATA",
    "application/json;odata=fullmetadata;charset=utf-8",
    "application/json;odata=verbose",
    "application/json;odata=bad",
    "application/atom+xml",
    "application/atom+xml,application/json",
    "application/xml",
    "text/plain",
];
const CONTENT_TYPES: [&str; 10] = [
    "application/json; charset=utf-8",
    "application/json;odata=nometadata",
    "application/json;odata=verbose",
    "APPLICATION/JSON",
    "application/atom+xml",
    "application/xml",
    "application/octet-stream",
    "text/plain",
    "*/*",
    "bad",
];
const VERSIONS: [&str; 8] = [
    "2009-09-19",
    "2011-08-18",
    "2012-02-12",
    "2013-08-15",
    "2015-12-11",
    "2019-07-07",
    "2024-08-04",
    "2099-01-01",
];
const DATA_SERVICE_VERSIONS: [&str; 7] =
    ["1.0", "1.0;NetFx", "2.0;", "3.0", "3.0;NetFx", "4.0", "bad"];
const SELECTS: [&str; 16] = [
    "I",
    "PartitionKey,RowKey,S",
    "Missing,I",
    "Timestamp,L",
    "I,I",
    "",
    "*",
    "*,I",
    "I,*",
    "I, S",
    " I",
    "I,",
    ",",
    "i",
    "PartitionKey",
    "T,X,G",
];
/// Names that no property can have.
const BAD_SELECTS: [&str; 7] = ["my-name", "odata.etag", "I S", "I;S", "'I'", "I/x", "I,a b"];
const TOPS: [&str; 8] = ["1", "2", "2", "3", "1000", "+1", "02", "0"];
const BAD_TOPS: [&str; 12] = [
    "1001",
    "-1",
    "x",
    " 1",
    "1 ",
    "1.0",
    "1e0",
    "",
    "2147483648",
    "99999999999999999999",
    "0x1",
    "1,2",
];

impl Generator {
    pub(super) fn level(&mut self, sent: &mut Sent) {
        if self.chance(30) {
            let level = self.pick(&["fullmetadata", "nometadata", "minimalmetadata"]);
            sent.headers.push(("accept", format!("application/json;odata={level}")));
        } else if self.chance(4) {
            sent.headers.push(("accept", self.pick(&ACCEPTS).to_owned()));
            sent.odd.push(Odd::Accept);
        }
        self.versions(sent);
    }

    fn versions(&mut self, sent: &mut Sent) {
        match self.rng.u32(..60) {
            0 => {
                sent.headers.push(("x-ms-version", self.pick(&VERSIONS).to_owned()));
                sent.odd.push(Odd::Version);
            }
            1 => {
                let name = self.pick(&["dataserviceversion", "maxdataserviceversion"]);
                let version = self.pick(&DATA_SERVICE_VERSIONS).to_owned();
                sent.headers.push((name, version));
                sent.odd.push(Odd::DataServiceVersion);
            }
            2 => sent.headers.push(("x-ms-client-request-id", "mine".into())),
            _ => {}
        }
    }

    pub(super) fn preference(&mut self, sent: &mut Sent) {
        if self.chance(60) {
            let preferences = [
                "return-content",
                "return-content",
                "return-no-content",
                "return-no-content",
                "RETURN-NO-CONTENT",
                "return=minimal",
                "return-no-content, other",
                "other",
            ];
            sent.headers.push(("prefer", self.pick(&preferences).to_owned()));
        }
    }

    pub(super) fn content_type(&mut self, sent: &mut Sent) {
        if self.chance(3) {
            sent.headers.push(("content-type", self.pick(&CONTENT_TYPES).to_owned()));
            sent.odd.push(Odd::ContentType);
        }
    }

    pub(super) fn select(&mut self, sent: &mut Sent) {
        if self.chance(30) {
            sent.query.push(("$select", self.pick(&SELECTS).to_owned()));
        } else if self.chance(3) {
            sent.query.push(("$select", self.pick(&BAD_SELECTS).to_owned()));
            sent.odd.push(Odd::Doubtful);
        }
    }

    pub(super) fn top(&mut self, sent: &mut Sent) {
        if self.chance(15) {
            sent.query.push(("$top", self.pick(&BAD_TOPS).to_owned()));
            sent.odd.push(Odd::Top);
        } else {
            sent.query.push(("$top", self.pick(&TOPS).to_owned()));
            sent.continues = self.chance(60);
        }
    }

    /// Options of OData that the service does not have, and `$format` and `timeout`.
    pub(super) fn other_options(&mut self, sent: &mut Sent) {
        match self.rng.u32(..50) {
            0 => {
                let others = [
                    ("$orderby", "I"),
                    ("$skip", "1"),
                    ("$expand", "I"),
                    ("$count", "true"),
                    ("other", "1"),
                ];
                let (name, value) = others[self.rng.usize(..others.len())];
                sent.query.push((name, value.into()));
            }
            1 => {
                let formats = [
                    "application/json",
                    "application/json;odata=nometadata",
                    "application/json;odata=verbose",
                    "json",
                    "atom",
                    "xml",
                    "bad",
                ];
                sent.query.push(("$format", self.pick(&formats).to_owned()));
                sent.odd.push(Odd::Accept);
            }
            2 => {
                sent.query.push(("timeout", self.pick(&["30", "0", "x"]).to_owned()));
                sent.odd.push(Odd::Timeout);
            }
            _ => {}
        }
    }
}
