//! Records of CSV text, by RFC 4180: fields with separators, quotes or line breaks are quoted.
//!
//! The records are our own because the `csv` crate does not report whether a field was quoted, which tells an empty string
//! from a missing property.

use std::borrow::Cow;

use super::super::lines::Lines;
use crate::failure::Result;

/// A field as it is in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field<'r> {
    pub(super) text: Cow<'r, str>,
    pub(super) is_quoted: bool,
}

/// Appends a field, quoted if its text needs it.
pub(super) fn push_field(out: &mut Vec<u8>, text: &str) {
    let needs_quotes = text.contains([',', '"', '\r', '\n']) || text.trim() != text;
    if !needs_quotes {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    for (n, part) in text.split('"').enumerate() {
        if n > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(b'"');
}

/// Reads the text of the next record, without its line break, and the number of its first line. Skips blank lines.
pub(super) fn read(lines: &mut Lines, record: &mut Vec<u8>) -> Result<Option<u64>> {
    loop {
        record.clear();
        if !lines.append_to(record)? {
            return Ok(None);
        }
        if !record.trim_ascii().is_empty() {
            break;
        }
    }
    let first = lines.number();
    let quotes = |text: &[u8]| memchr::memchr_iter(b'"', text).count();
    // A line break in quotes belongs to the field.
    let mut count = quotes(record);
    while count % 2 == 1 {
        let start = record.len();
        if !lines.append_to(record)? {
            return Err(lines.error(first, "a quote in this record is not closed"));
        }
        count += quotes(&record[start..]);
    }
    if record.ends_with(b"\n") {
        record.pop();
        if record.ends_with(b"\r") {
            record.pop();
        }
    }
    Ok(Some(first))
}

/// Splits a record into its fields.
pub(super) fn split(record: &str) -> std::result::Result<Vec<Field<'_>>, String> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => plain(rest)?,
        };
        fields.push(field);
        if after.is_empty() {
            return Ok(fields);
        }
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Err("text follows the closing quote of a field".to_owned()),
        }
    }
}

type Split<'r> = std::result::Result<(Field<'r>, &'r str), String>;

fn plain(text: &str) -> Split<'_> {
    let (field, after) = text.split_at(text.find(',').unwrap_or(text.len()));
    if field.contains('"') {
        return Err("a field that has quotes is not quoted".to_owned());
    }
    Ok((Field { text: field.into(), is_quoted: false }, after))
}

/// Reads a field after its opening quote.
fn unquote(text: &str) -> Split<'_> {
    let mut value = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let end = rest.find('"').ok_or("a quote in this record is not closed")?;
        let (part, after) = (&rest[..end], &rest[end + 1..]);
        if value.is_empty() {
            value = Cow::Borrowed(part);
        } else {
            value.to_mut().push_str(part);
        }
        let Some(next) = after.strip_prefix('"') else {
            return Ok((Field { text: value, is_quoted: true }, after));
        };
        value.to_mut().push('"');
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(record: &str) -> Vec<String> {
        split(record).unwrap().into_iter().map(|field| field.text.into_owned()).collect()
    }

    #[test]
    fn fields_are_split_and_unquoted() {
        assert_eq!(texts("a,b,"), ["a", "b", ""]);
        assert_eq!(texts(r#""a,b","say ""hi""","""""",x"#), ["a,b", "say \"hi\"", "\"\"", "x"]);
        assert_eq!(texts("\"line 1\r\nline 2\", x "), ["line 1\r\nline 2", " x "]);
        let fields = split(",\"\"").unwrap();
        assert!(!fields[0].is_quoted && fields[1].is_quoted);
    }

    #[test]
    fn damaged_records_are_errors() {
        for (record, part) in [
            ("a\"b", "not quoted"),
            ("\"a", "not closed"),
            ("\"a\"b", "follows the closing quote"),
            ("x,\"a\"\"", "not closed"),
        ] {
            let error = split(record).unwrap_err();
            assert!(error.contains(part), "{record}: {error}");
        }
    }
}
