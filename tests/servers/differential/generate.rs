//! Random requests over a few tables and keys, some of them invalid.

mod batches;
mod bodies;
mod filters;
mod options;

use fastrand::Rng;

use super::sent::{Condition, Odd, Payload, Resource, Row, Sent};

const PARTITIONS: [&str; 4] = ["p", "p", "it's", "é"];
const KEYS: [&str; 7] = ["1", "10", "2", "a b", "%2B+", "\u{1f600}", ""];
/// Characters that a key cannot have, each in a key.
const BAD_KEYS: [&str; 6] = ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u{7f}b"];

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

    fn create_table(&mut self) -> Sent {
        let mut sent = Sent::new("POST", Resource::Tables);
        let mut name = self.table();
        if self.chance(20) {
            self.pick(&["ab", "my-table", "1table", ""]).clone_into(&mut name);
            sent.odd.push(Odd::Name);
        }
        sent.payload = Payload::Json(format!("{{\"TableName\":\"{name}\"}}"));
        if self.chance(5) {
            sent.payload = self.bad_table();
            sent.odd.push(Odd::Name);
        }
        self.preference(&mut sent);
        self.level(&mut sent);
        self.content_type(&mut sent);
        sent
    }

    fn list_tables(&mut self) -> Sent {
        let mut sent = Sent::new("GET", Resource::Tables);
        let prefix = &self.prefix;
        let filter = format!("TableName ge '{prefix}' and TableName lt '{prefix}~'");
        sent.query.push(("$filter", filter));
        if self.chance(50) {
            self.top(&mut sent);
        }
        self.other_options(&mut sent);
        self.level(&mut sent);
        sent
    }

    fn insert(&mut self) -> Sent {
        let mut row = self.row();
        let mut sent = Sent::new("POST", Resource::Rows(row.table.clone()));
        if self.chance(3) {
            self.pick(&BAD_KEYS).clone_into(&mut row.key);
            sent.odd.push(Odd::Body);
        }
        sent.payload = self.entity(Some(&row), &mut sent.odd);
        if self.chance(2) {
            sent.payload = self.entity(None, &mut sent.odd);
            sent.odd.push(Odd::Body);
            return sent;
        }
        if self.chance(1) {
            sent.payload = self.unknown_type(&row);
            sent.odd.push(Odd::Body);
        }
        sent.row = Some(row);
        self.preference(&mut sent);
        self.level(&mut sent);
        self.content_type(&mut sent);
        sent
    }

    fn get(&mut self) -> Sent {
        let row = self.row();
        let mut sent = Sent::new("GET", Resource::Row(row));
        self.select(&mut sent);
        self.level(&mut sent);
        sent
    }

    fn query(&mut self) -> Sent {
        let mut sent = Sent::new("GET", Resource::Rows(self.table()));
        if self.chance(70) {
            let filter = self.filter(&mut sent.odd);
            sent.query.push(("$filter", filter));
        }
        if self.chance(25) {
            self.top(&mut sent);
        }
        self.other_options(&mut sent);
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
            _ => Condition::Text(self.pick(&[
                "abc",
                "\"abc\"",
                "W/\"1\", W/\"2\"",
                "*, \"abc\"",
                "w/\"datetime'2001-01-01T00%3A00%3A00Z'\"",
                "\"datetime'2001-01-01T00%3A00%3A00Z'\"",
            ])),
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
            self.content_type(&mut sent);
        }
        self.level(&mut sent);
        sent
    }
}
