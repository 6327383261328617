//! A transport of unit tests; integration tests use `Scripted` of the crate of tests.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};

use super::{HttpRequest, HttpResponse, ResponseFuture, Transport};

/// A transport that records the requests to a service and its responses.
#[derive(Debug)]
pub(crate) struct Recording {
    service: Arc<dyn Transport>,
    requests: Mutex<Vec<HttpRequest>>,
    responses: Mutex<Vec<HttpResponse>>,
}

impl Recording {
    pub(crate) fn of(service: Arc<dyn Transport>) -> Arc<Self> {
        Arc::new(Self { service, requests: Mutex::default(), responses: Mutex::default() })
    }

    /// A transport in front of a service that returns this response to every request.
    #[cfg(feature = "entra")]
    pub(crate) fn always(response: HttpResponse) -> Arc<Self> {
        Self::of(Arc::new(Canned(response)))
    }

    /// Returns the recorded requests, and removes them from the record.
    pub(crate) fn take_requests(&self) -> Vec<HttpRequest> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    /// Returns the last response.
    #[cfg(feature = "entra")]
    pub(crate) fn last_response(&self) -> HttpResponse {
        self.responses.lock().unwrap().last().unwrap().clone()
    }
}

impl Transport for Recording {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.requests.lock().unwrap().push(request.clone());
        Box::pin(async move {
            let response = self.service.send(request).await?;
            self.responses.lock().unwrap().push(response.clone());
            Ok(response)
        })
    }
}

#[cfg(feature = "entra")]
#[derive(Debug)]
struct Canned(HttpResponse);

#[cfg(feature = "entra")]
impl Transport for Canned {
    fn send(&self, _: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}
