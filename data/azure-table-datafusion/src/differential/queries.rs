//! Random queries.

use fastrand::Rng;

use super::data::{DOUBLES, PARTITIONS, TEXTS, TICKS, data, id};

/// A query without its limit.
pub(super) struct Query {
    pub(super) sql: String,
    /// A limit without an order: any rows of the result.
    pub(super) limit: Option<usize>,
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

pub(super) fn random(numbers: &mut Rng) -> Query {
    let condition = condition(numbers, 3);
    let list = match numbers.u8(..5) {
        0 => "*".to_owned(),
        1 => "count(*), min(Count), max(Text), sum(Big)".to_owned(),
        2 => "Flag, count(*), avg(Count)".to_owned(),
        _ => {
            let mut columns = COLUMNS.to_vec();
            numbers.shuffle(&mut columns);
            columns[..numbers.usize(1..5)].join(", ")
        }
    };
    let group = if list.starts_with("Flag, count") { " GROUP BY Flag" } else { "" };
    let sql = format!("SELECT {list} FROM t WHERE {condition}{group}");
    let is_plain = !list.contains("count(*)");
    let limit = (is_plain && numbers.u8(..4) == 0).then(|| numbers.usize(1..20));
    Query { sql, limit }
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

fn comparison(numbers: &mut Rng) -> String {
    let op = pick(numbers, &["=", "<>", "<", "<=", ">", ">="]);
    match numbers.u8(..20) {
        0..3 => {
            let column = pick(numbers, &["PartitionKey", "RowKey"]);
            let key = quoted(pick(numbers, &PARTITIONS));
            let row = format!("'{:03}'", numbers.u8(..170));
            format!("{column} {op} {}", if column == "RowKey" { row } else { key })
        }
        3..6 => format!("Text {op} {}", text(numbers)),
        6 => format!("Text {} {}", pick(numbers, &["LIKE", "NOT LIKE"]), pattern(numbers)),
        7 => format!("{} {op} Text", text(numbers)),
        8 => {
            let count = if numbers.u8(..3) == 0 { 18 } else { 3 };
            let list: Vec<_> = (0..count).map(|_| text(numbers)).collect();
            format!("Text {} ({})", pick(numbers, &["IN", "NOT IN"]), list.join(", "))
        }
        9 => format!("Count {op} {}", numbers.i32(-3..9)),
        10 => {
            let mut bounds = [numbers.i32(-3..9), numbers.i32(-3..9)];
            bounds.sort_unstable();
            let not = pick(numbers, &["", "NOT "]);
            format!("Count {not}BETWEEN {} AND {}", bounds[0], bounds[1])
        }
        11 => format!("Big {op} {}", numbers.i64(-3..9) * 1_000_000_000_000),
        12 | 13 => format!("Ratio {op} {}", double(numbers)),
        14 => {
            pick(numbers, &["Flag", "NOT Flag", "Flag = true", "Flag <> true", "Flag IS NOT TRUE"])
                .to_owned()
        }
        15 => {
            let nanos = TICKS[numbers.usize(..TICKS.len())] * 100 + numbers.i64(0..3) * 50;
            let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            format!("Made {op} TIMESTAMP '2020-01-01T00:00:{seconds:02}.{nanos:09}Z'")
        }
        16 => format!("Id {op} X'{}'", id(numbers.usize(..7)).simple()),
        17 => {
            let bytes = data(numbers.usize(..6));
            let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("Data {op} X'{}'", digits.concat())
        }
        18 => {
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
