//! A recorded request.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Method;
use url::form_urlencoded;

use crate::error::ErrorCode;
use crate::filter::PlanKind;
use crate::wire::Operation;

/// A recorded request. Its texts have at most about 2 KiB: the end of a longer one is replaced by
/// `...[12345bytes]`, the number of all its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The number of the request among all requests since the service was created or the record was
    /// [cleared](crate::mock::Requests::clear), from 1; 0 for an observer, since the request is not counted yet.
    pub number: usize,
    /// The time of arrival by the service's clock.
    pub arrived: SystemTime,
    /// The real time the service needed, without the delays of the fault plan.
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
    /// ([`kept_payload_bytes`](crate::mock::MockTableServiceBuilder::kept_payload_bytes)).
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

#[cfg(test)]
mod tests {
    use crate::entity::DynamicEntity;
    use crate::error::ErrorCode;
    use crate::mock::{Fault, MockTableService};

    #[tokio::test]
    async fn errors_of_responses_are_recorded_also_in_batches() {
        let mock = MockTableService::new();
        let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        let (old, new) = (DynamicEntity::new("p", "old"), DynamicEntity::new("p", "new"));
        blogs.insert(&old).await.unwrap();
        mock.requests().clear();
        blogs.insert(&old).await.unwrap_err();
        blogs.transaction().insert(&new).insert(&old).await.unwrap_err();
        mock.faults().add(Fault::busy().times(1));
        blogs.get(("p", "old")).retry(crate::RetryPolicy::none()).await.unwrap_err();
        blogs.get(("p", "old")).await.unwrap();

        let all = mock.requests().all();
        let recorded: Vec<_> = all
            .iter()
            .map(|one| {
                (one.number, one.status, one.error_code.clone(), one.error_message.as_deref())
            })
            .collect();
        let exists = Some(ErrorCode::EntityAlreadyExists);
        let expected = [
            (1, 409, exists.clone(), Some("The specified entity already exists.")),
            (2, 202, exists, Some("1:The specified entity already exists.")),
            (3, 503, Some(ErrorCode::ServerBusy), Some("The server is busy.")),
            (4, 200, None, None),
        ];
        assert_eq!(recorded, expected);
        assert_eq!(mock.requests().last().map(|last| last.number), Some(4));
    }

    #[tokio::test]
    async fn a_direct_client_leaves_no_record_and_meets_no_fault() {
        let mock = MockTableService::new();
        let fault = mock.faults().add(Fault::busy());
        let blogs = mock.direct_client().table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
        assert_eq!(blogs.query().await.unwrap().len(), 1);
        let error = blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
        assert_eq!((mock.requests().total(), fault.struck()), (0, 0));
    }
}
