//! Random queries.

use fastrand::Rng;

use super::data::{DOUBLES, PARTITIONS, PREFIXES, TEXTS, TICKS, data, id};

/// A query, and the comparison of its results.
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) rows: Rows,
}

/// The rows that both results must have.
pub(super) enum Rows {
    /// The same rows in any order.
    Same,
    /// The same rows in the same order.
    Ordered,
    /// The same rows, and with `LIMIT` and `OFFSET` any part of this size.
    Part { limit: usize, offset: usize },
}

const COLUMNS: [&str; 11] = [
    "PartitionKey",
    "RowKey",
    "Text",
    "Count",
    "Big",
    "Ratio",
    "Flag",
    "Made",
    "Id",
    "Data",
    "rest",
];

/// The columns that are compared in groups: all but Doubles, of which two are zero.
const GROUPED: [&str; 9] =
    ["PartitionKey", "RowKey", "Text", "Count", "Big", "Flag", "Made", "Id", "Data"];

pub(super) fn random(numbers: &mut Rng) -> Query {
    let condition = match numbers.u8(..6) {
        0 => format!("{} AND {}", condition(numbers, 3), key(numbers)),
        1 => format!("{} AND {}", comparison(numbers), key(numbers)),
        2 => comparison(numbers),
        _ => condition(numbers, 3),
    };
    let from = |list: &str| format!("SELECT {list} FROM t WHERE {condition}");
    let same = |sql| Query { sql, rows: Rows::Same };
    match numbers.u8(..20) {
        0 | 1 => same(from("count(*), min(Count), max(Text), sum(Big)")),
        2 | 3 => same(from("Flag, count(*), avg(Count)") + " GROUP BY Flag"),
        4 | 5 => same(from(&format!("DISTINCT {}", columns(numbers, &GROUPED)))),
        6..9 => ordered(&from(&columns(numbers, &COLUMNS)), numbers),
        9 | 10 => same(join(&condition, numbers)),
        11 => {
            let column = pick(numbers, &["Count", "Text", "Made"]);
            let not = pick(numbers, &["", "NOT "]);
            let inner = comparison(numbers);
            let values = format!("SELECT {column} FROM t WHERE {column} IS NOT NULL AND ({inner})");
            same(format!("{} AND {column} {not}IN ({values})", from("RowKey, Text")))
        }
        kind => {
            let list = if kind < 14 { "*".to_owned() } else { columns(numbers, &COLUMNS) };
            let rows = match numbers.u8(..4) {
                0 => Rows::Part { limit: numbers.usize(1..20), offset: 0 },
                1 => Rows::Part { limit: numbers.usize(1..20), offset: numbers.usize(1..20) },
                _ => Rows::Same,
            };
            Query { sql: from(&list), rows }
        }
    }
}

/// One to four columns.
fn columns(numbers: &mut Rng, all: &[&'static str]) -> String {
    let mut columns = all.to_vec();
    numbers.shuffle(&mut columns);
    columns[..numbers.usize(1..5)].join(", ")
}

/// Adds an order without ties, and perhaps a limit and an offset.
fn ordered(sql: &str, numbers: &mut Rng) -> Query {
    let column = pick(numbers, &COLUMNS);
    let direction = pick(numbers, &["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
    let limit = match numbers.u8(..3) {
        0 => String::new(),
        1 => format!(" LIMIT {}", numbers.u8(1..20)),
        _ => format!(" LIMIT {} OFFSET {}", numbers.u8(1..20), numbers.u8(1..20)),
    };
    let keys = format!("PartitionKey{}, RowKey", pick(numbers, &["", " DESC"]));
    let sql = format!("{sql} ORDER BY {column}{direction}, {keys}{limit}");
    Query { sql, rows: Rows::Ordered }
}

/// A join of the rows of two conditions.
fn join(condition: &str, numbers: &mut Rng) -> String {
    let kind = pick(numbers, &["JOIN", "LEFT JOIN", "FULL JOIN"]);
    let column = pick(numbers, &["PartitionKey", "Count", "Text", "Big", "Made", "Id"]);
    let other = comparison(numbers);
    format!(
        "SELECT a.RowKey, b.RowKey, a.Text, b.Count FROM (SELECT * FROM t WHERE {condition}) a \
         {kind} (SELECT * FROM t WHERE {other}) b ON a.{column} = b.{column}"
    )
}

fn condition(numbers: &mut Rng, depth: u8) -> String {
    if depth == 0 || numbers.u8(..3) == 0 {
        return comparison(numbers);
    }
    let mut inner = || condition(numbers, depth - 1);
    let (left, right) = (inner(), inner());
    match numbers.u8(..7) {
        0..3 => format!("({left} AND {right})"),
        3..5 => format!("({left} OR {right})"),
        5 => format!("NOT ({left} AND {right})"),
        _ => format!(
            "({left}) IS {}",
            pick(numbers, &["TRUE", "FALSE", "NOT TRUE", "NOT FALSE", "UNKNOWN"])
        ),
    }
}

/// A condition on a key.
fn key(numbers: &mut Rng) -> String {
    let op = pick(numbers, &["=", "<>", "<", "<=", ">", ">="]);
    match numbers.u8(..5) {
        0 | 1 => format!("PartitionKey {op} {}", quoted(pick(numbers, &PARTITIONS))),
        2 | 3 => {
            let row = format!("{}{:03}", pick(numbers, &PREFIXES), numbers.u8(..170));
            format!("RowKey {op} {}", quoted(&row))
        }
        _ => {
            let column = pick(numbers, &["PartitionKey", "RowKey"]);
            let prefix = pick(numbers, &["a", "b", "0", "1", "\u{1f600}", "a0"]);
            format!("{column} LIKE '{prefix}{}'", pick(numbers, &["%", "%5", "_%", ""]))
        }
    }
}

fn comparison(numbers: &mut Rng) -> String {
    let op = pick(numbers, &["=", "<>", "<", "<=", ">", ">="]);
    match numbers.u8(..23) {
        0..5 => key(numbers),
        5..8 => format!("Text {op} {}", text(numbers)),
        8 => format!("Text {} {}", pick(numbers, &["LIKE", "NOT LIKE"]), pattern(numbers)),
        9 => format!("{} {op} Text", text(numbers)),
        10 => {
            let count = if numbers.u8(..3) == 0 { 18 } else { 3 };
            let list: Vec<_> = (0..count).map(|_| text(numbers)).collect();
            format!("Text {} ({})", pick(numbers, &["IN", "NOT IN"]), list.join(", "))
        }
        11 => format!("Count {op} {}", numbers.i32(-3..9)),
        12 => {
            let mut bounds = [numbers.i32(-3..9), numbers.i32(-3..9)];
            bounds.sort_unstable();
            let not = pick(numbers, &["", "NOT "]);
            format!("Count {not}BETWEEN {} AND {}", bounds[0], bounds[1])
        }
        13 => format!("Big {op} {}", numbers.i64(-3..9) * 1_000_000_000_000),
        14 | 15 => format!("Ratio {op} {}", double(numbers)),
        16 => {
            pick(numbers, &["Flag", "NOT Flag", "Flag = true", "Flag <> true", "Flag IS NOT TRUE"])
                .to_owned()
        }
        17 | 18 => format!("Made {op} {}", time(numbers)),
        19 => format!("Id {op} X'{}'", id(numbers.usize(..7)).simple()),
        20 => {
            let bytes = data(numbers.usize(..6));
            let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("Data {op} X'{}'", digits.concat())
        }
        21 => {
            let column = pick(numbers, &COLUMNS[2..]);
            format!("{column} IS {}", pick(numbers, &["NULL", "NOT NULL"]))
        }
        _ => pick(
            numbers,
            &[
                "rest > 'a'",
                "rest LIKE '%Int64%'",
                "rest <> 'x'",
                "Count < Big",
                "length(Text) > 1",
                "abs(Count) = 2",
                "Count + 1 > 3",
                "upper(Text) = 'AB'",
                "Text > PartitionKey",
                "Count IN (1, NULL)",
                "Count NOT IN (1, 2)",
                "Id IS NOT NULL AND Count > 3",
            ],
        )
        .to_owned(),
    }
}

fn pick<'a>(numbers: &mut Rng, list: &[&'a str]) -> &'a str {
    list[numbers.usize(..list.len())]
}

/// A time between two ticks or on one, in one of two forms.
fn time(numbers: &mut Rng) -> String {
    let nanos = TICKS[numbers.usize(..TICKS.len())] * 100 + numbers.i64(0..3) * 50;
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    if numbers.bool() {
        format!("TIMESTAMP '2020-01-01T00:00:{seconds:02}.{nanos:09}Z'")
    } else {
        format!("'2020-01-01 02:30:{seconds:02}.{nanos:09}+02:30'")
    }
}

fn text(numbers: &mut Rng) -> String {
    quoted(pick(numbers, &TEXTS))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn pattern(numbers: &mut Rng) -> String {
    let prefix = pick(numbers, &TEXTS);
    quoted(&format!("{prefix}{}", pick(numbers, &["%", "%", "_", "%c", ""])))
}

fn double(numbers: &mut Rng) -> String {
    let value = DOUBLES[numbers.usize(..DOUBLES.len())];
    if value.is_finite() {
        format!("CAST('{value:?}' AS DOUBLE)")
    } else {
        format!("CAST('{value}' AS DOUBLE)")
    }
}
