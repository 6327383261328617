//! Bulk runs that need a service that misbehaves: all under virtual time.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::bulk::{BulkOperation, Checkpoint, RowOutcome};
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use azure_table_client::{
    DynamicEntity, ErrorCode, IfMatch, Operation, RetryPolicy, TableClient, TableServiceClient,
};
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep};

/// How the service counts.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// So many entities in each second of the clock.
    Seconds(f64),
    /// So many a second, and so many at once.
    Bucket(f64, f64),
}

#[derive(Debug, Default)]
struct Seen {
    requests: u32,
    throttled: u32,
    /// Of each partition: when it was asked last, and what is left.
    left: HashMap<String, (Instant, f64)>,
    in_flight: usize,
    most_in_flight: usize,
}

/// The mock, 30 ms away, and busy above a limit of entities a second and partition.
struct Limited {
    inner: Arc<dyn Transport>,
    limit: Option<Limit>,
    seen: Mutex<Seen>,
    start: Instant,
}

impl fmt::Debug for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited").finish_non_exhaustive()
    }
}

impl Limited {
    fn takes(&self, request: &HttpRequest) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let (body, now) = (String::from_utf8_lossy(&request.body), Instant::now());
        let is_batch = request.url.ends_with("/$batch");
        let Some(limit) = self.limit.filter(|_| is_batch) else { return true };
        let entities = f64::from(u32::try_from(body.matches(" HTTP/1.1\r\n").count()).unwrap());
        let partition =
            body.split("PartitionKey").nth(1).unwrap().trim_start_matches(['"', ':', '=', '\'']);
        let partition = partition.split(['"', '\'']).next().unwrap();
        seen.requests += 1;
        let most = match limit {
            Limit::Seconds(most) | Limit::Bucket(_, most) => most,
        };
        let start = self.start;
        let (at, left) = seen.left.entry(partition.to_owned()).or_insert((now, most));
        match limit {
            Limit::Seconds(_) => {
                if (now - start).as_secs() != (*at - start).as_secs() {
                    *left = most;
                }
            }
            Limit::Bucket(rate, _) => *left = (*left + (now - *at).as_secs_f64() * rate).min(most),
        }
        *at = now;
        let takes = *left >= entities;
        if takes {
            *left -= entities;
        } else {
            seen.throttled += 1;
        }
        takes
    }
}

impl Transport for Limited {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            {
                let mut seen = self.seen.lock().unwrap();
                seen.in_flight += 1;
                seen.most_in_flight = seen.most_in_flight.max(seen.in_flight);
            }
            sleep(Duration::from_millis(15)).await;
            let result =
                if self.takes(&request) { self.inner.send(request).await } else { Ok(busy()) };
            sleep(Duration::from_millis(15)).await;
            self.seen.lock().unwrap().in_flight -= 1;
            result
        })
    }
}

fn busy() -> HttpResponse {
    let body =
        r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"Busy."}}}"#;
    HttpResponse {
        status: 503.try_into().unwrap(),
        headers: Default::default(),
        body: body.as_bytes().into(),
    }
}

fn client(mock: &MockTableService, transport: Arc<dyn Transport>) -> TableServiceClient {
    TableServiceClient::builder_from_connection_string(&mock.connection_string())
        .unwrap()
        .transport(transport)
        .clock(mock.clock())
        .build()
        .unwrap()
}

async fn limited(
    limit: Option<Limit>,
) -> (MockTableService, Arc<Limited>, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let transport = Arc::new(Limited {
        inner: mock.transport(),
        limit,
        seen: Mutex::default(),
        start: Instant::now(),
    });
    let table = client(&mock, transport.clone()).table_named("Blogs");
    table.create().await.unwrap();
    (mock, transport, table)
}

fn row(partition: impl fmt::Display, n: u32) -> DynamicEntity {
    let mut row = DynamicEntity::new(format!("p{partition}"), format!("{n:08}"));
    row.set("N", i32::try_from(n).unwrap());
    row
}

/// Against 2,000 entities a second: 90 % of them, and less than 5 % of 503s.
#[tokio::test(start_paused = true)]
async fn a_throttled_partition_is_kept_busy_and_not_much_busier() {
    for limit in
        [Limit::Seconds(2000.0), Limit::Bucket(2000.0, 2000.0), Limit::Bucket(2000.0, 300.0)]
    {
        let (mock, transport, table) = limited(Some(limit)).await;
        let start = Instant::now();
        let rows = 60_000;
        let report =
            table.bulk().run((0..rows).map(|n| BulkOperation::Insert(row("", n)))).await.unwrap();
        let rate = f64::from(rows) / start.elapsed().as_secs_f64();
        let seen = transport.seen.lock().unwrap();
        let share = f64::from(seen.throttled) / f64::from(seen.requests);
        println!("{limit:?}: {rate:.0} entities/s, {:.1} % of 503s; {report}", share * 100.0);
        assert!(rate >= 1800.0, "{limit:?}: {rate}");
        assert!(share < 0.05, "{limit:?}: {share}");
        assert_eq!(mock.row_count("Blogs"), Some(rows as usize));
    }
}
