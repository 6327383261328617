//! The bodies of entities and tables.

use super::super::sent::{Odd, Payload, Row};
use super::Generator;

/// A name and its JSON members.
const MEMBERS: [&str; 22] = [
    r#""I":5"#,
    r#""I":-2147483648"#,
    r#""I":7"#,
    r#""L@odata.type":"Edm.Int64","L":"9223372036854775807""#,
    r#""L@odata.type":"Edm.Int64","L":"5""#,
    r#""D":2.5"#,
    r#""D@odata.type":"Edm.Double","D":1e300"#,
    r#""D@odata.type":"Edm.Double","D":"NaN""#,
    r#""D@odata.type":"Edm.Double","D":-0.5"#,
    r#""S":"a""#,
    r#""S":"it's""#,
    r#""S":"😀""#,
    r#""S":"""#,
    r#""B":true"#,
    r#""B":false"#,
    r#""T@odata.type":"Edm.DateTime","T":"2024-02-29T12:34:56.1234567Z""#,
    r#""T@odata.type":"Edm.DateTime","T":"1601-01-01T00:00:00.001Z""#,
    r#""G@odata.type":"Edm.Guid","G":"c9da6455-213d-42c9-9a79-3e9149a57833""#,
    r#""X@odata.type":"Edm.Binary","X":"AQI=""#,
    r#""X@odata.type":"Edm.Binary","X":"""#,
    r#""N":null"#,
    r#""S@odata.type":"Edm.String","S":"told""#,
];
/// Members whose value is in another form than in a response.
const VALUES: [&str; 35] = [
    r#""I@odata.type":"Edm.Int32","I":"5""#,
    r#""I@odata.type":"Edm.Int32","I":"+5""#,
    r#""I@odata.type":"Edm.Int32","I":null"#,
    r#""L@odata.type":"Edm.Int64","L":5"#,
    r#""L@odata.type":"Edm.Int64","L":"-0""#,
    r#""L@odata.type":"Edm.Int64","L":null"#,
    r#""D@odata.type":"Edm.Double","D":5"#,
    r#""D@odata.type":"Edm.Double","D":"5.5""#,
    r#""D@odata.type":"Edm.Double","D":"5""#,
    r#""D@odata.type":"Edm.Double","D":"-Infinity""#,
    r#""D@odata.type":"Edm.Double","D":"INF""#,
    r#""D@odata.type":"Edm.Double","D":-0.0"#,
    r#""D@odata.type":"Edm.Double","D":null"#,
    r#""D":5.0"#,
    r#""D":2147483648"#,
    r#""D":9223372036854775808"#,
    r#""B@odata.type":"Edm.Boolean","B":"true""#,
    r#""B@odata.type":"Edm.Boolean","B":"False""#,
    r#""B@odata.type":"Edm.Boolean","B":"TRUE""#,
    r#""T@odata.type":"Edm.DateTime","T":"2020-01-01T00:00:00.12345678Z""#,
    r#""B@odata.type":"Edm.Boolean","B":"1""#,
    r#""B@odata.type":"Edm.Boolean","B":null"#,
    r#""T@odata.type":"Edm.DateTime","T":"2020-01-01T00:00:00""#,
    r#""T@odata.type":"Edm.DateTime","T":"2020-01-01T01:00:00+01:00""#,
    r#""T@odata.type":"Edm.DateTime","T":null"#,
    r#""G@odata.type":"Edm.Guid","G":"C9DA6455-213D-42C9-9A79-3E9149A57833""#,
    r#""G@odata.type":"Edm.Guid","G":"{c9da6455-213d-42c9-9a79-3e9149a57833}""#,
    r#""G@odata.type":"Edm.Guid","G":"c9da6455213d42c99a793e9149a57833""#,
    r#""X@odata.type":"Edm.Binary","X":null"#,
    r#""S@odata.type":"Edm.String","S":null"#,
    r#""S":"a\u0001b""#,
    r#""S":"a","S@odata.type":"Edm.String""#,
    r#""S@odata.other":"x","S":"a""#,
    r#""odata.etag":"x","S":"a""#,
    r#""odata.type":"account.table","S":"a""#,
];
/// Members that no source settles.
const DOUBTFUL: [&str; 8] = [
    r#""I@odata.type":"Edm.Int32","I":5.0"#,
    r#""I@odata.type":"Edm.Int32","I":1e1"#,
    r#""L@odata.type":"Edm.Int64","L":5.5"#,
    r#""D@odata.type":"Edm.Double","D":"1e400""#,
    r#""T@odata.type":"Edm.DateTime","T":"2020-01-01""#,
    r#""T@odata.type":"Edm.DateTime","T":"2020-01-01 00:00:00Z""#,
    r#""X@odata.type":"Edm.Binary","X":"A Q I =""#,
    r#""X@odata.type":"Edm.Binary","X":"AQI""#,
];
/// Members that an entity cannot have.
const BAD_MEMBERS: [&str; 28] = [
    r#""my-name":1"#,
    r#""a b":1"#,
    r#""1a":1"#,
    r#""":1"#,
    r#""a.b":1"#,
    r#""S":1,"S":2"#,
    r#""A":{"b":1}"#,
    r#""A":[1]"#,
    r#""I@odata.type":"Edm.Int32","I":2147483648"#,
    r#""I@odata.type":"Edm.Int32","I":"2147483648""#,
    r#""I@odata.type":"Edm.Int32","I":5.5"#,
    r#""I@odata.type":"Edm.Int32","I":true"#,
    r#""I@odata.type":"Edm.Int32","I":"x""#,
    r#""L@odata.type":"Edm.Int64","L":"many""#,
    r#""L@odata.type":"Edm.Int64","L":"9223372036854775808""#,
    r#""D@odata.type":"Edm.Double","D":"x""#,
    r#""D@odata.type":"Edm.Double","D":1e400"#,
    r#""B@odata.type":"Edm.Boolean","B":"x""#,
    r#""B@odata.type":"Edm.Boolean","B":1"#,
    r#""T@odata.type":"Edm.DateTime","T":"today""#,
    r#""T@odata.type":"Edm.DateTime","T":5"#,
    r#""T@odata.type":"Edm.DateTime","T":"0001-01-01T00:00:00Z""#,
    r#""T@odata.type":"Edm.DateTime","T":"2020-13-01T00:00:00Z""#,
    r#""T@odata.type":"Edm.DateTime","T":"10000-01-01T00:00:00Z""#,
    r#""G@odata.type":"Edm.Guid","G":"x""#,
    r#""G@odata.type":"Edm.Guid","G":"""#,
    r#""X@odata.type":"Edm.Binary","X":"A""#,
    r#""X@odata.type":"Edm.Binary","X":5"#,
];
/// Members of unknown types. In a batch of several operations they are not sent: Azurite returns 500 then, and keeps
/// doing so for all later batches.
const UNKNOWN_TYPES: [&str; 2] =
    [r#""A@odata.type":"Edm.Other","A":"a""#, r#""A@odata.type":5,"A":"a""#];
/// Documents that are not an entity. `@` stands for the keys.
const BAD_DOCUMENTS: [&[u8]; 30] = [
    b"{@",
    b"{@}x",
    b"{@}{@}",
    b"{@,}",
    b"{@,\"S\":\"a}",
    b"{@,\"S\":}",
    b"{@,\"S\"}",
    b"{@,\"S\":\"\\x\"}",
    b"{@,\"S\":\"a\x01b\"}",
    b"{@,\"S\":\"a\nb\"}",
    b"{@,\"S\":\"\xff\"}",
    b"{@,\"S\":\"\\ud800\"}",
    b"{@/*x*/}",
    b"{@,\"I\":NaN}",
    b"{@,\"I\":0x10}",
    b"{@,\"I\":01}",
    b"{@,\"I\":+1}",
    b"{@,\"I\":.5}",
    b"{@,\"B\":True}",
    b"{@,S:\"a\"}",
    b"{@,'S':'a'}",
    b"\xef\xbb\xbf{@}",
    b"[{@}]",
    b"\"x\"",
    b"5",
    b"null",
    b"true",
    b"",
    b"  ",
    b"{\"PartitionKey\":\"p\"",
];
/// Bodies that name no table.
const BAD_TABLES: [&str; 11] = [
    "{}",
    r#"{"TableName":5}"#,
    r#"{"TableName":null}"#,
    r#"{"TableName":true}"#,
    r#"{"TableName":["abc"]}"#,
    r#"{"tablename":"abc"}"#,
    r#"{"TableName":"abc""#,
    "[]",
    "\"abc\"",
    "null",
    "",
];

impl Generator {
    fn member(&mut self, odd: &mut Vec<Odd>) -> &'static str {
        match self.rng.u32(..100) {
            0..2 => {
                odd.push(Odd::Body);
                self.pick(&BAD_MEMBERS)
            }
            2..5 => {
                odd.push(Odd::Value);
                self.pick(&VALUES)
            }
            5 => {
                odd.push(Odd::Doubtful);
                self.pick(&DOUBTFUL)
            }
            _ => self.pick(&MEMBERS),
        }
    }

    /// A body with these keys, and whether it is valid.
    pub(super) fn entity(&mut self, row: Option<&Row>, odd: &mut Vec<Odd>) -> Payload {
        let text = |text: &str| serde_json::to_string(text).unwrap();
        let mut members = Vec::new();
        if let Some(row) = row {
            members.push(format!("\"PartitionKey\":{}", text(&row.partition)));
            members.push(format!("\"RowKey\":{}", text(&row.key)));
        }
        if self.chance(2) {
            odd.push(Odd::Body);
            let document = self.pick(&BAD_DOCUMENTS);
            let keys = members.join(",").into_bytes();
            let parts = document.split(|byte| *byte == b'@').collect::<Vec<_>>();
            return Payload::Bytes(parts.join(&keys[..]));
        }
        let mut names = Vec::new();
        for _ in 0..self.rng.u32(..4) {
            let mut found = Vec::new();
            let member = self.member(&mut found);
            let name = member.split(['"', '@']).nth(1).unwrap();
            // Annotations of the document are members of their own.
            let name = if name == "odata.etag" || name == "odata.type" { "S" } else { name };
            if !names.contains(&name) {
                names.push(name);
                members.push(member.to_owned());
                odd.append(&mut found);
            }
        }
        Payload::Json(format!("{{{}}}", members.join(",")))
    }

    pub(super) fn unknown_type(&mut self, row: &Row) -> Payload {
        let text = |text: &str| serde_json::to_string(text).unwrap();
        let (partition, key) = (text(&row.partition), text(&row.key));
        let member = self.pick(&UNKNOWN_TYPES);
        Payload::Json(format!("{{\"PartitionKey\":{partition},\"RowKey\":{key},{member}}}"))
    }

    pub(super) fn bad_table(&mut self) -> Payload {
        Payload::Json(self.pick(&BAD_TABLES).to_owned())
    }
}
