//! Filters: comparisons of each type, casts, spellings of literals, and filters that cannot be parsed.

use super::super::sent::Odd;
use super::Generator;

/// Properties and literals of their types.
const LITERALS: [(&str, &[&str]); 10] = [
    ("I", &["5", "7", "-2147483648", "05"]),
    ("L", &["5L", "9223372036854775807L"]),
    ("D", &["2.5", "-0.5"]),
    ("S", &["'a'", "'it''s'", "'😀'", "''", "''''"]),
    ("B", &["true", "false"]),
    ("T", &["datetime'2024-02-29T12:34:56.1234567Z'", "DateTime'2000-01-01T00:00:00Z'"]),
    ("PartitionKey", &["'p'", "'it''s'", "'é'"]),
    ("RowKey", &["'1'", "'10'", "'a b'", "''", "'\u{1f600}'"]),
    (
        "G",
        &[
            "guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
            "Guid'00000000-0000-0000-0000-000000000000'",
        ],
    ),
    ("X", &["X'0102'", "x'0102'", "binary'01'"]),
];
/// Properties and literals of another type, whose text or value is that of a stored one.
const CASTS: [(&str, &[&str]); 10] = [
    ("I", &["5L", "5.0", "'5'", "true"]),
    ("L", &["5", "5.0", "5d", "'5'", "'9223372036854775807'"]),
    ("D", &["2", "2L", "'2.5'", "1L"]),
    ("S", &["5", "5L", "true", "datetime'2024-02-29T12:34:56.1234567Z'"]),
    ("B", &["1", "'true'", "'false'"]),
    ("T", &["'2024-02-29T12:34:56.1234567Z'"]),
    ("G", &["'c9da6455-213d-42c9-9a79-3e9149a57833'", "X'0102'"]),
    ("X", &["'AQI='", "'0102'"]),
    ("RowKey", &["1", "1L", "10.0"]),
    ("Timestamp", &["'2000'", "2000"]),
];
/// Comparisons with a literal that has a usual spelling too.
const SPELLINGS: [&str; 15] = [
    "D eq 2.5d",
    "D le 2D",
    "T ge datetime'2000-01-01'",
    "T ge datetime'2000-01-01T00:00'",
    "T ge datetime'2000-01-01T00:00:00'",
    "T ge datetime'2000-01-01T00:00:00.12345678Z'",
    "L eq 5l",
    "I eq +5",
    "D eq 25E-1",
    "D lt 1E300",
    "G eq guid'C9DA6455-213D-42C9-9A79-3E9149A57833'",
    "G eq guid'c9da6455213d42c99a793e9149a57833'",
    "G eq guid'{c9da6455-213d-42c9-9a79-3e9149a57833}'",
    "not not (PartitionKey eq 'p')",
    "T eq datetime'2024-02-29T13:34:56.1234567+01:00'",
];
const BAD_FILTERS: [&str; 38] = [
    "D eq 2.5f",
    "D eq 2.5m",
    "I eq",
    "I is 5",
    "S eq 'a",
    "(I eq 5",
    "I eq 5)",
    "I eq 5 S eq 'a'",
    "startswith(S, 'a')",
    "substringof('a', S)",
    "S eq tolower('A')",
    "year(T) eq 2024",
    "eq 5",
    "I eq 5 and",
    "and I eq 5",
    "I eq 5 and and S eq 'a'",
    "I eq 2147483648",
    "L eq 9223372036854775808L",
    "D eq .5",
    "D eq NaN",
    "S eq \"a\"",
    "S eq a",
    "B eq yes",
    "I EQ 5",
    "I eq 5 AND S eq 'a'",
    "I eq null",
    "I eq 5;",
    "I = 5",
    "I in (5)",
    "I add 1 eq 6",
    "I/x eq 5",
    "T ge datetime'bad'",
    "T ge datetimeoffset'2000-01-01T00:00:00Z'",
    "G eq guid'bad'",
    "X eq X'012'",
    "X eq X'zz'",
    "X eq binary'AQI='",
    "()",
];
const OPERATORS: [&str; 6] = ["eq", "ne", "gt", "ge", "lt", "le"];

impl Generator {
    fn comparison(&mut self, odd: &mut Vec<Odd>) -> String {
        match self.rng.u32(..40) {
            0..3 => {
                odd.push(Odd::Cast);
                let (property, literals) = CASTS[self.rng.usize(..CASTS.len())];
                let operator = self.pick(&OPERATORS);
                return format!("{property} {operator} {}", self.pick(literals));
            }
            3 => {
                odd.push(Odd::Spelling);
                return self.pick(&SPELLINGS).to_owned();
            }
            _ => {}
        }
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
        // The literal may come first, which reverses the order.
        if self.chance(5) && ["eq", "ne"].contains(&operator) {
            return format!("{literal} {operator} {property}");
        }
        format!("{property} {operator} {literal}")
    }

    fn filter_of(&mut self, depth: u32, odd: &mut Vec<Odd>) -> String {
        match self.rng.u32(..10) {
            0..2 if depth > 0 => {
                let (left, right) =
                    (self.filter_of(depth - 1, odd), self.filter_of(depth - 1, odd));
                format!("({left}) and ({right})")
            }
            2..4 if depth > 0 => {
                format!("{} or {}", self.filter_of(depth - 1, odd), self.filter_of(depth - 1, odd))
            }
            4 if depth > 0 => {
                // The negation of a comparison with a missing property.
                odd.push(Odd::Types);
                format!("not ({})", self.filter_of(depth - 1, odd))
            }
            5 if depth > 0 => format!("  ( {} ) ", self.filter_of(depth - 1, odd)),
            _ => self.comparison(odd),
        }
    }

    pub(super) fn filter(&mut self, odd: &mut Vec<Odd>) -> String {
        match self.rng.u32(..50) {
            0..3 => {
                odd.push(Odd::Filter);
                self.pick(&BAD_FILTERS).to_owned()
            }
            3 => self.pick(&["true", "false", "", "B", "not B"]).to_owned(),
            _ => self.filter_of(3, odd),
        }
    }
}
