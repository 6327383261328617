//! Random requests over a few tables and keys, some of them invalid.

use fastrand::Rng;

use super::sent::{Condition, Odd, Payload, Resource, Row, Sent};

const PARTITIONS: [&str; 4] = ["p", "p", "it's", "é"];
const KEYS: [&str; 7] = ["1", "10", "2", "a b", "%2B+", "\u{1f600}", ""];
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
/// Members that an entity cannot have.
const BAD_MEMBERS: [&str; 7] = [
    r#""my-name":1"#,
    r#""A":{"b":1}"#,
    r#""A":[1]"#,
    r#""T@odata.type":"Edm.DateTime","T":"today""#,
    r#""T@odata.type":"Edm.DateTime","T":"0001-01-01T00:00:00Z""#,
    r#""I@odata.type":"Edm.Int32","I":2147483648"#,
    r#""L@odata.type":"Edm.Int64","L":"many""#,
];
/// Properties and literals of their types.
const LITERALS: [(&str, &[&str]); 10] = [
    ("I", &["5", "7", "-2147483648"]),
    ("L", &["5L", "9223372036854775807L"]),
    ("D", &["2.5", "-0.5"]),
    ("S", &["'a'", "'it''s'", "'😀'", "''"]),
    ("B", &["true", "false"]),
    ("T", &["datetime'2024-02-29T12:34:56.1234567Z'", "datetime'2000-01-01T00:00:00Z'"]),
    ("PartitionKey", &["'p'", "'it''s'", "'é'"]),
    ("RowKey", &["'1'", "'10'", "'a b'", "''", "'\u{1f600}'"]),
    ("G", &["guid'c9da6455-213d-42c9-9a79-3e9149a57833'"]),
    ("X", &["X'0102'", "binary'01'"]),
];
const OPERATORS: [&str; 6] = ["eq", "ne", "gt", "ge", "lt", "le"];
const BAD_FILTERS: [&str; 8] = [
    "I eq",
    "I is 5",
    "S eq 'a",
    "(I eq 5",
    "I eq 5 S eq 'a'",
    "startswith(S, 'a')",
    "eq 5",
    "I eq 5 and",
];

#[derive(Debug)]
pub(super) struct Generator {
    rng: Rng,
    tables: Vec<String>,
    prefix: String,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let prefix = format!("diff{seed}x");
        let tables = ["A", "B", "C"].map(|name| format!("{prefix}{name}")).into();
        Self { rng: Rng::with_seed(seed), tables, prefix }
    }

    pub(super) fn tables(&self) -> &[String] {
        &self.tables
    }

    pub(super) fn next(&mut self) -> Sent {
        match self.rng.u32(..100) {
            0..6 => self.create_table(),
            6 => Sent::new("DELETE", Resource::Table(self.table())),
            7 => Sent::new("GET", Resource::Table(self.table())),
            8..12 => self.list_tables(),
            12..30 => self.insert(),
            30..40 => self.get(),
            40..58 => self.query(),
            58..84 => self.change(),
            _ => self.batch(),
        }
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.rng.usize(..from.len())]
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(..100) < percent
    }

    fn table(&mut self) -> String {
        self.tables[self.rng.usize(..self.tables.len())].clone()
    }

    fn row(&mut self) -> Row {
        let table = self.table();
        let (partition, key) = (self.pick(&PARTITIONS).to_owned(), self.pick(&KEYS).to_owned());
        Row { table, partition, key }
    }

    fn level(&mut self, sent: &mut Sent) {
        if self.chance(30) {
            let level = self.pick(&["fullmetadata", "nometadata", "minimalmetadata"]);
            sent.headers.push(("accept", format!("application/json;odata={level}")));
        }
    }

    fn preference(&mut self, sent: &mut Sent) {
        if self.chance(60) {
            let preference = self.pick(&["return-content", "return-no-content"]);
            sent.headers.push(("prefer", preference.to_owned()));
        }
    }

    fn create_table(&mut self) -> Sent {
        let mut sent = Sent::new("POST", Resource::Tables);
        let mut name = self.table();
        if self.chance(20) {
            self.pick(&["ab", "my-table", "1table", ""]).clone_into(&mut name);
            sent.odd.push(Odd::Name);
        }
        sent.payload = Payload::Json(format!("{{\"TableName\":\"{name}\"}}"));
        self.preference(&mut sent);
        self.level(&mut sent);
        sent
    }

    fn list_tables(&mut self) -> Sent {
        let mut sent = Sent::new("GET", Resource::Tables);
        let prefix = &self.prefix;
        let filter = format!("TableName ge '{prefix}' and TableName lt '{prefix}~'");
        sent.query.push(("$filter", filter));
        if self.chance(50) {
            sent.query.push(("$top", self.pick(&["1", "2"]).to_owned()));
            sent.continues = self.chance(50);
        }
        self.level(&mut sent);
        sent
    }

    /// A body with these keys, and whether it is valid.
    fn entity(&mut self, row: Option<&Row>, odd: &mut Vec<Odd>) -> Payload {
        let text = |text: &str| serde_json::to_string(text).unwrap();
        let mut members = Vec::new();
        if let Some(row) = row {
            members.push(format!("\"PartitionKey\":{}", text(&row.partition)));
            members.push(format!("\"RowKey\":{}", text(&row.key)));
        }
        let mut names = Vec::new();
        for _ in 0..self.rng.u32(..4) {
            let member = self.pick(&MEMBERS);
            let name = member.split(['"', '@']).nth(1).unwrap();
            if !names.contains(&name) {
                names.push(name);
                members.push(member.to_owned());
            }
        }
        if self.chance(3) {
            let member = self.pick(&BAD_MEMBERS);
            if !names.contains(&member.split(['"', '@']).nth(1).unwrap()) {
                members.push(member.to_owned());
                odd.push(Odd::Body);
            }
        }
        Payload::Json(format!("{{{}}}", members.join(",")))
    }

    fn insert(&mut self) -> Sent {
        let mut row = self.row();
        let mut sent = Sent::new("POST", Resource::Rows(row.table.clone()));
        if self.chance(3) {
            self.pick(&["a/b", "a\\b", "a#b", "a?b", "a\tb"]).clone_into(&mut row.key);
            sent.odd.push(Odd::Body);
        }
        sent.payload = self.entity(Some(&row), &mut sent.odd);
        match self.rng.u32(..60) {
            0 => sent.payload = self.entity(None, &mut sent.odd),
            1 => sent.payload = Payload::Json("{\"PartitionKey\":\"p\"".into()),
            2 => sent.payload = Payload::Json(String::new()),
            _ => {
                sent.row = Some(row);
                self.preference(&mut sent);
                self.level(&mut sent);
                return sent;
            }
        }
        sent.odd.push(Odd::Body);
        sent
    }

    fn select(&mut self, sent: &mut Sent) {
        if self.chance(30) {
            let select = ["I", "PartitionKey,RowKey,S", "Missing,I", "Timestamp,L", "I,I", "", "*"];
            sent.query.push(("$select", self.pick(&select).to_owned()));
        }
    }

    fn get(&mut self) -> Sent {
        let row = self.row();
        let mut sent = Sent::new("GET", Resource::Row(row));
        self.select(&mut sent);
        self.level(&mut sent);
        sent
    }

    fn comparison(&mut self, odd: &mut Vec<Odd>) -> String {
        let (property, literals) = LITERALS[self.rng.usize(..LITERALS.len())];
        let operator = self.pick(&OPERATORS);
        let mut literal = self.pick(literals);
        if self.chance(5) {
            let (other, literals) = LITERALS[self.rng.usize(..LITERALS.len())];
            literal = self.pick(literals);
            if other != property {
                odd.push(Odd::Types);
            }
        }
        if ["X", "G"].contains(&property) && !["eq", "ne"].contains(&operator) {
            odd.push(Odd::Order);
        }
        // A property that no row has: no source documents these filters.
        if !property.ends_with("Key") && ["ne", "lt", "le"].contains(&operator) {
            odd.push(Odd::Types);
        }
        format!("{property} {operator} {literal}")
    }

    fn filter(&mut self, depth: u32, odd: &mut Vec<Odd>) -> String {
        match self.rng.u32(..10) {
            0..2 if depth > 0 => {
                format!("({}) and ({})", self.filter(depth - 1, odd), self.filter(depth - 1, odd))
            }
            2..4 if depth > 0 => {
                format!("{} or {}", self.filter(depth - 1, odd), self.filter(depth - 1, odd))
            }
            4 if depth > 0 => {
                // The negation of a comparison with a missing property.
                odd.push(Odd::Types);
                format!("not ({})", self.filter(depth - 1, odd))
            }
            _ => self.comparison(odd),
        }
    }

    fn query(&mut self) -> Sent {
        let mut sent = Sent::new("GET", Resource::Rows(self.table()));
        if self.chance(70) {
            let mut filter = self.filter(3, &mut sent.odd);
            if self.chance(6) {
                self.pick(&BAD_FILTERS).clone_into(&mut filter);
                sent.odd = vec![Odd::Filter];
            }
            sent.query.push(("$filter", filter));
        } else if self.chance(60) {
            let top = self.pick(&["1", "2", "2", "3", "1000", "1001", "0", "-1", "x"]);
            sent.query.push(("$top", top.to_owned()));
            sent.continues = self.chance(60);
        }
        self.select(&mut sent);
        self.level(&mut sent);
        sent
    }

    fn condition(&mut self) -> Condition {
        match self.rng.u32(..20) {
            0..6 => Condition::None,
            6..10 => Condition::Any,
            10..15 => Condition::Present,
            15..19 => Condition::Old,
            _ => Condition::Text(self.pick(&["abc", "\"abc\"", "W/\"1\", W/\"2\""])),
        }
    }

    fn change(&mut self) -> Sent {
        let row = self.row();
        let verb = self.pick(&["MERGE", "PUT", "DELETE", "PATCH"]);
        let mut sent = Sent::new(verb, Resource::Row(row.clone()));
        if self.chance(15) {
            let (outer, tunnelled) = match self.rng.u32(..10) {
                0 => ("POST", self.pick(&["GET", "merge", "FETCH"])),
                1 => ("PUT", verb),
                _ => ("POST", verb),
            };
            sent.verb = outer;
            sent.headers.push(("x-http-method", tunnelled.to_owned()));
        }
        sent.condition = self.condition();
        if verb != "DELETE" {
            let with_keys = self.chance(70);
            sent.payload = self.entity(with_keys.then_some(&row), &mut sent.odd);
            self.preference(&mut sent);
        }
        self.level(&mut sent);
        sent
    }

    /// A batch of one table: if a batch of two tables fails, Azurite leaves rows that no delete
    /// removes, and all later responses would differ.
    fn batch(&mut self) -> Sent {
        let mut sent = Sent::new("POST", Resource::Batch);
        let (table, partition) = (self.table(), self.pick(&PARTITIONS).to_owned());
        let count = match self.rng.u32(..20) {
            0 => 0,
            1..8 => 1,
            _ => self.rng.usize(2..6),
        };
        let mut parts: Vec<Sent> = Vec::new();
        for key in &KEYS[..count] {
            let mut part = if self.chance(50) { self.insert() } else { self.change() };
            if let Some(row) = &mut part.row {
                row.table.clone_from(&table);
                row.partition.clone_from(&partition);
                // Mostly different rows.
                if self.rng.u32(..10) > 0 {
                    (*key).clone_into(&mut row.key);
                }
                if self.rng.u32(..40) == 0 {
                    self.pick(&["p", "other"]).clone_into(&mut row.partition);
                }
                let row = row.clone();
                let with_keys = Some(&row);
                if matches!(part.payload, Payload::Json(_)) {
                    part.payload = self.entity(with_keys, &mut part.odd);
                } else if part.verb != "DELETE" {
                    part.odd.push(Odd::Body);
                }
                part.resource = match part.resource {
                    Resource::Row(_) => Resource::Row(row),
                    _ => Resource::Rows(row.table),
                };
            } else {
                part.resource = Resource::Rows(table.clone());
            }
            part.headers.retain(|(name, _)| *name != "accept" && *name != "x-http-method");
            if part.verb == "POST" && matches!(part.resource, Resource::Row(_)) {
                part.verb = "MERGE";
            }
            parts.push(part);
        }
        sent.payload = match self.rng.u32(..20) {
            0 => Payload::Single(vec![self.get_in_batch()]),
            1 if !parts.is_empty() => {
                parts.push(self.get_in_batch());
                Payload::Changeset(parts)
            }
            2 => Payload::Single(vec![self.get_in_batch(), self.get_in_batch()]),
            _ => Payload::Changeset(parts),
        };
        sent
    }

    fn get_in_batch(&mut self) -> Sent {
        let row = self.row();
        Sent::new("GET", Resource::Row(row))
    }
}
