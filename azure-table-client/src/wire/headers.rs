//! Header names and values of the protocol.

use http::{HeaderName, HeaderValue};

pub(crate) const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub(crate) const X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(crate) const X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
pub(crate) const X_MS_CLIENT_REQUEST_ID: HeaderName =
    HeaderName::from_static("x-ms-client-request-id");
pub(crate) const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub(crate) const MAX_DATA_SERVICE_VERSION: HeaderName =
    HeaderName::from_static("maxdataserviceversion");
pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const NEXT_PARTITION_KEY: HeaderName =
    HeaderName::from_static("x-ms-continuation-nextpartitionkey");
pub(crate) const NEXT_ROW_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
pub(crate) const NEXT_TABLE_NAME: HeaderName =
    HeaderName::from_static("x-ms-continuation-nexttablename");

/// The service version that the client speaks.
pub(crate) const SERVICE_VERSION: HeaderValue = HeaderValue::from_static("2019-02-02");
pub(crate) const DATA_SERVICE_VERSION_3: HeaderValue = HeaderValue::from_static("3.0");
pub(crate) const MAX_DATA_SERVICE_VERSION_3: HeaderValue = HeaderValue::from_static("3.0;NetFx");
pub(crate) const RETURN_NO_CONTENT: HeaderValue = HeaderValue::from_static("return-no-content");
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
