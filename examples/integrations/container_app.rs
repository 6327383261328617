//! A web service for a container: probes, configuration by the environment, a log of JSON lines, time-outs, and a
//! shutdown that finishes the requests in flight.
//!
//! | request | response |
//! |---|---|
//! | `GET /healthz` | 200 while the process serves: an orchestrator restarts it otherwise. No I/O, because a restart does not mend the table service |
//! | `GET /readyz` | 200, or 503 with the reason: the table can be used, and the app is not shutting down |
//! | `POST /counters/{name}` | counts, and returns the new value |
//! | `GET /counters/{name}` | the value |
//!
//! `cargo run -p azure-table-integrations --example container_app` serves it on a loopback port, shows an outage and a
//! shutdown on the mock, and ends. With `PORT` and `AZURE_STORAGE_CONNECTION_STRING` set it serves until SIGTERM or
//! Ctrl-C; the [Dockerfile](container_app/Dockerfile) and the [compose file](container_app/compose.yaml) run it so.
//! `--create-table` creates the table, which a deployment does once. `cargo test -p azure-table-integrations` runs its tests.

#[path = "container_app/config.rs"]
mod config;
#[path = "container_app/readiness.rs"]
mod readiness;
#[path = "container_app/serve.rs"]
mod serve;
#[cfg(test)]
#[path = "container_app/tests.rs"]
mod tests;
#[path = "container_app/visit.rs"]
mod visit;

use std::error::Error as StdError;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use azure_table_client::{Error, ErrorCode, ErrorKind, TableClient, TableEntity};
use config::Config;
use readiness::Readiness;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::time::Instant;

type AnyError = Box<dyn StdError + Send + Sync>;
type Counters = State<TableClient<Counter>>;

#[derive(Debug, TableEntity, Serialize)]
#[table(rename_all = "PascalCase", row_key = "counter")]
struct Counter {
    #[table(partition_key)]
    name: String,
    value: i64,
}

/// The service, and its readiness for a shutdown.
fn app(counters: TableClient<Counter>, request_limit: Duration) -> (Router, Arc<Readiness>) {
    let readiness = Arc::new(Readiness::new(counters.clone()));
    let app = Router::new()
        .route("/counters/{name}", get(read).post(count))
        .layer(from_fn_with_state(request_limit, limit_and_log))
        .with_state(counters);
    let probes = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(readiness::readyz))
        .with_state(Arc::clone(&readiness));
    (app.merge(probes), readiness)
}

async fn read(
    State(counters): Counters,
    Path(name): Path<String>,
) -> Result<Json<Counter>, Failure> {
    Ok(Json(counters.get(Counter::key(name)).await?.into_inner()))
}

async fn count(
    State(counters): Counters,
    Path(name): Path<String>,
) -> Result<Json<Counter>, Failure> {
    let key = Counter::key(&name).map_err(Error::from)?;
    counters.get_or_insert_with(&key, || Counter { name, value: 0 }).await?;
    let counted = counters.update_with(&key, |counter| counter.value += 1).await?;
    Ok(Json(counted.into_inner()))
}

/// Bounds the time of a request, and logs it: the route, but not the path, which has the visitor's text.
async fn limit_and_log(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let start = Instant::now();
    let response = match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, "the request takes too long").into_response(),
    };
    tracing::info!(
        %method,
        route = route.as_ref().map(MatchedPath::as_str),
        status = response.status().as_u16(),
        ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        "request"
    );
    response
}

struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

/// The visitor learns the status, the log the reason.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let status = match error.kind() {
            // A name that is not a key. The app has no other input.
            ErrorKind::InvalidInput => StatusCode::NOT_FOUND,
            // The app has no table, which is not the visitor's mistake.
            _ if error.code() == Some(&ErrorCode::TableNotFound) => StatusCode::SERVICE_UNAVAILABLE,
            _ if error.is_not_found() => StatusCode::NOT_FOUND,
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            _ if error.is_throttled() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_GATEWAY,
        };
        if status.is_server_error() {
            tracing::error!(%error, request_id = error.request_id(), "the table cannot be used");
        }
        status.into_response()
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), AnyError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let command = std::env::args().nth(1);
    if command.is_none() && variable("PORT").is_none() {
        return visit::show().await;
    }
    let config = Config::read(variable)?;
    match command.as_deref() {
        None => {
            tracing::subscriber::set_global_default(serve::log(config.log, std::io::stderr))?;
            let stop = serve::stop_signal()?;
            let listener = TcpListener::bind(config.address).await?;
            tracing::info!(address = %listener.local_addr()?, "listening");
            let (app, readiness) = app(config.table()?, config.limits.request);
            serve::serve(listener, app, readiness, config.limits, stop).await
        }
        Some("--create-table") => Ok(config.table()?.create_if_not_exists().await.map(drop)?),
        Some("--health") => serve::probe(config.address.port()),
        Some(_) => Err("usage: container_app [--create-table | --health]".into()),
    }
}
