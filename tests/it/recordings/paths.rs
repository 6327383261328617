//! The tables and entities that requests name.

use azure_table_tests::recordings::Exchange;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

pub(super) fn is_batch(exchange: &Exchange) -> bool {
    exchange.path == "/$batch"
}

/// The targets of the operations of a batch.
pub(super) fn targets(exchange: &Exchange) -> impl Iterator<Item = &str> {
    let body = exchange.body.as_deref().filter(|_| is_batch(exchange)).unwrap_or_default();
    body.lines().filter_map(target)
}

/// The target of a request line.
pub(super) fn target(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix(" HTTP/1.1")?.split_once(' ').map(|(_, target)| target)
}

/// The path of an entity, or `None` if the URL or path names something else.
pub(super) fn entity(url: &str) -> Option<String> {
    let path = match url.strip_prefix("https://") {
        Some(rest) => &rest[rest.find('/')?..],
        None => url,
    };
    Some(decoded(path)).filter(|path| path.contains("(PartitionKey='"))
}

/// The table in a path of entities.
pub(super) fn table(path: &str) -> Option<&str> {
    let name = path.strip_prefix('/')?.split(['(', '?']).next()?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then_some(name)
}

/// The decoded parameters of a query.
pub(super) fn parameters(query: &str) -> impl Iterator<Item = (&str, String)> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name, decoded(value)))
}

pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The JSON in a body, or null.
pub(super) fn parsed(body: &str) -> Value {
    serde_json::from_str(body.trim_start_matches('\u{feff}')).unwrap_or_default()
}
