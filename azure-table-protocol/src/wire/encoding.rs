//! Resource paths and query strings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986: no key can end the literal that contains it, and the
/// bytes that are signed are the bytes that are sent.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A buffer that text is appended to: a URL, or a body that contains URLs.
pub trait TextBuffer {
    fn push_str(&mut self, text: &str);
}

impl TextBuffer for String {
    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl TextBuffer for Vec<u8> {
    fn push_str(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

/// Whether [`RESERVED`] leaves a byte unchanged.
const UNRESERVED: [bool; 256] = {
    let mut kept = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        kept[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    kept
};

fn is_unreserved(text: &str) -> bool {
    text.bytes().all(|byte| UNRESERVED[usize::from(byte)])
}

/// Writes `text` with all but unreserved characters percent-encoded.
fn push_encoded(out: &mut impl TextBuffer, text: &str) {
    if is_unreserved(text) {
        return out.push_str(text);
    }
    utf8_percent_encode(text, RESERVED).for_each(|piece| out.push_str(piece));
}

/// The bytes of `text` in a URL.
pub fn encoded_len(text: &str) -> usize {
    let kept = text.bytes().filter(|byte| UNRESERVED[usize::from(*byte)]).count();
    kept + 3 * (text.len() - kept)
}

/// Appends a key in the form of a path: quotes doubled, then percent-encoded.
fn push_key(out: &mut impl TextBuffer, key: &str) {
    if is_unreserved(key) {
        return out.push_str(key);
    }
    for (index, part) in key.split('\'').enumerate() {
        if index > 0 {
            out.push_str("%27%27");
        }
        push_encoded(out, part);
    }
}

/// `/Blogs(PartitionKey='…',RowKey='…')`.
pub fn entity_path(table: &str, partition_key: &str, row_key: &str) -> String {
    let mut path = String::with_capacity(32 + table.len() + partition_key.len() + row_key.len());
    push_entity_path(&mut path, table, partition_key, row_key);
    path
}

/// Appends the path of an entity to `out`.
pub fn push_entity_path(
    out: &mut impl TextBuffer,
    table: &str,
    partition_key: &str,
    row_key: &str,
) {
    push_table_path(out, table);
    out.push_str("(PartitionKey='");
    push_key(out, partition_key);
    out.push_str("',RowKey='");
    push_key(out, row_key);
    out.push_str("')");
}

/// The keys in a path that [`push_entity_path`] made.
pub fn keys_of_path(path: &str) -> Option<(String, String)> {
    let keys = path.split_once("(PartitionKey='")?.1.strip_suffix("')")?;
    // In a key, each of these characters is encoded.
    let (partition_key, row_key) = keys.split_once("',RowKey='")?;
    let decoded = |key: &str| {
        let key = percent_decode_str(key).decode_utf8().ok()?;
        Some(key.replace("''", "'"))
    };
    Some((decoded(partition_key)?, decoded(row_key)?))
}

/// Appends `/Blogs`, the path for inserts.
pub fn push_table_path(out: &mut impl TextBuffer, table: &str) {
    out.push_str("/");
    push_table(out, table);
}

/// Appends the name of a table. Only Cosmos DB allows characters that must be encoded; names of the service
/// itself begin with a `$`.
fn push_table(out: &mut impl TextBuffer, table: &str) {
    const NAME: &AsciiSet = &RESERVED.remove(b'$');
    if is_unreserved(table) {
        return out.push_str(table);
    }
    utf8_percent_encode(table, NAME).for_each(|piece| out.push_str(piece));
}

/// Returns `/Blogs()`, the path for queries.
pub fn query_path(table: &str) -> String {
    let mut path = String::with_capacity(table.len() + 3);
    push_table_path(&mut path, table);
    path.push_str("()");
    path
}

/// `/Tables('Blogs')`: the table itself.
pub fn table_resource(table: &str) -> String {
    let mut path = "/Tables('".to_owned();
    push_table(&mut path, &table.replace('\'', "''"));
    path.push_str("')");
    path
}

/// The options after the `?`, each value percent-encoded.
#[derive(Debug, Default, Clone)]
pub struct QueryString(String);

impl QueryString {
    pub fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    pub fn push(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        push_encoded(&mut self.0, value);
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_cannot_leave_their_literal() {
        assert_eq!(
            entity_path("T", "it's", "100% +&='),(é😀"),
            "/T(PartitionKey='it%27%27s',RowKey='100%25%20%2B%26%3D%27%27%29%2C%28%C3%A9%F0%9F%98%80')"
        );
        assert_eq!(entity_path("T", "", ""), "/T(PartitionKey='',RowKey='')");
        for (partition, row) in [("it's", "100% +&='),(é😀"), ("", ""), ("',RowKey='", "''")] {
            let keys = keys_of_path(&entity_path("T", partition, row));
            assert_eq!(keys, Some((partition.to_owned(), row.to_owned())));
        }
        assert_eq!(keys_of_path("/T"), None);
    }

    #[test]
    fn each_character_is_encoded_as_percent_encoding_encodes_it() {
        for character in ('\0'..='\u{100}').chain(['😀']) {
            let text = format!("a{character}");
            let expected = utf8_percent_encode(&text, RESERVED).to_string();
            let mut encoded = String::new();
            push_encoded(&mut encoded, &text);
            assert_eq!((encoded.len(), &encoded), (encoded_len(&text), &expected));
            let key = expected.replace("%27", "%27%27");
            let path = entity_path(&text, &text, "");
            let table = if character == '$' { &text } else { &expected };
            assert_eq!(path, format!("/{table}(PartitionKey='{key}',RowKey='')"));
        }
    }

    #[test]
    fn query_values_are_encoded() {
        let mut query = QueryString::default();
        query.push("$filter", "A eq 'x&y' and B gt 1");
        query.push("$top", "5");
        assert_eq!(query.as_str(), "$filter=A%20eq%20%27x%26y%27%20and%20B%20gt%201&$top=5");
    }
}
