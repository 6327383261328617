//! Readiness: whether the app can serve requests now. A load balancer sends none to an app that is not ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use azure_table_client::{RetryPolicy, TableClient};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Counter;

/// The time for the request of a check, shorter than the time-out of any probe.
pub(super) const DEADLINE: Duration = Duration::from_millis(500);
/// The time for which a result is used again, so that probes do not load the service.
pub(super) const MAX_AGE: Duration = Duration::from_secs(1);

pub(super) struct Readiness {
    table: TableClient<Counter>,
    is_stopping: AtomicBool,
    last: Mutex<Option<(Instant, Result<(), &'static str>)>>,
}

impl Readiness {
    pub(super) fn new(table: TableClient<Counter>) -> Self {
        Self { table, is_stopping: AtomicBool::new(false), last: Mutex::new(None) }
    }

    /// Reports from now on that the app is not ready.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns the reason if the app is not ready.
    async fn check(&self) -> Result<(), &'static str> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err("the app is shutting down");
        }
        // Concurrent probes wait here for the result of one request.
        let mut last = self.last.lock().await;
        let known = last.as_ref().map(|(_, result)| result);
        if let Some((at, result)) = last.as_ref()
            && at.elapsed() < MAX_AGE
        {
            return *result;
        }
        // The cheapest request that needs the network, the credential and the table.
        let found = self.table.table_exists().deadline(DEADLINE).retry(RetryPolicy::none()).await;
        // The port may be public: the reason has no details, which are in the log.
        let result = match &found {
            Ok(true) => Ok(()),
            Ok(false) => Err("the table does not exist"),
            Err(_) => Err("the table service cannot be used"),
        };
        if known != Some(&result) {
            match result {
                Ok(()) => tracing::info!("ready"),
                Err(reason) => {
                    let error = found.err().map(tracing::field::display);
                    tracing::warn!(reason, error, table = self.table.name(), "not ready");
                }
            }
        }
        *last = Some((Instant::now(), result));
        result
    }
}

pub(super) async fn readyz(State(readiness): State<Arc<Readiness>>) -> (StatusCode, Json<Value>) {
    match readiness.check().await {
        Ok(()) => (StatusCode::OK, Json(json!({ "ready": true }))),
        Err(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "ready": false, "reason": reason })))
        }
    }
}
