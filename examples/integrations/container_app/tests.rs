//! Probes under faults of the mock, shutdowns, and the log.

use std::collections::HashMap;

use axum::body::{Body, to_bytes};
use azure_table_client::Operation;
use azure_table_client::mock::{Fault, MockTableService};
use serde_json::Value;
use tokio::sync::oneshot;
use tower::ServiceExt as _;
use tracing::level_filters::LevelFilter;

use super::config::Limits;
use super::readiness::{DEADLINE, MAX_AGE};
use super::visit::Lines;
use super::*;

const LIMITS: Limits = Limits {
    request: Duration::from_secs(5),
    drain: Duration::ZERO,
    shutdown: Duration::from_secs(5),
};

struct Stage {
    mock: MockTableService,
    counters: TableClient<Counter>,
    app: Router,
    readiness: Arc<Readiness>,
}

impl Stage {
    async fn new() -> Self {
        let mock = MockTableService::new();
        let counters = mock.client().table_named("Counters");
        counters.create().await.unwrap();
        let (app, readiness) = app(counters.clone(), LIMITS.request);
        mock.requests().clear();
        Self { mock, counters, app, readiness }
    }

    async fn send(&self, method: &str, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let response = self.app.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_follows_the_service() {
    let stage = Stage::new().await;
    assert_eq!(stage.send("GET", "/readyz").await.0, 200);
    let reason = |reason: &str| format!(r#"{{"ready":false,"reason":"{reason}"}}"#);
    for fault in [
        Fault::refuse_connection(),
        Fault::hang(),
        Fault::busy(),
        Fault::error(403, "AuthenticationFailed"),
        Fault::proxy_page(200),
    ] {
        stage.mock.faults().add(fault);
        tokio::time::advance(MAX_AGE).await;
        let start = Instant::now();
        // The port is public: the details are in the log.
        let unready = (503, reason("the table service cannot be used"));
        assert_eq!(stage.send("GET", "/readyz").await, unready);
        assert!(start.elapsed() <= DEADLINE);
        // The process is alive: a restart would not help.
        assert_eq!(stage.send("GET", "/healthz").await, (200, "ok".to_owned()));

        stage.mock.faults().clear();
        tokio::time::advance(MAX_AGE).await;
        assert_eq!(stage.send("GET", "/readyz").await.0, 200);
    }
    stage.counters.delete_table().await.unwrap();
    tokio::time::advance(MAX_AGE).await;
    assert_eq!(stage.send("GET", "/readyz").await, (503, reason("the table does not exist")));
}

#[tokio::test(start_paused = true)]
async fn probes_share_a_request_each_second() {
    let stage = Stage::new().await;
    stage.mock.faults().add(Fault::delay_reply(DEADLINE / 2));
    let probes = (0..50).map(|_| stage.send("GET", "/readyz"));
    let statuses = futures_util::future::join_all(probes).await;
    assert!(statuses.iter().all(|(status, _)| *status == 200));
    assert_eq!(stage.mock.requests().total(), 1);
    stage.send("GET", "/readyz").await;
    assert_eq!(stage.mock.requests().total(), 1);
    tokio::time::advance(MAX_AGE).await;
    stage.send("GET", "/readyz").await;
    assert_eq!(stage.mock.requests().total(), 2);
    stage.send("GET", "/healthz").await;
    assert_eq!(stage.mock.requests().total(), 2);
}

#[tokio::test(start_paused = true)]
async fn counters_count_and_failures_have_their_status() {
    let stage = Stage::new().await;
    let home = "/counters/home";
    assert_eq!(stage.send("GET", home).await.0, 404);
    for value in 1..=3 {
        let body = format!(r#"{{"name":"home","value":{value}}}"#);
        assert_eq!(stage.send("POST", home).await, (200, body));
    }
    assert_eq!(stage.send("POST", "/counters/a%2Fb").await.0, 404);
    stage.mock.faults().add(Fault::error(403, "AuthorizationFailure"));
    assert_eq!(stage.send("GET", home).await, (502, String::new()));
    stage.mock.faults().clear();
    stage.mock.faults().add(Fault::hang());
    let start = Instant::now();
    assert_eq!(stage.send("GET", home).await.0, 504);
    assert_eq!(start.elapsed(), LIMITS.request);
    stage.mock.faults().clear();
    stage.counters.delete_table().await.unwrap();
    assert_eq!(stage.send("GET", home).await.0, 503);
}

/// A client of the app on a port.
fn get(address: std::net::SocketAddr) -> impl Future<Output = Result<u16, reqwest::Error>> {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("http://{address}/counters/home"));
    async move { Ok(request.send().await?.status().as_u16()) }
}

/// Stops the app while a request is in flight. Returns the result of the app and the status of the request.
async fn stop_during(delay: Duration, limits: Limits) -> (Result<(), AnyError>, Option<u16>) {
    let stage = Stage::new().await;
    stage.send("POST", "/counters/home").await;
    stage.mock.faults().add(Fault::delay_reply(delay).on(Operation::Get));
    stage.mock.requests().clear();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { stopped.await.unwrap_or_default() };
    let readiness = Arc::clone(&stage.readiness);
    let served =
        tokio::spawn(serve::serve(listener, stage.app.clone(), readiness, limits, stopped));
    let request = tokio::spawn(get(address));
    let received = async {
        while stage.mock.requests().count(Operation::Get) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), received).await.unwrap();
    stop.send(()).unwrap();
    tokio::time::sleep(limits.drain / 2).await;
    if !limits.drain.is_zero() {
        assert!(stage.send("GET", "/readyz").await.1.contains("shutting down"));
        assert_eq!(get(address).await.unwrap(), 200, "the app serves while it drains");
    }
    let served = served.await.unwrap();
    assert!(get(address).await.is_err(), "the app serves after its end");
    (served, request.await.unwrap().ok())
}

// On sockets, so without paused time.
#[tokio::test]
async fn a_shutdown_finishes_requests_in_flight() {
    let (served, status) = stop_during(Duration::from_millis(200), LIMITS).await;
    served.unwrap();
    assert_eq!(status, Some(200));
}

#[tokio::test]
async fn a_shutdown_drains_first() {
    let limits = Limits { drain: Duration::from_secs(2), ..LIMITS };
    let (served, status) = stop_during(Duration::from_millis(50), limits).await;
    served.unwrap();
    assert_eq!(status, Some(200));
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_ever() {
    let limits = Limits { shutdown: Duration::from_millis(100), ..LIMITS };
    let (served, _) = stop_during(Duration::from_secs(1), limits).await;
    assert!(served.unwrap_err().to_string().contains("requests are in flight"));
}

#[cfg(unix)]
#[tokio::test]
async fn sigterm_stops_the_app() {
    let stop = serve::stop_signal().unwrap();
    let pid = std::process::id().to_string();
    let killed = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(killed.success());
    tokio::time::timeout(Duration::from_secs(10), stop).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_log_is_json_without_secrets_and_visitors_texts() {
    let log = Lines::default();
    let writer = log.clone();
    let subscriber = serve::log(LevelFilter::DEBUG, move || writer.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let stage = Stage::new().await;
    stage.send("POST", "/counters/private").await;
    stage.mock.faults().add(Fault::error(403, "AuthorizationFailure"));
    stage.send("GET", "/readyz").await;
    stage.send("GET", "/counters/home").await;
    stage.mock.faults().clear();
    stage.counters.delete_table().await.unwrap();
    stage.send("GET", "/counters/home").await;
    let text = log.text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<&Value> = lines.iter().filter(|line| line["message"] == "request").collect();
    assert_eq!((&requests[0]["status"], &requests[1]["status"]), (&200.into(), &502.into()));
    assert_eq!(requests[0]["route"], "/counters/{name}");
    let unready = lines.iter().find(|line| line["message"] == "not ready").unwrap();
    assert_eq!(unready["level"], "WARN");
    assert!(unready["error"].to_string().contains("AuthorizationFailure"), "{unready}");
    let failed = |line: &&Value| line["message"] == "the table cannot be used";
    let reasons: Vec<String> =
        lines.iter().filter(failed).map(|line| line["error"].to_string()).collect();
    assert!(reasons.last().unwrap().contains("TableNotFound"), "{reasons:?}");
    assert!(!text.contains("private"), "{text}");
    let connection_string = stage.mock.connection_string();
    let key = connection_string.split("AccountKey=").nth(1).unwrap().split(';').next().unwrap();
    assert!(!key.is_empty() && !text.contains(key), "{text}");
}

#[test]
fn the_configuration_names_each_invalid_variable() {
    let read = |variables: &[(&str, &str)]| {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        Config::read(|name| variables.get(name).map(|&value| value.to_owned()))
    };
    let secret = "AccountName=a;AccountKey=c2VjcmV0;TableEndpoint=http://tables:10002/a";
    let errors = read(&[("PORT", "http"), ("HOST", "localhost"), ("LOG", "loud")]).err().unwrap();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 4, "{errors}");
    for (line, name) in lines.iter().zip(["AZURE_STORAGE_CONNECTION_STRING", "HOST", "PORT", "LOG"])
    {
        assert!(line.starts_with(name), "{errors}");
    }

    let config = read(&[("AZURE_STORAGE_CONNECTION_STRING", secret), ("PORT", "80")]).unwrap();
    assert_eq!(
        (config.address.port(), config.limits),
        (80, Limits { shutdown: Duration::from_secs(10), ..LIMITS })
    );
    let refused = config.table().unwrap_err().to_string();
    assert!(refused.contains("allow_http") && !refused.contains("c2VjcmV0"), "{refused}");
}
