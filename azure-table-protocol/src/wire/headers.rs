//! Header names and values of the protocol.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};

pub static X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub static X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub static X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
pub static X_MS_CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
pub static DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub static DATA_SERVICE_ID: HeaderName = HeaderName::from_static("dataserviceid");
pub static MAX_DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("maxdataserviceversion");
pub static X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");
pub static PREFER: HeaderName = HeaderName::from_static("prefer");
pub static NEXT_PARTITION_KEY: HeaderName =
    HeaderName::from_static("x-ms-continuation-nextpartitionkey");
pub static NEXT_ROW_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
pub static NEXT_TABLE_NAME: HeaderName = HeaderName::from_static("x-ms-continuation-nexttablename");

/// Returns the service's id of a request. An id with a tab is not the service's.
pub fn request_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(&X_MS_REQUEST_ID)?.to_str().ok().filter(|id| !id.contains('\t'))
}

/// The first version in which the response to a request without a token names the tenant.
pub static SERVICE_VERSION_OF_TOKENS: HeaderValue = HeaderValue::from_static("2020-12-06");
pub static ODATA_1: HeaderValue = HeaderValue::from_static("1.0;NetFx");
pub static ODATA_2: HeaderValue = HeaderValue::from_static("2.0;NetFx");
pub static DATA_SERVICE_VERSION_3: HeaderValue = HeaderValue::from_static("3.0");
pub static MAX_DATA_SERVICE_VERSION_3: HeaderValue = HeaderValue::from_static("3.0;NetFx");
pub static RETURN_NO_CONTENT: HeaderValue = HeaderValue::from_static("return-no-content");
pub static XML: HeaderValue = HeaderValue::from_static("application/xml");
pub static JSON: HeaderValue = HeaderValue::from_static("application/json");
pub static ATOM: HeaderValue = HeaderValue::from_static("application/atom+xml");

/// 9999-12-31T23:59:59Z in seconds since 1970: the last one that fits the date header.
const LAST_HTTP_SECOND: u64 = 253_402_300_799;

/// Returns the date as a header; a date outside the range of the format is replaced by the nearest one.
pub fn http_date(time: SystemTime) -> String {
    let last = UNIX_EPOCH + Duration::from_secs(LAST_HTTP_SECOND);
    httpdate::fmt_http_date(time.clamp(UNIX_EPOCH, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_is_too_early_or_too_late_for_a_date() {
        assert_eq!(http_date(UNIX_EPOCH), "Thu, 01 Jan 1970 00:00:00 GMT");
        let year = Duration::from_secs((24 * 365) * 3600);
        assert_eq!(http_date(UNIX_EPOCH - year), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(UNIX_EPOCH + year * 9000), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
