//! Generated bodies: pages and entities like those of the service, and damaged ones.

use std::mem;

use fastrand::Rng;

/// Properties and the types that they mostly have.
const PROPERTIES: &[(&str, Type)] = &[
    ("PartitionKey", Type::Text),
    ("RowKey", Type::Text),
    ("Timestamp", Type::DateTime),
    ("Text", Type::Text),
    ("Yes", Type::Boolean),
    ("Small", Type::Int32),
    ("Big", Type::Int64),
    ("Double", Type::Double),
    ("At", Type::DateTime),
    ("Guid", Type::Guid),
    ("Bytes", Type::Binary),
    ("Body", Type::Text),
    ("Views", Type::Int64),
    ("Cpu00", Type::Double),
    ("Cpu01", Type::Double),
    ("Long", Type::Text),
    ("Long2", Type::Text),
    ("Kind", Type::Text),
    ("Größe", Type::Text),
    ("名前", Type::Int32),
    ("Other", Type::Double),
    ("other", Type::Boolean),
    ("odata.etag", Type::Text),
    ("odata.editLink", Type::Text),
    ("Other@odata.context", Type::Text),
    ("value", Type::Text),
];

/// Texts that a mutation inserts.
const TOKENS: &[&str] = &[
    "\\",
    "\"",
    "\\u",
    "\\ud83d",
    "\\ud83d\\ude00",
    "\\u0000",
    "\\u00E9",
    "\\x",
    "\\/",
    "\n",
    "\t",
    " ",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "{",
    "}",
    "[",
    "]",
    "[[]]",
    "{\"A\":{}}",
    ":",
    ",",
    "null",
    "true",
    "-0",
    "0",
    "1e999",
    "0.1",
    "-",
    "\"value\":[",
    "\"PartitionKey\":\"p\",",
    "\"odata.etag\":\"1\",",
    "\"Other\":1,",
    "@odata.type",
    "\"Edm.Int64\"",
];

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "1.5",
    "-1.5",
    "0.0",
    "-0.0",
    "1e5",
    "1E+5",
    "1e-7",
    "0.30000000000000004",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "999999999999999999",
    "1000000000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "1e308",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "5e-324",
    "2e-324",
    "1e-999",
    "2.2250738585072011e-308",
    "9007199254740993",
    "9007199254740993.0",
    "0e0",
    "1.0e10",
];

/// Numbers that JSON does not have, or that are out of range.
const NO_NUMBERS: &[&str] =
    &["00", "01", "-01", "+1", "1.", ".5", "1e", "1e+", "--1", "-", "1e309", "-1e999", "0e", "NaN"];

#[derive(Clone, Copy)]
enum Type {
    Text,
    Boolean,
    Int32,
    Int64,
    Double,
    DateTime,
    Guid,
    Binary,
}

/// Returns the body of this seed. About a third of the bodies are damaged.
pub fn generated(seed: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(seed);
    let json = if random.u8(..8) == 0 { one(&mut random) } else { page(&mut random) };
    let json = if random.u8(..16) == 0 { spaced(&mut random, &json) } else { json };
    let mut body = json.into_bytes();
    if random.u8(..3) == 0 {
        for _ in 0..random.u8(1..4) {
            damage(&mut random, &mut body);
        }
    }
    body
}

fn one(random: &mut Rng) -> String {
    let shape = shape(random);
    row(random, &shape)
}

fn page(random: &mut Rng) -> String {
    let mut shape = shape(random);
    let mut rows = Vec::new();
    for _ in 0..random.u8(..5) {
        match random.u8(..8) {
            0 => random.shuffle(&mut shape),
            1 if shape.len() > 2 => _ = shape.pop(),
            2 => shape.insert(random.usize(..=shape.len()), random.usize(..PROPERTIES.len())),
            3 if shape.len() > 2 => _ = shape.remove(random.usize(..shape.len())),
            _ => {}
        }
        rows.push(row(random, &shape));
    }
    let rows = format!("\"value\":[{}]", rows.join(","));
    match random.u8(..40) {
        0 => format!("{{{rows},\"odata.nextLink\":1}}"),
        1 => format!("{{\"odata.count\":\"2\",\"A\":-1.5,\"B\":null,{rows}}}"),
        2 => format!("{{{rows},{rows}}}"),
        3 => format!("{{\"A\":1,{rows},\"A\":1}}"),
        4 => format!("{{\"A\":1,\"\\u0041\":1,{rows}}}"),
        // As Cosmos DB writes it.
        5..10 => format!("{{{rows},\"odata.metadata\":\"https://a.example.com/$metadata#T\"}}\n"),
        10..20 => format!("{{{rows}}}"),
        _ => format!("{{\"odata.metadata\":\"https://a.example.com/$metadata#T\",{rows}}}"),
    }
}

/// The properties of a row. Few rows have one twice.
fn shape(random: &mut Rng) -> Vec<usize> {
    let (count, most) = (random.usize(..PROPERTIES.len()), random.usize(1..14));
    let mut shape = vec![0, 1];
    shape.extend(random.choose_multiple(2..PROPERTIES.len(), count.min(most)));
    match random.u8(..16) {
        0 => shape.push(random.choice(&shape).copied().unwrap_or(0)),
        1 if random.u8(..4) == 0 => shape.clear(),
        2..6 => random.shuffle(&mut shape),
        _ => shape.sort_unstable(),
    }
    shape
}

fn row(random: &mut Rng, shape: &[usize]) -> String {
    let mut members = Vec::new();
    for &property in shape {
        let (name, usual) = PROPERTIES[property];
        let ty = if random.u8(..200) == 0 { any_type(random) } else { usual };
        let name = match random.u16(..400) {
            0 => {
                let first = name.chars().next().unwrap_or('A');
                format!("\\u{:04x}{}", u32::from(first), &name[first.len_utf8()..])
            }
            _ => name.to_owned(),
        };
        members.push(format!("\"{name}\":{}", value(random, ty)));
        let annotation = match ty {
            Type::Text if random.u8(..20) > 0 => continue,
            Type::Boolean | Type::Int32 | Type::Double if random.u8(..10) > 0 => continue,
            _ if name == "Timestamp" || name.starts_with("odata.") => continue,
            ty => annotation(random, ty),
        };
        members.push(format!("\"{name}@odata.type\":\"{annotation}\""));
        if random.u8(..10) > 0 {
            let last = members.len() - 1;
            members.swap(last - 1, last);
        }
    }
    if random.u8(..16) == 0 {
        random.shuffle(&mut members);
    }
    format!("{{{}}}", members.join(","))
}

fn any<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    random.choice(of).copied().unwrap_or("")
}

fn any_type(random: &mut Rng) -> Type {
    PROPERTIES[random.usize(..PROPERTIES.len())].1
}

fn annotation(random: &mut Rng, ty: Type) -> &'static str {
    let ty = if random.u8(..200) == 0 { any_type(random) } else { ty };
    match ty {
        _ if random.u16(..400) == 0 => "Edm.Byte",
        Type::Text => "Edm.String",
        Type::Boolean => "Edm.Boolean",
        Type::Int32 => "Edm.Int32",
        Type::Int64 => "Edm.Int64",
        Type::Double => "Edm.Double",
        Type::DateTime => "Edm.DateTime",
        Type::Guid => "Edm.Guid",
        Type::Binary => "Edm.Binary",
    }
}

fn value(random: &mut Rng, ty: Type) -> String {
    match random.u8(..120) {
        0 => return "null".to_owned(),
        1 => return any(random, NUMBERS).to_owned(),
        2 if random.u8(..8) == 0 => return any(random, NO_NUMBERS).to_owned(),
        3 if random.u8(..4) == 0 => return format!("\"{}\"", text(random)),
        4 if random.u8(..8) == 0 => return "[{\"A\":[1,\"x\"]},null]".to_owned(),
        _ => {}
    }
    match ty {
        Type::Text => format!("\"{}\"", text(random)),
        Type::Boolean => random.bool().to_string(),
        Type::Int32 => (random.i32(..) >> random.u8(..32)).to_string(),
        Type::Int64 => format!("\"{}\"", random.i64(..) >> random.u8(..64)),
        Type::Double => match random.u8(..12) {
            0 => "\"NaN\"".to_owned(),
            1 => "\"-Infinity\"".to_owned(),
            2 => random.i32(-9..10).to_string(),
            3 => format!("{}.{}", random.i16(..), random.u64(..)),
            4 => format!("{}e{}", random.i16(..), random.i16(-400..400)),
            5..8 => format!("{:?}", random.f64() * 1000.0),
            _ => {
                let value = f64::from_bits(random.u64(..));
                format!("{:e}", if value.is_finite() { value } else { 0.5 })
            }
        },
        Type::DateTime => format!(
            "\"20{:02}-{:02}-{:02}T10:{:02}:01.{:07}Z\"",
            random.u8(..30),
            random.u8(1..13),
            random.u8(1..31),
            random.u8(..61),
            random.u32(..10_000_000)
        ),
        Type::Guid => format!("\"{:08x}-0000-4000-8000-{:012x}\"", random.u32(..), random.u32(..)),
        Type::Binary => "\"AAEC/w==\"".to_owned(),
    }
}

/// The content of a text. Its length is mostly below 32 bytes, but not always.
fn text(random: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.u8(..4) {
        match random.u8(..24) {
            0 => text.push_str("\\\""),
            1 => text.push_str("\\\\"),
            2 => text.push_str(any(random, &["\\n", "\\/", "\\b", "\\f", "\\r", "\\t"])),
            3 => text.push_str("\\u00e9\\ud83d\\ude00"),
            4 => text.push_str("é😀名"),
            5 if random.u8(..8) == 0 => text.push_str(any(random, TOKENS)),
            6 => text.push(random.char('!'..='~')),
            7 => text.push_str(&"x".repeat(random.usize(..90))),
            8 => text.push_str(any(random, &["Strict", "Lenient", "Cpu_2024", "5"])),
            _ => text.push_str(&"some words of text"[..random.usize(..18)]),
        }
    }
    text
}

/// Adds white space between values, and in texts.
fn spaced(random: &mut Rng, json: &str) -> String {
    let mut spaced = String::new();
    for part in json.split_inclusive([',', ':', '{', '[']) {
        spaced.push_str(part);
        if random.u8(..3) == 0 {
            spaced.push_str(any(random, &[" ", "\n", "\r\n\t", "  "]));
        }
    }
    spaced
}

fn damage(random: &mut Rng, body: &mut Vec<u8>) {
    if body.is_empty() {
        return;
    }
    let at = random.usize(..body.len());
    let until = (at + random.usize(1..30)).min(body.len());
    match random.u8(..8) {
        0 => body[at] ^= 1 << random.u8(..8),
        1 => body[at] = random.u8(..),
        2 => body[at] = *random.choice(b"\"\\{}[]:,0e-. \n\x1f").unwrap_or(&0),
        3 => _ = body.drain(at..until),
        4 => body.truncate(at),
        5 => {
            let copy = body[at..until].to_vec();
            let to = random.usize(..=body.len());
            body.splice(to..to, copy);
        }
        6 => {
            let mut start = body[..at].to_vec();
            mem::swap(&mut start, body);
            body.extend_from_slice(&start[until..]);
        }
        _ => {
            let token = any(random, TOKENS).bytes();
            body.splice(at..at, token);
        }
    }
}
