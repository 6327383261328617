//! Header names and values of the protocol.

use http::{HeaderName, HeaderValue};

pub(crate) static X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub(crate) static X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(crate) static X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
pub(crate) static X_MS_CLIENT_REQUEST_ID: HeaderName =
    HeaderName::from_static("x-ms-client-request-id");
pub(crate) static DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub(crate) static MAX_DATA_SERVICE_VERSION: HeaderName =
    HeaderName::from_static("maxdataserviceversion");
pub(crate) static PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) static NEXT_PARTITION_KEY: HeaderName =
    HeaderName::from_static("x-ms-continuation-nextpartitionkey");
pub(crate) static NEXT_ROW_KEY: HeaderName =
    HeaderName::from_static("x-ms-continuation-nextrowkey");
pub(crate) static NEXT_TABLE_NAME: HeaderName =
    HeaderName::from_static("x-ms-continuation-nexttablename");

/// The service version that the client speaks.
pub(crate) static SERVICE_VERSION: HeaderValue = HeaderValue::from_static("2019-02-02");
pub(crate) static DATA_SERVICE_VERSION_3: HeaderValue = HeaderValue::from_static("3.0");
pub(crate) static MAX_DATA_SERVICE_VERSION_3: HeaderValue = HeaderValue::from_static("3.0;NetFx");
pub(crate) static RETURN_NO_CONTENT: HeaderValue = HeaderValue::from_static("return-no-content");
pub(crate) static JSON: HeaderValue = HeaderValue::from_static("application/json");
