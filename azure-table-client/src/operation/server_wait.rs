//! The wait that a response requests.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

use super::batch;

/// The headers that state a wait in milliseconds.
pub(super) const HEADERS_IN_MILLISECONDS: [&str; 2] = ["x-ms-retry-after-ms", "retry-after-ms"];

/// Returns the wait that a response requests, in its own headers or in those of the operation that
/// failed in a batch.
pub(crate) fn server_wait(headers: &HeaderMap, body: &[u8], now: SystemTime) -> Option<Duration> {
    let inside = || stated_wait(&batch::failed_headers(headers, body)?, now);
    stated_wait(headers, now).or_else(inside)
}

/// Reads the milliseconds that Cosmos DB states, or `Retry-After` in seconds or as a date.
///
/// Source: [Diagnose 429 exceptions](https://learn.microsoft.com/azure/cosmos-db/nosql/troubleshoot-request-rate-too-large).
fn stated_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let milliseconds = HEADERS_IN_MILLISECONDS.into_iter().find_map(|name| {
        headers.get(name)?.to_str().ok()?.trim().parse().map(Duration::from_millis).ok()
    });
    if milliseconds.is_some() {
        return milliseconds;
    }
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use http::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_in_both_forms() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, text.parse().unwrap());
            stated_wait(&headers, UNIX_EPOCH + Duration::from_secs(784_111_777))
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:39 GMT"), Some(Duration::from_secs(2)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:30 GMT"), None, "in the past");
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-1"), None);
    }

    #[test]
    fn retry_after_in_milliseconds() {
        for name in ["x-ms-retry-after-ms", "retry-after-ms"] {
            let wait = |text: &str| {
                let mut headers = HeaderMap::new();
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("3"));
                headers.insert(name, text.parse().unwrap());
                stated_wait(&headers, UNIX_EPOCH)
            };
            assert_eq!(wait("250"), Some(Duration::from_millis(250)));
            assert_eq!(wait("0"), Some(Duration::ZERO));
            assert_eq!(wait("soon"), Some(Duration::from_secs(3)));
        }
    }
}
