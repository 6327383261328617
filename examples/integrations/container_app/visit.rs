//! A visitor of the app: its probes, an outage of the table service, and a shutdown.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use azure_table_client::Operation;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_examples::{Columns, Steps, Style};
use reqwest::{Client, Method};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;

use super::config::Limits;
use super::readiness::MAX_AGE;
use super::{AnyError, app, serve};

const LIMITS: Limits = Limits {
    request: Duration::from_secs(5),
    drain: Duration::ZERO,
    shutdown: Duration::from_secs(5),
};

/// The lines of the log, kept to be shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serves the app on a loopback port, and ends it.
pub(super) async fn show() -> Result<(), AnyError> {
    let (service, mock, mut steps) =
        azure_table_examples::connect_with_mock().map_err(|error| error.to_string())?;
    let log = Lines::default();
    let writer = log.clone();
    tracing::subscriber::set_global_default(serve::log(LevelFilter::INFO, move || writer.clone()))?;

    let counters = service.table_named(azure_table_examples::unique("ExampleCounters"));
    let (app, readiness) = app(counters.clone(), LIMITS.request);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut visitor =
        Visitor { client: Client::builder().no_proxy().build()?, url, steps: &mut steps };
    let (stop, stopped) = oneshot::channel();
    let stopped = async { stopped.await.unwrap_or_default() };
    let serving = tokio::spawn(serve::serve(listener, app, readiness, LIMITS, stopped));

    visitor
        .step(
            "the app starts before its table exists",
            &[("GET", "/healthz", 200), ("GET", "/readyz", 503)],
        )
        .await?;
    counters.create().await?;
    tokio::time::sleep(MAX_AGE).await;
    visitor
        .step(
            "the deployment creates the table",
            &[
                ("GET", "/readyz", 200),
                ("POST", "/counters/home", 200),
                ("POST", "/counters/home", 200),
                ("GET", "/counters/home", 200),
                ("GET", "/counters/nowhere", 404),
            ],
        )
        .await?;
    if let Some(mock) = &mock {
        mock.faults().add(Fault::hang());
        tokio::time::sleep(MAX_AGE).await;
        visitor
            .step(
                "the table service hangs: the app is alive, and not ready",
                &[("GET", "/healthz", 200), ("GET", "/readyz", 503)],
            )
            .await?;
        mock.faults().clear();
        tokio::time::sleep(MAX_AGE).await;
        visitor.step("the service is back", &[("GET", "/readyz", 200)]).await?;
        mock.faults().add(Fault::delay_reply(Duration::from_millis(300)).on(Operation::Merge));
    }
    let last = visitor.send("POST", "/counters/home");
    let merges = |mock: &MockTableService| mock.requests().count(Operation::Merge);
    let before = mock.as_ref().map(merges);
    let is_in_flight = async {
        match &mock {
            Some(mock) => {
                while Some(merges(mock)) == before {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            // An account does not show when the request arrives.
            None => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let shutdown = async {
        // If the request fails, its status is wrong below.
        let _ = tokio::time::timeout(LIMITS.request, is_in_flight).await;
        // The app may have ended, which is an error of its own below.
        let _ = stop.send(());
    };
    let (last, ()) = tokio::join!(last, shutdown);
    let (status, _, body) = last?;
    assert_eq!((status, &*body), (200, r#"{"name":"home","value":3}"#));
    serving.await??;
    visitor.steps.done(
        "a shutdown waits for the request in flight",
        format!("{}  {body}", Style::of_status(status)),
    );
    assert!(visitor.send("GET", "/healthz").await.is_err(), "the app still serves");

    let log = log.text();
    let shown: Vec<&str> = log.lines().rev().take(3).collect();
    steps.done("the end of the log", shown.into_iter().rev().collect::<Vec<_>>().join("\n"));
    counters.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

struct Visitor<'s> {
    client: Client,
    url: String,
    steps: &'s mut Steps,
}

impl Visitor<'_> {
    /// Sends and prints requests whose responses must have these statuses.
    async fn step(&mut self, what: &str, requests: &[(&str, &str, u16)]) -> Result<(), AnyError> {
        let mut columns = Columns::new(["request", "status", "ms", "response"]);
        for (method, path, expected) in requests {
            let (status, took, body) = self.send(method, path).await?;
            assert_eq!(status, *expected, "{method} {path}: {body}");
            let ms = took.as_millis().to_string();
            columns.row([format!("{method} {path}"), Style::of_status(status), ms, body]);
        }
        self.steps.done(what, columns.to_string());
        Ok(())
    }

    async fn send(&self, method: &str, path: &str) -> Result<(u16, Duration, String), AnyError> {
        let start = Instant::now();
        let url = format!("{}{path}", self.url);
        let response =
            self.client.request(Method::from_bytes(method.as_bytes())?, url).send().await?;
        let status = response.status().as_u16();
        Ok((status, start.elapsed(), response.text().await?))
    }
}
