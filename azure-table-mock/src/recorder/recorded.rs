//! A recorded request.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Method;
use url::form_urlencoded;

use crate::ErrorCode;
use crate::filter::PlanKind;
use crate::wire::Operation;

/// A recorded request. Its texts have at most about 2 KiB: the end of a longer one is replaced by
/// `...[12345bytes]`, the number of all its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The number of the request among all requests since the service was created or the record was
    /// [cleared](crate::Requests::clear), from 1; 0 for an observer, since the request is not counted yet.
    pub number: usize,
    /// The time of arrival by the service's clock.
    pub arrived: SystemTime,
    /// The time the service needed by its clock, without the delays of the fault plan.
    pub took: Duration,
    /// The HTTP method as sent. It is POST even if `X-HTTP-Method` replaces it.
    pub method: Method,
    /// The path and the query as sent, in printable ASCII; the signature in the query is masked.
    pub url: String,
    /// The requested operation.
    pub operation: Operation,
    /// The number of operations in a batch that can be read, otherwise 1.
    pub operations: usize,
    /// The table in the path. For a batch it is the table of its first operation.
    pub table: Option<String>,
    /// The HTTP status of the response; 0 if the client dropped the request before its response.
    pub status: u16,
    /// The HTTP status of the failure: [`status`](Self::status), or that of the operation that failed a batch, whose own
    /// status is 202.
    pub error_status: Option<u16>,
    /// The index of the operation that failed a batch; `None` if the service refused the batch as a whole.
    pub failed_operation: Option<usize>,
    /// The service's error code in the response; for a batch, the code of the operation that failed it.
    pub error_code: Option<ErrorCode>,
    /// The service's error message, without request id and time.
    pub error_message: Option<String>,
    /// The plan of a point read or a query.
    pub plan: Option<PlanKind>,
    /// The number of rows scanned by a point read or a query.
    pub scanned_rows: usize,
    /// The number of the attempt within its call, from 1: the number of kept requests up to this one with
    /// the same operation and the same `x-ms-client-request-id`. The client of this library sends the same
    /// id with every attempt of a call, and a new one with each call unless the program sets it. A request
    /// without an id is a first attempt.
    pub attempt: usize,
    /// The first 64 KiB of the body as sent. The newest 32 MiB of all payloads are kept, and older payloads
    /// are empty
    /// ([`kept_payload_bytes`](crate::TableServiceBuilder::kept_payload_bytes)).
    pub payload: Bytes,
    /// The length of the whole body in bytes.
    pub payload_len: usize,
}

impl RecordedRequest {
    /// Returns the filter of a query, decoded; `None` if the request has none. It is shortened with the
    /// [`url`](Self::url).
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// blogs.query().filter_text("Rating ge 3").take(5).await?;
    /// let sent = mock.requests().last().unwrap();
    /// assert_eq!(sent.url, "/devstoreaccount1/Blogs()?$filter=Rating%20ge%203&$top=5");
    /// assert_eq!(sent.filter().as_deref(), Some("Rating ge 3"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(&self) -> Option<String> {
        let (_, query) = self.url.split_once('?')?;
        let mut options = form_urlencoded::parse(query.as_bytes());
        options
            .find(|(name, _)| name.eq_ignore_ascii_case("$filter"))
            .map(|(_, filter)| filter.into_owned())
    }
}
