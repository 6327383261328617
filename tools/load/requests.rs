//! Signed requests of this client, as bytes that can be sent repeatedly.

use std::io::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

use azure_table_client::edm::EdmDateTime;
use azure_table_client::transport::{
    HttpRequest, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use azure_table_client::{DynamicEntity, RetryPolicy, TableClient, TableServiceClient};
use uuid::Uuid;

const TABLE: &str = "Load";
/// The partition of the rows that are read.
const READ: &str = "read";
/// The rows of which one matches the filter of a scan.
pub(crate) const ROWS_A_HIT: usize = 100;

/// Creates requests to a server without sending them.
#[derive(Clone)]
pub(crate) struct Requests {
    origin: String,
    kept: Arc<Kept>,
}

/// Records the last request instead of sending it.
#[derive(Debug, Default)]
struct Kept(Mutex<Option<HttpRequest>>);

impl Transport for Kept {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        let error = TransportError::new(TransportErrorKind::Connect, "nothing is sent");
        Box::pin(std::future::ready(Err(error)))
    }
}

impl Requests {
    pub(crate) fn to(port: u16) -> Self {
        Self { origin: format!("http://127.0.0.1:{port}"), kept: Arc::default() }
    }

    fn service(&self) -> Result<TableServiceClient> {
        let account = format!(
            "AccountName={DEVELOPMENT_ACCOUNT};AccountKey={DEVELOPMENT_KEY};TableEndpoint={}/{DEVELOPMENT_ACCOUNT}",
            self.origin
        );
        let builder = TableServiceClient::builder_from_connection_string(&account);
        builder
            .and_then(|builder| {
                builder.transport(self.kept.clone()).retry(RetryPolicy::none()).build()
            })
            .map_err(Error::other)
    }

    fn table(&self) -> Result<TableClient<DynamicEntity>> {
        Ok(self.service()?.table_named(TABLE))
    }

    /// The last request.
    pub(crate) fn last(&self) -> Option<HttpRequest> {
        self.kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bytes of the last request.
    fn bytes(&self) -> Vec<u8> {
        let Some(request) = self.last() else { return Vec::new() };
        let path = request.uri.path_and_query().map_or("/", |target| target.as_str());
        let host = self.origin.trim_start_matches("http://");
        let mut bytes =
            format!("{} {path} HTTP/1.1\r\nHost: {host}\r\n", request.method).into_bytes();
        for (name, value) in &request.headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(
            format!("Content-Length: {}\r\n\r\n", request.body.len()).as_bytes(),
        );
        bytes.extend_from_slice(&request.body);
        bytes
    }

    pub(crate) async fn list_tables(&self) -> Vec<u8> {
        if let Ok(service) = self.service() {
            let _ = service.list_tables().await;
        }
        self.bytes()
    }

    pub(crate) async fn create_table(&self) -> Result<Vec<u8>> {
        let _ = self.table()?.create().await;
        Ok(self.bytes())
    }

    pub(crate) async fn get(&self, row: usize) -> Result<Vec<u8>> {
        let _ = self.table()?.get((READ, key(row))).await;
        Ok(self.bytes())
    }

    pub(crate) async fn insert(&self, partition: &str, row: usize) -> Result<Vec<u8>> {
        let _ = self.table()?.insert(&entity(partition, row)).await;
        Ok(self.bytes())
    }

    /// Inserts of 100 rows from this one on.
    pub(crate) async fn batch(&self, partition: &str, row: usize) -> Result<Vec<u8>> {
        let table = self.table()?;
        let rows = row..row + 100;
        let batch =
            rows.fold(table.transaction(), |batch, row| batch.insert(&entity(partition, row)));
        let _ = batch.await;
        Ok(self.bytes())
    }

    /// Inserts of 100 of the rows that are read.
    pub(crate) async fn rows_to_read(&self, row: usize) -> Result<Vec<u8>> {
        self.batch(READ, row).await
    }

    /// The first page of a scan of all rows. The filter matches one of [`ROWS_A_HIT`].
    pub(crate) async fn scan(&self) -> Result<Vec<u8>> {
        let _ = self.table()?.query().filter_text("Rating eq 7").await;
        Ok(self.bytes())
    }

    /// A page of 1,000 rows.
    pub(crate) async fn range(&self, row: usize) -> Result<Vec<u8>> {
        let (from, to) = (key(row), key(row + 1000));
        let filter =
            format!("PartitionKey eq '{READ}' and RowKey ge '{from}' and RowKey lt '{to}'");
        let _ = self.table()?.query().filter_text(&filter).await;
        Ok(self.bytes())
    }
}

/// Adds continuation tokens to the query of a request. They are not signed.
pub(crate) fn continued(request: &[u8], tokens: &[(&str, &str)]) -> Vec<u8> {
    let end = b" HTTP/1.1\r\n";
    let at = request.windows(end.len()).position(|window| window == end).unwrap_or_default();
    let mut continued = request[..at].to_vec();
    for (name, token) in tokens {
        continued.extend_from_slice(format!("&{name}={}", token.replace('+', "%2B")).as_bytes());
    }
    continued.extend_from_slice(&request[at..]);
    continued
}

fn key(row: usize) -> String {
    format!("{row:08}")
}

/// An entity of ten properties.
fn entity(partition: &str, row: usize) -> DynamicEntity {
    let mut entity = DynamicEntity::new(partition, key(row));
    let number = i32::try_from(row).unwrap_or_default();
    let rating = i32::try_from(row % ROWS_A_HIT).unwrap_or_default();
    entity
        .set("Title", format!("The title of entry {row}"))
        .set("Author", "somebody@example.org")
        .set("Text", "A sentence of typical length.")
        .set("Rating", rating)
        .set("Words", number)
        .set("Views", i64::from(number) << 32)
        .set("Score", f64::from(number) / 3.0)
        .set("IsPublic", true)
        .set(
            "Published",
            EdmDateTime::from_ticks(600_000_000_000_000_000 + i64::from(number))
                .unwrap_or(EdmDateTime::MIN),
        )
        .set("Id", Uuid::from_u128(row as u128));
    entity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_added_to_the_query_only() {
        let request = b"GET /a/T()?$filter=x HTTP/1.1\r\nHost: h\r\n\r\n";
        let next = continued(request, &[("NextPartitionKey", "1!4!YS+h"), ("NextRowKey", "")]);
        let expected = "GET /a/T()?$filter=x&NextPartitionKey=1!4!YS%2Bh&NextRowKey= HTTP/1.1\r\nHost: h\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&next), expected);
    }
}
